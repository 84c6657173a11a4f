"""Writes an archive of .npy files: savez.py savez|savez_compressed|streamed|streamed_compressed OUT.npz IN.npy...

Runs in any Python with numpy. The streamed forms are what zipfile writes to a pipe: sizes follow the data.
"""

import sys
import zipfile
from pathlib import Path

import numpy as np


class Pipe:
    """A file without tell() and seek()."""

    def __init__(self, file):
        self.write, self.flush = file.write, file.flush


form, out, *paths = sys.argv[1:]
if form.startswith("streamed"):
    method = zipfile.ZIP_DEFLATED if form.endswith("compressed") else zipfile.ZIP_STORED
    with open(out, "wb") as file, zipfile.ZipFile(Pipe(file), "w") as archive:
        for path in paths:
            member = zipfile.ZipInfo(Path(path).name)
            member.compress_type = method
            with archive.open(member, "w") as stream:
                stream.write(Path(path).read_bytes())
else:
    arrays = {Path(path).stem: np.load(path, allow_pickle=True) for path in paths}
    getattr(np, form)(out, **arrays)
