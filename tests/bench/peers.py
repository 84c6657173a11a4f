"""Measures how fast a library clips to 0..6, from and to allocated memory. kernels.py runs it.

    peers.py LIBRARY SECONDS   prints JSON: a row for each dtype that the library supports, and each size; with one thread;
                               each figure is a mean over at least SECONDS
"""

import json
import sys
import time
import timeit
from functools import partial

import ml_dtypes
import numpy as np
import onnxruntime
import openvino
from onnx import TensorProto, helper

BFLOAT16 = np.dtype(ml_dtypes.bfloat16)
DTYPES = ("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "float16", "float32", "float64", "bfloat16")
SIZES = 64 << 10, 16 << 20  # in the cache and not, as in kernel_bench.cpp
PAGE = 2 << 20  # a huge page, which numpy requests for large arrays


def numpy_type(dtype):
    return BFLOAT16 if dtype == "bfloat16" else np.dtype(dtype)


def buffers(dtype, size):
    """The input and the output, adjacent and aligned to a huge page, as in kernel_bench.cpp."""
    memory = np.zeros(2 * size + 2 * PAGE, np.uint8)
    start = -memory.ctypes.data % PAGE
    x, y = (memory[start + i * size :][:size].view(numpy_type(dtype)) for i in range(2))
    low, high = (0, 20) if dtype.startswith("u") else (-10, 10)
    x[:] = np.random.default_rng(1).uniform(low, high, x.size).astype(x.dtype)
    y[:] = 1
    return x, y


def with_numpy(x, y):
    return partial(np.clip, x, x.dtype.type(0), x.dtype.type(6), out=y)


def with_onnxruntime(x, y):
    element = TensorProto.BFLOAT16 if x.dtype == BFLOAT16 else helper.np_dtype_to_tensor_dtype(x.dtype)
    bounds = [helper.make_tensor(name, element, [], [value]) for name, value in (("min", 0), ("max", 6))]
    values = [helper.make_tensor_value_info(name, element, [x.size]) for name in "xy"]
    graph = helper.make_graph([helper.make_node("Clip", ["x", "min", "max"], ["y"])], "clip", values[:1], values[1:], bounds)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)], ir_version=8)
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    session = onnxruntime.InferenceSession(model.SerializeToString(), options, ["CPUExecutionProvider"])
    binding = session.io_binding()
    binding.bind_input("x", "cpu", 0, x.dtype, x.shape, x.ctypes.data)
    binding.bind_output("y", "cpu", 0, y.dtype, y.shape, y.ctypes.data)
    return partial(session.run_with_iobinding, binding)


def with_openvino(x, y):
    kind = "bf16" if x.dtype == BFLOAT16 else x.dtype.kind + str(8 * x.itemsize)
    element = getattr(openvino.Type, kind)
    parameter = openvino.opset1.parameter([x.size], element)
    model = openvino.Model([openvino.opset1.clamp(parameter, 0.0, 6.0)], [parameter], "clip")
    settings = {"INFERENCE_NUM_THREADS": 1, "NUM_STREAMS": 1, "EXECUTION_MODE_HINT": "ACCURACY"}
    request = openvino.Core().compile_model(model, "CPU", settings).create_infer_request()
    bits = {"bf16": np.uint16}.get(kind, x.dtype)
    request.set_input_tensor(openvino.Tensor(x.view(bits), [x.size], element))
    request.set_output_tensor(openvino.Tensor(y.view(bits), [y.size], element))
    return partial(request.infer, share_inputs=True, share_outputs=True)


LIBRARIES = {"numpy": with_numpy, "onnxruntime": with_onnxruntime, "openvino": with_openvino}


def seconds_per_call(call, at_least):
    """Wall and CPU seconds."""
    timer = timeit.Timer(call)
    count = 1
    while (seconds := timer.timeit(count)) < at_least / 4:
        count *= 2
    count = max(1, round(count * at_least / seconds))
    before = time.process_time()
    seconds = timer.timeit(count)
    return seconds / count, (time.process_time() - before) / count


def measure(library, dtype, size, at_least):
    """None if the library does not support the dtype, for which each library raises other exceptions."""
    x, y = buffers(dtype, size)
    try:
        call = LIBRARIES[library](x, y)
        call()
    except Exception:
        return None
    right = np.clip(x, x.dtype.type(0), x.dtype.type(6)).astype(x.dtype).tobytes() == y.tobytes()
    seconds, cpu = seconds_per_call(call, at_least)
    return {"dtype": dtype, "bytes": size, "seconds": seconds, "cpu": cpu, "right": right}


def main():
    library, at_least = sys.argv[1], float(sys.argv[2])
    onnxruntime.set_default_logger_severity(4)
    rows = [measure(library, dtype, size, at_least) for dtype in DTYPES for size in SIZES]
    json.dump([row for row in rows if row], sys.stdout)


if __name__ == "__main__":
    main()
