"""A person at `hermes-launch shell`: arguments are the caller's name, the launcher and a policy."""
import fcntl
import os
import pty
import select
import struct
import sys
import termios
import time

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "lib"))
from session import done, is_, like, ok  # noqa: E402

caller, launch, policy = sys.argv[1:4]


def name(text):
    return "%s: %s" % (caller, text)


class Terminal:
    """The launcher as the only program on a terminal, with a shell-like parent that stays."""

    def __init__(self, *argv):
        self.master, slave = pty.openpty()
        fcntl.ioctl(self.master, termios.TIOCSWINSZ, struct.pack("HHHH", 30, 90, 0, 0))
        self.before = termios.tcgetattr(self.master)
        self.slave = slave
        self.pid = os.fork()
        if self.pid == 0:
            os.setsid()
            fcntl.ioctl(slave, termios.TIOCSCTTY, 0)
            for fd in range(3):
                os.dup2(slave, fd)
            os.execv(argv[0], argv)
        self.text = ""

    def wait_for(self, piece, seconds=10):
        end = time.monotonic() + seconds
        while piece not in self.text:
            left = end - time.monotonic()
            if left <= 0 or not select.select([self.master], [], [], left)[0]:
                return False
            try:
                self.text += os.read(self.master, 65536).decode(errors="replace")
            except OSError:
                return False
        return True

    def type(self, text):
        self.text = ""
        os.write(self.master, text.encode())

    def status(self):
        end = time.monotonic() + 15
        while time.monotonic() < end:
            self.wait_for("\0", 0.05)
            pid, status = os.waitpid(self.pid, os.WNOHANG)
            if pid:
                return os.waitstatus_to_exitcode(status)
        return "still there"

    def is_as_before(self):
        return termios.tcgetattr(self.master) == self.before


def shell(*more):
    return Terminal(launch, "shell", "-q", "--policy", policy, *more)


t = shell()
ok(name("shell: a prompt"), t.wait_for("$ "), t.text)
ok(name("shell: our own terminal is raw"), not t.is_as_before())
t.type("tty; stty size; echo $((6 * 7))\n")
ok(name("shell: a terminal of its own, of our size"), t.wait_for("42") and "/dev/pts/" in t.text and "30 90" in t.text, t.text)
fcntl.ioctl(t.master, termios.TIOCSWINSZ, struct.pack("HHHH", 41, 101, 0, 0))
os.kill(t.pid, 28)
time.sleep(0.3)
t.type("stty size; echo $((7 * 9))\n")
ok(name("shell: its size follows ours"), t.wait_for("63") and "41 101" in t.text, t.text)
t.type("sleep 81\n")
time.sleep(0.7)
t.type("\x1a")
ok(name("shell: job control stops a job"), t.wait_for("Stopped"), t.text)
t.type("fg\n")
time.sleep(0.5)
t.type("\x03")
time.sleep(0.3)
t.type("echo status $?\n")
ok(name("shell: interrupt ends the job and not the shell"), t.wait_for("status 130"), t.text)
t.type("kill -s TERM $$; echo alive $((1 + 1))\n")
ok(name("shell: an interactive bash does not mind TERM"), t.wait_for("alive 2"), t.text)
t.type("exit 7\n")
is_(name("shell: exit status"), t.status(), 7)
ok(name("shell: the terminal is as it was"), t.is_as_before())

t = shell()
t.wait_for("$ ")
os.kill(t.pid, 15)
is_(name("shell: TERM from outside ends it"), t.status(), 130)
ok(name("shell: the terminal is as it was after TERM"), t.is_as_before())

t = shell()
t.wait_for("$ ")
os.kill(t.pid, 11)
is_(name("shell: a fatal signal"), t.status(), -11)
ok(name("shell: the terminal is as it was after a fatal signal"), t.is_as_before())

t = shell("--name", "term")
ok(name("shell in a named session: a prompt"), t.wait_for("$ "), t.text)
t.type("echo mark >/tmp/m; sleep 82\n")
time.sleep(0.7)
os.close(t.master)
os.close(t.slave)
end = time.monotonic() + 10
while time.monotonic() < end and os.system("pgrep -fx 'sleep 82' >/dev/null") == 0:
    time.sleep(0.1)
ok(name("shell in a named session: a lost terminal ends what ran on it"), os.system("pgrep -fx 'sleep 82' >/dev/null") != 0)
try:
    os.waitpid(t.pid, 0)
except ChildProcessError:
    pass
t = shell("--name", "term")
t.wait_for("$ ")
t.type("cat /tmp/m; exit 0\n")
ok(name("and the session goes on"), t.wait_for("mark"), t.text)
is_(name("with its own status"), t.status(), 0)

done()
