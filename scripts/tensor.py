"""A tensor in a .npy file, with the header that np.save writes."""

from dataclasses import dataclass, replace

import numpy as np

import clipper_files
from contract import FLOAT8, stored_type


def unsigned(dtype):
    return np.dtype(f"u{stored_type(dtype).itemsize}")


@dataclass
class Tensor:
    """A .npy file: elements of the stored type in C order, and how the file stores them."""
    dtype: str
    elements: np.ndarray
    fortran: bool = False
    big: bool = False
    name: str = ""
    varies: bool = False  # as a parameter, with elements of their own for those of the tensor, even if it is one

    @property
    def shape(self):
        return self.elements.shape

    @property
    def bits(self):
        return np.ascontiguousarray(self.elements).view(unsigned(self.dtype)).reshape(self.shape)

    @property
    def descr(self):
        if self.dtype in FLOAT8:
            return "<>"[self.big] + ("f1" if self.dtype == "float8_e5m2" else f"V{self.elements.itemsize}")  # as ml_dtypes says
        text = "V2" if self.dtype == "bfloat16" else np.dtype(self.dtype).str[1:]
        return ("|" if self.elements.itemsize == 1 else ">" if self.big else "<") + text

    def like(self, elements):
        """Other elements in a file of the same kind."""
        return replace(self, elements=elements)

    def header(self):
        """The header that np.save writes."""
        one_order = self.elements.size == 0 or sum(size > 1 for size in self.shape) < 2
        fortran = self.fortran and not one_order
        return clipper_files.header(self.descr, self.shape, fortran)

    def data(self):
        swapped = self.elements.byteswap() if self.big else self.elements
        return swapped.tobytes("F" if self.fortran else "C")

    def file(self):
        return self.header() + self.data()

    def index_texts(self, wrong):
        """The first index at which `wrong` is true, in C order and in the order of the file."""
        return {str(list(map(int, np.unravel_index(np.flatnonzero(wrong.ravel(order))[0], wrong.shape, order)))) for order in "CF"}
