"""Measures clips of .npz archives, beside clips of the same data as a .npy file and beside numpy."""

import shlex
import sys

import numpy as np

from files import write_tensor
from processes import SCRIPT, Command, peak_memory, scratch_directory, take_turns

MEMBERS = 8  # of equal size
DEFLATED_PART = 8  # the compressed archive holds this part of the stored one's data, because deflate is slow
BOUNDS = "--min 0 --max 6"


def write_inputs(size):
    """Elements of the compressed archive have two decimals, like many measurements; np.savez_compressed halves them."""
    write_tensor("in.npy", np.float32, (MEMBERS, size // 4 // MEMBERS), -10, 10)
    tensor = np.load("in.npy", mmap_mode="r")
    np.savez("stored.npz", **{f"w{i}": tensor[i] for i in range(MEMBERS)})
    few = tensor[:, : tensor.shape[1] // DEFLATED_PART].round(2)
    np.savez_compressed("compressed.npz", **{f"w{i}": few[i] for i in range(MEMBERS)})


def commands(clipper):
    return [
        Command("clipper, .npy of an archive's size", f"{clipper} {BOUNDS} in.npy out.npy"),
        Command("clipper, stored archive", f"{clipper} {BOUNDS} stored.npz out.npz"),
        Command("numpy script, stored archive", f"{SCRIPT} savez stored.npz out.npz"),
        Command("clipper, compressed archive", f"{clipper} {BOUNDS} compressed.npz out.npz"),
        Command("numpy script, compressed archive", f"{SCRIPT} savez_compressed compressed.npz out.npz"),
    ]


def measure(clipper, directory, size, rounds, samples):
    """Measures with archives of up to `size` bytes in a temporary directory below `directory`."""
    with scratch_directory(directory, 5 * size):
        write_inputs(size)
        row = commands(shlex.quote(str(clipper)))
        for i in range(rounds):
            print(f"bench: archives, round {i + 1} of {rounds}", file=sys.stderr)
            take_turns(row, i, ("in.npy", "stored.npz", "compressed.npz"), samples)
        for command in row:
            samples[f"MiB {command.name}"].append(peak_memory(command.line))
