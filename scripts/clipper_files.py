"""What .npy files and clipper's own files look like. Needs Python's own library only."""

import re

TEMPORARY = re.compile(r"(.*/)?\.[^/]+\.clipper-[0-9a-f]{16}")  # a file that is not finished
VERSION_AT, UNFINISHED = 6, 0xCC  # the version while --direct works on a file: see npy/other.hpp


def header(descr, shape, fortran=False):
    """The header that np.save writes."""
    text = f"{{'descr': '{descr}', 'fortran_order': {bool(fortran)}, 'shape': {shape}, }}"
    text += " " * (21 - len(str(shape[-1 if fortran else 0]))) if shape else ""  # for a first axis that grows
    size = len(text) + 64 - (10 + len(text)) % 64
    return b"\x93NUMPY\1\0" + size.to_bytes(2, "little") + text.ljust(size - 1).encode() + b"\n"
