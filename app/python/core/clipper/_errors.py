"""The exceptions and warnings of this package."""

import errno
import inspect


class ClipperError(ValueError):
    """What the program clipper would refuse, or could not do.

    The text is one line that names the argument or file at fault.

    Attributes:
        kind: "usage", "input", "io", "refused", "different" or "not_durable", as the program's exit status.
            A call that Ctrl-C stops raises KeyboardInterrupt.
        field: the argument that the error is about ("min", "out"), or None.
    """

    def __init__(self, message: str, kind: str = "usage", field: "str | None" = None) -> None:
        super().__init__(message)
        self.kind = kind
        self.field = field

    def __reduce__(self) -> tuple:
        return type(self), (str(self), self.kind, self.field), {"errno": self.errno} if isinstance(self, OSError) else None

    def __str__(self) -> str:  # OSError's would need an errno
        return self.args[0]


class ClipperFileNotFoundError(ClipperError, FileNotFoundError):
    """A file or directory does not exist."""


class ClipperPermissionError(ClipperError, PermissionError):
    """The system permits no access to a file."""


class TruncationWarning(UserWarning):
    """The fraction of a bound of an integer array was cut off: min=0.5 is 0. Or a bound of a float array became an integer
    and is another number: max=2049 is 2048 as float16."""


_NOT_SUPPORTED = {
    "where": "assign to a part of the result: y = x.copy(); y[where] = clipper.clip(x[where], ...)",
    "casting": "the result has x's dtype; to=... makes another one, saturated and never wrapped",
    "order": "the result has x's memory order; np.asarray(result, order=...) changes it",
    "subok": "the result has the type of x",
}


def _other_arguments(clip, args: tuple, kwargs: dict) -> object:
    """Calls clip() with np.clip's other names of bounds, or says what is wrong with arguments that it does not have."""
    names = list(inspect.signature(clip).parameters)
    arguments = f"{', '.join(names[:4])}; and by name: {', '.join(names[4:])}"
    renamed = {name.removeprefix("a_") if name in ("a_min", "a_max") else name: value for name, value in kwargs.items()}
    for bound, place in (("min", 1), ("max", 2)):
        if f"a_{bound}" in kwargs and (bound in kwargs or len(args) > place):
            if len(args) > place and args[place] is None:
                args = (*args[:place], renamed.pop(bound), *args[place + 1:])
            else:
                raise TypeError(f"{bound} and a_{bound} are the same; give one of them")
    for name in renamed:
        if name in _NOT_SUPPORTED:
            raise TypeError(f"clip() does not support {name}: {_NOT_SUPPORTED[name]}")
        if name not in names:
            raise TypeError(f"clip() has no argument {name!r}; it has {arguments}")
    if not args and "x" not in kwargs:
        raise TypeError("clip() needs x, the array")
    if renamed == kwargs:
        raise TypeError(f"clip() got {len(args)} arguments by position, or one twice; it has {arguments}")
    return clip(*args, **renamed)


_BY_ERRNO = {errno.ENOENT: ClipperFileNotFoundError, errno.EACCES: ClipperPermissionError, errno.EPERM: ClipperPermissionError}


def _error(message: str, kind: str, field: "str | None", number: int) -> ClipperError:
    """The exception for an Error of the library, whose system call failed with this errno."""
    error = _BY_ERRNO.get(number, ClipperError)(message, kind, field)
    if isinstance(error, OSError):
        error.errno = number
    return error
