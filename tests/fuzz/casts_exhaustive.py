#!/usr/bin/env python3
"""Casts in which every element hurts: all halves to every dtype with every rounding, all ties of float64 and their neighbours to
both halves, ties of int64 and uint64 to floats; and QuantizeLinear and DequantizeLinear of ONNX Runtime.

    casts_exhaustive.py CLIPPER

Each SIMD level of this CPU casts every element.
"""

import json
import subprocess
import sys
import tempfile
from fractions import Fraction
from pathlib import Path

sys.dont_write_bytecode = True
sys.path.insert(0, str(Path(__file__).resolve().parent.parent.parent / "scripts"))

import libraries  # noqa: E402

libraries.require({name: libraries.PEERS[name] for name in ("numpy", "ml_dtypes", "onnx", "onnxruntime")})

import onnxruntime  # noqa: E402
from onnx import helper  # noqa: E402

import contract  # noqa: E402
from array_cases import DTYPES, INTEGERS, Tensor, stored_type  # noqa: E402
from cast_oracle import ROUNDS, kept_nans, rounded  # noqa: E402
from contract import nearest  # noqa: E402
from trials import np  # noqa: E402

HALVES = ("float16", "bfloat16")
LEVELS = ("baseline", "v3", "v4")


class Casts:
    def __init__(self, clipper, directory):
        self.clipper, self.directory = str(Path(clipper).resolve()), Path(directory)
        self.cases = self.violations = 0
        self.levels = [level for level in LEVELS if self.run("--simd", level, "--version").returncode == 0]

    def run(self, *words):
        return subprocess.run([self.clipper, *map(str, words)], cwd=self.directory, capture_output=True, text=True)

    def save(self, name, dtype, elements):
        (self.directory / name).write_bytes(Tensor(dtype, elements).file())

    def check(self, source, elements, target, wanted, *words):
        """Casts elements at every level and compares them with those that are wanted."""
        self.save("in.npy", source, elements)
        right = Tensor(target, wanted).file()
        for level in self.levels:
            run = self.run("--quiet", "--to", target, "--simd", level, *words, "in.npy", "out.npy")
            found = (self.directory / "out.npy").read_bytes() if run.returncode == 0 else b""
            self.cases += elements.size
            if found == right:
                continue
            unsigned = f"u{wanted.itemsize}"
            got = np.frombuffer(found[len(found) - wanted.nbytes:], unsigned) if len(found) == len(right) else np.array([], unsigned)
            wrong = np.flatnonzero(got != wanted.ravel().view(unsigned)) if got.size else np.arange(elements.size)
            self.violations += wrong.size
            at = wrong[0]
            print(f"{source} to {target} {' '.join(map(str, words))} --simd {level}: {wrong.size} differ; first {elements.ravel()[at]!r} becomes "
                  f"{got[at:at + 1]}, not {wanted.ravel().view(unsigned)[at]} ({wanted.ravel()[at]!r}); {run.stderr.strip()}")


def try_halves(casts):
    for source in HALVES:
        bits = np.arange(1 << 16).astype(np.uint16)
        numbers = [float(each) for each in contract.values(bits, source).astype(np.float64)]
        nan = np.array([number != number for number in numbers])
        for mode in (None, *ROUNDS):
            words = ["--round", mode] if mode else []
            known, ints = {}, []
            for number in numbers:
                if number not in known:
                    beyond = abs(number) == np.inf
                    known[number] = 0 if number != number else round(np.copysign(2.0**200, number)) if beyond else rounded(number, mode or "half-even")
                ints.append(known[number])
            for target in DTYPES:
                elements = bits.view(stored_type(source))
                if target in INTEGERS:
                    limits = np.iinfo(target)
                    wanted = np.clip(np.array([*map(int, ints)], object), int(limits.min), int(limits.max)).astype(target)
                    casts.check(source, elements, target, wanted, *words, "--nan", "0")
                    continue
                unsigned = f"u{stored_type(target).itemsize}"
                results = np.array([nearest(number if not mode or abs(number) == np.inf or number != number else rounded(number, mode), target)
                                    for number in numbers], unsigned)
                results[nan] = bits[nan] if source == target else kept_nans(bits[nan], source, target)
                casts.check(source, elements, target, results.view(stored_type(target)), *words)


def try_ties_of_float64(casts):
    """Between neighbours, the tie becomes the even one, and the float64 next to the tie the nearer one."""
    for target in HALVES:
        infinity = 0x7C00 if target == "float16" else 0x7F80
        low = np.arange(infinity, dtype=np.uint16)
        below, above = (contract.values(each, target).astype(np.float64) for each in (low, low + np.uint16(1)))
        above[-1] = 2 * below[-1] - below[-2]  # where infinity begins
        tie = below + (above - below) / 2
        elements = np.concatenate([np.nextafter(tie, 0), tie, np.nextafter(tie, np.inf)])
        results = np.concatenate([low, low + (low & 1), low + 1]).astype(np.uint16)
        for sign, bit in ((1, 0), (-1, 0x8000)):
            casts.check("float64", sign * elements, target, (results | np.uint16(bit)).view(stored_type(target)))
    once = np.array([1 + 2**-8 + 2**-30, 1 + 2**-8, 1 + 2**-8 - 2**-30, 1 + 3 * 2**-8 - 2**-40])
    casts.check("float64", once, "bfloat16", np.array([0x3F81, 0x3F80, 0x3F80, 0x3F81], np.uint16))


def try_ties_of_integers(casts):
    """Integers of `digits` binary digits, followed by a half of the last one, or by one more or less."""
    generator = np.random.default_rng(0)
    for source, bits in (("int64", 63), ("uint64", 64), ("int32", 31), ("uint32", 32)):
        for target, digits in (("float64", 53), ("float32", 24), ("bfloat16", 8)):
            numbers, results = [], []
            for shift in range(2, bits - digits + 1):
                for head in (1 << (digits - 1), (1 << digits) - 1, *generator.integers(1 << (digits - 1), 1 << digits, 30).tolist()):
                    half = 1 << (shift - 1)
                    for step, up in ((-1, 0), (0, head & 1), (1, 1)):
                        for sign in (1, -1) if source[0] == "i" else (1,):
                            numbers.append(sign * ((head << shift) + half + step))
                            results.append(nearest(Fraction(sign * ((head + up) << shift)), target))
            if numbers:
                stored = stored_type(target)
                casts.check(source, np.array(numbers, source), target, np.array(results, f"u{stored.itemsize}").view(stored))


def onnx_result(operator, inputs, kinds, axis):
    values = [helper.make_tensor_value_info(name, kind, None) for name, kind in zip("xsz", kinds)]
    out = helper.make_tensor_value_info("y", kinds[2] if operator == "QuantizeLinear" else kinds[1], None)
    graph = helper.make_graph([helper.make_node(operator, list("xsz"), ["y"], axis=axis)], "g", values, [out])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21)], ir_version=10)
    session = onnxruntime.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
    return session.run(None, dict(zip("xsz", inputs)))[0]


def decimal(number):
    """All digits of a float."""
    return f"{Fraction(number).numerator}" if Fraction(number).denominator == 1 else f"{number:.1100f}".rstrip("0")


def try_quantization(casts):
    generator = np.random.default_rng(1)
    kinds = {name: helper.np_dtype_to_tensor_dtype(np.dtype(name)) for name in ("float16", "float32", "int8", "uint8", "int16", "uint16")}
    shape = (7, 16, 93)
    for real in ("float32", "float16"):
        for whole in ("int8", "uint8", "int16", "uint16"):
            for per_axis in (False, True):
                limits = np.iinfo(whole)
                zero = int(generator.integers(limits.min, limits.max + 1))
                scale = generator.uniform(0.001, 0.3, 16 if per_axis else ()).astype(real)
                column = scale.reshape(-1, 1) if per_axis else scale
                ties = (generator.integers(-300, 300, shape) / 2 * column.astype(np.float64)).astype(real)
                x = np.where(generator.random(shape) < 0.5, ties, (generator.normal(0, 40, shape)).astype(real))
                x.ravel()[:2] = [-0.0, np.finfo(real).max]
                if real == "float32":  # ONNX Runtime wraps the infinities of float16: inf becomes the lowest integer
                    x.ravel()[2:4] = [np.inf, -np.inf]
                zeros = np.full(scale.shape, zero, whole)
                given = [kinds[real], kinds[real], kinds[whole]]
                casts.save("s.npy", "float32", np.ascontiguousarray(column.astype(np.float32)))
                text = "1/@s.npy" if per_axis else f"1/{decimal(float(scale))}"
                casts.check(real, x, whole, onnx_result("QuantizeLinear", [x, scale, zeros], given, 1), "--scale", text, "--zero-point", zero)
                if real == "float16" and limits.bits == 16:
                    continue  # ONNX Runtime rounds the product to float32 first
                q = generator.integers(limits.min, limits.max + 1, shape).astype(whole)
                casts.save("s.npy", "float64", np.ascontiguousarray(column.astype(np.float64)))
                casts.save("b.npy", "float64", np.ascontiguousarray(-zero * column.astype(np.float64)))
                words = ["--scale", "@s.npy", "--bias", "@b.npy"] if per_axis else [
                    "--scale", decimal(float(scale)), f"--bias={decimal(-zero * float(scale))}"]
                casts.check(whole, q, real, onnx_result("DequantizeLinear", [q, scale, zeros], [kinds[whole], kinds[real], kinds[whole]], 1), *words)


def main():
    with tempfile.TemporaryDirectory() as directory:
        casts = Casts(sys.argv[1], directory)
        for part in (try_ties_of_float64, try_ties_of_integers, try_quantization, try_halves):
            before = casts.cases
            part(casts)
            print(f"  {part.__name__.removeprefix('try_')}: {casts.cases - before} elements", flush=True)
        print(json.dumps({"what": "casts of all halves, ties, ONNX Runtime's quantization", "cases": casts.cases, "violations": casts.violations}))
    return 1 if casts.violations else 0


if __name__ == "__main__":
    sys.exit(main())
