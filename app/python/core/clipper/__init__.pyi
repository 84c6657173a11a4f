from array import array
from datetime import date, timedelta
from os import PathLike
from typing import Any, Callable, Iterable, Literal, Mapping, NamedTuple, Optional, Protocol, Sequence, SupportsFloat, SupportsIndex, TypedDict, TypeVar, Union, Unpack, overload

import numpy as np
from numpy.typing import NDArray

__version__: str

class _HasArray(Protocol):
    @property
    def __array__(self) -> Any: ...

class _ExportsMemory(Protocol):  # torch's tensors
    @property
    def __dlpack__(self) -> Any: ...

# mypy prints all overloads of clip() with each error: more of them, and numpy.typing's ArrayLike, would make that 12 KB long.
_Array = Union[_HasArray, _ExportsMemory, Sequence[Any], complex]
_DType = Union[str, type[Any], np.dtype[Any], None]
_Number = Union[str, SupportsFloat, SupportsIndex]
_Path = Union[str, bytes, PathLike[Any]]
_Parameter = Union[SupportsFloat, _HasArray, _ExportsMemory, Sequence[Any], PathLike[Any], None]  # a str is a sequence
_Bound = Union[_Parameter, date, timedelta]  # of a file; datetime is a date
_Scale = Union[_Parameter, reciprocal]
_Round = Optional[Literal["half-even", "half-away", "trunc", "floor", "ceil"]]
_Nan = Union[_Number, None]  # "keep", "error", "min", "max" or a number
_MinAboveMax = Optional[Literal["error", "min", "max"]]
_Format = Optional[Literal["auto", "pb"]]
_Tolerance = Optional[Literal["torch", "numpy", "allclose"]]
_Profile = Literal[
    "clipper", "directml", "directml-clip1", "directml-1.0", "directml-2.1", "directml-3.0", "directml-5.0",
    "onnx", "onnx-1", "onnx-6", "onnx-11", "onnx-12", "onnx-13", "openvino", "numpy", "numpy-2", "pytorch",
    "pytorch-2", "stablehlo", "stablehlo-1", "tosa", "tosa-1.0-ignore", "tosa-1.0", "tensorflow",
    "tensorflow-2", "webnn",
]
_Kind = Literal[
    "float", "int", "bool", "date", "all", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32",
    "uint64", "float16", "float32", "float64", "bfloat16", "float8_e4m3fn", "float8_e5m2", "float8_e4m3fnuz",
    "float8_e5m2fnuz", "float8_e4m3b11fnuz", "float8_e8m0fnu",
]
_Tensor = Union[_Array, PathLike[Any]]
_Scalar = TypeVar("_Scalar", bound=np.generic)
_Out = Union[NDArray[Any], _ExportsMemory, bytearray, memoryview, array[Any], None]

class _Request(TypedDict, total=False):  # besides min, max, and to, on which the type of the result depends
    profile: Optional[_Profile]
    min_above_max: _MinAboveMax
    scale: _Scale
    bias: _Parameter
    replace_below: _Parameter
    replace_above: _Parameter
    max_norm: Optional[_Number]
    norm: Union[Literal["2", "1", "inf"], float, None]
    subtract: _Parameter
    divide: _Parameter
    divide_zero: Union[_Number, Literal["keep", "error"], None]
    zero_point: _Parameter
    nan: Union[_Nan, date, timedelta]
    round: _Round
    saturate: bool
    stretch: Union[tuple[_Number, _Number], str, None]
    stretch_from: Union[tuple[_Number, _Number], str, None]
    per_axis: Union[int, Sequence[int], None]
    pooled: bool
    mask: Union[_HasArray, _ExportsMemory, Sequence[Any], PathLike[Any], str, bool, None]
    nodata: Union[_Number, Sequence[_Number], None]
    nodata_to: Optional[_Number]
    mask_to: Optional[_Number]
    then: Union["_Stage", Sequence["_Stage"], None]

class _Stage(_Request, total=False):
    min: _Bound
    max: _Bound
    to: _DType

class ClipperError(ValueError):
    kind: Literal["usage", "input", "io", "refused", "different", "not_durable", "cancelled"]
    field: Optional[str]
    def __init__(self, message: str, kind: str = "usage", field: Optional[str] = None) -> None: ...

class ClipperFileNotFoundError(ClipperError, FileNotFoundError): ...
class ClipperPermissionError(ClipperError, PermissionError): ...
class TruncationWarning(UserWarning): ...

class Counts(NamedTuple):
    elements: int
    raised: int
    lowered: int
    nan: int
    changed: bool
    replaced: int
    became_infinite: int
    became_zero: int
    nodata: int = 0
    became_nodata: int = 0
    then: tuple["Counts", ...] = ()

class reciprocal(NamedTuple):
    divisor: _Parameter

class Mismatch(NamedTuple):
    index: tuple[int, ...]
    actual: Any  # int, float, bool, complex, np.datetime64 or np.timedelta64
    expected: Any

class Comparison(NamedTuple):
    equal: bool
    summary: str
    dtype: str
    shape: tuple[int, ...]
    compared: int
    mismatches: int
    first: tuple[Mismatch, ...]
    largest: float
    report: str = ""
    def __bool__(self) -> bool: ...

class Info(NamedTuple):
    dtype: str
    shape: tuple[int, ...]
    fortran_order: bool
    byte_order: Literal["little", "big"]
    count: Optional[int] = None
    nan: Optional[int] = None
    positive_infinite: Optional[int] = None
    negative_infinite: Optional[int] = None
    min: Any = None  # as Mismatch.actual, or None
    max: Any = None
    mean: Optional[float] = None
    standard_deviation: Optional[float] = None
    median: Any = None

@overload
def clip(
    x: NDArray[_Scalar],
    min: _Parameter = None,
    max: _Parameter = None,
    out: None = None,
    *,
    to: None = None,
    dtype: _DType = None,
    threads: int = 0,
    a_min: _Parameter = None,
    a_max: _Parameter = None,
    **request: Unpack[_Request],
) -> NDArray[_Scalar]:
    """Clips the elements of an array to bounds.

    An element below min becomes min, one above max becomes max; all others keep their bits. Returns out, or a new array with x's
    dtype, or with the dtype `to`, to which results are rounded and never wrapped. help(clipper.clip) describes all arguments.

    >>> clip(np.array([-3.5, 0.25, 7.0]), 0, 6)
    array([0.  , 0.25, 6.  ])
    """

@overload
def clip(
    x: _Array,
    min: _Parameter = None,
    max: _Parameter = None,
    out: _Out = None,
    *,
    to: _DType = None,
    dtype: _DType = None,
    threads: int = 0,
    a_min: _Parameter = None,
    a_max: _Parameter = None,
    **request: Unpack[_Request],
) -> Any: ...  # out, or what x and `to` give
def clip_file(
    input: _Path,
    output: _Path,
    min: _Bound = None,
    max: _Bound = None,
    *,
    to: _DType = None,
    members: Sequence[str] = (),
    exclude_members: Sequence[str] = (),
    only: Union[_Kind, Sequence[_Kind]] = (),
    apply: Optional[_Path] = None,
    fit: Optional[_Path] = None,
    dtype: _DType = None,
    raw: Optional[str] = None,
    to_raw: bool = False,
    format: _Format = None,
    ignore_trailing: bool = False,
    overwrite: bool = True,
    sync: bool = False,
    no_cache: bool = False,
    threads: int = 0,
    progress: Optional[Callable[[int, int], object]] = None,
    **request: Unpack[_Request],
) -> Counts: ...
def clip_in_place(
    path: _Path,
    min: _Bound = None,
    max: _Bound = None,
    *,
    to: _DType = None,
    members: Sequence[str] = (),
    exclude_members: Sequence[str] = (),
    only: Union[_Kind, Sequence[_Kind]] = (),
    apply: Optional[_Path] = None,
    fit: Optional[_Path] = None,
    dtype: _DType = None,
    raw: Optional[str] = None,
    format: _Format = None,
    ignore_trailing: bool = False,
    direct: bool = False,
    no_cache: bool = False,
    threads: int = 0,
    progress: Optional[Callable[[int, int], object]] = None,
    **request: Unpack[_Request],
) -> Counts: ...
def compare(
    actual: _Tensor,
    expected: _Tensor,
    *,
    rtol: _Number = 0,
    atol: _Number = 0,
    ulp: Optional[int] = None,
    tolerance: _Tolerance = None,
    nan_equal: Optional[bool] = None,
    any_dtype: bool = False,
    bits: bool = False,
    max_listed: int = 1,
    dtype: _DType = None,
    raw: Optional[str] = None,
    format: _Format = None,
    ignore_trailing: bool = False,
    no_cache: bool = False,
    threads: int = 0,
) -> Comparison: ...
def assert_same(
    actual: Union[_Tensor, Mapping[str, _Array]],
    expected: Union[_Tensor, Mapping[str, _Array]],
    *,
    rtol: _Number = 0,
    atol: _Number = 0,
    ulp: Optional[int] = None,
    tolerance: _Tolerance = None,
    nan_equal: Optional[bool] = None,
    any_dtype: bool = False,
    bits: bool = False,
    max_mismatch: Union[int, str] = 0,
    max_listed: int = 5,
    err_msg: str = "",
    dtype: _DType = None,
    raw: Optional[str] = None,
    format: _Format = None,
    ignore_trailing: bool = False,
    no_cache: bool = False,
    threads: int = 0,
) -> None: ...
def info(
    tensor: _Tensor,
    *,
    stats: bool = True,
    dtype: _DType = None,
    raw: Optional[str] = None,
    format: _Format = None,
    ignore_trailing: bool = False,
    no_cache: bool = False,
    threads: int = 0,
) -> Info: ...
def percentiles(
    tensor: _Tensor,
    percentages: Iterable[_Number],
    *,
    dtype: _DType = None,
    raw: Optional[str] = None,
    format: _Format = None,
    ignore_trailing: bool = False,
    no_cache: bool = False,
    threads: int = 0,
) -> list[Any]: ...
def profiles() -> tuple[_Profile, ...]: ...
