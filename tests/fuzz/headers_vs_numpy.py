#!/usr/bin/env python3
# binary: header_dump
# torture: 5000 | 100000 | 1000000
"""Reads damaged headers with clipper and with numpy. A header that clipper accepts, numpy must accept with the same dtype, order,
shape and offset, except for EXCEPTIONS. A header that clipper refuses, numpy must refuse, except for REFUSALS. The same for what
`clipper info` accepts, which reads all types, except that only headers that numpy writes must be accepted.

    headers_vs_numpy.py HEADER_DUMP COUNT [SEED]   COUNT headers with random damage
    headers_vs_numpy.py HEADER_DUMP all            one header with all endings of 1 and 2 bytes, with every byte inserted at every
                                                   position, and with all beginnings and endings of 3 and 4 bytes that may be white
                                                   space or a comment
"""

import io
import itertools
import json
import math
import random
import re
import struct
import subprocess
import sys
import warnings
from collections import Counter

from trials import first_seed, np  # the first import that needs numpy: trials installs it, and makes numpy know the name 'bfloat16'
from numpy.lib import _format_impl as npy  # numpy has no public function for version 3.0

import corpus
from damaged_text import damaged_text

TEXT_AT = {1: 10, 2: 12, 3: 12}
BATCH = 10_000
ANY = "any"  # numpy reads '<V2' and '>V2' as two bytes without byte order

# Pieces that have a meaning in a header or in Python.
PIECES = [b"'", b'"', b"(", b")", b"{", b"}", b"[", b",", b":", b" ", b"\n", b"\t", b"\r", b"\f", b"\0", b"#", b"\\", b"\r\n", b"# c\n", b"#'\r", b"\\\n", b"L", b"l", b"0", b"1",
          b"7", b"00", b"01", b"-1", b"+1", b"1_0", b"0x1", b"1e1", b"1.", b"True", b"False", b"None", b"()", b"(7)", b"(7,)", b"(3, 4)",
          b"np.int64(7)", b"np.uint8( 3 )", b"np.float32(1)", b"np.bool(1)", b"7L", b"9223372036854775807", b"9223372036854775808",
          b"4294967296", b"18446744073709551616", b"'descr'", b'"shape"', b"'fortran_order'", b"'descr': '<f4', ", b"'shape': (2,), ",
          b"'<f4'", b"'>f8'", b"'=i2'", b"'|i4'", b"'|u1'", b"'<i1'", b"'f4'", b"'float32'", b"'bfloat16'", b"'<bfloat16'", b"'int'", b"'<V2'",
          b"'>V2'", b"'V2'", b"'|V2'", b"'O'", b"'|b1'", b"'?'", b"'e'", b"'d'", b"'<f2,<f2'", b"b'<f4'", b"u'<f4'", b"r'<f4'", b"'<' 'f4'",
          b"\xc3\xa9", b"\xe9", b"2**3", b"1 + 1", b"lambda: 0"]

# Types that are no dtypes of clipper, and their damage.
PIECES += [b"'<M8[ns]'", b"'>m8[25s]'", b"'M8[", b"'M8[]'", b"'M8[0s]'", b"'M8[-1s]'", b"'M8[01s]'", b"'M8[s/3]'", b"'M8[D/24]'", b"'M8[generic]'", b"'M8[3generic]'",
           b"'M8[Y]x'", b"'M8[2147483648s]'", b"'m8'", b"'M8[S]'", b"'M8[ s]'", b"'<c8'", b"'>c16'", b"'<c32'", b"'c4'", b"'<f16'", b"'f12'", b"'f1'", b"'|S5'", b"'S05'", b"'S'", b"'S-1'",
           b"'S2147483647'", b"'S2147483648'", b"'<U3'", b"'>U0'", b"'U536870911'", b"'U536870912'", b"'V7'", b"'|V1'", b"'|O'", b"'O8'", b"'O4'", b"'O2'", b"'<?'", b"'>b1'",
           b"[('a', '<i4')]", b"[('a', '|V4', (2, 3))]", b"[(('t', 'a'), '>f8'), ('', '|V4'), ('b', 'S3')]", b"('', '|V4')", b"('a\\x41', '<c8'), ", b"'\\''", b"[]", b"[('a', [('b', 'u1')])]",
           b"('<f4', (2,))", b"(2,)", b"(0,)", b"(1073741824, 2)"]

SPACE = rb"(?:[ \t\r\n\f]|#[^\r\n]*[\r\n])*"
STRING = rb"(['\"])[^'\"]*\1"
DTYPES = {"int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "float16", "float32", "float64", "bfloat16"}
DESCRS = rb"[<>=|]?(?:[iu][1248]|f[248])|[<>]V2|" + "|".join(DTYPES).encode()

# Headers that clipper accepts and numpy refuses (lib/npy/header.hpp). The function makes one that numpy accepts.
WRITTEN = set()  # by numpy: clipper must accept them
EXCEPTIONS = {
    "np.int64(7) as a dimension":
        lambda text: re.sub(rb"np\.%su?int(?:8|16|32|64)%s\(%s(\d+)%s\)" % ((SPACE,) * 4), rb"\1", text),
    "ml_dtypes' float8_e5m2, as np.save writes it": lambda text: re.sub(rb"(['\"][<>=|]?)f1(['\"])", rb"\1u1\2", text),
}

# Headers that numpy accepts and clipper refuses. No program writes them, and clipper would need more of Python's grammar to
# read them. `text` is the header with the content of its comments removed.
REFUSALS = {
    # Python joins lines at a backslash.
    "a backslash, in a string or at a line's end": lambda text: b"\\" in text,
    # The encoding depends on the version: Latin-1 or UTF-8.
    "a comment beyond ASCII": lambda text: not text.isascii(),
    # Python reads blanks there as indentation, which numpy accepts or refuses depending on the rest of the header.
    "lines before the dict that are not empty": lambda text: not re.match(rb"[ \t]*(\r?\n)*\{", text),
    # Python ignores a form feed there, but not after a lone CR, where numpy assumes that Python 2 wrote the header.
    "a form feed in a last line without end": lambda text: re.search(rb"[\r\n][ \t\f]*\f[ \t\f]*\Z", text),
    "strings with a prefix, joined, or in three quotes": lambda text: re.search(rb"\w\0|\0[\s#]*\0", re.sub(STRING, b"\0", text)),
    "a number with a sign, underscore, base or more zeros, a bool as one, an L apart":
        lambda text: re.search(rb"[-+]|\d_|\b0[0-9xXoObB]|[0-9]\s+L|\([^)]*(?:True|False)", text),
    "further parentheses": lambda text: text.count(b"(") > 1,
    "a key twice": lambda text: any(len(re.findall(rb"['\"]%s['\"]" % key, text)) > 1 for key in (b"descr", b"fortran_order", b"shape")),
    # Such as 'float', '<d', '<0f4' and None; also '|V2', which is bfloat16 only with --dtype.
    "another name of a dtype": lambda text: not re.search(rb"['\"]descr['\"]%s:%s(['\"])(?:%s)\1" % (SPACE, SPACE, DESCRS), text),
}


def with_text(header, text, length=None):
    """The header with another text and the length of that text, or with `length`."""
    at = TEXT_AT[header[6]]
    size = len(text) if length is None else length
    return header[:8] + struct.pack("<H" if at == 10 else "<I", size % (1 << 16 if at == 10 else 1 << 32)) + text


def in_version(header, version):
    return with_text(header[:6] + bytes([version, 0]) + header[8:], header[TEXT_AT[header[6]]:])


def damaged(header, rng):
    """The header with a few pieces inserted, replaced or removed, and sometimes one byte changed."""
    header = in_version(header, rng.choice([1, 1, 2, 3]))
    text = header[TEXT_AT[header[6]]:]
    if rng.random() < 0.9:  # otherwise most damage would happen in the padding
        text = text.rstrip()
    text = damaged_text(text, rb"'[^']*'|\w+|[^\w\s]", PIECES, rng)
    result = with_text(header, text, rng.randrange(300) if rng.random() < 0.03 else None)
    if rng.random() < 0.1:
        at = rng.randrange(len(result))
        result = result[:at] + bytes([rng.randrange(256)]) + result[at + 1:]
    return result


def clipper_on(dump, headers):
    """What clipper reads from each header: (dtype, order, memory order, offset, shape), or None if it refuses; and the same of all
    types, with the size and what the file has."""
    stream = b"".join(struct.pack("<I", len(header)) + header for header in headers)
    lines = subprocess.run([dump], input=stream, stdout=subprocess.PIPE, check=True).stdout.decode().split("\n")[:-1]
    assert len(lines) == 2 * len(headers)
    found = [None if line == "refused" else tuple(line.split("\t")) for line in lines]
    return list(zip(found[::2], found[1::2]))


def read_by_numpy(header):
    file = io.BytesIO(header)
    version = npy.read_magic(file)
    return file, npy._read_array_header(file, version, max_header_size=1 << 17)


def numpy_on_any(header):
    """What numpy reads from the header of an array of any type."""
    file, (shape, fortran_order, dtype) = read_by_numpy(header)
    order = "<" if dtype.byteorder in "=|" else dtype.byteorder
    if dtype.names is not None:
        name = str(dtype)
    else:
        name = dtype.str if dtype.kind in "SUV" else dtype.newbyteorder("=").name
    has = "objects" if dtype.hasobject else "elements"
    return name, order, "fortran" if fortran_order else "c", str(file.tell()), ",".join(map(str, shape)), str(dtype.itemsize), has


def numpy_on(header):
    """What numpy reads from a header. Raises whatever numpy raises."""
    file, (shape, fortran_order, dtype) = read_by_numpy(header)
    if dtype.str[1:] == "V2":
        name, order = "bfloat16", ANY
    else:
        name, order = dtype.name, "<" if dtype.itemsize == 1 else dtype.str[0]
    return name, order, "fortran" if fortran_order else "c", str(file.tell()), ",".join(map(str, shape))


def compared(header, found, used, read=numpy_on):
    """How numpy contradicts what clipper has read, or None. Counts the exception that was needed in `used`."""
    try:
        says = read(header)
    except Exception:  # numpy passes on any exception of Python's parser
        text = header[TEXT_AT[header[6]]:int(found[3])]
        needed = [name for name, change in EXCEPTIONS.items() if change(text) != text]
        for change in EXCEPTIONS.values():
            text = change(text)
        header = with_text(header, text)
        found = (*found[:3], str(len(header)), *found[4:])
        try:
            says = read(header)
        except Exception as error:
            return f"numpy refuses: {error}"
        used[needed[0]] += 1
    if says[0][1:] == "V2" and found[0] == "bfloat16":
        says = ("bfloat16", ANY, *says[2:])
    if says[0] == "uint8" and found[0] == "float8_e5m2":
        says = ("float8_e5m2", *says[1:])
    if says[1] == ANY:
        found = (found[0], ANY, *found[2:])
    return None if says == found else f"numpy says {says}"


def refused(header, used):
    """How numpy contradicts clipper's refusal, or None."""
    try:
        dtype, _, _, offset, shape = numpy_on(header)
    except Exception:
        return None
    shape = [int({"True": 1, "False": 0}.get(extent, extent)) for extent in shape.split(",") if extent]
    size = {"8": 1, "6": 2, "2": 4, "4": 8}.get(dtype[-1]) if dtype in DTYPES else None
    if size is None or len(shape) > 64 or min(shape, default=0) < 0 or math.prod(filter(None, shape)) * size >= 1 << 63:
        return None
    text = re.sub(rb"#[\0-\x7f]*?(?=[\r\n\x80-\xff]|$)", b"#", header[TEXT_AT[header[6]]:int(offset)])
    for name, applies in REFUSALS.items():
        if applies(text):
            used[name] += 1
            return None
    return f"numpy says {dtype}, {shape}"


def random_dtype(rng, depth=0):
    if depth < 3 and rng.random() < 0.3:
        names = rng.sample(["x", "y", "a b", "it's", 'say "x"', "'\"", "\\", "\n", "\t\r", "\0", "\x7f", "é", "größe ∑", "\U0001f600", "descr", "T"], rng.randrange(6))
        fields = []
        for name in names:
            field = [(f"title of {name}", name) if rng.random() < 0.2 else name, random_dtype(rng, depth + 1)]
            if field[1].itemsize and rng.random() < 0.3:
                field.append(rng.choice([(2,), (1,), (2, 3), (1, 1, 1)]))
            fields.append(tuple(field))
        return np.dtype(fields, align=rng.random() < 0.5)
    unit = rng.choice(["", "Y", "M", "W", "D", "h", "m", "s", "ms", "us", "ns", "ps", "fs", "as"])
    unit = unit and f"[{rng.choice(['', '', '1', '25', '2147483647'])}{unit}]"
    code = rng.choice(["?", "i1", "u2", "f2", "f8", "g", "c8", "c16", "G", "O", f"S{rng.randrange(9)}", f"U{rng.randrange(9)}", f"V{rng.randrange(1, 9)}", f"M8{unit}", f"m8{unit}"])
    return np.dtype(code).newbyteorder(rng.choice("<>"))


def written(rng):
    """A header that numpy writes for an array of a random type."""
    dtype = random_dtype(rng)
    file = io.BytesIO()
    shape = tuple(rng.choice([0, 1, 2, 7, 100]) for _ in range(rng.randrange(4)))
    npy._write_array_header(file, {"descr": npy.dtype_to_descr(dtype), "fortran_order": rng.random() < 0.3, "shape": shape})
    return file.getvalue()


def random_headers(count, seed):
    rng = random.Random(seed)
    seeds = list(corpus.header_seeds())
    for _ in range(count):
        kind = rng.random()
        if kind < 0.1:
            header = written(rng)
            WRITTEN.add(header)
            yield header
        else:
            yield damaged(written(rng) if kind < 0.5 else rng.choice(seeds), rng)


def all_headers():
    header = bytes.fromhex("934e554d50590100") + b"\0\0"
    blank = [b" ", b"\t", b"\n", b"\r", b"\f", b"#"]
    some = [*blank, b"\\", b"c", b"L", b"0", b",", b"}", b"\0", b"\v", b"'", b"("]
    every = [bytes([byte]) for byte in range(256)]
    pairs = list(map(b"".join, itertools.product(every, repeat=2)))
    ends = [b"", *every, *map(b"".join, [*itertools.product(some, repeat=3), *itertools.product([*blank, b"c"], repeat=4)])]
    starts = [b"".join(start) for length in (1, 2, 3) for start in itertools.product([*blank, b"c", b"\\"], repeat=length)]
    within = [*every, *map(b"".join, itertools.product([*blank, b"\\", b"c"], repeat=2)), b"#c\n", b"#c\r", b"#'\r\n", b"# \xe9\n"]
    for version, shape in ((1, b"(3, 4)"), (1, b"(3L, 4)"), (3, b"(3, 4)")):
        dict_text = b"{'descr': '<f4', 'fortran_order': False, 'shape': " + shape + b", }"
        texts = [dict_text + end + last for end in itertools.chain(ends, pairs if b"L" not in shape else ()) for last in (b"", b"\n")]
        texts += [start + dict_text + end for start in starts for end in (b"", b"\n", b"\n ", b"\r ")]
        for at in range(len(dict_text) + 1):
            texts += [dict_text[:at] + piece + dict_text[at:] + end for piece in within for end in (b"\n", b"\n ")]
        for text in texts:
            yield with_text(in_version(header, version), text)


def main(dump, headers, seed):
    warnings.simplefilter("ignore")  # numpy warns of headers that Python 2 may have written
    cases, accepted, read, violations, used, unused = 0, 0, 0, 0, Counter(), Counter()
    while batch := list(itertools.islice(headers, BATCH)):
        cases += len(batch)
        for header, (found, described) in zip(batch, clipper_on(dump, batch)):
            accepted += found is not None
            wrong = refused(header, unused) if found is None else compared(header, found, used)
            if described is not None:
                read += 1
                wrong = wrong or compared(header, described, used, numpy_on_any)
            elif found is not None or header in WRITTEN:
                wrong = "numpy writes it"
            if wrong:
                violations += 1
                print(f"{header!r}\n  clipper says {found or 'refused'}, and {described or 'refused'}\n  {wrong}")
    for what, counter in (("accepted", used), ("refused", unused)):
        for name, times in sorted(counter.items()):
            print(f"  {times} {what}: {name}")
    print(f"  {accepted} accepted, {read} of all types (seed {seed})")
    print(json.dumps({"what": "headers against numpy", "cases": cases, "violations": violations}))
    return 1 if violations or not accepted else 0


if __name__ == "__main__":
    if sys.argv[2] == "all":
        sys.exit(main(sys.argv[1], all_headers(), "none"))
    chosen = int(sys.argv[3]) if len(sys.argv) > 3 else first_seed()
    sys.exit(main(sys.argv[1], random_headers(int(sys.argv[2]), chosen), chosen))
