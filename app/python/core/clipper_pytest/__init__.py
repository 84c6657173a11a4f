"""The pytest plugin of the package clipper, of which nothing is imported before a test asks for a golden: the fixture
clipper_golden, --clipper-update-golden and --clipper-unused-goldens."""

import contextlib
import os
import re
import threading
from collections.abc import Mapping
from pathlib import Path
from typing import Protocol

import pytest

_UPDATE = "--clipper-update-golden"
_UNUSED = "--clipper-unused-goldens"
_WRITTEN, _USED = "clipper_golden", "clipper_golden_used"  # properties of a test, which pytest-xdist brings to the first process


def pytest_addoption(parser):
    group = parser.getgroup("clipper")
    group.addoption(_UPDATE, action="store_true", help="write the golden files of clipper_golden that are missing or do not match")
    group.addoption(_UNUSED, action="store_true", help="list files beside the golden files of clipper_golden that no test has used")


class _Run:
    """The tests of this process."""

    item = None  # the test that runs
    marks = None  # the directory of files that say which goldens this run has written, which pytest-xdist's processes share


_RUN = pytest.StashKey[_Run]()


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item):
    item.config.stash.setdefault(_RUN, _Run()).item = item


class GoldenMaker(Protocol):
    """The type of the fixture clipper_golden."""

    def __call__(self, name: "str | None" = None) -> "Golden": ...


@pytest.fixture(scope="session")
def clipper_golden(pytestconfig: pytest.Config, request: pytest.FixtureRequest) -> GoldenMaker:
    """clipper_golden("name.npy") is the golden file of that name, beside the file of the test that runs, for
    clipper.assert_same(); clipper_golden() is named after the test, in a directory that is named after the test's file."""
    run = pytestconfig.stash.setdefault(_RUN, _Run())
    if pytestconfig.getoption(_UPDATE):
        own = request.getfixturevalue("tmp_path_factory").getbasetemp()
        run.marks = (own.parent if hasattr(pytestconfig, "workerinput") else own) / "clipper_golden"
        run.marks.mkdir(exist_ok=True)

    def golden(name=None):
        __tracebackhide__ = True
        return Golden(run, name)

    return golden


class Golden(os.PathLike[str]):
    """The path of a golden file, which --clipper-update-golden lets clipper.assert_same() write."""

    def __init__(self, run, name):
        __tracebackhide__ = True
        self._run, self._name, self._suffix = run, name, ""
        if name is not None and Path(name).suffix not in (".npy", ".npz"):
            raise _error(f"{name}: a golden is a whole .npy or .npz file", "usage")

    @property
    def path(self) -> Path:
        """By the test that runs: several may share what a fixture has made."""
        item = self._run.item
        file = Path(item.path)
        if self._name is not None:
            return file.parent / self._name
        # Not the node's id, to which pytest-xdist adds the name of a group.
        test = ".".join(node.name for node in item.listchain() if isinstance(node, (pytest.Class, pytest.Item)))
        return file.parent / file.stem / (re.sub(r"[^\w.+-]+", "-", test).strip("-") + self._suffix)

    def __fspath__(self) -> str:
        self._note_use()
        return os.fspath(self.path)

    def __str__(self) -> str:
        return str(self.path)

    def __repr__(self):
        return f"Golden({str(self.path)!r})"

    def _clipper_check(self, actual, check):
        """What assert_same() says of the actual tensor or archive: the text of check(path), empty if all is well."""
        is_archive = isinstance(actual, Mapping) or str(actual if isinstance(actual, (str, os.PathLike)) else "").endswith(".npz")
        self._suffix = ".npz" if is_archive else ".npy"
        config = self._run.item.config
        self._note_use()
        obtained = self.path.with_name(f"{self.path.stem}.obtained{self.path.suffix}")
        if config.getoption(_UPDATE):
            problem = self._update(actual, check)
        elif problem := self._difference(check):
            with contextlib.suppress(OSError, ValueError):  # the difference matters more
                obtained.parent.mkdir(parents=True, exist_ok=True)
                self._replace(obtained, actual)
                problem += f"\n  obtained: {obtained}"
            return f"{problem}\n  {_UPDATE} writes the golden"
        if not problem:
            with contextlib.suppress(OSError):
                obtained.unlink()
        return problem

    def _difference(self, check):
        return check(self.path) if self.path.exists() else f"{self}: no golden"

    def _update(self, actual, check):
        """Writes the golden if it does not match, unless that would not match either."""
        import fcntl
        import hashlib

        from clipper import ClipperError

        golden = os.path.realpath(self.path)
        with open(self._run.marks / hashlib.sha256(os.fsencode(golden)).hexdigest(), "a") as mark:
            fcntl.flock(mark, fcntl.LOCK_EX)  # pytest-run-parallel, pytest-xdist
            if not (problem := self._difference(check)):
                return ""
            if os.fstat(mark.fileno()).st_size:
                return f"{problem}\n  this run has written another result to this golden"
            what = "updated" if self.path.exists() else "created"
            self.path.parent.mkdir(parents=True, exist_ok=True)

            def matches(temporary):
                try:
                    return check(temporary).replace(str(temporary), str(self))
                except ClipperError as error:
                    raise ClipperError(str(error).replace(str(temporary), str(self)), error.kind, error.field) from None

            if problem := self._replace(Path(golden), actual, matches):
                return f"{problem}\n  the golden is not written: it would not match"
            mark.write("written")
            self._note(_WRITTEN, f"{what} {self.path}")
            return ""

    def _note_use(self):
        item = self._run.item
        use = (_USED, os.path.realpath(self.path))
        if item.config.getoption(_UNUSED) and use not in item.user_properties:
            self._note(*use)

    def _note(self, name, value):
        self._run.item.user_properties.append((name, value))

    @staticmethod
    def _replace(path, actual, check=lambda temporary: ""):
        """Writes a file as a whole, with the mode of the old one, unless check() finds a problem, which is returned."""
        temporary = path.with_name(f".clipper-{os.getpid()}-{threading.get_ident()}{path.suffix}")
        try:
            with open(temporary, "xb") as file:
                _save(file, path.suffix, actual)
            if path.exists():
                temporary.chmod(path.stat().st_mode & 0o7777)
            if problem := check(temporary):
                return problem
            os.replace(temporary, path)
        finally:
            temporary.unlink(missing_ok=True)
        return ""


def _error(*arguments):
    from clipper import ClipperError

    return ClipperError(*arguments)


def _save(file, suffix, actual):
    """Writes what np.save() or np.savez() would, and ml_dtypes with their names."""
    from clipper._tensors import _is_path

    if _is_path(actual):
        file.write(Path(os.fsdecode(actual)).read_bytes())
    elif isinstance(actual, Mapping) != (suffix == ".npz"):
        raise _error(f"a golden of {'a mapping' if suffix == '.npy' else 'one tensor'} cannot be a {suffix} file", "usage")
    elif suffix == ".npy":
        _save_array(file, actual)
    else:
        import zipfile

        with zipfile.ZipFile(file, "w", zipfile.ZIP_STORED) as archive:
            for key, value in actual.items():
                if not isinstance(key, str):
                    raise _error(f"the keys of a golden archive are texts, not {key!r}", "usage")
                with archive.open(f"{key}.npy", "w", force_zip64=True) as member:
                    _save_array(member, value)


def _save_array(file, tensor):
    import numpy as np
    from clipper._parameters import OF_ML_DTYPES
    from clipper._tensors import _array, _write

    array = _array(tensor)
    if array.dtype.hasobject:
        raise _error("Python objects cannot be in a golden", "input", "type")
    if array.dtype.name.startswith(OF_ML_DTYPES):
        _write(array, file)
    else:
        np.lib.format.write_array(file, array, allow_pickle=False)


def pytest_terminal_summary(terminalreporter, config):
    properties = [
        (name, value)
        for reports in terminalreporter.stats.values()
        for report in reports
        for name, value in getattr(report, "user_properties", ())
    ]
    lines = list(dict.fromkeys(value for name, value in properties if name == _WRITTEN))
    if config.getoption(_UNUSED):
        used = {value for name, value in properties if name == _USED}
        files = (file for directory in sorted({os.path.dirname(path) for path in used}) for file in sorted(Path(directory).glob("*.np[yz]")))
        lines += [f"unused {file}" for file in files if str(file) not in used and not file.stem.endswith(".obtained")]
    if lines:
        terminalreporter.section("clipper: golden files")
        for line in lines:
            terminalreporter.line(line)
