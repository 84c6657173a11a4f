"""Writes the test tensors: tensors.py DIRECTORY. No, few and many elements; each element size, memory order and byte order."""

import random
import sys
from pathlib import Path

sys.path.append(str(Path(__file__).resolve().parents[1] / "faults"))
from modes import header  # noqa: E402

TENSORS = {"empty": ("<f4", False, (0, 7)), "one": ("|i1", False, (1,)), "float32": ("<f4", False, (1500, 1747)),
           "float16": ("<f2", True, (1999, 1001)), "uint8": ("|u1", False, (3, 5, 333_333)),
           "uint64": (">u8", False, (500_001,))}

directory = Path(sys.argv[1])
directory.mkdir()
for name, (descr, fortran, shape) in TENSORS.items():
    size = int(descr[2])
    for length in shape:
        size *= length
    (directory / f"{name}.npy").write_bytes(header(descr, shape, fortran) + random.Random(name).randbytes(size))
