"""Describes the machine and the versions of all programs that were measured."""

import os
import platform
import re
import shutil
import subprocess
from importlib import metadata
from pathlib import Path


def first_line(*command):
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout.splitlines()[0]


def cpu():
    """The CPU's name, family and model. Virtual machines often hide the name."""
    info = dict(re.findall(r"^(.*?)\s*: (.*)$", Path("/proc/cpuinfo").read_text().partition("\n\n")[0], re.MULTILINE))
    numbers = f" (family {info['cpu family']}, model {info['model']})" if "cpu family" in info else ""
    return info.get("model name", platform.machine()) + numbers


def cores():
    count = len(os.sched_getaffinity(0))
    siblings = Path("/sys/devices/system/cpu/cpu0/topology/thread_siblings_list")
    shared = siblings.exists() and siblings.read_text().strip() != "0"
    return f"{count} hardware threads, two to a core" if shared else f"{count} cores"


def file_system(directory):
    name = first_line("stat", "--file-system", "--format=%T", directory)  # unlike findmnt and df, does not read the list of mounts
    return "ext4" if name == "ext2/ext3" else name


def compiler(build):
    path = re.search(r"^CMAKE_CXX_COMPILER:.*=(.*)$", (build / "CMakeCache.txt").read_text(), re.MULTILINE)[1]
    return first_line(path, "--version")


def commit(root):
    if not (root / ".git").exists() or not shutil.which("git"):
        return ""
    return " at " + first_line("git", "-c", "safe.directory=*", "-C", root, "describe", "--always", "--dirty")


def describe(root, directory):
    """label -> text, in the order of the report"""
    pages = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    return {
        "CPU": f"{cpu()}, {cores()}",
        "memory": f"{pages / 2**30:.0f} GiB",
        "kernel": f"{platform.system()} {platform.release()}",
        "file system": file_system(directory),
        "clipper": first_line(root / "build/clipper", "--version").removeprefix("clipper ") + commit(root),
        "compiler": compiler(root / "build"),
        "libc": " ".join(platform.libc_ver()),
        "cp": first_line("cp", "--version"),
        "Python": platform.python_version(),
        **{name: metadata.version(name) for name in ("numpy", "ml_dtypes", "onnxruntime", "openvino")},
    }
