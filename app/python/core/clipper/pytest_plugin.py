"""The pytest plugin of this package: the fixture clipper_golden and the option --clipper-update-golden."""

import os
from collections.abc import Mapping
from pathlib import Path

import numpy as np
import pytest

from ._tensors import _is_path, _write

_PROPERTY = "clipper_golden"


def pytest_addoption(parser):
    parser.getgroup("clipper").addoption(
        "--clipper-update-golden",
        action="store_true",
        help="write the golden files of clipper_golden that are missing or do not match",
    )


class Golden(os.PathLike):
    """The path of a golden file, which --clipper-update-golden lets clipper.assert_same() write."""

    def __init__(self, path, request):
        self.path = path
        self._request = request

    def __fspath__(self):
        return os.fspath(self.path)

    def __str__(self):
        return str(self.path)

    def __repr__(self):
        return f"Golden({str(self.path)!r})"

    def _clipper_missing(self):
        return not self.path.exists()

    def _clipper_update(self, actual):
        """Writes the actual tensor or archive, as a whole or not at all. Returns whether that was asked for."""
        if not self._request.config.getoption("--clipper-update-golden"):
            return False
        what = "created" if self._clipper_missing() else "updated"
        self.path.parent.mkdir(parents=True, exist_ok=True)
        temporary = self.path.with_name(f".{self.path.name}.{os.getpid()}")
        try:
            with open(temporary, "xb") as file:
                if _is_path(actual):
                    file.write(Path(os.fsdecode(actual)).read_bytes())
                elif isinstance(actual, Mapping):
                    np.savez(file, **actual)
                else:
                    _write(np.asanyarray(actual), file)
            os.replace(temporary, self.path)
        finally:
            temporary.unlink(missing_ok=True)
        self._request.node.user_properties.append((_PROPERTY, f"{what} {self.path}"))
        return True


@pytest.fixture
def clipper_golden(request):
    """clipper_golden("name.npy") is the golden file of that name, beside the test's file, for clipper.assert_same()."""
    return lambda name: Golden(Path(request.path).parent / name, request)


def pytest_terminal_summary(terminalreporter):
    written = {
        value: None
        for reports in terminalreporter.stats.values()
        for report in reports
        for name, value in getattr(report, "user_properties", ())
        if name == _PROPERTY
    }
    if written:
        terminalreporter.section("clipper: golden files")
        for line in written:
            terminalreporter.line(line)
