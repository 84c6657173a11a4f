#!/usr/bin/env python3
# binary: header_dump
# torture: 20000 | 1000000 | 10000000
"""Reads damaged TensorProto messages with clipper and with onnx. A message that clipper accepts, onnx must read as the same array, and
what clipper writes for it must be what onnx writes. A message that clipper refuses, onnx must refuse, except for REFUSALS.

    pb_vs_onnx.py HEADER_DUMP COUNT [SEED]
"""

import struct
import sys
from pathlib import Path

sys.dont_write_bytecode = True
sys.path.insert(0, str(Path(__file__).resolve().parent.parent.parent / "scripts"))

import libraries  # noqa: E402

libraries.require({name: libraries.PEERS[name] for name in ("numpy", "ml_dtypes", "onnx")})

import numpy as np  # noqa: E402
from onnx import TensorProto, numpy_helper  # noqa: E402

import against_library  # noqa: E402

CODES = [code for code in TensorProto.DataType.values() if code]
ELEMENTS = ("float_data", "int32_data", "int64_data", "double_data", "uint64_data", "string_data", "raw_data", "external_data", "data_location")

# What clipper refuses and onnx accepts: the text of clipper's error. See lib/onnx/tensor_proto.hpp.
REFUSALS = ["is not read", "has strings", "has the dims", "wire type", "elements in", "has an element", "exceeds 64 bits", "more than 64 dims",
            "a segment", "has the data_location", "external data", "is not known", "dims too large", "no field begins"]


def varint(value, longer=0):
    """The value in base 128, in more bytes than it needs."""
    value &= (1 << 64) - 1
    digits = []
    while value or not digits:
        digits.append(value & 127)
        value >>= 7
    digits += [0] * longer
    return bytes([digit | 128 for digit in digits[:-1]] + [digits[-1]])


def record(field, content, rng):
    """A field with varints, an integer, or bytes."""
    longer = rng.randrange(3) if rng.random() < 0.05 else 0
    if isinstance(content, int):
        return varint(field << 3, longer) + varint(content, longer)
    return varint(field << 3 | 2, longer) + varint(len(content), longer) + content


def seed_message(rng):
    """A message as onnx writes it, or with its elements in other fields that may hold them; as a list of records."""
    code = rng.choice(CODES)
    shape = [rng.choice([0, 1, 2, 3]) for _ in range(rng.randrange(4))]
    count = int(np.prod(shape, dtype=int))
    records = [record(1, extent, rng) for extent in shape]
    if shape and rng.random() < 0.1:
        records = [record(1, b"".join(varint(extent) for extent in shape), rng)]
    records.append(record(2, code, rng))
    if rng.random() < 0.5:
        records.append(record(8, rng.choice([b"", b"w", b"\xc3\xa9"]), rng))
    numbers = [rng.choice([0, 1, 2, 100, 127, 128, 255, 256, 32767, 65535, 65536, -1, -128, -129, 1 << 31, 1 << 32, (1 << 63) - 1]) if rng.random() < 0.5
               else rng.randrange(2) for _ in range(count)]
    if rng.random() < 0.5:
        records.append(record(9, rng.randbytes(count * {1: 4, 6: 4, 7: 8, 11: 8, 12: 4, 13: 8, 4: 2, 5: 2, 10: 2, 16: 2}.get(code, 1)), rng))
    elif code in (TensorProto.FLOAT, TensorProto.DOUBLE):
        kind, field = ("<f", 4) if code == TensorProto.FLOAT else ("<d", 10)
        packed = [struct.pack(kind, number) for number in numbers]
        cut = rng.randrange(count + 1) if rng.random() < 0.2 else 0
        records += [record(field, b"".join(part), rng) for part in (packed[:cut], packed[cut:]) if part or rng.random() < 0.1]
        if rng.random() < 0.1:
            records = [*records[:-1], *(varint(field << 3 | (5 if field == 4 else 1)) + each for each in packed[cut:])]
    else:
        field = 7 if code == TensorProto.INT64 else 11 if code in (TensorProto.UINT32, TensorProto.UINT64) else 5
        cut = rng.randrange(count + 1) if rng.random() < 0.2 else 0
        records += [record(field, number, rng) for number in numbers[:cut]]
        records.append(record(field, b"".join(map(varint, numbers[cut:])), rng))
    if rng.random() < 0.2:
        records.append(record(12, b"doc", rng))
    if rng.random() < 0.1:
        records.append(record(16, record(1, b"k", rng) + record(2, b"v", rng), rng))
    if rng.random() < 0.1:
        records.append(record(rng.choice([15, 17, 99, 20000 - 5000]), rng.choice([5, b"unknown"]), rng))
    return records


def damaged(rng):
    records = seed_message(rng)
    for _ in range(rng.choice([0, 0, 1, 1, 1, 2, 3])):
        at = rng.randrange(len(records)) if records else 0
        kind = rng.randrange(8)
        if kind == 0 and records:
            records.insert(rng.randrange(len(records)), records[at])
        elif kind == 1 and records:
            records.pop(at)
        elif kind == 2:
            rng.shuffle(records)
        elif kind == 3:
            records.insert(at, record(rng.randrange(1, 18), rng.choice([0, 1, 3, 1 << 40, b"", b"\1", b"\0\0\0\0", b"a\1b"]), rng))
        elif kind == 4 and records:
            records[at] = varint(rng.randrange(1, 18) << 3 | rng.randrange(8)) + records[at][1:]
        elif kind == 5 and records and records[at]:
            where = rng.randrange(len(records[at]))
            records[at] = records[at][:where] + bytes([rng.choice([0, 1, 127, 128, 255, rng.randrange(256)])]) + records[at][where + 1:]
        elif kind == 6 and records:
            where = rng.randrange(len(records[at]) + 1)
            records[at] = records[at][:where] + rng.randbytes(rng.randrange(3)) + records[at][where + rng.randrange(2):]
        elif kind == 7 and records:
            records.append(records.pop(at)[:rng.randrange(9)])
    return b"".join(records)


def library_on(file):
    """What clipper prints, by onnx. Raises what onnx raises."""
    message = TensorProto()
    message.ParseFromString(file)
    array = numpy_helper.to_array(message)
    for field in ELEMENTS:
        message.ClearField(field)
    message.raw_data = array.tobytes()
    return [array.dtype.name, ",".join(map(str, array.shape)), array.tobytes().hex(), message.SerializeToString().hex()]


def wrong_with(file, found, used):
    """How onnx contradicts clipper, or None."""
    refused = found.startswith("refused: ")
    if found.startswith("external"):
        return None
    try:
        says = library_on(file)
    except Exception as error:  # of many types
        return None if refused else f"onnx refuses: {error!r}"
    if not refused:
        return None if found.split("\t") == says else f"onnx says {says}"
    for text in REFUSALS:
        if text in found:
            used[text] += 1
            return None
    return f"onnx says {says}"


if __name__ == "__main__":
    against_library.main("pb", "TensorProto messages against onnx", damaged, wrong_with)
