"""Clips numpy arrays, .npy files and .npz archives, byte for byte as numpy, DirectML, ONNX Clip or OpenVINO do.

>>> import clipper, numpy as np
>>> clipper.clip(np.array([-3.5, 0.25, 7.0]), 0, 6)
array([0.  , 0.25, 6.  ])

clip() works on arrays in memory, clip_file() and clip_in_place() on files. compare(), assert_same(), info() and
percentiles() take arrays and files. "a.npz:w" is the path of the member w of an archive.
"""

from ._assertions import assert_same
from ._core import __version__, clip, profiles
from ._errors import ClipperError, ClipperFileNotFoundError, ClipperPermissionError, TruncationWarning
from ._files import Counts, clip_file, clip_in_place
from ._reciprocal import reciprocal
from ._tensors import Comparison, Info, Mismatch, compare, info, percentiles

__all__ = [
    "ClipperError",
    "ClipperFileNotFoundError",
    "ClipperPermissionError",
    "Comparison",
    "Counts",
    "Info",
    "Mismatch",
    "TruncationWarning",
    "assert_same",
    "clip",
    "clip_file",
    "clip_in_place",
    "compare",
    "info",
    "percentiles",
    "profiles",
    "reciprocal",
]
