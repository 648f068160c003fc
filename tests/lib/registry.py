"""A registry of one image, on the loopback: what an engine pulls from, and no more.

    docker save IMAGE | registry.py MODE PORT-FILE LOG

MODE is open, basic or token. The user is "puller"; its password, and the identity token that is given
instead, come from the environment, as values that tests look for elsewhere. LOG has a line per request:
method, path, and whether credentials were there and right ("empty": a client that has none says so).

Repositories: tools is the image; slow is the same and takes long; torn has a layer that is not what its
digest says; alien is for another machine only; busy answers that it is overloaded.
"""

import base64
import gzip
import hashlib
import io
import json
import os
import sys
import tarfile
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qs, urlsplit

MANIFEST = "application/vnd.docker.distribution.manifest.v2+json"
LIST = "application/vnd.docker.distribution.manifest.list.v2+json"
CONFIG = "application/vnd.docker.container.image.v1+json"
LAYER = "application/vnd.docker.image.rootfs.diff.tar.gzip"
BEARER = "bearer-of-the-test"

mode, port_file, log_path = sys.argv[1:4]
password = os.environ.get("HL_REGISTRY_PASSWORD", "")
identity = os.environ.get("HL_REGISTRY_IDENTITY", "")
blobs = {}


def keep(data):
    digest = "sha256:" + hashlib.sha256(data).hexdigest()
    blobs[digest] = data
    return digest


def load(saved):
    with tarfile.open(fileobj=io.BytesIO(saved)) as archive:
        entry = json.load(archive.extractfile("manifest.json"))[0]
        config = json.load(archive.extractfile(entry["Config"]))
        return config, archive.extractfile(entry["Layers"][0]).read()


def describe(media_type, data, digest=None):
    return {"mediaType": media_type, "size": len(data), "digest": digest or keep(data)}


def manifest_of(config, layers):
    return json.dumps(
        {"schemaVersion": 2, "mediaType": MANIFEST, "config": describe(CONFIG, config), "layers": layers}
    ).encode()


config, layer = load(sys.stdin.buffer.read())


# Each is another one, so that an engine which has one of them, or the image itself, has no other: behind the
# end of an archive zeros mean nothing.
def make(number, level, digest=None):
    root = layer + bytes(512 * number)
    own = dict(config, rootfs={"type": "layers", "diff_ids": ["sha256:" + hashlib.sha256(root).hexdigest()]})
    packed = gzip.compress(root, level, mtime=0)
    if digest is not None:
        blobs[digest] = packed
    return manifest_of(json.dumps(own).encode(), [describe(LAYER, packed, digest)]), digest or keep(packed)


whole, _ = make(1, 1)
keep(whole)
slow, slow_digest = make(2, 0)
torn, _ = make(3, 1, "sha256:" + "0" * 64)
alien = json.dumps(
    {
        "schemaVersion": 2,
        "mediaType": LIST,
        "manifests": [
            dict(describe(MANIFEST, whole), platform={"architecture": "s390x", "os": "linux"})
        ],
    }
).encode()
manifests = {"tools": (MANIFEST, whole), "slow": (MANIFEST, slow), "torn": (MANIFEST, torn), "alien": (LIST, alien)}


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *_):
        pass

    def note(self, verdict):
        with open(log_path, "a", encoding="ascii") as log:
            log.write(f"{self.command} {urlsplit(self.path).path} {verdict}\n")

    def say(self, status, body=b"", media_type="application/json", **headers):
        self.send_response(status)
        self.send_header("Content-Type", media_type)
        self.send_header("Content-Length", str(len(body)))
        self.send_header("Docker-Distribution-Api-Version", "registry/2.0")
        for name, value in headers.items():
            self.send_header(name.replace("_", "-"), value)
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)

    def refuse(self, status, code, **headers):
        self.say(status, json.dumps({"errors": [{"code": code, "message": code.lower()}]}).encode(), **headers)

    def verdict(self):
        given = self.headers.get("Authorization", "")
        if given == "":
            return "anonymous"
        if mode == "token":
            return "right" if given == "Bearer " + BEARER else "wrong"
        if given == "Basic " + base64.b64encode(b":").decode():
            return "empty"
        basic = "Basic " + base64.b64encode(f"puller:{password}".encode()).decode()
        return "right" if given == basic else "wrong"

    # An identity token is traded by POST, a password by GET with the basic scheme.
    def token(self, fields):
        given = self.headers.get("Authorization", "")
        basic = "Basic " + base64.b64encode(f"puller:{password}".encode()).decode()
        is_right = given == basic or (identity != "" and fields.get("refresh_token") == [identity])
        self.note("token-right" if is_right else "token-wrong")
        if not is_right:
            self.refuse(401, "UNAUTHORIZED")
            return
        self.say(200, json.dumps({"token": BEARER, "access_token": BEARER}).encode())

    def trickle(self, data):
        self.send_response(200)
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        for at in range(0, len(data), 65536):
            self.wfile.write(data[at : at + 65536])
            self.wfile.flush()
            time.sleep(0.1)

    def serve(self):
        path = urlsplit(self.path).path
        parts = path.strip("/").split("/")
        verdict = self.verdict()
        self.note(verdict)
        if mode != "open" and verdict != "right":
            host = self.headers["Host"]
            scheme = f'Bearer realm="http://{host}/token",service="test"' if mode == "token" else 'Basic realm="test"'
            self.refuse(401, "UNAUTHORIZED", WWW_Authenticate=scheme)
        elif parts == ["v2"]:
            self.say(200, b"{}")
        elif parts[1] == "busy":
            self.refuse(503, "UNAVAILABLE")
        elif len(parts) == 4 and parts[2] == "manifests" and parts[1] in manifests:
            media_type, body = manifests[parts[1]]
            digest = "sha256:" + hashlib.sha256(body).hexdigest()
            if parts[3] in ("1", digest):
                self.say(200, body, media_type, Docker_Content_Digest=digest)
            else:
                self.refuse(404, "MANIFEST_UNKNOWN")
        elif len(parts) == 4 and parts[2] == "blobs" and parts[3] in blobs:
            if parts[3] == slow_digest:
                self.trickle(blobs[parts[3]])
            else:
                self.say(200, blobs[parts[3]], "application/octet-stream")
        else:
            self.refuse(404, "NAME_UNKNOWN")

    def do_GET(self):
        try:
            if urlsplit(self.path).path == "/token":
                self.token(parse_qs(urlsplit(self.path).query))
            else:
                self.serve()
        except (BrokenPipeError, ConnectionResetError):
            self.note("broken-off")

    do_HEAD = do_GET

    def body(self):
        if self.headers.get("Transfer-Encoding") != "chunked":
            return self.rfile.read(int(self.headers.get("Content-Length", "0")))
        pieces = []
        while True:
            piece = self.rfile.read(int(self.rfile.readline(), 16))
            self.rfile.readline()
            if not piece:
                return b"".join(pieces)
            pieces.append(piece)

    def do_POST(self):
        self.token(parse_qs(self.body().decode()))


server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
with open(port_file + ".new", "w", encoding="ascii") as file:
    file.write(str(server.server_address[1]))
os.rename(port_file + ".new", port_file)
server.serve_forever()
