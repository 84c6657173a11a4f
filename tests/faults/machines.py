#!/usr/bin/env python3
"""Runs the tests on machines that differ from this one, as tests and clipper see them. Prints a row of figures as JSON.

    machines.py BUILD MACHINE [CTEST_ARGUMENT...]    MACHINE is one of those in MACHINES; needs root

Each runs in mount namespaces of its own and leaves nothing behind.
"""

import json
import os
import re
import shlex
import subprocess
import sys
from dataclasses import dataclass, field
from pathlib import Path

NODES = "null zero full random urandom tty ptmx"
SCRATCH = "/mnt"  # of the machine only
SHIM = "libclipper_machine.so"


@dataclass(frozen=True)
class Machine:
    """How to make a machine from this one."""
    probe: str  # a shell command that prints what the machine has, as clipper or the tests see it
    shown: str  # a regular expression for it
    setup: str = ""  # shell commands that run first
    words: str = ""  # start the tests: `taskset -c 0`
    environment: dict[str, str | None] = field(default_factory=dict)  # None: not set


def l2(kib: int) -> Machine:
    chunk = min(max(kib // 2, 256), 512)
    return Machine("clipper -v --threads 1 --min 0 data/in.npy $TMPDIR/out.npy 2>&1", f" {chunk} KiB chunks",
                   environment={"LD_PRELOAD": SHIM, "CLIPPER_MACHINE_L2": str(kib << 10)})


def level(name: str, hidden: str) -> Machine:
    return Machine("clipper --version", f"level: {name} ", environment={"GLIBC_TUNABLES": f"glibc.cpu.hwcaps={hidden}"} if hidden else {})


def cpus(number: int) -> Machine:
    return Machine("nproc", f"^{number}$", environment={"LD_PRELOAD": SHIM, "CLIPPER_MACHINE_CPUS": str(number)})


def temporary(kind: str, setup: str) -> Machine:
    return Machine("stat --file-system --format=%T $TMPDIR; df --block-size=M --output=size $TMPDIR", kind, f"mkdir {SCRATCH}/t; {setup}",
                   environment={"TMPDIR": f"{SCRATCH}/t"})


GROUP = f"/sys/fs/cgroup/memory/clipper-machine-{os.getpid()}"
MACHINES = {
    **{f"L2 of {kib} KiB": l2(kib) for kib in (256, 512, 1024, 2048, 4096)},
    "1 CPU": Machine("nproc", "^1$", words="taskset --cpu-list 0"),
    **{f"{number} CPUs": cpus(number) for number in (2, 3, 64)},
    "64 CPUs, quota of 1.5": Machine(
        "nproc; cat /sys/fs/cgroup/cpu.max", "^64\n150000", "mount -t tmpfs none /sys/fs/cgroup; echo 150000 100000 >/sys/fs/cgroup/cpu.max",
        environment={"LD_PRELOAD": SHIM, "CLIPPER_MACHINE_CPUS": "64"}),
    "level baseline": level("baseline", "-AVX2,-AVX512F,-AVX512_VBMI"),
    "level v3": level("v3", "-AVX512F,-AVX512_VBMI"),
    "level v4": level("v4", ""),
    "1 GiB of memory": Machine("cat $GROUP/memory.limit_in_bytes", "^1073741824$",
                               "mkdir -p $GROUP; echo 1G >$GROUP/memory.limit_in_bytes; echo $$ >$GROUP/cgroup.procs",
                               environment={"GROUP": GROUP}),
    "no /dev/shm": Machine(
        "ls -d /dev/*", "(?s)^(?!.*/dev/shm)",
        f"mkdir {SCRATCH}/dev; mount --rbind /dev {SCRATCH}/dev; mount -t tmpfs none /dev; "
        f"for node in {NODES}; do touch /dev/$node; mount --bind {SCRATCH}/dev/$node /dev/$node; done; "
        f"mkdir /dev/pts; mount --bind {SCRATCH}/dev/pts /dev/pts; ln -s /proc/self/fd /dev/fd"),
    "no terminal": Machine("cat /dev/tty 2>&1", "No such device", words="setsid --wait"),
    "no /proc": Machine("ls /proc/self/fd 2>&1", "No such file", "mount -t tmpfs none /proc"),
    "TMPDIR on tmpfs": temporary("^tmpfs", f"mount -t tmpfs none {SCRATCH}/t"),
    "TMPDIR on overlayfs": temporary(
        "^overlayfs", f"mkdir {SCRATCH}/{{l,u,w}}; mount -t overlay -o lowerdir={SCRATCH}/l,upperdir={SCRATCH}/u,workdir={SCRATCH}/w none {SCRATCH}/t"),
    "TMPDIR of 200 MB": temporary(
        r"(?s)^ext2/ext3.* (1[5-9]|20)\dM", f"truncate --size=200M {SCRATCH}/i; mkfs.ext4 -q {SCRATCH}/i; mount -o loop {SCRATCH}/i {SCRATCH}/t; chmod 1777 {SCRATCH}/t"),
    "umask 077": Machine("umask", "^0077$", "umask 077"),
    "LANG=C": Machine("locale charmap", "^ANSI", environment={"LANG": "C", "LC_ALL": None}),
    "no LANG": Machine("locale charmap; echo $LANG-", "^ANSI[^\n]*\n-$", environment={"LANG": None, "LC_ALL": None}),
    "another user": Machine("id --user; id --groups", "^61000\n61000$", words="setpriv --reuid=61000 --regid=61000 --clear-groups",
                            environment={"HOME": "/nonexistent"}),
}


def script(machine: Machine, build: Path, command: str) -> str:
    """Mounts file systems over what the tests write in the build directory, and runs the command on the machine."""
    mounts = [f"mkdir -p {each}; mount -t tmpfs -o mode=1777 none {each}" for each in (f"{build}/Testing", f"{build}/json")]
    return "; ".join((
        "set -e", f"mount -t tmpfs -o mode=1777 none {SCRATCH}", *mounts,
        machine.setup or ":", f"exec {machine.words} bash -c {shlex.quote(command)}"))


def run(machine: Machine, build: Path, command: str) -> subprocess.CompletedProcess:
    environment = os.environ | {"TMPDIR": "/var/tmp", "PATH": f"{build}:{os.environ['PATH']}"} | machine.environment
    if machine.environment.get("LD_PRELOAD"):
        environment["LD_PRELOAD"] = str(build / SHIM)
    environment = {name: value for name, value in environment.items() if value is not None}
    words = ["unshare", "--mount", "--pid", "--fork", "--mount-proc", "--propagation=private", "bash", "-c", script(machine, build, command)]
    done = subprocess.run(words, cwd=build.parent, env=environment, capture_output=True, stdin=subprocess.DEVNULL, text=True, errors="replace")
    if os.path.exists(GROUP):
        os.rmdir(GROUP)
    return done


def main() -> int:
    build, name, arguments = Path(sys.argv[1]).resolve(), sys.argv[2].replace("_", " "), sys.argv[3:]
    machine, row = MACHINES[name], {"what": f"tests, {name}"}
    if os.geteuid():
        print(json.dumps(row | {"skipped": "needs root"}))
        return 0
    subprocess.run(["ninja", "-C", str(build)], stdout=sys.stderr, check=True)
    probed = run(machine, build, machine.probe)
    if not re.search(machine.shown, probed.stdout, re.MULTILINE):
        print(json.dumps(row | {"skipped": f"not possible here: {(probed.stderr or probed.stdout).strip()[-100:]}"}))
        return 0
    done = run(machine, build, shlex.join(["ctest", "--test-dir", str(build), "--output-on-failure", "--no-tests=error",
                                           "--parallel", str(len(os.sched_getaffinity(0))), *arguments]))
    summary = re.search(r"(\d+) tests failed out of (\d+)", done.stdout)
    if not summary or done.returncode:
        print(done.stdout, done.stderr)
    failed, tests = map(int, summary.groups()) if summary else (1, 0)
    print(json.dumps(row | {"cases": tests, "violations": failed}))
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
