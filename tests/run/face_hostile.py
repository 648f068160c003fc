"""The conversations of face_hostile.sh: arguments are the caller's name, the launcher, two policies, the state."""
import fcntl
import json
import os
import signal
import subprocess
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "lib"))
from session import Peer, done, is_  # noqa: E402

caller, launch, policy, large, state = sys.argv[1:6]


def open_session(*more, **extra):
    return Peer([launch, "session", "-q", "--policy", policy, *more], stderr=subprocess.DEVNULL, **extra)


def name(text):
    return "%s: %s" % (caller, text)


# A peer that asks for output and does not read: its call ends in time, and nobody else's with it.
peer, deaf = open_session("--name", "hostile"), open_session("--name", "hostile")
sleeper = peer.send("exec", command="sleep 9; echo slept")
vanished = open_session("--name", "hostile")
vanished.send("exec", command="yes vanished", stream=True)
number = deaf.send("exec", command="trap '' TERM; while :; do echo deaf; done", stream=True, timeout="500ms")
time.sleep(1)
vanished.process.kill()
is_(name("a peer that vanishes while it is told much ends no other call"),
    peer.answer(sleeper, 30).get("result", {}).get("stdout"), "slept\n")
is_(name("a peer that does not listen cannot put its time limit off"),
    deaf.answer(number, 30).get("result", {}).get("how"), "timed_out")
is_(name("and the session goes on"), peer.call("exec", command="echo on").get("stdout"), "on\n")
vanished.process.wait()
deaf.end()
peer.end()

# A named session keeps nothing open that is of whoever made it.
subprocess.run([launch, "stop", "hostile"], stderr=subprocess.DEVNULL, check=False)
reading, writing = os.pipe()
subprocess.run([launch, "run", "-q", "--policy", policy, "--name", "heir", "-c", "true"], pass_fds=[writing],
               stderr=subprocess.DEVNULL, check=False)
os.close(writing)
os.set_blocking(reading, False)
try:
    held = os.read(reading, 1) != b""
except BlockingIOError:
    held = True
is_(name("a keeper holds no descriptor of its caller's"), held, False)

# Somebody looks at a dead session's place, as ps does, while it is wanted: it is made all the same.
for line in subprocess.run([launch, "ps", "--format", "json"], stdout=subprocess.PIPE, check=False).stdout.splitlines():
    keeper = json.loads(line)["pid"]
lock = open(os.path.join(state, "sessions", "heir", "lock"), "rb")
os.kill(keeper, signal.SIGKILL)
fcntl.flock(lock, fcntl.LOCK_EX)
wanted = subprocess.Popen([launch, "run", "-q", "--policy", policy, "--name", "heir", "-c", "true"])
time.sleep(0.5)
lock.close()
is_(name("a look at a dead session does not keep it from being made again"), wanted.wait(60), 0)
subprocess.run([launch, "stop", "heir"], stderr=subprocess.DEVNULL, check=False)

# What no runner takes is refused before it is sent.
peer = open_session()
for what, params in (("an empty directory", {"command": "true", "cwd": ""}),
                     ("a directory that is not absolute", {"command": "true", "cwd": "src"}),
                     ("a program without a name", {"argv": ["", "x"]})):
    is_(name("HLB-05 %s" % what), peer.code("exec", **params), "HLB-05")
is_(name("a terminal has one stream"),
    peer.call("exec", command="echo one; echo two >&2", pty=True, merged=True).get("stdout"), "one\r\ntwo\r\n")
is_(name("and the session goes on"), peer.call("exec", command="echo on").get("stdout"), "on\n")

# The same values with every call do not use up what the log can hide.
env = {"V%d" % i: "value-number-%d" % i for i in range(400)}
codes = {peer.code("exec", argv=["true"], env=env) for _ in range(12)}
is_(name("4800 values, 400 different ones"), codes, {None})
is_(name("the end"), peer.end(), 0)

# An answer that would be too large says what it leaves out.
peer = Peer([launch, "session", "-q", "--policy", large], stderr=subprocess.DEVNULL)
r = peer.answer(peer.send("exec", command=
                          "head -c 23M /dev/zero | tr '\\0' '\\1' | tee /dev/stderr"), 60).get("result", {})
is_(name("an answer of more than 256 MiB"), (r.get("status"), r.get("omitted"), "stdout" in r),
    (0, {"stdout": 23 << 20, "stderr": 23 << 20}, False))
is_(name("the end, after it"), peer.end(), 0)
done()
