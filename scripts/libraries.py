"""Pinned versions of the libraries that clipper is compared with. Programs call require() before they import them."""

import os
import shutil
import subprocess
import sys
import venv
from importlib import metadata
from pathlib import Path

SCRIPTS = Path(__file__).resolve().parent
DATA = SCRIPTS.parent / "build-data"
HOME = DATA / "venv"
PEERS = {"numpy": "2.4.6", "ml_dtypes": "0.6.0", "onnx": "1.23.2", "onnxruntime": "1.31.1", "openvino": "2026.4.1"}
SAFETENSORS = {"safetensors": "0.8.0"}
DASK = {"dask": "2026.8.0", "distributed": "2026.8.0"}
FRAMEWORKS = {  # each has an environment of its own, because their dependencies exclude each other
    "jax": {"jax": "0.10.2", "jaxlib": "0.10.2"},
    "tensorflow": {"tensorflow-cpu": "2.21.0"},
    "tosa": {"tosa-tools": "2026.8.0"},
}
TORCH = "2.14.1+dfsg-1"  # python3-torch in Debian sid, unpacked and not installed


def has(pins):
    try:
        return all(metadata.version(name) == version for name, version in pins.items())
    except metadata.PackageNotFoundError:
        return False


def install(pins, home=HOME):
    complete = home / "complete"
    wanted = {f"{name}=={version}" for name, version in pins.items()}
    there = set(complete.read_text().split()) if complete.exists() else set()
    if wanted <= there:
        return
    complete.unlink(missing_ok=True)
    venv.create(home, with_pip=True, clear=not there)
    subprocess.check_call([home / "bin/pip", "install", "--quiet", *sorted(wanted)])
    complete.write_text("\n".join(sorted(wanted | there)) + "\n")


def require(pins):
    """Returns if this Python has the libraries. Otherwise restarts the program in a virtual environment that has them."""
    if has(pins):
        return
    if Path(sys.prefix) == HOME:
        sys.exit(f"{Path(sys.argv[0]).name}: the virtual environment lacks the pinned libraries; remove {HOME}")
    install(pins)
    os.execv(HOME / "bin/python", [HOME / "bin/python", *sys.argv])


def unpacked_torch():
    """The command that starts sid's Python, with the libraries of the directory into which sid's packages were unpacked."""
    root = DATA / "sid"
    if not (root / "complete").exists():
        shutil.rmtree(root, ignore_errors=True)
        subprocess.check_call([SCRIPTS / "debian_root", "sid", root, "python3-torch", "python3-numpy"])
        (root / "complete").touch()
    if f"\nVersion: {TORCH}\n" not in (root / "var/lib/dpkg/status").read_text():
        sys.exit(f"libraries.py: Debian sid no longer has python3-torch {TORCH}, which made the goldens")
    lib = root / "usr/lib/x86_64-linux-gnu"
    folders = ":".join(map(str, (lib, lib / "blas", lib / "lapack", root / "usr/lib")))
    return ["env", f"PYTHONHOME={root}/usr", lib / "ld-linux-x86-64.so.2", "--library-path", folders, root / "usr/bin/python3"]


def python_of(framework):
    """The command that starts a Python with the framework, which is installed if it is missing."""
    if framework == "numpy":
        return [sys.executable]
    if framework == "torch":
        return unpacked_torch()
    home = DATA / framework
    install(FRAMEWORKS[framework], home)
    return [home / "bin/python"]


if __name__ == "__main__":  # libraries.py PEERS|DASK: prints the path of a Python with them
    install(globals()[sys.argv[1]])
    print(HOME / "bin/python")
