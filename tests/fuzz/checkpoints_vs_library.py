#!/usr/bin/env python3
# torture clipper: 20 | 300 | 3000
"""Casts checkpoints in the shape of public ones, which the safetensors library writes: files of f32, bf16, int64 and bool, and their index. What numpy and
the library read of the results must be what ml_dtypes makes of each float, and every byte of all other tensors.

    checkpoints_vs_library.py CLIPPER CASES [SEED [DIRECTORY]]
"""

import json
import sys
from pathlib import Path

sys.dont_write_bytecode = True
sys.path.insert(0, str(Path(__file__).resolve().parent.parent.parent / "scripts"))

import libraries  # noqa: E402

libraries.require({**{name: libraries.PEERS[name] for name in ("numpy", "ml_dtypes")}, **libraries.SAFETENSORS})

import trials  # noqa: E402
from safetensors.numpy import load_file, save_file  # noqa: E402
from trials import ml_dtypes, np  # noqa: E402

BF16 = np.dtype(ml_dtypes.bfloat16)
INDEX = "model.safetensors.index.json"
KINDS = {"embed_tokens.weight": "f4", "self_attn.q_proj.weight": BF16, "mlp.weight": "f4", "input_ids": "i8", "mask": "?"}


def write_checkpoint(rng, directory, shards):
    """The tensors by name, written to `shards` files."""
    names = [f"model.layers.{layer}.{name}" for layer in range(rng.randrange(1, 4)) for name in KINDS]
    tensors = {}
    for name in names:
        dtype, shape = np.dtype(KINDS[name.split(".", 3)[3]]), tuple(rng.randrange(4) + (rng.random() < 0.9) for _ in range(rng.randrange(3)))
        count = int(np.prod(shape, dtype=int))
        raw = bytes(rng.randrange(2) for _ in range(count)) if dtype == bool else rng.randbytes(count * dtype.itemsize)
        tensors[name] = np.frombuffer(raw, dtype).reshape(shape)
    file_of = {name: f"model-{i % shards + 1:05}-of-{shards:05}.safetensors" for i, name in enumerate(rng.sample(names, len(names)))}
    for file in set(file_of.values()):
        save_file({name: tensors[name] for name in names if file_of[name] == file}, directory / file, metadata={"format": "pt"})
    write_index(directory, file_of, tensors)
    return tensors, file_of


def write_index(directory, file_of, tensors):
    """As transformers does."""
    index = {"metadata": {"total_size": sum(tensor.nbytes for tensor in tensors.values())}, "weight_map": file_of}
    (directory / INDEX).write_text(json.dumps(index, indent=2, sort_keys=True) + "\n")


def is_same(tensor, read):
    """Whether the bytes are right. NaN may have any payload: ml_dtypes keeps none."""
    if tensor.dtype not in (np.dtype("f4"), BF16):
        return tensor.dtype == read.dtype and tensor.shape == read.shape and tensor.tobytes() == read.tobytes()
    expected = tensor.astype(BF16)
    nan = np.isnan(expected.astype("f4"))
    return read.dtype == BF16 and read.shape == expected.shape and np.array_equal(nan, np.isnan(read.astype("f4"))) and (
        np.where(nan, 0, expected.view("u2")).tobytes() == np.where(nan, 0, read.view("u2")).tobytes())


def checkpoint_case(trial):
    given, expected = trial.path("given"), trial.path("expected")
    for made in (given, expected):
        made.mkdir()
    tensors, file_of = write_checkpoint(trial.rng, given, trial.rng.choice([1, 4]))
    in_place = trial.rng.random() < 0.5
    run = trial.run("--quiet", "--to", "bfloat16", f"given/{INDEX}", *(["--in-place"] if in_place else ["--flat", "--output-dir", "out"]))
    if not trial.check(run.code == 0 and not run.err, f"exit {run.code}: {run.err}"):
        return
    out, read = given if in_place else trial.path("out"), {}
    for file in set(file_of.values()):
        read |= load_file(out / file)
    wrong = [name for name, tensor in tensors.items() if name not in read or not is_same(tensor, read[name])]
    if trial.check(not wrong, f"other tensors: {wrong}"):
        write_index(expected, file_of, read)
        trial.check((out / INDEX).read_bytes() == (expected / INDEX).read_bytes(), "another index")


if __name__ == "__main__":
    trials.main("checkpoints in several files against safetensors and numpy", checkpoint_case)
