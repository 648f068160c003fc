#!/usr/bin/env python3
"""What a session costs, beside what it would be without one. Interleaved; prints and never fails by time.

    session.py calls|output|idle|crowd LAUNCHER POLICY [NUMBER]
"""
import ctypes
import os
import statistics
import subprocess
import sys
import time

from calls import BASH, asked, beside, start


def bare(command):
    begin = time.perf_counter()
    os.waitpid(os.posix_spawn(BASH, [BASH, "-c", command], os.environ), 0)
    return time.perf_counter() - begin


def calls(launcher, policy, rounds=300):
    peer = start(launcher, policy)
    beside("bare `bash -c true`", lambda: bare("true"), peer, rounds, 1e6, 99)
    peer.end()


KCMP = {"x86_64": 312, "aarch64": 272}[os.uname().machine]
KCMP_VM = 1
libc = ctypes.CDLL(None)


def is_shared(one, other):
    """Whether two processes have one address space: what a clone with CLONE_VM is counted with."""
    return libc.syscall(KCMP, one, other, KCMP_VM, 0, 0) == 0


def memory(pid, parent=0):
    """proportional set size of a process and its descendants, KiB"""
    total = 0
    try:
        if not parent or not is_shared(pid, parent):
            with open("/proc/%d/smaps_rollup" % pid) as file:
                total = sum(int(line.split()[1]) for line in file if line.startswith("Pss:"))
        for task in os.listdir("/proc/%d/task" % pid):
            with open("/proc/%d/task/%s/children" % (pid, task)) as file:
                total += sum(memory(int(child), pid) for child in file.read().split())
    except OSError:
        pass
    return total


def peak(pid):
    with open("/proc/%d/status" % pid) as file:
        return next(int(line.split()[1]) for line in file if line.startswith("VmHWM:"))


def through_pipe(command):
    begin = time.perf_counter()
    reader = subprocess.Popen([BASH, "-c", command], stdout=subprocess.PIPE)
    total = 0
    while True:
        piece = os.read(reader.stdout.fileno(), 1 << 16)
        if not piece:
            break
        total += len(piece)
    reader.wait()
    return total / (time.perf_counter() - begin)


def output(launcher, policy, size=1 << 30):
    command = "head -c %d /dev/zero" % size
    peer = start(launcher, policy)
    rates, pipes = [], []
    for _ in range(3):
        pipes.append(through_pipe(command))
        rates.append(size / asked(peer, command=command))
    print("| what | MiB/s | x pipe | launcher's peak KiB |")
    print("|---|---|---|---|")
    print("| pipe | %.0f | 1.00 | - |" % (statistics.median(pipes) / 2**20))
    print("| session, %d MiB | %.0f | %.2f | %d |" % (
        size >> 20, statistics.median(rates) / 2**20,
        statistics.median(rates) / statistics.median(pipes), peak(peer.process.pid)))
    peer.end()


def idle(launcher, policy, _=0):
    peer = start(launcher, policy)
    time.sleep(1)
    print("idle session: %d KiB (launcher, runner and what belongs to them; proportional set size)"
          % memory(peer.process.pid))
    peer.end()


def crowd(launcher, policy, number=1000):
    peers = [start(launcher, policy) for _ in range(number)]
    times = []
    for turn in range(3):
        for peer in peers[turn::3]:
            times.append(asked(peer, command="true"))
    times.sort()
    print("%d idle sessions: call median %.1f ms, p99 %.1f ms; %d KiB each" % (
        number, statistics.median(times) * 1e3, times[len(times) * 99 // 100] * 1e3,
        sum(memory(peer.process.pid) for peer in peers[:50]) / min(50, number)))
    for peer in peers:
        peer.process.stdin.close()
    for peer in peers:
        peer.process.wait(60)


if __name__ == "__main__":
    number = [int(sys.argv[4])] if len(sys.argv) > 4 else []
    {"calls": calls, "output": output, "idle": idle, "crowd": crowd}[sys.argv[1]](
        sys.argv[2], sys.argv[3], *number)
