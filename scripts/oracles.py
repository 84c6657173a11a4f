"""The libraries that make goldens, each as a function (profile name, plan, input bits) -> output bits.

Each function passes the bounds as a user of the library would. It raises or returns None if the library does not
support the case.
"""

import functools

import ml_dtypes
import numpy as np
import onnx
import onnxruntime
import openvino
from onnx import TensorProto, helper
from onnx.reference import ReferenceEvaluator

import frameworks
from contract import INTS, bits_type, exact, rounded, size, to_bits, values

onnxruntime.set_default_logger_severity(4)
BFLOAT16 = np.dtype(ml_dtypes.bfloat16)


def typed(bits, dtype):
    """Elements as an array of the type that the libraries expect."""
    return bits.view(BFLOAT16) if dtype == "bfloat16" else values(bits, dtype)


def with_numpy(profile, p, bits):
    """np.clip with both bounds in x's dtype. A call with one bound treats -0.0 and 0.0 differently."""
    if profile != "native":
        return None
    bounds = values(np.array([p.lo, p.hi], bits_type(p.dtype)), p.dtype)
    x = values(bits, p.dtype)
    if p.scale is None and p.bias is None:
        return to_bits(np.clip(x, *bounds), p.dtype)
    if p.dtype in ("int64", "uint64"):
        return None
    wide = np.float32 if p.dtype in ("float16", "bfloat16", "float32") else np.float64
    scale, bias = (wide(float(n)) for n in (1 if p.scale is None else p.scale, 0 if p.bias is None else p.bias))
    g = np.clip(x.astype(wide) * scale + bias, *bounds.astype(wide))
    return np.ascontiguousarray(g.astype(BFLOAT16 if p.dtype == "bfloat16" else p.dtype)).view(bits_type(p.dtype))


def with_framework(profile, p, bits):
    """A bound that is not given is None. To torch bounds are numbers of Python: as typed, or the element of a file. So are typed
    integers to numpy, which takes those that an integer dtype does not have if they bound nothing."""
    bounds = [np.array(each, bits_type(p.dtype)) if side in p.arguments else None for side, each in (("--min", p.lo), ("--max", p.hi))]
    bounds = [each if each is None or not is_python(profile, p, side) else number_of_python(p, side, each)
              for side, each in zip(("--min", "--max"), bounds)]
    result = framework(profile)(p.dtype, bits, *bounds)
    if isinstance(result, str):
        raise ValueError(result)
    return result


def is_python(profile, p, side):
    return profile == "pytorch-2" or profile == "numpy-2" and p.dtype in INTS and not p.arguments[side].startswith("@")


def number_of_python(p, side, bits):
    text = p.arguments[side]
    if text.startswith("@"):
        return values(bits.reshape(1), p.dtype)[0].item()
    return int(exact(text)) if p.dtype in INTS else float(rounded(exact(text), "float64"))


@functools.cache
def framework(profile):
    return frameworks.Framework(profile)


def clip_model(profile, p, length):
    """An ONNX model of one Clip node, and the values of its inputs except x."""
    opset = int(profile.removeprefix("onnx-"))
    element = {"bfloat16": TensorProto.BFLOAT16}.get(p.dtype) or helper.np_dtype_to_tensor_dtype(np.dtype(p.dtype))
    given = [(name, bits) for name, bits in (("min", p.lo), ("max", p.hi)) if f"--{name}" in p.arguments]
    attributes, feeds, names = {}, {}, ["x"]
    if opset < 11:
        attributes = {name: float(rounded(exact(p.arguments[f"--{name}"]), "float32")) for name, _ in given}
    else:
        feeds = {name: typed(np.array(b, bits_type(p.dtype)), p.dtype) for name, b in given}
        names += [name if name in feeds else "" for name in ("min", "max")][: 2 if "max" in feeds else len(feeds)]
    inputs = [helper.make_tensor_value_info("x", element, [length])]
    inputs += [helper.make_tensor_value_info(name, element, []) for name in feeds]
    graph = helper.make_graph([helper.make_node("Clip", names, ["y"], **attributes)], "clip", inputs,
                              [helper.make_tensor_value_info("y", element, [length])])
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=6), feeds


def with_onnxruntime(profile, p, bits):
    model, feeds = clip_model(profile, p, bits.size)
    session = onnxruntime.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
    return session.run(None, {"x": typed(bits, p.dtype), **feeds})[0].view(bits_type(p.dtype))


def with_onnx(profile, p, bits):
    model, feeds = clip_model(profile, p, bits.size)
    y = ReferenceEvaluator(model).run(None, {"x": typed(bits, p.dtype), **feeds})[0]
    return np.ascontiguousarray(y.astype(typed(bits, p.dtype).dtype, copy=False)).view(bits_type(p.dtype))


def with_openvino(profile, p, bits):
    """Uses Model.evaluate, the reference implementation. A compiled model would depend on this machine's CPU."""
    kind = "bf16" if p.dtype == "bfloat16" else np.dtype(p.dtype).kind + str(8 * size(p.dtype))
    element = getattr(openvino.Type, kind)
    lo, hi = (float(rounded(exact(p.arguments[side]), "float64")) for side in ("--min", "--max"))
    x = openvino.opset1.parameter([bits.size], element)
    model = openvino.Model([openvino.opset1.clamp(x, lo, hi)], [x], "clip")
    given, out = openvino.Tensor(element, [bits.size]), openvino.Tensor(element, [bits.size])
    given.data.view(bits_type(p.dtype))[:] = bits
    return out.data.view(bits_type(p.dtype)).copy() if model.evaluate([out], [given]) else None


def libraries(profile, p):
    """The libraries that define or implement this case: name -> function."""
    if "--nan" in p.arguments or "--min-above-max" in p.arguments:
        return {}
    if profile == "native":
        return {"numpy": with_numpy}
    if profile in ("onnx-6", "onnx-11", "onnx-12", "onnx-13"):
        return {"onnxruntime": with_onnxruntime, "onnx": with_onnx}
    if profile in frameworks.NAMES:
        return {frameworks.NAMES[profile]: with_framework}
    return {"openvino": with_openvino} if profile == "openvino" else {}


def outputs(profile, p, bits):
    """library name -> output bits, for each library that supports the case."""
    results = {}
    for name, run in libraries(profile, p).items():
        try:
            y = None
            with np.errstate(all="ignore"):
                y = run(profile, p, bits)
        except Exception:  # each library has its own types for "not supported"
            pass
        if y is not None:
            results[name] = y
    return results
