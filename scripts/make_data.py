#!/usr/bin/env python3
"""Writes all files in data/ except those in NOT_OURS: the inputs, and the goldens that the libraries make.

The output is deterministic. The first call installs the pinned libraries in build-data/ unless this Python has them.
Needs Python 3.11 or newer.
"""

import argparse
import io
import sys
import zlib
from collections import Counter
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
DATA = ROOT / "data"

sys.dont_write_bytecode = True  # keeps __pycache__ out of scripts/

import libraries  # noqa: E402

if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true", help="write nothing; exit with 1 if a file in data/ differs")
    arguments = parser.parse_args()
    libraries.require(libraries.PEERS)

import ml_dtypes  # noqa: E402  (importable only after require())
import numpy as np  # noqa: E402

import array_cases  # noqa: E402
import contract  # noqa: E402
import exact  # noqa: E402
import oracles  # noqa: E402
from contract import DTYPES, FLOAT8, FLOATS, INTS, PROFILES, bits_type, nearest, size  # noqa: E402

# The cases: what is typed after --profile NAME. Every profile is tried with every case; the rules decide which cases
# a profile refuses.

FLOAT_CASES = [
    "",
    "--min 0 --max 6", "--min -1.5 --max 2.25", "--min 0.1 --max 0.3",
    "--min 0", "--max 6", "--min -0", "--max -0", "--min -2.5",
    "--min 1 --max 1", "--min 0 --max 0", "--min -0 --max 0", "--min 0 --max -0", "--min -0 --max -0",
    "--min 0x1.8p-1 --max 0x1.8p1", "--min -5.e-1 --max +.5",
    "--min -inf --max inf", "--min -inf --max 0", "--min 0 --max inf", "--min inf --max inf",
    "--min -inf --max -inf", "--min -inf", "--max inf", "--min inf", "--max -inf",
    "--min -1e400 --max 1e400", "--min 1e400 --max inf", "--min -inf --max -1e400",
    "--min 16777217 --max 16777219", "--min -65504 --max 65504", "--min -65520 --max 65520", "--min -1e39 --max 1e39",
    "--min 61 --max 17", "--min 61 --max 17 --min-above-max min", "--min 61 --max 17 --min-above-max max",
    "--min 61 --max 17 --min-above-max error", "--min 0 --max 6 --min-above-max max",
    "--min nan --max 1", "--min 0 --max nan", "--min nan --max nan", "--min nan", "--max nan",
    "--min 0 --max 6 --nan keep", "--min 0 --max 6 --nan min", "--min 0.5 --max 6 --nan max",
    "--min 0 --max 6 --nan 9", "--min 0 --max 6 --nan -7.5", "--min 0 --max 6 --nan error",
    "--min 0 --max 6 --scale 0.5 --bias 1", "--min -6 --max 6 --scale 1.1 --bias -1.1", "--min -6 --max 6 --scale -3",
    "--min -1 --max 1 --bias 0.1", "--min -100 --max 100 --scale 1.0000001 --bias 1e-8",
    "--min -1e30 --max 1e30 --scale 16777217 --bias 16777219", "--scale 0.1 --bias 0.2", "--scale 1e30", "--scale 1",
    "--min -inf --max inf --scale 1e-6", "--min -6 --max 6 --scale inf", "--min -6 --max 6 --bias nan",
]
NOT_OURS = {"README.md", "archives", "safetensors"}  # written by hand, by make_archives.py and make_safetensors.py

# Numbers on or next to a tie, where rounding once and rounding twice give different results.
EXTRA_CASES = {
    "float16": [
        "--min 1.000488281250000000001 --max 6", "--min 1.00048828125 --max 1.00146484375", "--max 65519.99",
        "--min 65519.99", "--min 65520", "--max -65520", "--min 6e-8 --max 6e-5", "--min 2.98e-8 --max 2.99e-8",
    ],
    "bfloat16": [
        "--min 1.003906250000000000001 --max 6", "--min 1.00390625 --max 1.01171875", "--min 1.005 --max 3.0101",
        "--max 3.3961e38", "--min 3.3962e38", "--max -3.3962e38", "--min 1e-40 --max 1e-38", "--min 4.59e-41 --max 4.6e-41",
    ],
    "float32": [
        "--min 1.00000005960464477539062500001 --max 6", "--min 1.000000059604644775390625 --max 6",
        "--max 3.4028235677973366e38", "--min -3.40282356e38 --max 3.40282356e38", "--min 3.4028235677973367e38 --max inf",
        "--max -1e39", "--min 1e-45 --max 1e-39", "--min 7e-46 --max 7.1e-46",
    ],
    "float64": [
        "--min 1.000000000000000111022302462515654042363166809082031250001 --max 6", "--max 1.7976931348623158e308",
        "--min 9007199254740993 --max 9007199254740995", "--min 1.7976931348623159e308", "--max -1.7976931348623159e308",
        "--min 5e-324 --max 1e-310", "--min 2.4703282292062327e-324 --max 2.4703282292062328e-324",
        "--scale 1e308", "--min -6 --max 6 --scale 0.1 --bias 1e-17",
    ],
}
INT_CASES = [
    "",
    "--min 0 --max 6", "--min -3 --max 100", "--min 2", "--max 5", "--min -2", "--min 5 --max 5", "--min 0 --max 0",
    "--min 0.5 --max 5.5", "--min -1.9 --max 1.9", "--min 0.2 --max 0.8", "--max -0.5", "--min -0.5", "--min 1e0 --max 5e1",
    "--min 0.9999999999999999999 --max 5.0000000000000000001", "--min 0x10 --max 0x1.9p4", "--min -0 --max 3",
    "--min -300 --max 300", "--min -5 --max -2", "--min 300 --max 500", "--min -500 --max -300",
    "--min -1e30 --max 1e30", "--min 1e30 --max 1e31", "--min -inf --max inf", "--min inf --max inf", "--min -inf --max -inf",
    "--min -1e400 --max 1e400", "--min 16777217 --max 16777219",
    "--min 61 --max 17", "--min 61 --max 17 --min-above-max min", "--min 61 --max 17 --min-above-max max",
    "--min 61 --max 17 --min-above-max error", "--min nan --max 1", "--min 0 --max nan",
    "--min 3 --max 9 --nan 5",
    "--min 0 --max 100 --scale 0.5 --bias 1", "--min -100 --max 100 --scale 2 --bias -1", "--min -100 --max 100 --scale -1",
    "--min 0 --max 100 --scale 0 --bias 3", "--min 0 --max 100 --bias 0.9", "--min -9 --max 9 --scale 0.1 --bias -0.95",
    "--scale 0.3333333333333333 --bias 0.5", "--scale -1", "--scale 3 --bias 1", "--scale 1e30", "--bias -1e30",
    "--min 0 --max 100 --scale 16777217 --bias -16777216", "--min 0 --max 9 --scale inf", "--min 0 --max 9 --bias nan",
]
for name in INTS:
    lowest, highest = int(np.iinfo(name).min), int(np.iinfo(name).max)
    EXTRA_CASES[name] = [
        f"--min {lowest} --max {highest}", f"--min {lowest - 1} --max {highest + 1}", f"--min {lowest} --max {lowest}",
        f"--min {highest} --max {highest}", f"--min {highest - 1}", f"--max {lowest + 1}", f"--min {highest + 1}",
        f"--max {lowest - 1}", f"--scale 1 --bias {highest}",
    ]
for name in ("int64", "uint64"):
    EXTRA_CASES[name] += [
        "--min 9007199254740993 --max 9007199254740995", "--min 9007199254740991 --max 9223372036854775295",
        "--scale 9223372036854775807 --bias -1", "--scale 18446744073709551615 --bias 18446744073709551615",
        "--bias -9223372036854775808", "--scale -9223372036854775808", "--scale 1.5 --bias 0.25",
    ]
FILE_CASES = ["--min @data/bounds/{0}-lo.npy --max @data/bounds/{0}-hi.npy", "--min @data/bounds/{0}-lo.npy",
              "--max @data/bounds/{0}-hi.npy", "--min 1 --max @data/bounds/{0}-hi.npy"]
OTHER_DTYPES = {"float32": ["--min @data/bounds/float64-lo.npy"], "int8": ["--min @data/bounds/uint8-lo.npy"]}  # only clipper takes them
FILE_REFUSED = {"float32": ["--max @data/bounds/float32-two.npy"]}
ARRAY_CASES, ARRAY_ELEMENTS = 360, 120  # random cases with arrays as parameters, and their most elements
SHAPES = [(), (6,), (2, 3), (1, 1, 2, 3), (1, 1, 1, 2, 3), (1,) * 7 + (6,), (1,) * 8 + (6,)]
SAME_AS_OTHER = ("directml-1.0", "directml-2.1", "directml-3.0", "onnx-1")  # in how a text becomes a bound
TAKES_FILES = ("clipper", "onnx-11", "onnx-12", "onnx-13", "numpy-2", "pytorch-2", "stablehlo-1", "tensorflow-2")


def cases(profile, dtype):
    yield from FLOAT_CASES if dtype in FLOATS else INT_CASES
    if profile.name not in SAME_AS_OTHER:
        yield from EXTRA_CASES[dtype]
    if profile.name in TAKES_FILES:
        yield from (case.format(dtype) for case in FILE_CASES)
        if dtype in FLOATS:
            yield f"--min @data/bounds/{dtype}-nan.npy --max 1"
            if profile.nan_bounds == "poisons":
                yield f"--min -6 --max @data/bounds/{dtype}-snan.npy"
                yield f"--min @data/bounds/{dtype}-snan.npy --max @data/bounds/{dtype}-nan.npy"
        if profile.name != "clipper":
            yield from OTHER_DTYPES.get(dtype, [])
        yield from FILE_REFUSED.get(dtype, [])


# The inputs ---------------------------------------------------------------------------------------------


def float_edges(dtype):
    """One of each kind, both signs: zero, subnormal, normal, around the bounds of the cases, inf, NaN."""
    infinity = nearest(np.inf, dtype)
    quiet = 1 << (FLOATS[dtype].fraction - 1)
    smallest = 1 << FLOATS[dtype].fraction
    magnitudes = [0, 1, 2, smallest - 1, smallest]
    for text in ("0.1", "1", "6"):
        magnitudes += [nearest(contract.exact(text), dtype) + i for i in (-1, 0, 1)]
    magnitudes += [nearest(contract.exact(t), dtype) for t in ("0.5", "1.5", "2.25", "17", "61", "65504", "16777218", "1e39")]
    magnitudes += [infinity - 1, infinity]
    magnitudes += [infinity + quiet, infinity + quiet + 5, infinity + 2 * quiet - 1, infinity + 1, infinity + quiet - 1]
    if dtype == "float64":
        largest = nearest(contract.FLOAT32_MAX, dtype)
        magnitudes += [largest - 1, largest, largest + 1, nearest(2**53 - 1, dtype), nearest(2**53 + 2, dtype)]
    sign = 1 << (8 * size(dtype) - 1)
    return [bits + s for s in (0, sign) for bits in dict.fromkeys(magnitudes)]


def int_edges(dtype):
    info = np.iinfo(dtype)
    numbers = {s * n for s in (-1, 1) for n in (*range(8), 17, 61, 100, 300, 70000, 2**24 + 1, 2**53 + 3)}
    numbers |= {s * 2**n + i for n in (7, 8, 15, 16, 31, 32, 53, 63, 64) for s in (-1, 1) for i in (-1, 0, 1)}
    kept = sorted(n for n in numbers if info.min <= n <= info.max)
    return [n & (2**info.bits - 1) for n in kept]


def edges(dtype):
    return np.array(float_edges(dtype) if dtype in FLOATS else int_edges(dtype), bits_type(dtype))


# Files --------------------------------------------------------------------------------------------------


def npy(array):
    file = io.BytesIO()
    np.save(file, array)
    return file.getvalue()


def element_npy(bits, dtype):
    """The bytes of a .npy file. bfloat16 is written as numpy writes an ml_dtypes array."""
    return npy(oracles.typed(bits, dtype))


def gzipped(content):
    """A .gz file without a time, and without compression, whose bytes would depend on the version of zlib."""
    packer = zlib.compressobj(0, wbits=31)
    return packer.compress(content) + packer.flush()


def readme_files():
    """path below data/ -> bytes: what the README's commands read."""
    x = np.array([-3.5, -0.0, 0.25, 5.5, 7, np.nan], np.float32)
    images = (np.arange(96, dtype=np.float32) / 96).reshape(2, 3, 4, 4)
    mean, std = np.array([0.485, 0.456, 0.406]), np.array([0.229, 0.224, 0.225])  # of ImageNet's channels
    channels = {"lo": [0.1, 0.2, 0.3], "hi": [0.9, 0.8, 0.7], "scale": 1 / std, "bias": -mean / std}
    files = {f"{name}.npy": npy(np.array(values, np.float32).reshape(3, 1, 1)) for name, values in channels.items()}
    archive = io.BytesIO()
    np.savez(archive, w=x, b=-x)
    tensors = ("a", "train/a", "train/b", "train/c", "val/a", "val/b", "val/c")
    return files | {f"tensors/{name}.npy": npy(x + i) for i, name in enumerate(tensors)} | {
        "in.npy": npy(x), "in.npy.gz": gzipped(npy(x)), "in.npz": archive.getvalue(), "images.npy": npy(images),
        "golden.npy": npy(np.array([0, -0.0, 0.25, 5.5, 6, np.nan], np.float32)),
    }


def bound_files():
    """path -> (dtype, bits)"""
    files = {}
    for dtype in DTYPES:
        number = {"lo": 3, "hi": 20} if dtype in INTS else {"lo": contract.exact("-0.7"), "hi": contract.exact("2.3")}
        if dtype in FLOATS:
            number["nan"] = np.nan
            number["snan"] = -np.inf  # plus 5: a signalling NaN
        for name, n in number.items():
            bits = np.array((nearest(n, dtype) if dtype in FLOATS else n) + 5 * (name == "snan"), bits_type(dtype))
            files[f"data/bounds/{dtype}-{name}.npy"] = dtype, bits.reshape(1) if name == "hi" else bits
    files["data/bounds/float32-two.npy"] = "float32", np.array([0, nearest(1, "float32")], "<u4")
    return files


HEADER_SHAPES = [
    (), (0,), (1,), (7,), (10,), (99999,), (10**9,), (2**62,), (3, 4), (5, 1), (1, 5), (1, 1), (0, 3), (3, 0), (0, 0), (1, 2, 1),
    (10, 9), (9, 10), (1000, 2), (2, 1000), (2, 3, 400), (20, 3, 4), (2**31, 0), (0, 2**40), (1,) * 16, (2, *(1,) * 30, 3),
    (1,) * 32, (1,) * 64, (2, *(1,) * 62, 2), (0,) * 64, (*(10**3,) * 5, 0), (0, *(9,) * 63), (0, *(1,) * 40, *(10**5,) * 3),
]
HEADER_SHAPES += [(0, *(1,) * n) for n in (*range(14, 18), *range(35, 39), *range(56, 60))]  # around multiples of 64


def header(descr, fortran, shape):
    """The header that np.save writes. Huge shapes get theirs from dtype, order and shape, without an array."""
    dtype = oracles.BFLOAT16 if descr == "<V2" else np.dtype(descr)
    if np.prod([max(n, 1) for n in shape], dtype=object) <= 10**6:
        array = np.zeros(shape, dtype, order="F" if fortran else "C")
        return npy(array).removesuffix(bytes(array.nbytes))
    file = io.BytesIO()
    order = fortran and 0 not in shape and sum(n > 1 for n in shape) > 1
    np.lib.format.write_array_header_1_0(file, {"descr": descr, "fortran_order": order, "shape": shape})
    return file.getvalue()


def headers():
    rows = [("<f4", fortran, shape) for shape in HEADER_SHAPES for fortran in (False, True)[: 1 + (1 < len(shape) < 32)]]
    descrs = ["|i1", "|u1", *(o + d for d in ("i2", "i4", "i8", "u2", "u4", "u8", "f2", "f4", "f8") for o in "<>"), "<V2", "|V2"]
    few = [(False, ()), (False, (7,)), (False, (3, 4)), (True, (3, 4))]
    rows += [(descr, *row) for descr in descrs for row in few]
    for descr, fortran, shape in dict.fromkeys(rows):
        yield descr, fortran, comma(shape), header(descr, fortran, shape).hex()


def comma(shape):
    return ",".join(map(str, shape))


def float8_values():
    """What ml_dtypes says that each element is: one row an element, float32 in hex; "nan" for any NaN."""
    elements = np.arange(256, dtype=np.uint8)
    columns = [elements.view(getattr(ml_dtypes, name)).astype(np.float32) for name in FLOAT8]
    for element, row in enumerate(zip(*columns)):
        yield f"{element:02x}", *("nan" if np.isnan(x) else f"{x.view(np.uint32):08x}" for x in row)


def tsv(names, rows):
    return "".join("\t".join(map(str, row)) + "\n" for row in [names.split(), *rows]).encode()


# The goldens --------------------------------------------------------------------------------------------


def kind_of_difference(dtype, theirs, ours):
    if theirs == ours:
        return ""
    a, b = (float(x) for x in contract.values(np.array([theirs, ours], bits_type(dtype)), dtype))
    if dtype in FLOATS and a == 0 and 0 < abs(b) < contract.value(1 << FLOATS[dtype].fraction, dtype):
        return "subnormal made zero"
    if np.isnan(a):
        return "NaN bits" if np.isnan(b) else "NaN made"
    return "sign of zero" if a == 0 and b == 0 else "inf passed" if np.isinf(a) else "value"


class Goldens:
    def __init__(self):
        self.bounds = bound_files()
        self.seen = Counter()
        self.files, self.cases, self.refused, self.disagreements = {}, [], [], {}

    def oracle(self, case, arguments, golden):
        """The column "oracle": the libraries that give the golden's bytes, or its document. Counts disagreements."""
        agree, profile, dtype, bits = [], case.profile, case.x.dtype, case.x.bits.ravel()
        masked = contract.unspecified(profile, dtype, bits, *(exact.bound_bits(case, side) for side in exact.BOUNDS))
        for library, y in oracles.outputs(case, bits).items():
            kinds = [kind_of_difference(dtype, theirs, ours) for theirs, ours in zip(y, golden)]
            for kind in sorted(set(kinds) - {""}):
                i = kinds.index(kind)
                example = [arguments, *(f"{a[i]:0{2 * size(dtype)}x}" for a in (bits, y, golden))]
                self.disagreements.setdefault((profile.name, dtype, library, kind), [0, *example])[0] += 1
            if all(kind in ("", "NaN bits") or unspecified for kind, unspecified in zip(kinds, masked)):
                agree.append(library + (" except " if any(kinds) else "") + " and ".join(sorted(set(kinds) - {""})))
        if agree:
            return ", ".join(agree)
        own = {"--nan", "--min-above-max"} & case.parameters.keys() or profile.name == "clipper"
        return "formula: clipper's own" if own else "document: " + profile.document

    def add(self, profile, dtype, bits):
        shape = (1, 1, 1, bits.size) if profile.ranks == range(4, 5) else (bits.size,)
        if dtype not in profile.dtypes:
            return self.try_tensor(profile, dtype, shape)
        rows = []
        for arguments in cases(profile, dtype):
            try:
                case = self.case(profile, dtype, bits.reshape(shape), arguments)
                golden = exact.result(case).result.bits.ravel()
            except contract.Unspecified:
                continue
            except contract.Refused as refusal:
                self.refuse(profile, dtype, shape, arguments, refusal)
                continue
            oracle = self.oracle(case, arguments, golden)
            self.cases.append((profile.name, dtype, len(rows), oracle, arguments, comma(shape) if len(shape) > 1 else ""))
            rows.append(golden)
        self.files[f"goldens/{profile.name}/{dtype}.npy"] = element_npy(np.array(rows), dtype)

    def case(self, profile, dtype, bits, arguments):
        words, given = arguments.split(), {}
        for option, text in zip(words[::2], words[1::2]):
            given[option] = text
            if text.startswith("@"):
                of_file, elements = self.bounds[text[1:]]
                given[option] = exact.Tensor(of_file, elements.view(contract.stored_type(of_file)), name=text[1:])
        return exact.Case(exact.Tensor(dtype, bits.view(contract.stored_type(dtype))), given, profile)

    def try_tensor(self, profile, dtype, shape):
        try:
            contract.check_tensor(profile, dtype, shape)
        except contract.Refused as refusal:
            self.refuse(profile, dtype, shape, "--min 0 --max 6", refusal)

    def refuse(self, profile, dtype, shape, arguments, refusal):
        """Keeps the first two cases of each rule per profile and dtype, and all cases of wrong rank."""
        self.seen[profile.name, dtype, refusal.rule] += 1
        if refusal.rule == "rank" or self.seen[profile.name, dtype, refusal.rule] <= 2:
            word = min(refusal.words[0]).strip("[]").split(", ")[-1]  # of an index the last number
            self.refused.append((profile.name, dtype, comma(shape), refusal.code, arguments, word))


def make():
    """path below data/ -> bytes"""
    goldens = Goldens()
    inputs = {dtype: edges(dtype) for dtype in DTYPES}
    for profile in PROFILES:
        for dtype, bits in inputs.items():
            goldens.add(profile, dtype, bits)
        for shape in SHAPES:
            goldens.try_tensor(profile, "float32", shape)
    files = goldens.files
    files |= readme_files()
    files |= {f"edge/{dtype}.npy": element_npy(bits, dtype) for dtype, bits in inputs.items()}
    files |= {path.removeprefix("data/"): element_npy(bits, dtype) for path, (dtype, bits) in goldens.bounds.items()}
    files["headers/headers.tsv"] = tsv("descr fortran_order shape header", headers())
    files["float8.tsv"] = tsv("element " + " ".join(FLOAT8), float8_values())
    files["goldens/cases.tsv"] = tsv("profile dtype row oracle arguments shape", goldens.cases)
    files["goldens/refused.tsv"] = tsv("profile dtype shape exit_code arguments word", goldens.refused)
    files["goldens/disagreements.tsv"] = tsv("profile dtype library kind cases arguments input theirs golden",
                                             (key + tuple(row) for key, row in goldens.disagreements.items()))
    return files | array_cases.golden_files(ARRAY_CASES, ARRAY_ELEMENTS)


def paths(directory):
    """The paths below `directory` of the files that this script writes."""
    below = (path.relative_to(directory) for path in directory.rglob("*") if path.is_file())
    return {str(path) for path in below if path.parts[0] not in NOT_OURS}


def write(files, directory):
    for old in paths(directory) - files.keys():
        (directory / old).unlink()
    for path, content in files.items():
        (directory / path).parent.mkdir(parents=True, exist_ok=True)
        (directory / path).write_bytes(content)


def check(files):
    stored = {path: (DATA / path).read_bytes() for path in paths(DATA)}
    return sorted(path for path in stored.keys() | files.keys() if stored.get(path) != files.get(path))


def main(only_check):
    files = make()
    if only_check:
        different = check(files)
        sys.exit("make_data.py: files in data/ differ: " + ", ".join(different) if different else 0)
    write(files, DATA)
    print(f"data/: {len(files)} files, {sum(map(len, files.values())):,} bytes")


if __name__ == "__main__":
    main(arguments.check)
