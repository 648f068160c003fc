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

from calls import BASH, asked, beside, start as session
from rows import head, row

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


def begun(launcher, policy):
    """a run whose command writes one byte, and ends when its input does"""
    return subprocess.Popen([launcher, "-q", "--policy", policy, "--", "/bin/sh", "-c", "echo; read x; true"],
                            stdin=subprocess.PIPE, stdout=subprocess.PIPE)


def first_byte(*runs):
    if any(os.read(run.stdout.fileno(), 1) != b"\n" for run in runs):
        sys.exit("a run failed")


def end(*runs):
    for run in runs:
        run.stdin.close()
    if any(run.wait() for run in runs):
        sys.exit("a run failed")


def launched(launcher, policy):
    """until the command's first byte"""
    begin = time.perf_counter()
    run = begun(launcher, policy)
    first_byte(run)
    took = time.perf_counter() - begin
    end(run)
    return took


def start(launcher, policy, socket, rounds=30):
    engine = Engine(launcher, policy, socket)
    launched(launcher, policy)  # keeps what the bare command line names: runner, profile
    ours, theirs = [], []
    for turn in range(rounds + WARM_UP):
        took, container = engine.start()
        engine.remove(container)
        started = launched(launcher, policy)
        if turn >= WARM_UP:
            theirs.append(took)
            ours.append(started)
    head("`docker run -d`", 1e3, 95)
    row("`docker run -d` of the same container, idle", theirs, theirs, 1e3, 95)
    row("hermes-launch, to the command's first byte", ours, theirs, 1e3, 95)


def calls(launcher, policy, socket, rounds=30):
    engine = Engine(launcher, policy, socket)
    peer = session(launcher, policy)
    container = engine.start()[1]

    def execute():
        return engine.call(container, BASH, "-c", "true")

    for _ in range(WARM_UP):
        execute()
        asked(peer, command="true")
        asked(peer, argv=[BASH, "-c", "true"])
    theirs, kept = beside("`docker exec bash -c true`", execute, peer, rounds, 1e3, 95)
    peer.end()
    engine.remove(container)
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
    runs = [begun(launcher, policy) for _ in range(number)]
    first_byte(*runs)
    ours = time.perf_counter() - begin
    end(*runs)
    gone = time.perf_counter() - begin - ours
    print("%d at once: `docker run -d` %.1f s; hermes-launch %.1f s until every command had begun (%.2f x), "
          "%.1f s until nothing of them was left" % (number, theirs, ours, ours / theirs, gone))


if __name__ == "__main__":
    number = [int(sys.argv[5])] if len(sys.argv) > 5 else []
    {"start": start, "calls": calls, "crowd": crowd}[sys.argv[1]](*sys.argv[2:5], *number)
