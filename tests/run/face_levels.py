"""Every face at one level: arguments are the level's name, the launcher and a policy."""
import os
import pty
import select
import subprocess
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "lib"))
from session import Peer, done, is_, like  # noqa: E402

level, launch, policy = sys.argv[1:4]
# Calculated, so that an echo of what was asked is no answer.
COMMAND = "echo $((6 * 7))-at-$LEVEL"
ANSWER = "42-at-" + level


def argv(face, *more):
    return [launch, face, "-q", "--policy", policy, *more]


def printed(*words):
    done = subprocess.run(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                          stdin=subprocess.DEVNULL, timeout=60)
    return done.stdout.decode() or done.stderr.decode()


def by_session():
    peer = Peer(argv("session"))
    result = peer.call("exec", command=COMMAND)
    return result.get("stdout", str(result)), peer.end()


def by_mcp():
    peer = Peer(argv("mcp"))
    peer.call("initialize", protocolVersion="2024-11-05", capabilities={},
              clientInfo={"name": "levels", "version": "1"})
    peer.send_line(b'{"jsonrpc":"2.0","method":"notifications/initialized"}')
    result = peer.call("tools/call", name="terminal", arguments={"command": COMMAND})
    return str(result), peer.end()


def by_shell():
    pid, terminal = pty.fork()
    if pid == 0:
        os.execv(launch, argv("shell"))
    os.write(terminal, (COMMAND + "; exit 0\n").encode())
    text, end = "", time.monotonic() + 30
    while time.monotonic() < end and select.select([terminal], [], [], 30)[0]:
        try:
            text += os.read(terminal, 65536).decode(errors="replace")
        except OSError:  # the other end is closed
            break
    return text, os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])


is_(level + ": run of a program", printed(*argv("run", "--", "bash", "-c", COMMAND)), ANSWER + "\n")
is_(level + ": run of a text", printed(*argv("run", "-c", COMMAND)), ANSWER + "\n")
is_(level + ": run in a named session",
    printed(*argv("run", "--name", level, "-c", COMMAND)), ANSWER + "\n")
is_(level + ": stop", subprocess.call([launch, "stop", level], stdout=subprocess.DEVNULL), 0)
for face in by_session, by_mcp, by_shell:
    text, status = face()
    like("%s: %s" % (level, face.__name__[3:]), text, ANSWER)
    is_("%s: the end of %s" % (level, face.__name__[3:]), status, 0)
done()
