#!/usr/bin/env python3
"""What a container costs through the launcher, beside the engine's own client. Interleaved; prints and
never fails by time.

    docker.py start|calls|crowd LAUNCHER POLICY SOCKET [NUMBER]
"""
import json
import os
import statistics
import subprocess
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "tests", "lib"))
from rows import row  # noqa: E402
from session import Peer  # noqa: E402

QUIET = {"stdin": subprocess.DEVNULL, "stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
WARM_UP = 2


class Engine:
    """the client's side: the same container, by the command line that explain prints"""

    def __init__(self, launcher, policy, socket):
        text = subprocess.run([launcher, "explain", "--format", "json", "--policy", policy, "--", "true"],
                              check=True, capture_output=True).stdout
        argv = json.loads(text)["argv"]
        at = argv.index("--name")
        del argv[at:at + 2]
        # Without its label: nobody's sweep is to touch what is measured.
        while "--label" in argv:
            at = argv.index("--label")
            del argv[at:at + 2]
        argv.insert(argv.index("run") + 1, "--detach")
        self.run_argv = argv
        self.docker = ["docker", "-H", "unix://" + socket]

    def start(self):
        begin = time.perf_counter()
        done = subprocess.run(self.run_argv, check=True, stdin=subprocess.DEVNULL, capture_output=True)
        return time.perf_counter() - begin, done.stdout.decode().strip()

    def call(self, container, *argv):
        begin = time.perf_counter()
        subprocess.run([*self.docker, "exec", container, *argv], check=True, **QUIET)
        return time.perf_counter() - begin

    def remove(self, *containers):
        subprocess.run([*self.docker, "rm", "--force", *containers], check=True, **QUIET)


def launched(launcher, policy):
    """until the command's first byte, and until nothing is left"""
    begin = time.perf_counter()
    run = subprocess.Popen([launcher, "-q", "--policy", policy, "--", "/bin/sh", "-c", "echo; read x; true"],
                           stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    if os.read(run.stdout.fileno(), 1) != b"\n":
        sys.exit("a run failed")
    started = time.perf_counter() - begin
    begin = time.perf_counter()
    run.stdin.close()
    run.wait()
    return started, time.perf_counter() - begin


def head(base):
    print("| what | min ms | median ms | p95 ms | x %s |" % base)
    print("|---|---|---|---|---|")


def start(launcher, policy, socket, rounds=30):
    engine = Engine(launcher, policy, socket)
    launched(launcher, policy)  # keeps what the bare command line names: runner, profile
    ours, theirs = [], []
    for turn in range(rounds + WARM_UP):
        took, container = engine.start()
        engine.remove(container)
        started, _ = launched(launcher, policy)
        if turn >= WARM_UP:
            theirs.append(took)
            ours.append(started)
    head("`docker run -d`")
    row("`docker run -d` of the same container, idle", theirs, theirs, 1e3, 95)
    row("hermes-launch, to the command's first byte", ours, theirs, 1e3, 95)


def calls(launcher, policy, socket, rounds=30):
    engine = Engine(launcher, policy, socket)
    peer = Peer([launcher, "session", "-q", "--policy", policy])
    peer.call("exec", command="true")
    container = engine.start()[1]
    theirs, kept, plain = [], [], []
    for turn in range(rounds + WARM_UP):
        took = [engine.call(container, "/bin/bash", "-c", "true")]
        for how in ({"command": "true"}, {"argv": ["/bin/bash", "-c", "true"]}):
            begin = time.perf_counter()
            answer = peer.call("exec", **how)
            took.append(time.perf_counter() - begin)
            if answer.get("status") != 0:
                sys.exit("a call failed: %r" % answer)
        if turn >= WARM_UP:
            for times, one in zip((theirs, kept, plain), took):
                times.append(one)
    peer.end()
    engine.remove(container)
    head("`docker exec`")
    row("`docker exec bash -c true`", theirs, theirs, 1e3, 95)
    row("session call, state kept", kept, theirs, 1e3, 95)
    row("session call, argv", plain, theirs, 1e3, 95)
    print()
    print("a session call is %.0f times as fast as `docker exec`" % (
        statistics.median(theirs) / statistics.median(kept)))


def crowd(launcher, policy, socket, number=50):
    engine = Engine(launcher, policy, socket)
    begin = time.perf_counter()
    clients = [subprocess.Popen(engine.run_argv, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                stderr=subprocess.DEVNULL) for _ in range(number)]
    containers = [client.communicate()[0].decode().strip() for client in clients]
    theirs = time.perf_counter() - begin
    if any(client.returncode for client in clients):
        sys.exit("a client failed")
    engine.remove(*containers)
    begin = time.perf_counter()
    runs = [subprocess.Popen([launcher, "-q", "--policy", policy, "--", "/bin/sh", "-c", "echo; read x; true"],
                             stdin=subprocess.PIPE, stdout=subprocess.PIPE) for _ in range(number)]
    if any(os.read(run.stdout.fileno(), 1) != b"\n" for run in runs):
        sys.exit("a run failed")
    ours = time.perf_counter() - begin
    for run in runs:
        run.stdin.close()
    if any(run.wait() for run in runs):
        sys.exit("a run failed")
    gone = time.perf_counter() - begin - ours
    print("%d at once: `docker run -d` %.1f s; hermes-launch %.1f s until every command had begun (%.2f x), "
          "%.1f s until nothing of them was left" % (number, theirs, ours, ours / theirs, gone))


if __name__ == "__main__":
    number = [int(sys.argv[5])] if len(sys.argv) > 5 else []
    {"start": start, "calls": calls, "crowd": crowd}[sys.argv[1]](*sys.argv[2:5], *number)
