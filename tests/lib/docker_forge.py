"""A container that somebody else makes: all that an engine tells of one, by its API, with changes.

    docker inspect ID | docker_forge.py SOCKET NAME [PATH=JSON]...    prints the new one's id

The client could not say all of it (HostConfig.MaskedPaths), and the labels come along.
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


def main(path, name, *changes):
    told = json.load(sys.stdin)[0]
    body = {"Config": told["Config"], "HostConfig": told["HostConfig"]}
    for change in changes:
        where, value = change.split("=", 1)
        part, key = where.split(".", 1)
        body[part][key] = json.loads(value)
    engine = Engine(path)
    engine.request(
        "POST",
        "/containers/create?name=" + name,
        json.dumps({**body["Config"], "HostConfig": body["HostConfig"]}),
        {"Content-Type": "application/json"},
    )
    answer = engine.getresponse()
    text = answer.read().decode()
    if answer.status != 201:
        sys.exit(text)
    print(json.loads(text)["Id"])


main(*sys.argv[1:])
