"""Division by a scale."""

from typing import Any, NamedTuple


class reciprocal(NamedTuple):
    """The scale 1 / divisor: elements are divided by the divisor, not multiplied by a rounded 1 / divisor.

    ONNX QuantizeLinear also divides. In text, "1/0.05" and "1/@s.npy" mean the same.

    Attributes:
        divisor: what clip() takes as scale: a number, an array or a path.

    >>> import clipper, numpy as np
    >>> x = np.array([-1.5, 0.25, 9], np.float32)
    >>> clipper.clip(x, scale=clipper.reciprocal(0.05), zero_point=128, to="uint8")
    array([ 98, 133, 255], dtype=uint8)
    """

    divisor: Any
