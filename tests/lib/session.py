"""A JSON-RPC peer of `hermes-launch session`, and checks whose lines tests/lib/tap.sh counts.

    peer = Peer([launch, "session", "--policy", file])
    result = peer.call("exec", command="echo hi")
    is_("name", result["stdout"], "hi\n")
"""
import base64
import json
import os
import select
import subprocess
import sys
import time

failed = 0
said = 0


def ok(name, good, *why):
    global failed, said
    said += 1
    print(("ok - " if good else "not ok - ") + name, flush=True)
    if not good:
        failed += 1
        for line in why:
            print("#   %r" % (line,), flush=True)


def is_(name, got, want):
    ok(name, got == want, "got", got, "want", want)


def like(name, text, piece):
    ok(name, piece in (text or ""), text, "has no", piece)


def done():
    """Without this last line a conversation has ended early (lib/tap.sh)."""
    print("# the end, %d checks" % said, flush=True)
    sys.exit(1 if failed else 0)


def data(value):
    """bytes of a text or {"b64": ...}"""
    if isinstance(value, dict):
        return base64.b64decode(value["b64"])
    return value.encode()


class Peer:
    def __init__(self, argv, **more):
        self.process = subprocess.Popen(
            argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE, **more)
        self.next_id = 1
        self.pending = b""
        self.notes = []
        self.answers = {}

    def send_line(self, line):
        self.process.stdin.write(line + b"\n")
        self.process.stdin.flush()

    def send(self, method, **params):
        number = self.next_id
        self.next_id += 1
        self.send_line(json.dumps(
            {"jsonrpc": "2.0", "id": number, "method": method, "params": params}).encode())
        return number

    def readable(self, seconds):
        """poll(2): select(2) knows no descriptor past 1023"""
        poll = select.poll()
        poll.register(self.process.stdout, select.POLLIN)
        return bool(poll.poll(seconds * 1000))

    def read(self, seconds):
        """one message, or None"""
        end = time.monotonic() + seconds
        while b"\n" not in self.pending:
            left = end - time.monotonic()
            if left <= 0 or not self.readable(left):
                return None
            piece = os.read(self.process.stdout.fileno(), 1 << 16)
            if not piece:
                return None
            self.pending += piece
        line, self.pending = self.pending.split(b"\n", 1)
        return json.loads(line)

    def step(self, seconds):
        message = self.read(seconds)
        if message is None:
            return False
        if "method" in message:
            self.notes.append(message)
        else:
            self.answers[message["id"]] = message
        return True

    def answer(self, number, seconds=20):
        end = time.monotonic() + seconds
        while number not in self.answers:
            if not self.step(max(0, end - time.monotonic())):
                return {"error": {"message": "no answer", "code": 0, "data": {"code": "none"}}}
        return self.answers.pop(number)

    def note(self, method, seconds=20):
        end = time.monotonic() + seconds
        while True:
            for note in self.notes:
                if note["method"] == method:
                    self.notes.remove(note)
                    return note["params"]
            if not self.step(max(0, end - time.monotonic())):
                return None

    def ask(self, method, **params):
        return self.answer(self.send(method, **params))

    def call(self, method, **params):
        message = self.ask(method, **params)
        return message["result"] if "result" in message else {"refused": message["error"]}

    def code(self, method, **params):
        """the code of the refusal, or None"""
        error = self.ask(method, **params).get("error")
        return error["data"]["code"] if error else None

    def end(self, seconds=15):
        """closes standard input and waits; the exit status"""
        try:
            self.process.stdin.close()
        except BrokenPipeError:
            pass  # nobody reads any more what had not been written
        while self.step(0.2):
            pass
        try:
            return self.process.wait(seconds)
        except subprocess.TimeoutExpired:
            self.process.kill()
            return "still there"
