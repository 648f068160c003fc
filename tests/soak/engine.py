#!/usr/bin/env python3
"""Many calls over sessions in containers, some of them killed or timed out, some launchers killed, the
engine itself ended and started again: what is told of each call is true, no command runs twice, and gc
leaves nothing. Prints what it checked for tests/lib/tap.sh.

    engine.py LAUNCHER POLICY ENGINE_PID CALLS SESSIONS RESTARTS [SEED]

ENGINE_PID is a dockerd that may be ended; the file engine.pid in the working directory names its last
successor. Each command writes a word of its own to the file "words" of the working directory.
"""
import json
import os
import random
import signal
import subprocess
import sys
import threading
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
from session import Peer, done, is_, ok  # noqa: E402

MARK = "86398.%d" % os.getpid()  # what the sleepers of this run sleep
WORDS = "words"

# Each: what follows the word, more of the question, and what its end may be.
CALLS = [
    ("true", {}, "exited"),
    ("export N=$((${N-0} + 1)); cd /tmp; echo $N", {}, "exited"),
    ("exit 7", {}, "exited"),
    ("kill -9 $$", {}, "signaled"),
    ("sleep %s" % MARK, {"timeout": "50ms"}, "timed_out"),
    ("(setsid sleep %s & ) ; trap '' TERM; sleep %s" % (MARK, MARK), {"timeout": "50ms"}, "timed_out"),
    ("head -c 300000 /dev/zero", {}, "exited"),
]


class Engine:
    """dockerd, and when it could not be relied upon."""

    def __init__(self, pid):
        self.pid, self.process = pid, None
        with open("/proc/%d/cmdline" % pid, "rb") as file:
            self.argv = file.read().split(b"\0")[:-1]
        self.socket = self.argv[self.argv.index(b"--host") + 1].decode()
        # A number of a process that nobody has reaped yet would be taken for one that lives.
        self.pidfiles = [self.argv[self.argv.index(b"--pidfile") + 1].decode(),
                         self.argv[self.argv.index(b"--exec-root") + 1].decode() + "/containerd/containerd.pid"]
        self.outages = []  # [from, to], to is None while it lasts
        self.is_through = False  # it will not be ended again

    def docker(self, *args):
        return subprocess.run(["docker", "-H", self.socket, *args], stdout=subprocess.PIPE,
                              stderr=subprocess.DEVNULL, text=True, timeout=120)

    def is_up(self):
        return self.docker("version").returncode == 0

    def gone(self):
        if self.process is not None:
            return self.process.poll() is not None
        return not os.path.exists("/proc/%d" % self.pid)

    def restart(self, how):
        outage = [time.monotonic(), None]
        self.outages.append(outage)
        os.kill(self.pid, how)
        while not self.gone():
            time.sleep(0.05)
        for path in self.pidfiles:
            if os.path.exists(path):
                os.unlink(path)
        self.process = subprocess.Popen(self.argv, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                                        stderr=subprocess.DEVNULL, start_new_session=True)
        self.pid = self.process.pid
        with open("engine.pid", "w") as file:
            file.write("%d\n" % self.pid)
        while not self.is_up():
            if self.gone():
                raise SystemExit("the engine did not come up again")
            time.sleep(0.1)
        outage[1] = time.monotonic()

    def was_out(self, since):
        """also a moment later: what an engine finds of its containers it finds when it is up"""
        return any(to is None or to + 5 > since for _, to in self.outages)


class Worker(threading.Thread):
    """One session after another, until its share of the calls is done and the engine was ended for the last time."""

    def __init__(self, start, engine, calls, seed):
        super().__init__(daemon=True)
        self.begin, self.engine, self.calls, self.chance = start, engine, calls, random.Random(seed)
        self.seed, self.peer, self.wrong, self.killed, self.lost = seed, None, [], 0, 0
        self.number, self.ran, self.perhaps, self.is_through = 0, [], [], False

    def open(self):
        """a session that answers; while the engine is out there is none"""
        while True:
            since = time.monotonic()
            self.peer = Peer(self.begin, stderr=subprocess.PIPE)
            answer = self.ask({"command": "true"})
            if answer.get("how") == "exited":
                return
            self.close()
            if not self.engine.was_out(since):
                self.wrong.append(("open", answer))
                return
            time.sleep(0.3)

    def close(self):
        self.peer.end(30)
        self.peer.process.stderr.close()

    def ask(self, params):
        try:
            return self.peer.answer(self.peer.send("exec", **params), 60).get("result", {})
        except (BrokenPipeError, ValueError):
            return {"how": "none"}

    def one(self, number):
        word = "%d-%d" % (self.seed, number)
        rest, more, end = self.chance.choice(CALLS)
        since = time.monotonic()
        answer = self.ask({"command": "echo %s >>\"$WORDS\"; %s" % (word, rest), **more})
        if answer.get("how") == end:
            # The time of one that was ended by it may have been over before its first word.
            (self.perhaps if end == "timed_out" else self.ran).append(word)
            return
        # Not as it must be: then the engine was out, and the word may be there or not.
        self.perhaps.append(word)
        self.lost += 1
        if not self.engine.was_out(since):
            self.wrong.append((rest, answer))
        self.close()
        self.open()

    def run(self):
        self.open()
        while self.number < self.calls or not self.engine.is_through:
            self.number += 1
            time.sleep(self.chance.uniform(0, 0.1))
            if self.chance.random() < 0.02:
                self.peer.process.kill()
                self.close()
                self.killed += 1
                self.open()
            self.one(self.number)
        self.close()
        self.is_through = True


def wait_for_calls(workers, number):
    """as many of each conversation: what is ended shall have been at work"""
    begin = [worker.number for worker in workers]
    end = time.monotonic() + 120
    while time.monotonic() < end and any(
            worker.number < first + number for worker, first in zip(workers, begin)):
        time.sleep(0.05)


def sleepers():
    return subprocess.run(["pgrep", "-fx", "sleep %s" % MARK], stdout=subprocess.PIPE, text=True).stdout.split()


def told_truly(workers):
    with open(WORDS) as file:
        words = file.read().split()
    is_("no command ran twice", sorted({word for word in words if words.count(word) > 1}), [])
    ran = {word for worker in workers for word in worker.ran}
    is_("what was said to have run did", sorted(ran - set(words)), [])
    may = ran | {word for worker in workers for word in worker.perhaps}
    is_("what was not asked for did not", sorted(set(words) - may), [])


def nothing_left(launcher, engine):
    for _ in range(5):
        gc = subprocess.run([launcher, "gc"], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        asked = engine.docker("ps", "-aq", "--filter", "label=dev.hermes-launch.managed=1")
        # An engine that does not answer has not said that none is.
        left = asked.stdout.split() if asked.returncode == 0 else ["the engine does not answer"]
        if not left and not sleepers():
            break
        time.sleep(1)
    is_("gc ends well", (gc.returncode, gc.stdout if gc.returncode else ""), (0, ""))
    is_("no container is left", left, [])
    is_("no process is left", sleepers(), [])


def main(launcher, policy, engine, calls, sessions, restarts, seed):
    print("# seed %d" % seed)
    open(WORDS, "w").close()
    os.chmod(WORDS, 0o666)
    start = [launcher, "session", "--policy", policy]
    chance = random.Random(seed)
    workers = [Worker(start, engine, calls // sessions, seed + n) for n in range(sessions)]
    for worker in workers:
        worker.start()
    for turn in range(restarts):
        wait_for_calls(workers, 3)
        time.sleep(chance.uniform(0, 1))
        engine.restart(signal.SIGTERM if turn % 2 else signal.SIGKILL)
    engine.is_through = True
    for worker in workers:
        worker.join()
    print("# %d launchers killed, %d engines ended, %d calls lost with them" % (
        sum(worker.killed for worker in workers), len(engine.outages), sum(worker.lost for worker in workers)))
    ok("each conversation came to its end", all(worker.is_through for worker in workers))
    ok("the engine was ended under the sessions", sum(worker.lost for worker in workers) > 0)
    is_("%d calls over %d sessions end as they must" % (sum(worker.number for worker in workers), sessions),
        [json.dumps(wrong) for worker in workers for wrong in worker.wrong][:3], [])
    told_truly(workers)
    nothing_left(launcher, engine)
    done()


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], Engine(int(sys.argv[3])), int(sys.argv[4]), int(sys.argv[5]), int(sys.argv[6]),
         int(sys.argv[7]) if len(sys.argv) > 7 else random.SystemRandom().randrange(1 << 30))
