"""The exception of this package."""


class ClipperError(ValueError):
    """What the program clipper would refuse, or could not do.

    The text is one line that names the argument or file at fault.

    Attributes:
        kind: "usage", "input", "io", "refused", "different" or "not_durable", as the program's exit status.
        field: the argument that the error is about ("min", "out"), or None.
    """

    def __init__(self, message: str, kind: str = "usage", field: "str | None" = None) -> None:
        super().__init__(message)
        self.kind = kind
        self.field = field

    def __reduce__(self) -> tuple:
        return type(self), (str(self), self.kind, self.field)
