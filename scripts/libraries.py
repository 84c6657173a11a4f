"""Pinned versions of the libraries that clipper is compared with. Programs call require() before they import them."""

import os
import subprocess
import sys
import venv
from importlib import metadata
from pathlib import Path

HOME = Path(__file__).resolve().parent.parent / "build-data" / "venv"
PEERS = {"numpy": "2.4.6", "ml_dtypes": "0.6.0", "onnx": "1.23.2", "onnxruntime": "1.31.1", "openvino": "2026.4.1"}
DASK = {"dask": "2026.8.0", "distributed": "2026.8.0"}


def has(pins):
    try:
        return all(metadata.version(name) == version for name, version in pins.items())
    except metadata.PackageNotFoundError:
        return False


def install(pins):
    complete = HOME / "complete"
    wanted = {f"{name}=={version}" for name, version in pins.items()}
    there = set(complete.read_text().split()) if complete.exists() else set()
    if wanted <= there:
        return
    complete.unlink(missing_ok=True)
    venv.create(HOME, with_pip=True, clear=not there)
    subprocess.check_call([HOME / "bin/pip", "install", "--quiet", *sorted(wanted)])
    complete.write_text("\n".join(sorted(wanted | there)) + "\n")


def require(pins):
    """Returns if this Python has the libraries. Otherwise restarts the program in a virtual environment that has them."""
    if has(pins):
        return
    if Path(sys.prefix) == HOME:
        sys.exit(f"{Path(sys.argv[0]).name}: the virtual environment lacks the pinned libraries; remove {HOME}")
    install(pins)
    os.execv(HOME / "bin/python", [HOME / "bin/python", *sys.argv])


if __name__ == "__main__":  # libraries.py PEERS|DASK: prints the path of a Python with them
    install(globals()[sys.argv[1]])
    print(HOME / "bin/python")
