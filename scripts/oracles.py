"""The libraries that make goldens, each as a function (case, input bits) -> output bits.

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
from exact import BOUNDS, FACTORS, Tensor, bound_bits

onnxruntime.set_default_logger_severity(4)
BFLOAT16 = np.dtype(ml_dtypes.bfloat16)


def typed(bits, dtype):
    """Elements as an array of the type that the libraries expect."""
    return bits.view(BFLOAT16) if dtype == "bfloat16" else values(bits, dtype)


def with_numpy(case, bits):
    """np.clip with both bounds in x's dtype. A call with one bound treats -0.0 and 0.0 differently."""
    dtype = case.x.dtype
    bounds = values(np.array([bound_bits(case, side) for side in BOUNDS], bits_type(dtype)), dtype)
    x = values(bits, dtype)
    if not case.arithmetic:
        return to_bits(np.clip(x, *bounds), dtype)
    if dtype in ("int64", "uint64"):
        return None
    wide = np.dtype(case.arithmetic).type
    scale, bias = (wide(float(case.factor(option))) for option in FACTORS)
    g = np.clip(x.astype(wide) * scale + bias, *bounds.astype(wide))
    return np.ascontiguousarray(g.astype(BFLOAT16 if dtype == "bfloat16" else dtype)).view(bits_type(dtype))


def with_framework(case, bits):
    """A bound that is not given is None. To torch bounds are numbers of Python: as typed, or the element of a file. So are typed
    integers to numpy, which takes those that an integer dtype does not have if they bound nothing."""
    bounds = [bound_of(case, side) if side in case.parameters else None for side in BOUNDS]
    result = framework(case.profile.name)(case.x.dtype, bits, *bounds)
    if isinstance(result, str):
        raise ValueError(result)
    return result


def bound_of(case, side):
    given, bits = case.parameters[side], np.array(bound_bits(case, side), bits_type(case.x.dtype))
    is_file = isinstance(given, Tensor)
    if case.profile.name != "pytorch-2" and (case.profile.name != "numpy-2" or case.x.dtype not in INTS or is_file):
        return bits
    if is_file:
        return values(bits.reshape(1), case.x.dtype)[0].item()
    return int(exact(given)) if case.x.dtype in INTS else float(rounded(exact(given), "float64"))


@functools.cache
def framework(profile):
    return frameworks.Framework(profile)


def clip_model(case, length):
    """An ONNX model of one Clip node, and the values of its inputs except x."""
    opset, dtype = int(case.profile.name.removeprefix("onnx-")), case.x.dtype
    element = {"bfloat16": TensorProto.BFLOAT16}.get(dtype) or helper.np_dtype_to_tensor_dtype(np.dtype(dtype))
    given = [(side[2:], bound_bits(case, side)) for side in BOUNDS if side in case.parameters]
    attributes, feeds, names = {}, {}, ["x"]
    if opset < 11:
        attributes = {name: float(rounded(exact(case.parameters[f"--{name}"]), "float32")) for name, _ in given}
    else:
        feeds = {name: typed(np.array(b, bits_type(dtype)), dtype) for name, b in given}
        names += [name if name in feeds else "" for name in ("min", "max")][: 2 if "max" in feeds else len(feeds)]
    inputs = [helper.make_tensor_value_info("x", element, [length])]
    inputs += [helper.make_tensor_value_info(name, element, []) for name in feeds]
    graph = helper.make_graph([helper.make_node("Clip", names, ["y"], **attributes)], "clip", inputs,
                              [helper.make_tensor_value_info("y", element, [length])])
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=6), feeds


def with_onnxruntime(case, bits):
    model, feeds = clip_model(case, bits.size)
    session = onnxruntime.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
    return session.run(None, {"x": typed(bits, case.x.dtype), **feeds})[0].view(bits_type(case.x.dtype))


def with_onnx(case, bits):
    model, feeds = clip_model(case, bits.size)
    y = ReferenceEvaluator(model).run(None, {"x": typed(bits, case.x.dtype), **feeds})[0]
    return np.ascontiguousarray(y.astype(typed(bits, case.x.dtype).dtype, copy=False)).view(bits_type(case.x.dtype))


def with_openvino(case, bits):
    """Uses Model.evaluate, the reference implementation. A compiled model would depend on this machine's CPU."""
    kind = "bf16" if case.x.dtype == "bfloat16" else np.dtype(case.x.dtype).kind + str(8 * size(case.x.dtype))
    element = getattr(openvino.Type, kind)
    lo, hi = (float(rounded(exact(case.parameters[side]), "float64")) for side in BOUNDS)
    x = openvino.opset1.parameter([bits.size], element)
    model = openvino.Model([openvino.opset1.clamp(x, lo, hi)], [x], "clip")
    given, out = openvino.Tensor(element, [bits.size]), openvino.Tensor(element, [bits.size])
    given.data.view(bits_type(case.x.dtype))[:] = bits
    return out.data.view(bits_type(case.x.dtype)).copy() if model.evaluate([out], [given]) else None


def libraries(case):
    """The libraries that define or implement this case: name -> function."""
    profile = case.profile.name
    if "--nan" in case.parameters or "--min-above-max" in case.parameters:
        return {}
    if profile == "clipper":
        return {"numpy": with_numpy}
    if profile in ("onnx-6", "onnx-11", "onnx-12", "onnx-13"):
        return {"onnxruntime": with_onnxruntime, "onnx": with_onnx}
    if profile in frameworks.NAMES:
        return {frameworks.NAMES[profile]: with_framework}
    return {"openvino": with_openvino} if profile == "openvino" else {}


def outputs(case, bits):
    """library name -> output bits, for each library that supports the case."""
    results = {}
    for name, run in libraries(case).items():
        try:
            y = None
            with np.errstate(all="ignore"):
                y = run(case, bits)
        except Exception:  # each library has its own types for "not supported"
            pass
        if y is not None:
            results[name] = y
    return results
