"""The conversations of face_session.sh: arguments are the caller's name, the launcher and a policy."""
import base64
import json
import os
import subprocess
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "lib"))
from session import Peer, data, done, is_, like, ok  # noqa: E402

caller, launch, policy, tight = sys.argv[1:5]


def open_session(*more, **extra):
    return Peer([launch, "session", "-q", "--policy", policy, *more], stderr=subprocess.DEVNULL, **extra)


def name(text):
    return "%s: %s" % (caller, text)


def sleep(seconds):
    """one that is no other run's on this machine"""
    return "sleep %d.%d" % (seconds, os.getpid())


peer = open_session()

# The contract, as a peer sees it.
r = peer.call("exec", command="printf 'a b'; printf err >&2; exit 3")
is_(name("exec: stdout"), r["stdout"], "a b")
is_(name("exec: stderr apart"), r["stderr"], "err")
is_(name("exec: how, stage, status"), (r["how"], r["stage"], r["status"]), ("exited", "command", 3))
is_(name("U73 a command's own 125 is the command's"), peer.call("exec", command="exit 125")["stage"], "command")
r = peer.call("exec", argv=["no-such-program"])
is_(name("U73 a missing program is the launcher's 127"), (r["stage"], r["status"], r["error"]["code"]),
    ("launcher", 127, "HLB-04"))
is_(name("argv without a shell"), peer.call("exec", argv=["printf", "%s|", "a b", "$x"])["stdout"], "a b|$x|")
peer.call("exec", command="cd /tmp; export A=1; f() { echo f$A; }; alias g='echo g'")
is_(name("state: cwd, variable, function, alias"),
    peer.call("exec", command="pwd; echo $A; f\ng")["stdout"], "/tmp\n1\nf1\ng\n")
is_(name("state is kept after exit and set -e"), (
    peer.call("exec", command="set -e; export B=2; false; export B=3")["status"],
    peer.call("exec", command="echo $B")["stdout"]), (1, "2\n"))
ENV = "env -u A -u B -u OLDPWD -u PWD -u SHLVL | sort"
texts = [peer.call("exec", command=ENV)["stdout"] for _ in range(3)]
handle = peer.call("exec", command=ENV, background=True)["call"]
peer.note("exited")
texts.append(peer.call("background.read", call=handle)["data"])
ok(name("U14 the policy holds for later calls too, and in the background"),
   len(set(texts)) == 1 and "PATH" in texts[0], texts)
is_(name("U14 process.umask holds for each call, and for argv"), (
    peer.call("exec", command="umask; umask 0")["stdout"], peer.call("exec", argv=["sh", "-c", "umask"])["stdout"]),
    ("0027\n", "0027\n"))

# Bytes.
r = peer.call("exec", command="printf '\\xff\\x00a'")
is_(name("bytes that are not text are base64"), r["stdout"], {"b64": "/wBh"})
b = peer.call("exec", command={"b64": base64.b64encode(b"printf %s \xfe; mkdir -p /tmp/\xff").decode()})
is_(name("a command of bytes"), data(b["stdout"]), b"\xfe")
b = {"b64": base64.b64encode(b"/tmp/\xff").decode()}
is_(name("cwd, argv and a value of bytes"), data(peer.call("exec", argv=["sh", "-c", 'printf %s "$PWD$1$V"', "-", {"b64": "/w=="}],
    cwd=b, env={"V": {"b64": "/g=="}})["stdout"]), b"/tmp/\xff\xff\xfe")
is_(name("bytes with a NUL are no text (HLU-20)"), peer.code("exec", command={"b64": "dHJ1ZQA="}), "HLU-20")
error = peer.ask("exec", command="true", env={"a" * 59 + "\u00e9": "x"})["error"]
is_(name("a message that was cut inside of a character is still a text"),
    (type(error["message"]), error["data"]["code"]), (str, "HLU-20"))
is_(name("stdin: text"), peer.call("exec", command="cat", stdin="x\u00e9\n")["stdout"], "x\u00e9\n")
is_(name("stdin: bytes"), data(peer.call("exec", argv=["cat"], stdin={"b64": "/wBh"})["stdout"]), b"\xff\x00a")
is_(name("stdin: none is the end of file"), peer.call("exec", command="wc -c")["stdout"].strip(), "0")
is_(name("merged keeps the order"), peer.call(
    "exec", command="echo 1; echo 2 >&2; echo 3", merged=True)["stdout"], "1\n2\n3\n")
r = peer.call("exec", command="head -c 100000 /dev/zero | tr '\\0' x", timeout="10s")
ok(name("U71 the window keeps head and tail and counts what it left out"),
   len(r["stdout"]) + len(r["stdout_tail"]) + r["omitted"]["stdout"] == 100000 and
   len(r["stdout"]) + len(r["stdout_tail"]) <= 4096 and r["status"] == 0, r["omitted"])

# A list that is cut in its middle: head and tail are two texts and the gap has its number, so that nobody
# who reads one of them takes it for the whole.
r = peer.call("exec", command="echo [; yes 1, | head -n 50000; echo 2]")
whole = peer.call("exec", command="echo [; yes 1, | head -n 3; echo 2]")
ok(name("hermes 59 what is cut is not read as all of it"),
   r["stdout"].startswith("[\n") and r["stdout_tail"].endswith("2]\n") and r["omitted"]["stdout"] > 100000 and
   not r["stdout"].rstrip().endswith("]"), r["omitted"])
ok(name("hermes 59 what is whole is (sibling)"), len(json.loads(whole["stdout"])) == 4 and
   whole["omitted"]["stdout"] == 0 and "stdout_tail" not in whole, whole)

# What the window leaves out.
spilled = open_session("--spill")
r = spilled.call("exec", command="echo begin; yes fixed-value | head -c 200000; echo; echo end")
path = r["spill"] or "/nonexistent"
text = open(path, "rb").read().decode() if os.path.exists(path) else ""
ok(name("U17 U71 a spill file has head, middle and end, and no known value"),
   text.startswith("begin\n") and text.endswith("end\n") and "fixed-value" not in text and
   text.count("redacted:env:FIXED") > 16000, path, text[:80], text[-80:])
is_(name("W10 and nobody else may read it"), os.stat(path).st_mode & 0o777 if text else None, 0o600)
numbers = [spilled.send("exec", command="seq %d %d" % (first, first + 700000)) for first in (1, 1000000)]
for number, first in zip(numbers, (1, 1000000)):
    path = spilled.answer(number)["result"]["spill"] or "/nonexistent"
    lines = open(path).read().split("\n")[:-1] if os.path.exists(path) else []
    ok(name("two floods at once come whole and in order, from %d" % first),
       lines == [str(i) for i in range(first, first + 700001)], path, len(lines), lines[:2])
# A command can make packets of its output's pages, of which a read that asks for less drops the rest. It may
# lose of its own by that, but the bytes of the calls beside it stay what they are, and where they are.
PACKETS = """python3 -c '
import fcntl, os, time
packets = os.open("/proc/self/fd/1", os.O_WRONLY)
fcntl.fcntl(packets, fcntl.F_SETFL, os.O_DIRECT)
fcntl.fcntl(1, 1031, 1 << 20)
def put(fd, bytes):
    while bytes:
        bytes = bytes[os.write(fd, bytes):]
time.sleep(0.3)
for i in range(20):
    put(1, b"A" * (131072 - 100)); put(packets, b"P" * 4096); put(packets, b"P" * 4096); put(1, b"A" * 50000)
'"""
FLOOD = "python3 -c 'import sys\nfor i in range(10): sys.stdout.write(\"B\" * 1000000)'"
# Of the native sandbox's pipe; an engine's image has no python3 either.
ASKED = [(PACKETS, "AP"), (FLOOD, "B"), (FLOOD, "B")] if caller in ("root", "user") else []
for number, letters in [(spilled.send("exec", command=command), letters) for command, letters in ASKED]:
    r = spilled.answer(number).get("result", {})
    text = open(r["spill"]).read() if r.get("spill") else ""
    ok(name("beside output in packets %s is this call's, and nobody else's" % letters),
       r.get("how") == "exited" and set(text) == set(letters) and len(text) == r["out_bytes"] and
       text.count("A") == (20 * 180972 if letters == "AP" else 0) and text.count("P") <= 20 * 8192 and
       text.count("B") == (10000000 if letters == "B" else 0), r.get("how"), {c: text.count(c) for c in set(text)})
is_(name("no file where the window has all"), spilled.call("exec", command="echo small")["spill"], None)
is_(name("--spill ends well"), spilled.end(), 0)
is_(name("no file without --spill"), r["spill"] and peer.call(
    "exec", command="head -c 100000 /dev/zero")["spill"], None)
r = peer.call("exec", command="head -c 104857600 /dev/zero | tr '\\0' x; exit 3")
with open("/proc/%d/status" % peer.process.pid) as status:
    peak = int([line.split()[1] for line in status if line.startswith("VmHWM")][0])
ok(name("U71 100 MiB go through a window and not through memory"),
   (r["status"], r["out_bytes"]) == (3, 104857600) and len(r["stdout"]) + len(r["stdout_tail"]) <= 4096 and
   peak < 16384, r["status"], r["out_bytes"], peak)

# Streaming.
peer.notes.clear()
number = peer.send("exec", command="echo one; sleep 0.2; echo two >&2", stream=True)
ok(name("stream: started"), peer.note("started")["call"] == number)
first, second = peer.note("output"), peer.note("output")
is_(name("stream: pieces as they come"), (first["stream"], first["data"], second["stream"], second["data"]),
    ("stdout", "one\n", "stderr", "two\n"))
ok(name("stream: sequence without gaps"), second["seq"] == first["seq"] + 1, first, second)
ok(name("stream: the answer repeats no output"), "stdout" not in peer.answer(number)["result"])
peer.notes.clear()
number = peer.send("exec", command="head -c 5000000 /dev/zero | tr '\\0' y", stream=True)
answer = peer.answer(number, 60)["result"]
total = sum(len(n["params"]["data"]) for n in peer.notes if n["method"] == "output")
is_(name("stream: nothing is left out"), (total, answer["out_bytes"]), (5000000, 5000000))

# Input as it comes.
peer.notes.clear()
number = peer.send("exec", command="while read -r line; do echo \"<$line>\"; done", stdin=True, stream=True)
peer.call("stdin", call=number, data="a\n")
is_(name("stdin request reaches the command at once"), peer.note("output")["data"], "<a>\n")
peer.call("stdin", call=number, data="b\n", end=True)
is_(name("stdin end ends it"), peer.answer(number)["result"]["status"], 0)

# Ends.
started = time.monotonic()
r = peer.call("exec", command="setsid %s & setsid %s" % (sleep(61), sleep(61)), timeout="1s")
ok(name("U67 a timeout ends what left its group"), r["how"] == "timed_out" and r["status"] == 124 and
   time.monotonic() - started < 6, r)
is_(name("U67 none of it is left"), peer.call(
    "exec", argv=["bash", "-c", "grep -l 'sleep' /proc/[0-9]*/comm 2>/dev/null | wc -l"])["stdout"], "0\n")
number = peer.send("exec", command=sleep(62))
other = peer.send("exec", command="echo beside")
is_(name("calls run side by side"), peer.answer(other)["result"]["stdout"], "beside\n")
peer.call("cancel", call=number)
r = peer.answer(number)["result"]
is_(name("cancel"), (r["how"], r["status"]), ("cancelled", 130))
number = peer.send("exec", command="trap 'echo got; exit 9' USR1; echo ready; while :; do sleep 0.1; done", stream=True)
peer.notes.clear()
while (peer.note("output") or {"data": "ready"})["data"].find("ready") < 0:
    pass
peer.call("signal", call=number, signal="USR1")
is_(name("signal by name"), peer.answer(number)["result"]["status"], 9)
again = [peer.call("exec", command="tty; stty size", pty=True)["background"] for i in range(40)]
is_(name("nothing is said to be left where nothing is"), again.count(True), 0)
started = time.monotonic()
r = peer.call("exec", command=sleep(63) + " & echo done")
ok(name("U68 a child in the background does not hold the call"),
   r["stdout"] == "done\n" and time.monotonic() - started < 3 and r["background"] is True, r)


def with_left():
    return [c for c in peer.call("background.list")["calls"] if c["left"]]


left = with_left()
is_(name("what it left is listed"), len(left), 1)
peer.call("background.kill", call=left[0]["call"])
for _ in range(50):
    left = with_left()
    if not left:
        break
    time.sleep(0.1)
is_(name("and can be ended"), left, [])

# Background.
r = peer.call("exec", command="echo begun; read -r x; echo \"got $x\"", background=True, stdin=True)
handle = r["call"]
for _ in range(50):
    log = peer.call("background.read", call=handle, offset=0)
    if log["data"]:
        break
    time.sleep(0.05)
is_(name("background: its log"), log["data"], "begun\n")
peer.call("stdin", call=handle, data="in\n")
note = peer.note("exited")
is_(name("background: its end is told"), (note["call"], note["result"]["status"]), (handle, 0))
is_(name("background: the log from an offset"), peer.call(
    "background.read", call=handle, offset=log["next"])["data"], "got in\n")

# A terminal.
number = peer.send("exec", argv=["bash", "-c", "tty; stty size; read -r x; stty size"], pty={"rows": 33, "columns": 77},
                   stdin=True, stream=True)
text = ""
peer.notes.clear()
while "33 77" not in text:
    note = peer.note("output", 5)
    if note is None:
        break
    text += note["data"]
like(name("pty: a terminal of the size that was asked"), text, "/dev/pts/")
peer.call("resize", call=number, rows=44, columns=88)
peer.call("stdin", call=number, data="\n")
peer.answer(number)
text = "".join(n["params"]["data"] for n in peer.notes if n["method"] == "output")
like(name("pty: resize"), text, "44 88")

number = peer.send("exec", argv=["cat"], pty=True, stdin=True)
peer.call("stdin", call=number, data="line\n")
peer.call("stdin_end", call=number)
r = peer.answer(number)["result"]
is_(name("pty: the end of input is told"), (r["how"], r["status"]), ("exited", 0))

# State by request.
is_(name("state: cwd"), peer.call("state")["cwd"], "/tmp")
peer.call("state", cwd="/", set={"C": "3 \u00fc"}, unset=["A"])
is_(name("state: set, unset, cwd"), peer.call("exec", command="pwd; echo \"$C${A-none}\"")["stdout"], "/\n3 \u00fcnone\n")
is_(name("env of one call is not kept"), (peer.call("exec", command="echo $D", env={"D": "4"})["stdout"],
    peer.call("exec", command="echo ${D-none}")["stdout"]), ("4\n", "none\n"))

# The policy judges what a call asks, as it judges --env.
for variable in ("OPENAI_API_KEY", "LD_PRELOAD", "openai_api_key", "BASH_ENV"):
    is_(name("U05 U10 U19 %s is refused in a call (HLC-05)" % variable),
        peer.code("exec", command="true", env={variable: "s3cret-value-77"}), "HLC-05")
is_(name("a protected name is refused in the state (HLC-05)"), peer.code("state", set={"ANTHROPIC_TOKEN": "x"}), "HLC-05")
is_(name("a fixed value stays (HLC-40)"), peer.code("exec", command="true", env={"FIXED": "other"}), "HLC-40")
is_(name("a plain name passes"), peer.call("exec", command="echo $PLAIN", env={"PLAIN": "yes"})["stdout"], "yes\n")

# Nobody can make the launcher keep more than a bounded amount.
number = peer.send("exec", command="sleep 66", stdin=True)
waiting = [peer.send("stdin", call=number, data="z" * 900000) for _ in range(8)]
codes = [peer.answer(w, 5)["error"]["data"]["code"] for w in waiting[6:]]
is_(name("HLU-27 more input than is kept"), codes, ["HLU-27", "HLU-27"])
peer.call("cancel", call=number)
peer.answer(number)
peer.answers.clear()

# What is not understood is refused, and nothing of it is done.
is_(name("HLU-20 an unknown parameter"), peer.code("exec", command="true", sandbox=False), "HLU-20")
is_(name("HLU-20 command and argv"), peer.code("exec", command="true", argv=["true"]), "HLU-20")
is_(name("HLU-20 a wrong type"), peer.code("exec", command=7), "HLU-20")
is_(name("HLU-20 a text with a NUL"), peer.code("exec", command="true\0; id"), "HLU-20")
is_(name("HLU-20 bad base64"), peer.code("exec", command="cat", stdin={"b64": "a==="}), "HLU-20")
is_(name("HLU-26 an unknown call"), peer.code("cancel", call=4711), "HLU-26")
for line, want in ((b"{", -32700), (b"[]", -32600), (b'{"id":1}', -32600), (b'{"jsonrpc":"2.0","id":1,"method":"x"}', -32601),
                   (b'{"jsonrpc":"2.0","id":1,"id":2,"method":"exec"}', -32700), (b"[" * 40 + b"]" * 40, -32700),
                   (b'{"jsonrpc":"2.0","id":{},"method":"exec"}', -32600), (b'{"jsonrpc":"2.0","method":"exec"}', -32600)):
    peer.answers.clear()
    peer.send_line(line)
    while not peer.answers and peer.step(5):
        pass
    is_(name("JSON-RPC error of %r" % line[:40]), [a["error"]["code"] for a in peer.answers.values()], [want])
peer.answers.clear()
is_(name("and the session goes on"), peer.call("exec", command="echo on")["stdout"], "on\n")

# The end of standard input is the end of the session, with everything in it.
peer.send("exec", command=sleep(64))
is_(name("end of input: exit status 0"), peer.end(), 0)
is_(name("end of input: nothing is left"), os.system("pgrep -fx 'sleep 6[1-4][.]%d' >/dev/null" % os.getpid()) != 0, True)

# close that waits lets calls end by themselves.
peer = open_session()
number = peer.send("exec", command="sleep 0.5; echo late")
peer.send("close", wait=True)
peer.process.stdin.close()
is_(name("close and wait"), peer.answer(number)["result"]["stdout"], "late\n")
is_(name("close: exit status 0"), peer.end(), 0)

# A line without end.
peer = open_session()
try:
    peer.send_line(b"x" * (1 << 21))
except BrokenPipeError:
    pass
answer = peer.answer(None)
is_(name("a line longer than 1 MiB is told"), (answer["error"]["data"]["code"], "1 MiB" in answer["error"]["message"]), ("HLU-20", True))
is_(name("a line longer than 1 MiB ends the session"), peer.end(), 0)

# A wall limit of the policy is not to be raised.
peer = Peer([launch, "session", "-q", "--policy", tight])
is_(name("a timeout past limits.wall is refused (HLC-30)"), peer.code("exec", command="true", timeout="1h"), "HLC-30")
r = peer.call("exec", command="sleep 65")
is_(name("limits.wall ends a call, and not the session"), (r["how"], peer.call("exec", command="echo on")["stdout"]),
    ("timed_out", "on\n"))
is_(name("TERM ends the session with 143"), (peer.process.terminate(), peer.end())[1], 143)

done()
