#!/usr/bin/env python3
# torture clipper: - | |
"""Casts in which every element hurts, with each SIMD level: all halves and float8 to every dtype with every rounding, ties of float64
and integers and their neighbours, NaNs, clips of float8; and QuantizeLinear and DequantizeLinear of ONNX Runtime. Where ml_dtypes
and numpy round once, exact.py must say the same, except between 2^-127 and 1.5 * 2^-127, which ml_dtypes makes 2^-126 of float8_e8m0fnu.

    exhaustive.py CLIPPER
"""

import json
import sys
import tempfile
from fractions import Fraction
from pathlib import Path

from trials import libraries, ml_dtypes, np

libraries.require({name: libraries.PEERS[name] for name in ("numpy", "ml_dtypes", "onnx", "onnxruntime")})

import onnxruntime  # noqa: E402
from onnx import helper  # noqa: E402

import exact  # noqa: E402
import ways  # noqa: E402
from array_cases import Draw  # noqa: E402
from contract import FLOAT8, FLOATS, FORMATS, INTS, is_nan, numbers, stored_type, value  # noqa: E402
from draws import ALL  # noqa: E402
from conversion import ROUNDS  # noqa: E402
from exact import Case, Tensor  # noqa: E402

HALVES = ("float16", "bfloat16")


class Casts(ways.Trial):
    cases = 0

    def cast(self, x, given, right=None, divides=False):
        """Casts a tensor at every level and compares the result with the right one, or that of exact.py. Elements that must be refused
        are, and are then left out."""
        try:
            self.take(Case(x, given, divides=divides))
        except exact.Beyond as refusal:
            self.check_refused(self.clip("in.npy", "out.npy"), self.files(), refusal.code, refusal.words)
            self.cast(x.like(x.elements[~refusal.where]), given)
            return
        for level in ways.simd_levels(self.clipper):
            self.check_done(self.run(*self.operation(), "--quiet", "--simd", level, "in.npy", "out.npy"))
            self.check_bytes(self.path("out.npy").read_bytes(), right or self.expected.result, f"{self.about} --simd {level}")
            self.cases += x.elements.size


def every(dtype):
    bits = np.arange(1 << 8 * stored_type(dtype).itemsize)
    return Tensor(dtype, bits.astype(f"u{stored_type(dtype).itemsize}").view(stored_type(dtype)))


def try_all(casts):
    for source in (*HALVES, *FLOAT8):
        for target in ALL:
            for mode in (None, *ROUNDS):
                given = {"--to": target} | ({"--round": mode} if mode else {}) | ({"--nan": "0"} if target in INTS else {})
                for more in saturated(target):
                    casts.cast(every(source), given | more)


def saturated(target):
    return [{}, {"--saturate": ""}] if target in FLOAT8 else [{}]


def ties(form):
    """The numbers between neighbours, and the one where infinity begins or would; all but the last of float64."""
    steps = [value(code, form) for code in range(FORMATS[form].last + 1)]
    steps.append(2 * steps[-1] - steps[-2])
    return [(a + b) / 2 for a, b in zip(steps, steps[1:])]


def try_ties_of_float64(casts):
    for target in (*HALVES, *FLOAT8):
        tie = np.array([float(each) for each in ties(target)])
        elements = np.concatenate([np.nextafter(tie, 0), tie, np.nextafter(tie, np.inf), 2 ** -8 * np.array([2**8 + 1 + 2**-22, 2**8 + 3 - 2**-32])])
        for more in saturated(target):
            casts.cast(Tensor("float64", np.concatenate([elements, -elements])), {"--to": target} | more)


def try_ties_of_integers(casts):
    """Integers of `digits` binary digits, followed by a half of the last one, or by one more or less."""
    generator = np.random.default_rng(0)
    for source, bits in (("int64", 63), ("uint64", 64), ("int32", 31), ("uint32", 32)):
        for target, digits in (("float64", 53), ("float32", 24), ("bfloat16", 8), *((name, FLOAT8[name].fraction + 1) for name in FLOAT8)):
            found = [0]
            for shift in range(2, bits - digits + 1):
                for head in {1 << (digits - 1), (1 << digits) - 1, *generator.integers(1 << (digits - 1), 1 << digits, 30).tolist()}:
                    found += [(head << shift) + (1 << (shift - 1)) + step for step in (-1, 0, 1)]
            found += [-each for each in found] if source[0] == "i" else []
            for more in saturated(target):
                casts.cast(Tensor(source, np.array(found, source)), {"--to": target} | more)


def try_numbers_as_float8(casts):
    """Edges, random elements and NaNs of every dtype."""
    draw = Draw(casts.rng, casts.generator)
    for target in FLOAT8:
        for source in (*INTS, *FLOATS):
            elements = np.concatenate([draw.elements(source, (5000,), style=style) for style in ("any", "near", "edges")])
            if source in FLOATS:
                spread = np.exp2(casts.generator.uniform(-150, 140, 5000))
                spread = (spread if source == "float64" else spread.astype(np.float32)).astype(getattr(ml_dtypes, source, source))
                elements = np.concatenate([elements, spread.view(stored_type(source)), draw.nans(source, 50)])
            for more in saturated(target):
                casts.cast(Tensor(source, elements), {"--to": target} | more)


def try_clips_of_float8(casts):
    for name, form in FLOAT8.items():
        for _ in range(200):
            low, high = sorted(np.exp2(casts.generator.uniform(-12, 9, 2)) * casts.generator.choice([-1, 1] if form.sign else [1]))
            if max(abs(low), high) <= value(form.last, name):
                casts.cast(every(name), {"--min": repr(float(low)), "--max": repr(float(high))})


def try_oracle(casts):
    """exact.py, numpy and ml_dtypes agree."""
    bits = np.concatenate([casts.generator.integers(0, 1 << 32, 30_000), np.arange(1 << 16) << 16]).astype("u4")
    for source in ("float32", "float64"):
        x = np.concatenate([bits.view("f4"), np.array([float(tie) for name in (*HALVES, *FLOAT8) for tie in ties(name)], "f4")]).astype(source)
        x = x[~np.isnan(x)]
        for target in FORMATS if source == "float32" else ("float16", "float32"):
            theirs = x.astype(getattr(ml_dtypes, target, target)).view(f"u{stored_type(target).itemsize}")
            ours = exact.Rule(target, None, 0, False).stored(x)[0]
            beyond = [is_nan(each.view(stored_type(target)), target) for each in (theirs, ours)]
            ours = np.where(beyond[0] & (exact.Rule(target, None, 0, False).stored(x)[1] == 2), theirs, ours)
            known = (target == "float8_e8m0fnu") & (x > 2.0**-127) & (x < 1.5 * 2.0**-127)
            wrong = (theirs != ours) & ~known
            casts.check(not wrong.any(), f"the oracle says otherwise: {source} to {target}, {x[wrong][:3]}")
            casts.cases += x.size
    for name in FLOAT8:
        every_one = np.arange(256, dtype="u1")
        casts.check(np.array_equal(numbers(every_one, name), every_one.view(getattr(ml_dtypes, name)).astype("f4"), equal_nan=True), name)


def onnx_result(operator, inputs, kinds):
    values = [helper.make_tensor_value_info(name, kind, None) for name, kind in zip("xsz", kinds)]
    out = helper.make_tensor_value_info("y", kinds[2] if operator == "QuantizeLinear" else kinds[1], None)
    graph = helper.make_graph([helper.make_node(operator, list("xsz"), ["y"], axis=1)], "g", values, [out])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21)], ir_version=10)
    session = onnxruntime.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
    return session.run(None, dict(zip("xsz", inputs)))[0]


def decimal(number):
    """All digits of a float."""
    return f"{Fraction(number).numerator}" if Fraction(number).denominator == 1 else f"{number:.1100f}".rstrip("0")


def try_quantization(casts):
    generator, shape = np.random.default_rng(1), (7, 16, 93)
    kinds = {name: helper.np_dtype_to_tensor_dtype(np.dtype(name)) for name in ("float16", "float32", "int8", "uint8", "int16", "uint16")}
    for real, whole, per_axis in ((real, whole, axis) for real in ("float32", "float16") for whole in ("int8", "uint8", "int16", "uint16") for axis in (0, 1)):
        limits = np.iinfo(whole)
        zero = int(generator.integers(limits.min, limits.max + 1))
        scale = generator.uniform(0.001, 0.3, 16 if per_axis else ()).astype(real)
        column = scale.reshape(-1, 1) if per_axis else scale
        near_ties = (generator.integers(-300, 300, shape) / 2 * column.astype(np.float64)).astype(real)
        x = np.where(generator.random(shape) < 0.5, near_ties, (generator.normal(0, 40, shape)).astype(real))
        x.ravel()[:2] = [-0.0, np.finfo(real).max]
        if real == "float32":  # ONNX Runtime wraps the infinities of float16: inf becomes the lowest integer
            x.ravel()[2:4] = [np.inf, -np.inf]
        zeros = np.full(scale.shape, zero, whole)
        def parameter(number):
            number = np.float64(number)
            return Tensor("float64", number.reshape(-1, 1)) if per_axis else decimal(float(number))

        right = onnx_result("QuantizeLinear", [x, scale, zeros], [kinds[real], kinds[real], kinds[whole]])
        casts.cast(Tensor(real, x), {"--to": whole, "--scale": parameter(scale), "--zero-point": str(zero)}, Tensor(whole, right), True)
        if real == "float16" and limits.bits == 16:
            continue  # ONNX Runtime rounds the product to float32 first
        q = generator.integers(limits.min, limits.max + 1, shape).astype(whole)
        right = onnx_result("DequantizeLinear", [q, scale, zeros], [kinds[whole], kinds[real], kinds[whole]])
        casts.cast(Tensor(whole, q), {"--to": real, "--scale": parameter(scale), "--bias": parameter(-zero * np.float64(scale))}, Tensor(real, right))


def main(clipper):
    with tempfile.TemporaryDirectory() as directory:
        casts = Casts(clipper, 44, Path(directory))
        for part in (try_oracle, try_ties_of_float64, try_ties_of_integers, try_quantization, try_numbers_as_float8, try_clips_of_float8, try_all):
            before = casts.cases
            part(casts)
            print(f"  {part.__name__.removeprefix('try_')}: {casts.cases - before} elements", flush=True)
        print(*casts.wrong[:20], sep="\n")
        print(json.dumps({"what": "casts of all halves and float8, ties, ONNX Runtime's quantization", "cases": casts.cases, "violations": len(casts.wrong)}))
    return 1 if casts.wrong else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
