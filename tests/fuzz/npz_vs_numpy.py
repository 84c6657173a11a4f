#!/usr/bin/env python3
# torture: 40 | 2000 | 100000
# torture clipper: 300 | 10000 | 100000
"""Clips random .npz archives, by np.savez, np.savez_compressed and zipfile, with clipper and with numpy, and checks with numpy and
zipfile that both agree. Members have every dtype, or are texts and directories. What was not clipped has its bytes in the archive, two
runs give the same bytes, and an archive of np.savez becomes np.savez's. One archive per case; the ways to run clipper take turns."""

import io
import json
import shutil
import zipfile
from dataclasses import dataclass

import trials
from trials import np

NUMBERS = ["i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", "f2", "f4", "f8"]
NAMES = ["w", "weight", "größe", "層", "a b", "x.y", "net/0/bias", "../up", "/top", "-", "@at", "a:b", "w.npz", "arr_0", "1%", "{name}"]
OTHERS = ["readme.txt", "sub/", "meta.json", "w", "noext"]
STORED, DEFLATED = zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED
HUGE = 700_000  # elements of the largest members


def clipped(array, low, high):
    """What clipper must make of the elements: np.clip, except that a zero of either sign stays as it is."""
    limits = (np.iinfo if array.dtype.kind in "iu" else np.finfo)(array.dtype)
    low, high = (None if bound is None else min(max(bound, limits.min), limits.max) for bound in (low, high))
    y = array.copy(order="K")
    if low is not None:
        y[y < low] = low
    if high is not None:
        y[y > high] = high
    assert np.array_equal(y, np.clip(array, low, high), equal_nan=array.dtype.kind == "f")
    return y


def npy(array):
    file = io.BytesIO()
    np.save(file, array)
    return file.getvalue()


@dataclass
class Member:
    name: str
    array: np.ndarray | None  # None: not a .npy file
    content: bytes
    method: int

    @property
    def is_clipped(self):
        return self.array is not None and self.array.dtype.str[1:] in NUMBERS


class Draw:
    """Random archives."""

    def __init__(self, trial):
        self.rng, self.numpy = trial.rng, trial.generator

    def shape(self):
        rng = self.rng
        if rng.random() < 0.03:
            return (HUGE // 1000 + rng.randrange(9), 1000)
        return tuple(rng.choice([0, 1, 2, 3, 5, 17, 300]) for _ in range(rng.choice([0, 1, 1, 2, 2, 3])))

    def array(self):
        rng = self.rng
        if rng.random() < 0.25:
            return rng.choice([
                np.array([True, False]), np.array([1j, 2]), np.array(["größe", "x"]), np.array([b"ab"]), np.array([None, {}], object),
                np.zeros(3, [("a", "<f4"), ("b", ">i2")]), np.array(["2020-01-01"], "datetime64[D]"), np.zeros((2, 2), "V3"),
                np.zeros(2, "c8"), np.float64(np.pi) > np.zeros((0, 4))])
        dtype = np.dtype(rng.choice("<<<>") + rng.choice(NUMBERS))
        shape = self.shape()
        count = int(np.prod(shape))
        if dtype.kind == "f":
            elements = self.numpy.normal(0, 60, count).round(rng.choice([0, 2, 9]))
            special = np.array([np.nan, np.inf, -np.inf, -0.0, 0, 1e-5, 65504])
            elements = np.where(self.numpy.random(count) < 0.1, self.numpy.choice(special, count), elements)
        else:
            info = np.iinfo(dtype)
            elements = self.numpy.integers(info.min, info.max, count, dtype.newbyteorder("="), endpoint=True)
            few = self.numpy.integers(max(-40, info.min), 120, count).astype(elements.dtype)
            elements = np.where(self.numpy.random(count) < 0.7, few, elements)
        array = elements.astype(dtype).reshape(shape)
        return np.asfortranarray(array) if rng.random() < 0.3 else array

    def members(self):
        rng = self.rng
        names = rng.sample(NAMES, rng.choice([0, 1, 2, 3, 5, 8]))
        return {name: self.array() for name in names}

    def bounds(self):
        low, high = self.rng.randrange(-30, 60), self.rng.randrange(60, 110)
        return self.rng.choice([(low, high), (low, high), (low, None), (None, high)])


def other_members(draw):
    return {name: draw.rng.randbytes(draw.rng.choice([0, 5, 1000])) if not name.endswith("/") else b""
            for name in draw.rng.sample(OTHERS, draw.rng.choice([0, 0, 1, 3]))}


class Pipe:
    """A file without tell() and seek()."""

    def __init__(self, file):
        self.write, self.flush = file.write, file.flush


def write(draw, form, arrays, others, path):
    """Writes the archive and returns its members."""
    rng = draw.rng
    if form in ("savez", "savez_compressed"):
        getattr(np, form)(path, **arrays)
        if others:
            with zipfile.ZipFile(path, "a") as archive:
                for name, content in others.items():
                    archive.writestr(name, content)
    else:
        contents = [(f"{name}.npy", npy(array)) for name, array in arrays.items()] + list(others.items())
        rng.shuffle(contents)
        with open(path, "wb") as file, zipfile.ZipFile(Pipe(file) if form == "streamed" else file, "w") as archive:
            for name, content in contents:
                member = zipfile.ZipInfo(name, rng.choice([(1980, 1, 1, 0, 0, 0), (2026, 11, 23, 5, 6, 8)]))
                member.compress_type = rng.choice([STORED, DEFLATED])
                member.external_attr = rng.choice([0, 0o600 << 16, 0o644 << 16])
                member.comment = rng.choice([b"", b"", b"about"])
                with archive.open(member, "w", force_zip64=rng.random() < 0.3) as stream:
                    stream.write(content)
            archive.comment = rng.choice([b"", b"", b"a comment"])
    with zipfile.ZipFile(path) as archive:
        return [Member(info.filename, arrays.get(info.filename.removesuffix(".npy")) if info.filename.endswith(".npy") else None,
                       archive.read(info), info.compress_type) for info in archive.infolist()]


@dataclass
class Trial(trials.Trial):
    """One archive."""

    def draw_archive(self, form, way):
        self.draw, self.form = Draw(self), form
        self.arrays, self.others = self.draw.members(), other_members(self.draw)
        if way is compare:
            self.arrays, self.others = {name: array for name, array in self.arrays.items() if array.dtype.str[1:] in NUMBERS}, {}
        self.members = write(self.draw, form, self.arrays, self.others, self.path())
        self.bounds = self.draw.bounds()

    def path(self, name="in.npz"):
        return self.directory / name

    @property
    def operation(self):
        return [word for option, bound in zip(("--min", "--max"), self.bounds) if bound is not None for word in (option, str(bound))]

    def settings(self):
        rng, words = self.draw.rng, []
        if rng.random() < 0.7:
            words += ["--threads", str(rng.choice([1, 2, 3, 8]))]
        if rng.random() < 0.7:
            words += ["--chunk-size", str(rng.choice([4096, 8192, 65536, 1 << 20]))]
        return words

    def clip(self, *words):
        return self.run(*self.operation, *self.settings(), *words)

    def done(self, run, code=0):
        return self.check(run.code == code and (code or not run.err), f"exit {run.code}, not {code}: {run.err.strip()}")

    def expected(self, chosen=None, drop=False):
        """The members of the result: (member, content)."""
        found = []
        for member in self.members:
            if member.is_clipped and (chosen is None or member.name in chosen):
                found.append((member, npy(clipped(member.array, *self.bounds))))
            elif not drop:
                found.append((member, member.content))
        return found

    def refused(self, run, code, *unwritten):
        self.done(run, code)
        self.check(len(run.err.splitlines()) == 1 and run.err.startswith("clipper: "), f"one line expected: {run.err!r}")
        self.check(not any(self.path(name).exists() for name in unwritten), "refused, but written")

    def can_be_clipped(self):
        return not self.members or any(member.is_clipped for member in self.members)

    def check_archive(self, name, wanted, original=None):
        """The archive has these members; what was not clipped has the bytes that it had."""
        path = self.path(name)
        if not self.check(path.exists(), f"{name} is missing"):
            return
        try:
            archive, source = zipfile.ZipFile(path), zipfile.ZipFile(original or self.path())
            bad = archive.testzip()
        except Exception as error:
            self.check(False, f"{name}: {error}")
            return
        self.check(bad is None, f"{name}: {bad} is damaged")
        self.check(archive.comment == source.comment, f"{name}: another comment")
        self.check(archive.namelist() == [member.name for member, _ in wanted], f"{name}: members {archive.namelist()}")
        with archive, source, np.load(path, allow_pickle=True) as loaded:
            for info, (member, content) in zip(archive.infolist(), wanted):
                was = source.getinfo(member.name)
                for each in ("compress_type", "date_time", "external_attr", "create_system", "comment"):
                    self.check(getattr(info, each) == getattr(was, each), f"{name}: another {each} of {member.name}")
                self.check(archive.read(info) == content, f"{name}: wrong bytes in {member.name}")
                if content == member.content and not member.is_clipped:
                    self.check(raw(path, info) == raw(original or self.path(), was), f"{name}: {member.name} is not copied as it is")
                if member.is_clipped and content != member.content:
                    self.check(loaded[member.name].dtype == member.array.dtype, f"{name}: another dtype of {member.name}")

    def compared(self, run, equal):
        self.check(run.code == (0 if equal else 1), f"compare ends with {run.code}, not {0 if equal else 1}: {run.err.strip()}")

    def names(self):
        return [member.name for member in self.members if member.is_clipped]


def raw(path, info):
    """The bytes of a member in the archive."""
    with open(path, "rb") as file:
        file.seek(info.header_offset + 26)
        file.seek(sum(int.from_bytes(file.read(2), "little") for _ in range(2)), 1)
        return file.read(info.compress_size)


# The ways ------------------------------------------------------------------------------------------------


def to_file(trial):
    """Twice, with other settings: the bytes are the same. np.savez's archives are np.savez's again."""
    first, second = trial.clip("in.npz", "out.npz"), trial.clip("in.npz", "again.npz")
    if not trial.can_be_clipped():
        return trial.refused(first, 3, "out.npz", "again.npz")
    if not trial.done(first) or not trial.done(second):
        return
    trial.check_archive("out.npz", trial.expected())
    trial.check(trial.path("out.npz").read_bytes() == trial.path("again.npz").read_bytes(), "two runs gave different archives")
    if trial.form == "savez" and not trial.others:
        savez(trial, "out.npz")


def savez(trial, name):
    np.savez(trial.path("numpy.npz"), **{key: clipped(array, *trial.bounds) if array.dtype.str[1:] in NUMBERS else array
                                          for key, array in trial.arrays.items()})
    trial.check(trial.path("numpy.npz").read_bytes() == trial.path(name).read_bytes(), f"{name} is not np.savez's archive")


def in_place(trial):
    before = trial.path().read_bytes()
    shutil.copy(trial.path(), trial.path("before.npz"))
    run = trial.clip("--in-place", "in.npz")
    if not trial.can_be_clipped():
        trial.refused(run, 3)
        trial.check(trial.path().read_bytes() == before, "refused, but changed")
    elif trial.done(run):
        trial.check_archive("in.npz", trial.expected(), trial.path("before.npz"))
        if trial.form == "savez" and not trial.others:
            savez(trial, "in.npz")


def chosen_members(trial):
    names = trial.names()
    if not names:
        return to_file(trial)
    chosen = trial.draw.rng.sample(names, trial.draw.rng.randint(1, len(names)))
    keys = [name if trial.draw.rng.random() < 0.5 or name.removesuffix(".npy") in trial.others else name.removesuffix(".npy")
            for name in chosen]
    words = [word for key in keys for word in ("--member", key)]
    drop = trial.draw.rng.random() < 0.3
    if trial.done(trial.clip(*words, *(["--unclipped", "drop"] if drop else []), "in.npz", "out.npz")):
        trial.check_archive("out.npz", trial.expected(chosen, drop))


def other_words(trial):
    word = trial.draw.rng.choice(["copy", "drop", "error"])
    run = trial.clip("--unclipped", word, "in.npz", "out.npz")
    others = any(not member.is_clipped for member in trial.members)
    if not trial.can_be_clipped() or (word == "error" and others):
        trial.refused(run, 3, "out.npz")
    elif trial.done(run):
        trial.check_archive("out.npz", trial.expected(drop=word == "drop"))


def casts(trial):
    """--to converts the floats of an archive, --only other kinds; all other members keep their bytes."""
    rng = trial.draw.rng
    kinds = rng.choice([None, "f", "iu", "fiu"])
    words = [word for kind in kinds or "" if kind != "u" for word in ("--only", {"f": "float", "i": "int"}[kind])]
    wanted = []
    for member in trial.members:
        is_cast = member.is_clipped and member.array.dtype.kind in (kinds or "f")
        cast = member.array.astype(np.dtype("f8").newbyteorder(member.array.dtype.str[0])) if is_cast else None
        wanted.append((member, npy(cast) if is_cast else member.content))
    run = trial.run("-q", "--to", "float64", *words, *trial.settings(), "in.npz", "out.npz")
    if trial.members and not any(member.is_clipped and member.array.dtype.kind in (kinds or "f") for member in trial.members):
        trial.refused(run, 3, "out.npz")
    elif trial.done(run):
        with zipfile.ZipFile(trial.path("out.npz")) as archive:
            for member, content in wanted:
                trial.check(archive.read(member.name) == content, f"{words}: wrong bytes in {member.name}")


def tree(trial):
    """Below a directory, what is not clipped is copied, byte for byte, and counted."""
    (trial.directory / "d").mkdir()
    others = 0
    for number, member in enumerate(member for member in trial.members if member.array is not None):
        (trial.directory / f"d/{number}.npy").write_bytes(member.content)
        others += not member.is_clipped
    if not any((trial.directory / "d").iterdir()):
        return
    run = trial.clip("--json", "--recursive", "d", "--output-dir", "o")
    if trial.check(run.code == 0, f"exit {run.code}: {run.err}"):
        trial.check(json.loads(run.out.splitlines()[-1])["unclipped"] == others, f"not {others} others: {run.out}")
        for number, member in enumerate(member for member in trial.members if member.array is not None):
            wanted = npy(clipped(member.array, *trial.bounds)) if member.is_clipped else member.content
            trial.check((trial.directory / f"o/{number}.npy").read_bytes() == wanted, f"wrong bytes of {member.name} as a file")


def member_as_file(trial):
    for name in trial.names():
        key = name if name.removesuffix(".npy") in trial.others or trial.draw.rng.random() < 0.5 else name.removesuffix(".npy")
        wanted = dict((member.name, content) for member, content in trial.expected())[name]
        run = trial.clip(f"in.npz:{key}", "-")
        trial.check(run.code == 0 and run.out == wanted, f"{key} to a pipe: exit {run.code}: {run.err.strip()}")
        run = trial.clip(f"in.npz:{key}", "out.npy")
        trial.check(run.code == 0 and trial.path("out.npy").read_bytes() == wanted, f"{key} to a file: exit {run.code}: {run.err.strip()}")
        trial.path("out.npy").unlink(missing_ok=True)


def compare(trial):
    contents = [(member, content) for member, content in trial.expected() if member.is_clipped]
    if len(contents) != len(trial.members):
        return to_file(trial)
    with zipfile.ZipFile(trial.path("other.npz"), "w") as archive:
        for member, content in trial.draw.rng.sample(contents, len(contents)):
            archive.writestr(member.name, content, trial.draw.rng.choice([STORED, DEFLATED]))
    equal = all(same(member.array, np.load(io.BytesIO(content))) for member, content in contents)
    trial.compared(trial.run("compare", "in.npz", "other.npz"), equal)
    trial.compared(trial.run("compare", "in.npz", "in.npz"), True)
    if contents:
        lacking = trial.draw.rng.choice(contents)[0].name
        with zipfile.ZipFile(trial.path("fewer.npz"), "w") as archive:
            for member, _ in contents:
                if member.name != lacking:
                    archive.writestr(member.name, member.content)
        trial.compared(trial.run("compare", "in.npz", "fewer.npz"), False)


def same(a, b):
    return np.array_equal(a, b, equal_nan=a.dtype.kind == "f")


def batch(trial):
    shutil.copy(trial.path(), trial.path("second.npz"))
    np.save(trial.path("x.npy"), np.arange(9.0))
    run = trial.clip("--output-dir", "made", "in.npz", "x.npy", "second.npz")
    if not trial.can_be_clipped():
        return trial.check(run.code == 3, f"exit {run.code}: {run.err}")
    if trial.done(run):
        trial.check_archive("made/in.npz", trial.expected())
        trial.check_archive("made/second.npz", trial.expected())
        trial.check(trial.path("made/x.npy").read_bytes() == npy(clipped(np.arange(9.0), *trial.bounds)), "wrong bytes in x.npy")


def dry_run(trial):
    run = trial.clip("--dry-run", "in.npz", "out.npz")
    trial.check(run.code == (0 if trial.can_be_clipped() else 3), f"exit {run.code}: {run.err.strip()}")
    trial.check(sorted(path.name for path in trial.directory.iterdir()) == ["in.npz"], "a dry run has written")


def info(trial):
    run = trial.run("info", "--json", "in.npz")
    if not trial.done(run):
        return
    told = {each["member"]: each for each in map(json.loads, run.out.splitlines()) if "member" in each}
    trial.check(list(told) == [member.name for member in trial.members], f"info lists {list(told)}")
    for member in trial.members:
        if member.is_clipped and (each := told.get(member.name)):
            trial.check(each["shape"] == list(member.array.shape), f"info: another shape of {member.name}: {each}")
            trial.check(each["dtype"] == member.array.dtype.newbyteorder("=").name, f"info: another dtype of {member.name}: {each}")


def counts(trial):
    """What --json says about each member."""
    run = trial.clip("--json", "in.npz", "out.npz")
    if not trial.check(run.code == (0 if trial.can_be_clipped() else 3), f"exit {run.code}: {run.err}") or run.code:
        return
    told = {each["member"]: each for each in map(json.loads, run.out.splitlines()) if "member" in each}
    low, high = trial.bounds
    for member in trial.members:
        each, action = told.get(member.name, {}), "clipped" if member.is_clipped else "copied"
        trial.check(each.get("action") == action, f"{member.name} is not {action}: {each}")
        if member.is_clipped:
            x = member.array
            wanted = [0 if low is None else int((x < low).sum()), 0 if high is None else int((x > high).sum()), int((x != x).sum())]
            trial.check([each.get(name) for name in ("raised", "lowered", "nan")] == wanted, f"{member.name}: not {wanted}: {each}")


WAYS = {to_file: 6, in_place: 3, chosen_members: 3, other_words: 3, casts: 3, tree: 3, member_as_file: 3, compare: 3, batch: 2, dry_run: 1, info: 2, counts: 2}


def try_one(trial):
    way = trial.rng.choices(list(WAYS), WAYS.values())[0]
    trial.draw_archive(trial.rng.choice(["savez", "savez", "savez_compressed", "zipfile", "zipfile", "streamed"]), way)
    names = ", ".join(f"{name} {array.dtype} {array.shape}" for name, array in trial.arrays.items())
    trial.way, trial.about = way.__name__, f"{way.__name__} of {trial.form}: {names}; {list(trial.others)}"
    way(trial)


if __name__ == "__main__":
    trials.main("archives against numpy and zipfile", try_one, trial_type=Trial)
