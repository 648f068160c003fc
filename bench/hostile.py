"""Hostile policies of one MiB each, into a directory: what an author of bombs would hand in.

    python3 bench/hostile.py DIRECTORY
"""

import sys
from pathlib import Path

MIB = 1 << 20
HEAD = "version: 1\nid: bench/hostile\nlevel: baseline@1\n"


MEMBERS = 1024  # the most that a list of patterns may have
RECORDS = 256  # and one of mappings


def fill(head: str, line, tail: str = "") -> str:
    """As many lines as there is room for; line is made from its number."""
    parts = [HEAD, head]
    room = MIB - len(HEAD) - len(head) - len(tail)
    number = 0
    while True:
        text = line(number)
        if len(text) > room:
            return "".join(parts) + tail
        parts.append(text)
        room -= len(text)
        number += 1


def members(head: str, line, count: int = MEMBERS) -> str:
    """A list that is as long as one may be, and is read to its end."""
    return HEAD + head + "".join(line(i) for i in range(count))


def host(number: int) -> str:
    """One host, with as many paths as it may have."""
    paths = ", ".join(f'"/a*{i}*b*{number}*c"' for i in range(64))
    return f'    - {{host: "*.h.example", paths: [{paths}]}}\n'


def dear(head: str, tail: str, number: int) -> str:
    """A pattern that ends as all others do; as many as may be have text between two stars."""
    return f'    - "{head}{number}_{tail}*"\n' if number < 128 else f'    - "*{number}_{tail}"\n'


SHAPES = {
    "brackets": "[" * MIB,
    "nested-maps": "".join(" " * i + "a:\n" for i in range(1400)),
    "comments": fill("", lambda i: "#\n"),
    "one-line": HEAD + "owner: " + "a" * (MIB - 100) + "\n",
    "escapes": fill('owner: "', lambda i: "\\u00e4", '"\n'),
    "unknown-keys": fill("", lambda i: f"key{i}: 1\n"),
    "equal-keys": fill("", lambda i: "mode: warn\n"),
    "flow-keys": fill("env: {set: {", lambda i: f"V{i}: a,", "}}\n"),
    "env-set": fill("env:\n  set:\n", lambda i: f'    V{i}: "x"\n'),
    "env-pass": fill("env:\n  pass:\n", lambda i: f'    - "*{i}*A*B*"\n'),
    "deny": fill("fs:\n  deny:\n", lambda i: f'    - "/**/{i}/**/*a*b*"\n'),
    "mounts": fill("fs:\n  mounts:\n", lambda i: f"    - {{src: /a{i}, dst: /b{i}}}\n"),
    "equal-mounts": fill("fs:\n  mounts:\n", lambda i: "    - {src: /a, dst: /b}\n"),
    "hosts": fill("network:\n  allow:\n", lambda i: f'    - {{host: "*.h{i}.example", paths: ["/{i}/*"]}}\n'),
    "images": fill("image:\n", lambda i: f'  - "r/*{i}*:*"\n'),
    "secrets": fill("secrets:\n", lambda i: f"  S{i}: {{from: {{env: V}}, hosts: [a{i}.example]}}\n"),
    "locks": fill("lock:\n", lambda i: '  - "*.*.*.*"\n'),
    "pass-1024": members("env:\n  pass:\n", lambda i: f'    - "*A{i}*B*C*"\n'),
    "deny-1024": members("fs:\n  deny:\n", lambda i: f'    - "/**/{i}/**/*a*b*"\n'),
    "mounts-256": members("fs:\n  mounts:\n", lambda i: f"    - {{src: /a{i}, dst: /b{i}}}\n", RECORDS),
    "hosts-256": members("network:\n  allow:\n", host, RECORDS),
    "images-1024": members("image:\n", lambda i: f'  - "r/*{i}*a*b*:*"\n'),
    "lists": fill(
        "env:\n  pass:\n    allowed:\n" + "".join(dear("*A*B*C*D", "x", i) for i in range(MEMBERS))
        + "image:\n  allowed:\n" + "".join(dear("*a*b*c*d", "x", i) for i in range(MEMBERS))
        + '  default: ["*a*b*c*d1_x*"]\n'
        + "network:\n  allow:\n" + "".join(f'    - {{host: "*.h.example", ports: [{i + 1}], paths: ["/*/{i}", "/{i}/*"]}}\n'
                                         for i in range(RECORDS))
        + "fs:\n  mounts:\n" + "".join(f"    - {{src: /a{i}, dst: /b{i}}}\n" for i in range(RECORDS))
        + "  deny:\n" + "".join(f'    - "/**/{i}/**/*a*b*"\n' for i in range(128)), lambda i: "#\n")
    .replace("baseline@1", "open@1", 1),  # whose env.pass is every name: each is held against each
    "anchors": fill("", lambda i: f"a{i}: &a{i} [*a{i}, *a{i}]\n"),
}


def main() -> None:
    target = Path(sys.argv[1])
    for name, text in SHAPES.items():
        (target / f"{name}.yaml").write_text(text[:MIB])


main()
