#!/usr/bin/env python3
"""Many calls over many sessions, some of them killed, cancelled or timed out, some launchers killed: then
nothing may be left. Prints TAP.

    session.py LAUNCHER POLICY CALLS SESSIONS [SEED]
"""
import glob
import os
import random
import re
import sys
import threading
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
from session import Peer, done, is_, ok  # noqa: E402

MARK = "86399.%d" % os.getpid()  # what the sleepers of this run sleep


def groups():
    return set(glob.glob("/sys/fs/cgroup/*/hermes-launch/*/") + glob.glob("/sys/fs/cgroup/hermes-launch/*/"))


def mounts():
    with open("/proc/self/mountinfo") as file:
        return len(file.readlines())


def names():
    """of processes that could be ours"""
    found = []
    for path in glob.glob("/proc/[0-9]*/cmdline"):
        try:
            with open(path, "rb") as file:
                text = file.read().replace(b"\0", b" ").decode(errors="replace")
        except OSError:
            continue
        if MARK in text and "session.py" not in text:
            found.append(text)
    return found


def handles(pid):
    """descriptors of a launcher, which is not dumpable: only root may look into it"""
    return len(os.listdir("/proc/%d/fd" % pid)) if os.geteuid() == 0 else None


# Each: how it is asked, and what its end may be.
CALLS = [
    (dict(command="true"), {"exited"}),
    (dict(command="export N=$((${N-0} + 1)); cd /tmp; echo $N"), {"exited"}),
    (dict(command="exit 7"), {"exited"}),
    (dict(command="kill -9 $$"), {"signaled"}),
    (dict(command="sleep %s" % MARK, timeout="50ms"), {"timed_out"}),
    (dict(command="(setsid sleep %s & ) ; trap '' TERM; sleep %s" % (MARK, MARK), timeout="50ms"), {"timed_out"}),
    (dict(command="head -c 300000 /dev/zero"), {"exited"}),
    (dict(argv=["/bin/false"]), {"exited"}),
    (dict(argv=["/no/such/program"]), {"launcher_error"}),
]


class Worker(threading.Thread):
    """One session after another, until its share of the calls is done."""

    def __init__(self, start, calls, seed):
        super().__init__()
        self.begin, self.calls, self.chance = start, calls, random.Random(seed)
        self.wrong, self.killed, self.grown, self.status = [], 0, 0, None

    def open(self):
        self.peer = Peer(self.begin)
        self.peer.call("exec", command="true")
        self.first = handles(self.peer.process.pid)

    def one(self):
        if self.chance.random() < 0.02:
            asked = self.peer.send("exec", command="sleep %s" % MARK)
            self.peer.ask("cancel", call=asked)
            return "cancel", self.peer.answer(asked).get("result", {}), {"cancelled"}
        params, ends = self.chance.choice(CALLS)
        return params, self.peer.call("exec", **params), ends

    def run(self):
        self.open()
        for _ in range(self.calls):
            if self.chance.random() < 0.002:
                self.peer.process.kill()
                self.peer.process.wait()
                self.killed += 1
                self.open()
            asked, answer, ends = self.one()
            if answer.get("how") not in ends:
                self.wrong.append((asked, answer))
        if self.first is not None:
            self.grown = handles(self.peer.process.pid) - self.first
        self.status = self.peer.end()


def main(launcher, policy, calls, sessions, seed):
    print("# seed %d" % seed)
    groups_before, mounts_before = groups(), mounts()
    files_before = os.listdir("/tmp") + os.listdir("/var/tmp")
    start = [launcher, "session", "--policy", policy]
    workers = [Worker(start, calls // sessions, seed + n) for n in range(sessions)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    is_("%d calls over %d sessions end as they must, %d launchers killed" % (
        calls, sessions, sum(worker.killed for worker in workers)),
        [wrong for worker in workers for wrong in worker.wrong][:3], [])
    if os.geteuid() == 0:
        is_("no descriptor is left in a launcher", [w.grown for w in workers if w.grown > 1], [])
    is_("every session ends well", {worker.status for worker in workers}, {0})
    for _ in range(100):
        if not names() and groups() <= groups_before:
            break
        time.sleep(0.1)
    is_("no process is left", names(), [])
    is_("no control group is left", groups() - groups_before, set())
    ok("no mount is left", mounts() <= mounts_before)
    left = [name for place in ("/tmp", "/var/tmp") for name in os.listdir(place)
            if re.match(r"(hermes|hl)(?!.*(-test|-bench)\.)", name)]
    is_("no temporary file is left", sorted(set(left) - set(files_before)), [])
    done()


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4]),
         int(sys.argv[5]) if len(sys.argv) > 5 else random.SystemRandom().randrange(1 << 30))
