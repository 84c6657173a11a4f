"""The numpy scripts that clipper replaces: numpy_script.py clip|outliers IN OUT, numpy_script.py percentiles IN"""

import sys

import numpy as np


def clip(source, target):
    np.save(target, np.clip(np.load(source), 0, 6))


def outliers(source, target):
    x = np.load(source)
    low, high = np.percentile(x, [1, 99])
    np.save(target, np.clip(x, low, high))


def percentiles(source):
    print(np.percentile(np.load(source), [1, 50, 99]))


{"clip": clip, "outliers": outliers, "percentiles": percentiles}[sys.argv[1]](*sys.argv[2:])
