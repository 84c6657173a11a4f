"""The numpy scripts that clipper replaces: numpy_script.py clip|blocks|stretch|savez|savez_compressed IN OUT, numpy_script.py in_place|percentiles FILE"""

import sys

import numpy as np

BLOCK = 1 << 17  # elements


def clip(source, target):
    np.save(target, np.clip(np.load(source), 0, 6))


def clip_blocks(x, y):
    for i in range(0, len(x), BLOCK):
        np.clip(x[i : i + BLOCK], 0, 6, out=y[i : i + BLOCK])


def blocks(source, target):
    x = np.load(source, mmap_mode="r")
    clip_blocks(x, np.lib.format.open_memmap(target, "w+", x.dtype, x.shape))


def in_place(path):
    x = np.load(path, mmap_mode="r+")
    clip_blocks(x, x)


def clip_archive(save):
    def run(source, target):
        with np.load(source) as archive:
            save(target, **{name: np.clip(archive[name], 0, 6) for name in archive})
    return run


def stretch(source, target):
    x = np.load(source)
    low, high = np.percentile(x, [1, 99])
    np.save(target, np.rint((np.clip(x, low, high).astype(np.float32) - np.float32(low)) * np.float32(255 / (high - low))).astype(np.uint8))


def percentiles(source):
    print(np.percentile(np.load(source), [1, 50, 99]))


SCRIPTS = {"clip": clip, "blocks": blocks, "in_place": in_place, "stretch": stretch, "percentiles": percentiles,
           "savez": clip_archive(np.savez), "savez_compressed": clip_archive(np.savez_compressed)}
SCRIPTS[sys.argv[1]](*sys.argv[2:])
