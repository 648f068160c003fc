"""The container checks of the CIS Docker Benchmark, section 5 (as docker-bench-security counts them), over
what an engine tells of one container.

    docker inspect NAME | docker_bench.py list         the numbers of the checks
    docker inspect NAME | docker_bench.py check N...   "N pass" or "N fail", a line each

Left out, with the reason:

5.22, 5.23  no privileged or root "docker exec": nothing of ours runs exec; a call goes to the runner that is
            the container's first process, with the rights that the container has.
5.26        no health check: a container lives as long as its run, and the launcher at the other end of its
            stream is the one that looks; ours switches the image's own off, because it is a program that
            nobody judged.
5.27        the newest image: which one is the policy's to say, by digest (image.digest).

AppArmor and SELinux (5.1, 5.2) are the host's: what can be said of a container is that it was not taken out
of the profile that the engine gives where there is one.
"""

import json
import sys

SENSITIVE = ("/", "/boot", "/dev", "/etc", "/lib", "/proc", "/sys", "/usr")


def words(container):
    return [word.replace("=", ":") for word in container["HostConfig"]["SecurityOpt"] or []]


def ports(container):
    bindings = container["HostConfig"]["PortBindings"] or {}
    return [binding for one in bindings.values() for binding in one or []]


def sources(container):
    host = container["HostConfig"]
    mounts = [mount.get("Source", "") for mount in host.get("Mounts") or []]
    return mounts + [bind.split(":")[0] for bind in host["Binds"] or []]


def propagations(container):
    host = container["HostConfig"]
    options = [(mount.get("BindOptions") or {}).get("Propagation", "") for mount in host.get("Mounts") or []]
    return options + [bind.split(":", 2)[2] for bind in host["Binds"] or [] if bind.count(":") > 1]


def names(values):
    return [value.upper().removeprefix("CAP_") for value in values or []]


CHECKS = {
    "5.1 AppArmor": lambda c, h: "apparmor:unconfined" not in words(c),
    "5.2 SELinux": lambda c, h: not any(word in ("label:disable", "label:disabled") for word in words(c)),
    "5.3 capabilities": lambda c, h: names(h["CapDrop"]) == ["ALL"] and not h["CapAdd"],
    "5.4 privileged": lambda c, h: h["Privileged"] is False,
    "5.5 sensitive directories": lambda c, h: not set(sources(c)) & set(SENSITIVE),
    "5.6 sshd": lambda c, h: not any("sshd" in word for word in [c["Path"], *c["Args"]]),
    "5.7 privileged ports": lambda c, h: not any(0 < int(p["HostPort"] or 0) < 1024 for p in ports(c)),
    "5.8 ports": lambda c, h: not ports(c) and not h["PublishAllPorts"],
    "5.9 network of the host": lambda c, h: h["NetworkMode"] != "host",
    "5.10 memory": lambda c, h: h["Memory"] > 0,
    "5.11 cpu": lambda c, h: h["NanoCpus"] > 0 or h["CpuShares"] > 0,
    "5.12 read-only root": lambda c, h: h["ReadonlyRootfs"] is True,
    "5.13 every interface": lambda c, h: all(p["HostIp"] not in ("", "0.0.0.0", "::") for p in ports(c)),
    "5.14 restart": lambda c, h: h["RestartPolicy"]["Name"] in ("", "no"),
    "5.15 processes of the host": lambda c, h: h["PidMode"] != "host",
    "5.16 IPC of the host": lambda c, h: h["IpcMode"] != "host",
    "5.17 devices": lambda c, h: not h["Devices"] and not h.get("DeviceRequests"),
    "5.18 ulimits": lambda c, h: any(u["Name"] == "nofile" for u in h["Ulimits"] or []),
    "5.19 propagation": lambda c, h: not any("shared" in option for option in propagations(c)),
    "5.20 UTS of the host": lambda c, h: h["UTSMode"] != "host",
    "5.21 seccomp": lambda c, h: any(w.startswith("seccomp:") and w != "seccomp:unconfined" for w in words(c)),
    "5.24 control group": lambda c, h: h["CgroupParent"] == "",
    "5.25 no_new_privs": lambda c, h: "no-new-privileges" in words(c) or "no-new-privileges:true" in words(c),
    "5.28 processes": lambda c, h: (h["PidsLimit"] or 0) > 0,
    "5.29 default bridge": lambda c, h: h["NetworkMode"] not in ("", "default", "bridge"),
    "5.30 users of the host": lambda c, h: h["UsernsMode"] != "host",
    "5.31 engine socket": lambda c, h: not any(source.endswith((".sock", "/run")) for source in sources(c)),
}


def main():
    if sys.argv[1] == "list":
        print("\n".join(name.split()[0] for name in CHECKS))
        return
    (container,) = json.load(sys.stdin)
    for name, check in CHECKS.items():
        number = name.split()[0]
        if number in sys.argv[2:] or len(sys.argv) == 2:
            print(number, "pass" if check(container, container["HostConfig"]) else "fail")


main()
