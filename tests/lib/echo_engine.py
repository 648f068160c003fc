"""An engine that has no image and tells what it was sent: for tests of where credentials go.

    echo_engine.py SOCKET LOG [OTHER]

LOG has a line per request for a pull: "credentials" or "none". What a pull is answered is the error HL_ECHO,
with the header of the credentials for @. With OTHER, another socket, the name SOCKET means that one as soon as the image was
asked for.
"""

import json
import os
import socketserver
import sys
from http.server import BaseHTTPRequestHandler

path, log_path = sys.argv[1:3]
other = sys.argv[3] if len(sys.argv) > 3 else None


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def version_string(self):
        return os.environ.get("HL_ECHO_SERVER", "Docker/20.10.24 (linux)")

    def address_string(self):
        return "local"

    def log_message(self, *_):
        pass

    def answer(self, status, value):
        body = json.dumps(value).encode()
        self.send_response(status)
        self.send_header("Api-Version", "1.41")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)

    def do_GET(self):
        if "/images/" not in self.path:
            return self.answer(200, {"ApiVersion": "1.41"})
        if other is not None and not os.path.islink(path):
            os.symlink(other, path + ".new")
            os.rename(path + ".new", path)
        return self.answer(404, {"message": "no such image"})

    do_HEAD = do_GET

    def do_POST(self):
        self.rfile.read(int(self.headers.get("Content-Length") or 0))
        sent = self.headers.get("X-Registry-Auth")
        with open(log_path, "a", encoding="ascii") as log:
            log.write("none\n" if sent is None else "credentials\n")
        self.answer(500, {"message": os.environ["HL_ECHO"].replace("@", str(sent))})


class Server(socketserver.ThreadingMixIn, socketserver.UnixStreamServer):
    daemon_threads = True


Server(path, Handler).serve_forever()
