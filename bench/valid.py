"""A valid policy of nearly one MiB, as a generator for a large site would write it: lists as long as
they may be, a comment here and there.

    python3 bench/valid.py FILE
"""

import sys
from pathlib import Path

MIB = 1 << 20
MEMBERS = 1024  # the most that a list of patterns may have
RECORDS = 256  # and one of mappings
NOTE = "    # Asked for by the owners of this service; see the record of the decision.\n"
VALUE = "some value of it, " * 60

HEAD = "version: 1\nid: bench/valid\nlevel: open@1\nbackends: [local, docker]\n"

SECTIONS = (
    ("fs:\n  deny:\n", MEMBERS, lambda i: f'    - "/srv/projects/team-{i:04d}/private/*.key"\n'),
    ("  mounts:\n", RECORDS, lambda i: f"    - {{src: /srv/data/set-{i:03d}, dst: /data/set-{i:03d}, access: ro}}\n"),
    ("network:\n  mode: proxy\n  allow:\n", RECORDS, lambda i: (
        f"    - host: service-{i:03d}.example.com\n      ports: [443, 8443]\n"
        '      methods: [GET, HEAD, POST]\n      paths: ["/v1/*", "/v2/*"]\n')),
    ("image:\n  digest: false\n  allowed:\n", MEMBERS, lambda i: f"    - registry.example.com/team-{i:04d}/tool:1.{i}\n"),
    ("secrets:\n", RECORDS, lambda i: (
        f"  TOKEN_{i:03d}: {{from: {{env: CI_TOKEN_{i:03d}}}, hosts: [service-{i:03d}.example.com]}}\n")),
    ("env:\n  pass:\n", MEMBERS, lambda i: f"    - CI_JOB_{i:04d}\n"),
)


def policy() -> str:
    text = HEAD + "".join(head + "".join(line(i) for i in range(n)) for head, n, line in SECTIONS)
    # The variables take what room is left.
    room = (MIB - len(text) - len("  set:\n")) // MEMBERS - len(NOTE) - len('    VARIABLE_0000: ""\n')
    return text + "  set:\n" + "".join(f'{NOTE}    VARIABLE_{i:04d}: "{VALUE[:room]}"\n' for i in range(MEMBERS))


def main() -> None:
    text = policy()
    assert MIB - 2048 < len(text) <= MIB, len(text)
    Path(sys.argv[1]).write_text(text)


main()
