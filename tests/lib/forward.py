"""Somebody who listens at a socket and hands on to an engine's: forward.py UID LISTEN ENGINE FILE

What FILE holds, when it holds something, is the process that each container is told to be.
"""

import os
import re
import socket
import sys
import threading

USER, LISTEN, ENGINE, FILE = sys.argv[1:]
TOLD = re.compile(rb'("Pid": ?)([0-9]+)')
CUT = re.compile(rb'"P(i(d(":? ?[0-9]*)?)?)?$')


def other_pid(match):
    with open(FILE, "rb") as file:
        pid = file.read().strip()
    # As long as it was: the length of an answer is told before it.
    return match[1] + pid.ljust(len(match[2])) if pid else match[0]


def carry(source, sink, is_answer):
    held = b""
    while data := source.recv(65536):
        data = held + data
        held = b""
        if is_answer:
            cut = CUT.search(data[-24:])
            if cut and len(data) < 60000:
                held = data[len(data) - len(cut[0]) :]
                data = data[: len(data) - len(held)]
            data = TOLD.sub(other_pid, data)
        sink.sendall(data)
    sink.sendall(held)
    sink.shutdown(socket.SHUT_WR)


def quietly(*words):
    try:
        carry(*words)
    except OSError:
        for end in words[:2]:
            try:
                end.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass


def serve(client):
    engine = socket.socket(socket.AF_UNIX)
    engine.connect(ENGINE)
    ways = [(client, engine, False), (engine, client, True)]
    threads = [threading.Thread(target=quietly, args=way) for way in ways]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    client.close()
    engine.close()


os.setgroups([])
os.setgid(int(USER))
os.setuid(int(USER))
listener = socket.socket(socket.AF_UNIX)
listener.bind(LISTEN + ".new")
os.chmod(LISTEN + ".new", 0o666)
listener.listen(16)
os.rename(LISTEN + ".new", LISTEN)
while True:
    threading.Thread(target=serve, args=(listener.accept()[0],), daemon=True).start()
