"""Two sessions get the same commands; in the second an alias stands in the way of the shorter way."""
import os
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "lib"))
from session import Peer, done, is_, ok  # noqa: E402

caller, launch, policy = sys.argv[1:4]

COMMANDS = [
    "true",
    "false",
    "pwd",
    "echo a b",
    "ls / | sort | head -n 3",
    "false && echo no || echo yes",
    "false; true",
    "true; false",
    "no-such-program",
    "/etc/passwd",
    "cat <no-such-file",
    "echo out >&2",
    "ls no-such-file 2>&1",
    "echo one >f1; echo two >>f1; cat f1",
    "sh -c 'exit 42'",
    "sh -c 'kill -TERM $$'",
    "sh -c 'kill -KILL $$'; echo behind",
    "sh -c 'cd /; pwd'",
    "env -u SHLVL -u _ | sort",
    "sh -c 'echo $KEPT $GONE'",
    "echo \"$KEPT\" $KEPT '$KEPT'",
    "echo *1 ?1 [f]1 ~",
    "mkdir d1\nmv d1 d2\nls -d d?",
    "env KEPT=other sh -c 'echo $KEPT'",
    "head -c 300000 /dev/zero | wc -c",
    "rmdir /no/such; pwd;",
    "export N=1",
    "test -v BASH_VERSINFO[N=N+1]",
    "sh -c 'cat /proc/self/umask 2>/dev/null; umask'",
]
# What a session has been told before: variables set and unset, a directory behind a symbolic link.
BEFORE = [
    "mkdir -p real; ln -sfn real link; cd link",
    "export KEPT='a  b' GONE=1",
    "unset GONE",
]


def name(text):
    return "%s: %s" % (caller, text)


def began(*more):
    peer = Peer([launch, "session", "-q", "--policy", policy], stderr=subprocess.DEVNULL)
    for command in [*BEFORE, *more]:
        is_(name("before: %s" % command), peer.call("exec", command=command)["status"], 0)
    return peer


def seen(peer, command):
    r = peer.call("exec", command=command)
    after = peer.call("exec", command="cd .; pwd; export -p | grep -v SHLVL; rm -rf f1 d2")
    return [r["status"], r["how"], r["stdout"], r["stderr"], r.get("cwd"), r["state"]["kept"] if isinstance(
        r.get("state"), dict) else r.get("state"), after["stdout"]]


short, long = began(), began("alias hl_none=true")
PIPE = "sh -c 'test -p /proc/self/fd/99'"
PARENT = "sh -c 'cat /proc/$PPID/comm'"
is_(name("the short way: the program is in bash's place"), short.call("exec", command=PARENT)["stdout"],
    "hermes-runner\n")
is_(name("the long way: bash is there"), long.call("exec", command=PARENT)["stdout"], "bash\n")
is_(name("the short way: no pipe of ours"), short.call("exec", command=PIPE)["status"], 1)
is_(name("the long way: there is one"), long.call("exec", command=PIPE)["status"], 0)
for command in COMMANDS:
    one, two = seen(short, command), seen(long, command)
    # bash tells of a program of its own that a signal ended, and ends by 128 and its number; where the
    # program took its place the signal is what ended the command.
    if command == "sh -c 'kill -TERM $$'":
        is_(name("a signal is told as one"), (one[1], two[1]), ("signaled", "exited"))
        one[1] = two[1]
    if "kill" in command:
        one[3] = two[3] = None
    is_(name("the same: %s" % command.replace("\n", "; ")), one, two)

# What comes behind is kept in both.
for peer in short, long:
    peer.call("exec", command="true")
    peer.call("exec", command="export LATER=1; cd /tmp")
    peer.call("exec", command="ls")
    is_(name("what a later command changes is kept"), peer.call("exec", command="pwd; echo $LATER")["stdout"],
        "/tmp\n1\n")
    r = peer.call("exec", command="sleep 30", timeout="300ms")
    is_(name("the wall ends it"), r["how"], "timed_out")
    is_(name("and the state is as it was"), peer.call("exec", command="pwd; echo $LATER")["stdout"], "/tmp\n1\n")
ok(name("both end"), short.end() == 0 and long.end() == 0)
done()
