"""Checks that the slabs in an index of --split-output together are a tensor: slabs.py INDEX TENSOR"""

import ast
import json
import sys
from pathlib import Path


def parts(path: Path) -> tuple[dict, bytes]:
    """The header and the data of a .npy file."""
    content = path.read_bytes()
    begin = 10 + int.from_bytes(content[8:10], "little")
    return ast.literal_eval(content[10:begin].decode()), content[begin:]


index, tensor = Path(sys.argv[1]), Path(sys.argv[2])
header, data = parts(tensor)
slabs = json.loads(index.read_text())["slabs"]
rows, joined = 0, b""
for slab in slabs:
    slab_header, slab_data = parts(index.parent / slab["file"])
    assert slab["begin"] == rows, slab
    rows = slab["end"]
    assert slab_header == header | {"shape": (rows - slab["begin"], *header["shape"][1:])}, slab
    joined += slab_data
assert rows == header["shape"][0] and joined == data
