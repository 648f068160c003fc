"""Calls of a session, turn by turn beside what they are held against."""
import os
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "tests", "lib"))
from rows import head, row  # noqa: E402
from session import Peer  # noqa: E402

BASH = "/bin/bash"


def start(launcher, policy):
    """a session that has had its first call"""
    peer = Peer([launcher, "session", "-q", "--policy", policy])
    peer.call("exec", command="true")
    return peer


def asked(peer, **params):
    begin = time.perf_counter()
    answer = peer.call("exec", **params)
    took = time.perf_counter() - begin
    if answer.get("status") != 0:
        sys.exit("a call failed: %r" % answer)
    return took


def beside(name, other, peer, rounds, scale, percent):
    """a table; other() is the time of one turn of `name`. The times of both are returned. What cannot change
    the session's state is not asked for it: `x=1`, which can, is a row of its own."""
    others, calls, told, plain = [], [], [], []
    for _ in range(rounds):
        others.append(other())
        calls.append(asked(peer, command="true"))
        told.append(asked(peer, command="x=1"))
        plain.append(asked(peer, argv=[BASH, "-c", "true"]))
    head(name, scale, percent)
    row(name, others, others, scale, percent)
    row("session call, `true`", calls, others, scale, percent)
    row("session call, `x=1`, whose state is read", told, others, scale, percent)
    row("session call, argv", plain, others, scale, percent)
    return others, calls
