"""The numpy scripts that clipper replaces: numpy_script.py clip|outliers|stretch|savez|savez_compressed IN OUT, numpy_script.py percentiles IN"""

import sys

import numpy as np


def clip(source, target):
    np.save(target, np.clip(np.load(source), 0, 6))


def clip_archive(save):
    def run(source, target):
        with np.load(source) as archive:
            save(target, **{name: np.clip(archive[name], 0, 6) for name in archive})
    return run


def outliers(source, target):
    x = np.load(source)
    low, high = np.percentile(x, [1, 99])
    np.save(target, np.clip(x, low, high))


def stretch(source, target):
    x = np.load(source)
    low, high = np.percentile(x, [1, 99])
    np.save(target, np.rint((np.clip(x, low, high).astype(np.float32) - np.float32(low)) * np.float32(255 / (high - low))).astype(np.uint8))


def percentiles(source):
    print(np.percentile(np.load(source), [1, 50, 99]))


SCRIPTS = {"clip": clip, "outliers": outliers, "stretch": stretch, "percentiles": percentiles,
           "savez": clip_archive(np.savez), "savez_compressed": clip_archive(np.savez_compressed)}
SCRIPTS[sys.argv[1]](*sys.argv[2:])
