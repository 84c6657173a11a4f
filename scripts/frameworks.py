"""The frameworks whose clips are profiles of clipper, each in a Python of its own (libraries.python_of).

PYTHON frameworks.py PROFILE reads jobs from standard input: a dtype, the bits of the elements as unsigned integers, lo and hi. A
bound is an array of bits, 0-d or of the elements' shape, or a number of Python, or None. Writes the bits of the result to
standard output or, as a text, why the framework refuses the job. All are pickled.
"""

import os
import pickle
import subprocess
import sys

import numpy as np

import libraries


def typed(bits, dtype):
    """Elements as an array of the type that the frameworks expect, except torch."""
    import ml_dtypes

    return bits.view(np.dtype(ml_dtypes.bfloat16) if dtype == "bfloat16" else dtype)


def with_numpy():
    def clip(dtype, x, lo, hi):
        lo, hi = (typed(each, dtype)[()] if isinstance(each, np.ndarray) else each for each in (lo, hi))
        with np.errstate(all="ignore"):
            return np.clip(typed(x, dtype), lo, hi).view(x.dtype)

    return clip


def with_jax():
    """Bounds are arguments of the compiled function, as in a model. As constants they may give other bits of a NaN."""
    import jax

    jax.config.update("jax_enable_x64", True)
    clamp = jax.jit(jax.lax.clamp)

    def clip(dtype, x, lo, hi):
        return np.asarray(clamp(*(typed(each, dtype) for each in (lo, x, hi)))).view(x.dtype)

    return clip


def with_tensorflow():
    import tensorflow as tf

    def clip(dtype, x, lo, hi):
        tensors = (tf.constant(np.array(typed(each, dtype))) for each in (x, lo, hi))  # of scalars it takes 0.0 for -0.0
        return tf.clip_by_value(*tensors).numpy().view(x.dtype)

    return clip


def with_torch():
    import torch

    def tensor(bits, dtype):
        signed = bits if bits.itemsize == 1 else bits.view(f"i{bits.itemsize}")  # torch has no unsigned integers of all sizes
        return torch.from_numpy(np.array(signed)).view(getattr(torch, dtype))

    def clip(dtype, x, lo, hi):
        lo, hi = (tensor(each, dtype) if isinstance(each, np.ndarray) else each for each in (lo, hi))
        y = torch.clamp(tensor(x, dtype), lo, hi)
        if y.dtype != getattr(torch, dtype):
            raise TypeError(f"the result is {y.dtype}")
        return y.view(tensor(x, f"int{8 * x.itemsize}").dtype).numpy().view(x.dtype)

    return clip


def with_tosa(nan_mode="PROPAGATE"):
    import tosa_reference_model
    import tosa_serializer as ts

    os.environ["PATH"] = ""  # the model calls gdb to print where it refused a graph
    types = {"int8": "INT8", "int16": "INT16", "float16": "FP16", "bfloat16": "BF16", "float32": "FP32"}

    def clip(dtype, x, lo, hi):
        kind = getattr(ts.DType, types[dtype])
        graph = ts.TosaSerializer("")
        graph.addInputTensor(ts.TosaSerializerTensor("x", [x.size], kind))
        y = graph.addOutput([x.size], kind)
        attributes = ts.TosaSerializerAttribute()
        bounds = (list(each.tobytes().ljust(8, b"\0")) for each in (lo, hi))
        attributes.ClampAttribute(*bounds, getattr(ts.NanPropagationMode, nan_mode))
        graph.addOperator(ts.Op.CLAMP, ["x"], [y.name], attributes)
        given = x if dtype == "bfloat16" else typed(x, dtype)  # the model takes no array of ml_dtypes
        outputs, status = tosa_reference_model.run(graph.serialize(), [given], debug_filename=os.devnull)
        if status != tosa_reference_model.GraphStatus.TOSA_VALID:
            raise ValueError(str(status))
        return outputs[0].view(x.dtype)

    return clip


CLIPS = {  # profile: what makes its function (dtype, x, lo, hi)
    "numpy-2": with_numpy,
    "pytorch-2": with_torch,
    "stablehlo-1": with_jax,
    "tosa-1.0": with_tosa,
    "tosa-1.0-ignore": lambda: with_tosa("IGNORE"),
    "tensorflow-2": with_tensorflow,
}
NAMES = {name: clip.__name__.removeprefix("with_") for name, clip in CLIPS.items()} | {"tosa-1.0-ignore": "tosa"}


class Framework:
    """A process that clips with the framework that is the oracle of a profile."""

    def __init__(self, profile):
        command = [*libraries.python_of(NAMES[profile]), __file__, profile]
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)

    def __call__(self, dtype, bits, lo, hi):
        """The bits of the result, or a text: why the framework refuses."""
        pickle.dump((dtype, bits, lo, hi), self.process.stdin)
        self.process.stdin.flush()
        return pickle.load(self.process.stdout)


def serve(clip, jobs, results):
    while True:
        try:
            job = pickle.load(jobs)
        except EOFError:
            return
        try:
            result = clip(*job)
        except Exception as error:  # each framework has its own types
            result = f"{type(error).__name__}: {error}"
        pickle.dump(result, results)
        results.flush()


if __name__ == "__main__":
    results = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # some print
    os.environ |= {"TF_CPP_MIN_LOG_LEVEL": "3", "JAX_PLATFORMS": "cpu"}
    serve(CLIPS[sys.argv[1]](), sys.stdin.buffer, results)
