"""Clips files."""

import inspect
from typing import NamedTuple

from . import _core


class Counts(NamedTuple):
    """What clipping did to a tensor's elements.

    Attributes:
        elements: all elements of the tensor.
        changed: whether an element has other bits or another dtype; False without elements.
        then: Counts of each later stage; those above are of the first one, but `changed` is of all.
    """

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


Counts.__doc__ = (Counts.__doc__ or "") + "".join(f"    {name}: {text[0].lower()}{text[1:]}.\n    " for name, text in _core.counts.items())


def _counts(found: dict) -> Counts:
    return Counts(**found | {"then": tuple(map(_counts, found["then"]))})


def _shows_request(function):
    """Gives the function a signature that has the arguments of a request, as clip() has them, in place of **request."""
    signature = inspect.signature(function)
    parameters = list(signature.parameters.values())[:-1]
    first = [parameter.kind for parameter in parameters].index(inspect.Parameter.KEYWORD_ONLY)
    parameters[first:first] = [
        inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=default)
        for name, default in _core.request.items() if name not in signature.parameters
    ]  # fmt: skip
    function.__signature__ = signature.replace(parameters=parameters)
    return function


@_shows_request
def clip_file(
    input,
    output,
    min=None,
    max=None,
    *,
    members=(),
    exclude_members=(),
    only=(),
    apply=None,
    fit=None,
    dtype=None,
    raw=None,
    to_raw=False,
    format=None,
    ignore_trailing=False,
    overwrite=True,
    sync=False,
    no_cache=False,
    threads=0,
    progress=None,
    **request,
):
    """Clips the tensor in a file, or the tensors in an archive, and writes them to another file.

    The output is replaced atomically: a reader sees the old file or the complete new one.

    Args:
        input, output: paths; "-" is standard input or output. The same file: clip_in_place().
        min, max and all that clip() has: as for clip(). Files of bool, datetime64 and timedelta64 are also clipped, to bool, dates or
            durations that their unit has exactly: "2020-02-29", datetime.date, datetime.timedelta or numpy's.
        members: names of the members of an archive to clip, or patterns for them ("layers.*"); empty: all that
            `only` has.
        exclude_members: such names and patterns of members that are not clipped, even if `members` names them.
        only: kinds of members to clip, unless `members` has their exact names: "float", "int", "bool", "date", "all", or names of
            dtypes. Empty: floats and integers that the profile takes, and with `to` only floats; float8 only by its
            name.
        apply: a file of fit: its members are min, max, scale, bias, subtract and divide, unless they are given here, of as many
            stages, `2/min` of the second. Of one stage in memory the same is clip(x, **np.load("fit.npz")).
        fit: an .npz file that is written last: min, max and the others as they were used.
        dtype: "bfloat16" if the file holds raw bytes (|V2) or integers of two bytes that are bfloat16; the name of a
            float8 for <V1, |V1 and integers of one byte. The output's header says what the input's says.
        raw: what a file without a header holds: "float32:3,224,224", ">i2:720,-1@512". DTYPE[:SHAPE][@OFFSET], as for the
            program. The output is also a raw file, unless its name ends in .npy, .pb or .onnx-tensor. Also of bounds and factors that are paths.
        to_raw: write the output without a header, as numpy's tofile does; not of an archive.
        format: "pb" if files that are neither .npy files nor archives are ONNX TensorProto messages, as those are whose
            names end in .pb or .onnx-tensor; "auto" or None if their names tell it.
        ignore_trailing: accept bytes after the array.
        overwrite: False: an output that exists is a ClipperError of kind "refused".
        sync: flush the output to disk before returning.
        no_cache: leave the files out of the kernel's page cache, except an input of which half or more is there already.
        threads: max number of threads; 0: all CPUs that this process may use.
        progress: progress(done, all) is called in this thread, at most ten times a second and once at the end: the bytes of
            elements that are done, and of all. An exception from it ends the call, and nothing is written, except that the
            file is complete before the call at the end.

    Returns:
        Counts.

    >>> import numpy as np, os, tempfile
    >>> directory = tempfile.mkdtemp()
    >>> x, y = os.path.join(directory, "x.npy"), os.path.join(directory, "y.npy")
    >>> np.save(x, np.array([-1.0, 2.0, 9.0]))
    >>> clip_file(x, y, 0, 6)
    Counts(elements=3, raised=1, lowered=1, nan=0, changed=True, replaced=0, became_infinite=0, became_zero=0, nodata=0, became_nodata=0, then=())
    >>> np.load(y)
    array([0., 2., 6.])
    >>> clip_file(x, y, scale=50, bias=128, to="uint8").lowered
    1
    >>> np.load(y)
    array([ 78, 228, 255], dtype=uint8)
    >>> np.float32([-1, 2]).tofile(x)
    >>> clip_file(x, y, 0, raw="float32:1,2").raised
    1
    >>> np.load(y)
    array([[0., 2.]], dtype=float32)
    """
    return _counts(_core.clip_file(input, output, locals()))


@_shows_request
def clip_in_place(
    path,
    min=None,
    max=None,
    *,
    members=(),
    exclude_members=(),
    only=(),
    apply=None,
    fit=None,
    dtype=None,
    raw=None,
    format=None,
    ignore_trailing=False,
    direct=False,
    no_cache=False,
    threads=0,
    progress=None,
    **request,
):
    """Replaces a file by its clipped tensor.

    The new file keeps owner, mode and attributes, and the header except a dtype that `to` changes; it
    is on disk before the function returns. A file whose elements do not change is not written.

    Args:
        path: the file.
        direct: overwrite the elements, which needs no room for a second file, and parameters that leave a
            clipped element as it is: no other steps, and no figures. If it is interrupted, the same call finishes
            the work.
        others: as for clip_file().

    Returns:
        Counts.

    >>> import numpy as np, os, tempfile
    >>> x = os.path.join(tempfile.mkdtemp(), "x.npy")
    >>> np.save(x, np.array([-1, 2, 9]))
    >>> clip_in_place(x, max=6).lowered
    1
    >>> np.load(x)
    array([-1,  2,  6])
    """
    return _counts(_core.clip_in_place(path, locals()))
