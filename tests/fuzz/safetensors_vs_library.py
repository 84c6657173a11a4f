#!/usr/bin/env python3
# binary: header_dump
# torture: 20000 | 1000000 | 10000000
"""Reads damaged safetensors files with clipper and with the safetensors library. A file that clipper accepts, the library must
accept with the same tensors. A file that clipper refuses, the library must refuse, except for REFUSALS.

    safetensors_vs_library.py HEADER_DUMP COUNT [SEED]
"""

import json
import struct
import sys
from pathlib import Path

sys.dont_write_bytecode = True
sys.path.insert(0, str(Path(__file__).resolve().parent.parent.parent / "scripts"))

import libraries  # noqa: E402

libraries.require(libraries.SAFETENSORS)

import safetensors  # noqa: E402

import against_library  # noqa: E402
from damaged_text import damaged_text  # noqa: E402

SIZES = {"BOOL": 1, "U8": 1, "I8": 1, "F8_E4M3": 1, "F8_E5M2": 1, "F8_E8M0": 1, "F8_E4M3FNUZ": 1, "F8_E5M2FNUZ": 1, "I16": 2, "U16": 2,
         "F16": 2, "BF16": 2, "I32": 4, "U32": 4, "F32": 4, "C64": 8, "F64": 8, "I64": 8, "U64": 8, "F4": 0.5, "F6_E2M3": 0.75,
         "F6_E3M2": 0.75}
PIECES = [b"{", b"}", b"[", b"]", b":", b",", b'"', b" ", b"\n", b"\t", b"\0", b"\\", b"0", b"1", b"8", b"-1", b"-0", b"1.0", b"1e1", b"01", b"4294967296",
          b"18446744073709551615", b"18446744073709551616", b"null", b"true", b'""', b'"a"', b'"w0"', b'"__metadata__"', b'"dtype"', b'"shape"',
          b'"data_offsets"', b"[]", b"{}", b"[0,0]", b'"\\u0000"', b'"\\ud800"', b'"\\ud83d\\ude00"', b'"\\u00e9"', b"\xff", b"\xc3\xa9", b"\xef\xbb\xbf", b"\x7f",
          b"/**/", b"//", b"'", b"NaN", b"__metadata__", b'"x":1,', b'"__metadata__":{"k":"v"},', b'"w0":{"dtype":"U8","shape":[0],"data_offsets":[0,0]},',
          *(json.dumps(name).encode() for name in SIZES), b'"F31"', b'"f32"']

# What clipper refuses and the library accepts: the text of clipper's error. See lib/safetensors/header.hpp.
REFUSALS = ["two tensors are named", "has control characters", "a member has no name", "unknown field", "two texts", "with texts as __metadata__",
            "two fields '__metadata__'", "the header does not begin with {"]


def seed_file(rng):
    """A file as the library or another program may write it."""
    fields, at = [], 0
    if rng.random() < 0.3:
        fields.append('"__metadata__":' + json.dumps({str(k): "v" * k for k in range(rng.randrange(3))}))
    for i in range(rng.randrange(4)):
        dtype = rng.choice(list(SIZES))
        shape = [rng.choice([0, 1, 2, 3, 8]) for _ in range(rng.randrange(4))]
        size = SIZES[dtype]
        for extent in shape:
            size *= extent
        parts = [f'"dtype":"{dtype}"', f'"shape":{json.dumps(shape)}', f'"data_offsets":[{at},{int(at + size)}]']
        if rng.random() < 0.2:
            rng.shuffle(parts)
        fields.append(f'"w{i}":{{{",".join(parts)}}}')
        at = int(at + size)
    if rng.random() < 0.3:
        rng.shuffle(fields)
    return ("{" + ",".join(fields) + "}" + " " * rng.randrange(4)).encode(), bytes(at)


def damaged(rng):
    text, data = seed_file(rng)
    text = damaged_text(text, rb'"[^"]*"|\w+|[^\w\s]', PIECES, rng)
    if rng.random() < 0.05:
        data = data[:rng.randrange(len(data) + 1)] + bytes(rng.randrange(3))
    length = rng.randrange(300) if rng.random() < 0.03 else len(text)
    return struct.pack("<Q", length) + text + data


def library_on(file):
    """Each tensor's type, shape and bytes, sorted. Raises what the library raises."""
    return sorted((info["dtype"], ",".join(map(str, info["shape"])), len(info["data"])) for _, info in safetensors.deserialize(file))


def wrong_with(file, found, used):
    """How the library contradicts clipper, or None."""
    try:
        says = library_on(file)
    except Exception as error:
        return None if found.startswith("refused: ") else f"the library refuses: {error}"
    if not found.startswith("refused: "):
        cells = found.split("\t")[:-1]
        read = sorted((cells[i], cells[i + 1], int(cells[i + 3]) - int(cells[i + 2])) for i in range(0, len(cells), 4))
        return None if read == says else f"the library says {says}"
    beyond = any(int(extent) >= 1 << 63 for _, shape, _ in says for extent in shape.split(",") if extent)
    for text in ["malformed shape"] * beyond + REFUSALS:
        if text in found:
            used[text] += 1
            return None
    return f"the library says {says}"


if __name__ == "__main__":
    against_library.main("safetensors", "safetensors headers against the library", damaged, wrong_with)
