"""A container that somebody else makes with podman's API: the specification that explain shows, with the
labels, the image and the name of one that was kept, and changes.

    podman inspect ID | podman_forge.py SOCKET NAME EXPLAINED [MEMBER=JSON]...    prints the new one's id

EXPLAINED is a file of `explain --format json`. MEMBER+=JSON adds to a list.
"""

import http.client
import json
import socket
import sys


class Engine(http.client.HTTPConnection):
    def __init__(self, path):
        super().__init__("localhost")
        self.path = path

    def connect(self):
        self.sock = socket.socket(socket.AF_UNIX)
        self.sock.connect(self.path)


def body_of(value):
    if isinstance(value, dict):
        if isinstance(value.get("body"), dict):
            return value["body"]
        value = list(value.values())
    if isinstance(value, list):
        for item in value:
            body = body_of(item)
            if body is not None:
                return body
    return None


def main(path, name, explained, *changes):
    told = json.load(sys.stdin)[0]
    with open(explained) as file:
        body = body_of(json.load(file))
    body.update(name=name, image=told["Image"], labels=told["Config"]["Labels"])
    for change in changes:
        member, value = change.split("=", 1)
        value = json.loads(value)
        if member.endswith("+"):
            member = member[:-1]
            value = body.get(member, []) + value
        body[member] = value
    engine = Engine(path)
    engine.request(
        "POST",
        "/v1.41/libpod/containers/create",
        json.dumps(body),
        {"Content-Type": "application/json"},
    )
    answer = engine.getresponse()
    text = answer.read().decode()
    if answer.status != 201:
        sys.exit(text)
    print(json.loads(text)["Id"])


main(*sys.argv[1:])
