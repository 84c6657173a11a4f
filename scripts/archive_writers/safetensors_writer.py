"""Writes a safetensors file with the installed version of the library, by the function that its save_file() calls for every
framework: safetensors_writer.py IN.json OUT. IN.json: a list of objects with a name, a dtype, a shape and the data in base64."""

import base64
import ctypes
import json
import sys

import safetensors

DTYPES = {"F64": "float64", "F32": "float32", "F16": "float16", "BF16": "bfloat16", "I8": "int8", "I16": "int16", "I32": "int32",
          "I64": "int64", "U8": "uint8", "U16": "uint16", "U32": "uint32", "U64": "uint64", "BOOL": "bool"}



def spec(name, shape, data):
    """What serialize_file() takes for a tensor: a dict, since version 0.8 a TensorSpec."""
    if not hasattr(safetensors, "TensorSpec"):
        return {"dtype": name, "shape": shape, "data": bytes(data)}
    return safetensors.TensorSpec(dtype=name, shape=shape, data_ptr=ctypes.addressof(data), data_len=len(data))


with open(sys.argv[1]) as file:
    rows = json.load(file)
buffers = [(ctypes.c_char * len(data)).from_buffer_copy(data) for data in (base64.b64decode(row["data"]) for row in rows)]
tensors = {row["name"]: spec(DTYPES[row["dtype"]], row["shape"], data) for row, data in zip(rows, buffers)}
safetensors.serialize_file(tensors, sys.argv[2], {"format": "pt"})
