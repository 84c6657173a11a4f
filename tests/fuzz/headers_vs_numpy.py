#!/usr/bin/env python3
"""Damages headers and asks numpy about those that clipper accepts: it must say the same dtype, order, shape and offset.

    headers_vs_numpy.py HEADER_DUMP COUNT [SEED]
"""

import io
import json
import random
import re
import struct
import subprocess
import sys
import warnings
from collections import Counter
from pathlib import Path

sys.dont_write_bytecode = True
HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent.parent / "scripts")]

import libraries  # noqa: E402

if __name__ == "__main__":
    libraries.require({name: libraries.PEERS[name] for name in ("numpy", "ml_dtypes")})

import ml_dtypes  # noqa: E402, F401  (the name 'bfloat16' is numpy's from here on)
from numpy.lib import _format_impl as npy  # noqa: E402  (version 3.0 has no public function)

import corpus  # noqa: E402

TEXT_AT = {1: 10, 2: 12, 3: 12}
BATCH = 10_000
ANY = "any"  # the byte order of '<V2' and '>V2' for numpy, which takes bfloat16 for two bytes without meaning

# Pieces that mean something in a header, or would in Python.
PIECES = [b"'", b'"', b"(", b")", b"{", b"}", b"[", b",", b":", b" ", b"\n", b"\t", b"\r", b"\f", b"\0", b"#", b"\\", b"L", b"l", b"0", b"1",
          b"7", b"00", b"01", b"-1", b"+1", b"1_0", b"0x1", b"1e1", b"1.", b"True", b"False", b"None", b"()", b"(7)", b"(7,)", b"(3, 4)",
          b"np.int64(7)", b"np.uint8( 3 )", b"np.float32(1)", b"np.bool(1)", b"7L", b"9223372036854775807", b"9223372036854775808",
          b"4294967296", b"18446744073709551616", b"'descr'", b'"shape"', b"'fortran_order'", b"'descr': '<f4', ", b"'shape': (2,), ",
          b"'<f4'", b"'>f8'", b"'=i2'", b"'|i4'", b"'|u1'", b"'<i1'", b"'f4'", b"'float32'", b"'bfloat16'", b"'<bfloat16'", b"'int'", b"'<V2'",
          b"'>V2'", b"'V2'", b"'|V2'", b"'O'", b"'|b1'", b"'?'", b"'e'", b"'d'", b"'<f2,<f2'", b"b'<f4'", b"u'<f4'", b"r'<f4'", b"'<' 'f4'",
          b"\xc3\xa9", b"\xe9", b"2**3", b"1 + 1", b"lambda: 0"]

# What clipper takes and numpy does not (lib/npy.hpp), made into what numpy does take.
EXCEPTIONS = {
    "np.int64(7) as a dimension": lambda text: re.sub(rb"np\.u?int(?:8|16|32|64)[ \t\r\n]*\([ \t\r\n]*(\d+)[ \t\r\n]*\)", rb"\1", text),
    "7L in version 3.0": lambda text: re.sub(rb"(\d)L", rb"\1", text),
    "white space that is indentation": lambda text: text.strip(),
}


def with_text(header, text, length=None):
    """The header with another text, and with its length unless another is given."""
    at = TEXT_AT[header[6]]
    size = len(text) if length is None else length
    return header[:8] + struct.pack("<H" if at == 10 else "<I", size % (1 << 16 if at == 10 else 1 << 32)) + text


def in_version(header, version):
    return with_text(header[:6] + bytes([version, 0]) + header[8:], header[TEXT_AT[header[6]]:])


def damaged(header, rng):
    """A few pieces put in, put in place of words, or removed; sometimes any byte of the file is changed."""
    header = in_version(header, rng.choice([1, 1, 2, 3]))
    text = header[TEXT_AT[header[6]]:]
    if rng.random() < 0.9:  # otherwise most damage would happen in the padding
        text = text.rstrip()
    for _ in range(rng.choice([0, 1, 1, 1, 2, 3])):
        words = [match.span() for match in re.finditer(rb"'[^']*'|\w+|[^\w\s]", text)] or [(0, 0)]
        start, end = rng.choice(words)
        kind = rng.random()
        if kind < 0.35:
            end = start
        elif kind < 0.45:
            start = end = rng.randrange(len(text) + 1)
        text = text[:start] + (b"" if kind > 0.9 else rng.choice(PIECES)) + text[end:]
    result = with_text(header, text, rng.randrange(300) if rng.random() < 0.03 else None)
    if rng.random() < 0.1:
        at = rng.randrange(len(result))
        result = result[:at] + bytes([rng.randrange(256)]) + result[at + 1:]
    return result


def clipper_on(dump, headers):
    """For each what it says: (dtype, order, memory order, offset, shape) or None."""
    stream = b"".join(struct.pack("<I", len(header)) + header for header in headers)
    lines = subprocess.run([dump], input=stream, stdout=subprocess.PIPE, check=True).stdout.decode().splitlines()
    assert len(lines) == len(headers)
    return [None if line == "refused" else tuple(line.split("\t")) for line in lines]


def numpy_on(header):
    """The same by numpy; raises whatever numpy raises."""
    file = io.BytesIO(header)
    version = npy.read_magic(file)
    shape, fortran_order, dtype = npy._read_array_header(file, version, max_header_size=1 << 17)
    if dtype.str[1:] == "V2":
        name, order = "bfloat16", ANY
    else:
        name, order = dtype.name, "<" if dtype.itemsize == 1 else dtype.str[0]
    return name, order, "fortran" if fortran_order else "c", str(file.tell()), ",".join(map(str, shape))


def compared(header, found, used):
    """What is wrong with what clipper says, by numpy, or None. Notes the exception that was needed in `used`."""
    try:
        says = numpy_on(header)
    except Exception:  # numpy lets out whatever Python's parser throws
        text = header[TEXT_AT[header[6]]:int(found[3])]
        needed = [name for name, change in EXCEPTIONS.items() if change(text) != text]
        for change in EXCEPTIONS.values():
            text = change(text)
        header = with_text(header, text)
        found = (*found[:3], str(len(header)), found[4])
        try:
            says = numpy_on(header)
        except Exception as error:
            return f"numpy refuses: {error}"
        used[needed[0]] += 1
    if says[1] == ANY:
        found = (found[0], ANY, *found[2:])
    return None if says == found else f"numpy says {says}"


def main(dump, count, seed):
    warnings.simplefilter("ignore")  # that Python 2 wrote it
    rng = random.Random(seed)
    seeds = list(corpus.header_seeds())
    accepted, violations, used = 0, 0, Counter()
    for start in range(0, count, BATCH):
        headers = [damaged(rng.choice(seeds), rng) for _ in range(min(BATCH, count - start))]
        for header, found in zip(headers, clipper_on(dump, headers)):
            if found is None:
                continue
            accepted += 1
            if wrong := compared(header, found, used):
                violations += 1
                print(f"{header!r}\n  clipper says {found}\n  {wrong}")
    for name, times in sorted(used.items()):
        print(f"  {times} x {name}")
    print(f"  {accepted} accepted (seed {seed})")
    print(json.dumps({"what": "headers against numpy", "cases": count, "violations": violations}))
    return 1 if violations or not accepted else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]) if len(sys.argv) > 3 else random.randrange(1 << 32)))
