"""The modes: ways to run clipper, each with the files before the run and the files after it."""

import ctypes
import io
import json
import random
import struct
import sys
import zipfile
from array import array
from dataclasses import dataclass, field, replace
from pathlib import Path

from zip_bytes import DEFLATED, STORED, numpy_archive

sys.path.append(str(Path(__file__).resolve().parents[2] / "scripts"))
from clipper_files import TEMPORARY, UNFINISHED, VERSION_AT, header  # noqa: E402, F401

# Clipping a result again gives other bytes, so a result that was clipped twice is noticed.
OPERATION = ("--bias", "1", "--min", "-50", "--max", "1000")
REPEATABLE = OPERATION[2:]  # --direct takes nothing else
LOWEST, HIGHEST = -50.0, 1000.0
CHUNK = 4096
BATCH = 32 * CHUNK  # bytes that --direct writes at a time
SLAB = "out.00000-of-00001.npy"
FIGURES = "fit.npz"

XXH64 = ctypes.CDLL("libxxhash.so.0").XXH64  # a package that clipper is built with
XXH64.argtypes, XXH64.restype = (ctypes.c_char_p, ctypes.c_size_t, ctypes.c_uint64), ctypes.c_uint64

Files = dict[str, bytes]


class Link(bytes):
    """The content of a symbolic link: its target."""


def tensor(values: array) -> bytes:
    return header(f"<f{values.itemsize}", (len(values),)) + values.tobytes()


def result(values: array, times: int = 1, bias: int = 1) -> array:
    """The elements after clipping `times` times. Not computed by clipper; exact for multiples of 1/4."""
    for _ in range(times):
        values = array("f", (min(max(value + bias, LOWEST), HIGHEST) for value in values))
    return values


def numbers(count: int, seed: int = 1) -> array:
    source = random.Random(seed)
    return array("f", (source.randrange(-400, 400) / 4 for _ in range(count)))


def batches(count: int) -> array:
    """The elements of `count` batches and a few more. Clipping does not change the second batch."""
    values = numbers(count * BATCH // 4 + 500)
    values[BATCH // 4 : 2 * BATCH // 4] = array("f", [HIGHEST]) * (BATCH // 4)
    return values


@dataclass(frozen=True)
class Mode:
    """One way to run clipper. `before`: the files before the run; `after`: those that the run creates or changes."""
    name: str
    words: tuple[str, ...]
    before: Files
    after: Files
    stdin: bytes | None = None
    stdout: bytes = b""
    durable: bool = False  # may exit with 6
    named: bool = False  # the file system has no O_TMPFILE
    flagless: bool = False  # the file system has no flags of renameat2 and pwritev2
    killed_at: int = 0  # resumes a --direct run that was killed before this call; 0: does not resume
    shared: bool = False  # a shard, which must not change OUT
    after_shards: tuple["Mode", ...] = ()  # shards to run before this --finalize
    remote: bool = False  # the file system looks as if machines shared it
    coarse: bool = False  # the file system's times are whole seconds
    stale: str = ""  # INODE:TIME: a file whose new time is not shown yet
    threads: int = 1
    directories: tuple[str, ...] = field(default=())  # directories that the run creates

    @property
    def results(self) -> set[bytes]:
        """What the run makes: a backup has been there before."""
        return {*self.after.values()} - {*self.before.values()}

    @property
    def direct(self) -> bool:
        return "--direct" in self.words

    @property
    def bias(self) -> int:
        """See result()."""
        return 0 if self.direct else 1

    @property
    def in_place(self) -> bool:
        return "--in-place" in self.words

    @property
    def compares(self) -> bool:
        return "compare" in self.words

    @property
    def reads_archives(self) -> bool:
        return any(name.endswith(".npz") for name in self.before)

    @property
    def arguments(self) -> list[str]:
        """The command line. Small chunks, unless the mode sets --chunk-size."""
        threads = ["--threads", str(self.threads)]
        if self.compares or self.after_shards:
            return [*self.words, *threads]
        chunk = [] if "--chunk-size" in self.words else ["--chunk-size", str(CHUNK)]
        return [*(REPEATABLE if self.direct else OPERATION), *threads, *chunk, *self.words]


def one_file(name: str, words: tuple[str, ...], values: array, **more) -> Mode:
    """A new output."""
    return Mode(name, (*words, "in.npy", "out.npy"), {"in.npy": tensor(values)}, {"out.npy": tensor(result(values))}, **more)


def replacement(name: str, words: tuple[str, ...], **more) -> Mode:
    """An output that exists."""
    before = {"in.npy": tensor(numbers(10_000)), "out.npy": b"something else" * 5000}
    after = {"out.npy": tensor(result(numbers(10_000)))}
    return Mode(name, (*words, "in.npy", "out.npy"), before, after, **more)


def in_place(name: str, values: array, *words: str, **more) -> Mode:
    after = result(values, bias=0 if "--direct" in words else 1)
    return Mode(name, ("--in-place", *words, "in.npy"), {"in.npy": tensor(values)}, {"in.npy": tensor(after)}, durable=True, **more)


def backups() -> list[Mode]:
    """What is replaced is kept, also in place of an older backup."""
    values = numbers(10_000)
    kept = [in_place("in place, --backup", values, "--backup"), replacement("replace, --backup", ("--backup",), durable=True),
            in_place("in place, --backup --force", values, "--backup", "--force"), replacement("replace, --backup --force", ("--backup", "--force"), durable=True),
            many_files("3 files, --in-place --backup", ("--in-place", "--backup"), "", durable=True)]
    def of(mode: Mode) -> Mode:
        older = {f"{name}~": b"older" for name in mode.after if "--force" in mode.words}
        return replace(mode, before=mode.before | older, after=mode.after | {f"{name}~": mode.before[name] for name in mode.after})
    return [of(mode) for mode in kept]


def saved_figures() -> list[Mode]:
    """The file of --fit, which gets its name after the results."""
    def fit(highest: float) -> bytes:
        written = io.BytesIO()
        with zipfile.ZipFile(written, "w") as made:
            for name, value in (("min", LOWEST), ("max", highest), ("bias", 1)):
                made.writestr(zipfile.ZipInfo(f"{name}.npy"), header("<f4", ()) + array("f", [value]).tobytes())
        return written.getvalue()
    values, words = numbers(10_000), ("--fit", FIGURES)
    kept = next(mode for mode in backups() if mode.name == "replace, --backup")
    made = [one_file("new", words, values), one_file("new, --sync", ("--sync", *words), values, durable=True),
            one_file("new, named", words, values, named=True), in_place("in place", values, *words),
            replace(kept, words=(*words, *kept.words), before=kept.before | {FIGURES: b"old"}, after=kept.after | {f"{FIGURES}~": b"old"}),
            Mode("--dry-run", ("-q", "--dry-run", *words, "in.npy", "out.npy"), {"in.npy": tensor(values)}, {}),
            many_files("3 files, --pooled", ("--pooled", "--max", "100%", *words, "--output-dir", "made"), "made/", directories=("made",))]
    return [replace(mode, name=f"{mode.name}, --fit", after=mode.after | {FIGURES: fit(100.75 if "--pooled" in mode.words else HIGHEST)})
            for mode in made]


def done_before() -> Mode:
    """The command that has kept a backup runs again: both files stay."""
    before = {"in.npy": tensor(numbers(10_000)), "out.npy": tensor(result(numbers(10_000))), "out.npy~": b"old"}
    return Mode("done, --backup", ("--backup", "in.npy", "out.npy"), before, {})


def set_by_names() -> list[Mode]:
    """The files of a set as inputs: its index gets a result, too."""
    values = {"1": numbers(3000), "2": numbers(3000, 2)}
    index = {"metadata": {"total_size": 8 * 3000 + 2}, "weight_map": {f"{part}.{name}": f"{part}.safetensors" for part in values for name in ("w", "flag")}}

    def files(directory: str, change) -> Files:
        parts = {f"{part}.safetensors": safetensors({f"{part}.w": change(each)}, f"{part}.flag") for part, each in values.items()}
        return {f"{directory}{name}": content for name, content in (parts | {"m.safetensors.index.json": json.dumps(index).encode()}).items()}
    inputs = ("m/1.safetensors", "m/2.safetensors")
    return [Mode("set by names", ("--output-dir", "made", *inputs), files("m/", lambda each: each), files("made/m/", result), directories=("made", "made/m"))]


def few_changes(name: str, *words: str, made: str = "in.npy") -> Mode:
    """Of six chunks of BATCH bytes, clipping changes a block of the second and all blocks of the fourth: where blocks can be
    shared, all others are."""
    each = BATCH // 4
    values = result(numbers(6 * each - 500))
    values[each + 5000] = HIGHEST + 1
    values[3 * each : 4 * each] = array("f", [HIGHEST + 1]) * each
    after = {made: tensor(array("f", (min(value, HIGHEST) for value in values)))}
    words = ("--bias", "0", "--chunk-size", str(BATCH), *words)
    return Mode(name, words, {"in.npy": tensor(values)}, after, durable=True)


def many_files(name: str, words: tuple[str, ...], directory: str, **more) -> Mode:
    values = {f"{letter}.npy": numbers(3000, i) for i, letter in enumerate("abc")}
    before = {file: tensor(each) for file, each in values.items()}
    after = {directory + file: tensor(result(each)) for file, each in values.items()}
    return Mode(name, (*words, *before), before, after, **more)


def linked_output(count: int) -> Mode:
    """The output is a symbolic link, whose target is replaced."""
    before = {"in.npy": tensor(numbers(count)), "link.npy": Link(b"real.npy"), "real.npy": b"something else" * 500}
    return Mode("replace a link's target", ("in.npy", "link.npy"), before, {"real.npy": tensor(result(numbers(count)))})


def linked_input(count: int) -> Mode:
    before = {"link.npy": Link(b"real.npy"), "real.npy": tensor(numbers(count))}
    after = {"real.npy": tensor(result(numbers(count)))}
    return Mode("in place, through a link", ("--in-place", "link.npy"), before, after, durable=True)


SHARDS = 2


def shards(mode: Mode, **more) -> list[Mode]:
    """Two shards that do together what the mode does, and --finalize after both. The second shard has no elements."""
    source, out = mode.words
    each = [replace(mode, name=f"{mode.name}, shard {i}", words=("--shard", f"{i}/{SHARDS}", source, out), after={}, shared=True, **more)
            for i in range(SHARDS)]
    return [*each, replace(mode, name=f"{mode.name}, --finalize", words=("--finalize", out), after_shards=tuple(each), durable=True, **more)]


def result_of(shard: Mode) -> Files:
    """The output after --finalize."""
    source, out = shard.words[-2:]
    return {out: tensor(result(elements(shard.before[source])))}


def golden(count: int) -> Mode:
    before = {"in.npy": tensor(numbers(count)), "golden.npy": tensor(numbers(count, 2))}
    after = {"golden.npy": tensor(result(numbers(count)))}
    return Mode("--update-golden", ("-q", "in.npy", "--verify", "golden.npy", "--update-golden"), before, after)


def differences(count: int) -> Mode:
    before = {"in.npy": tensor(numbers(count)), "expected.npy": tensor(numbers(count, 2))}
    after = {"difference.npy": difference(before["in.npy"], before["expected.npy"])}
    words = ("compare", "--atol", "1000", "in.npy", "expected.npy", "--diff-out", "difference.npy")
    return Mode("compare --diff-out", words, before, after)


def difference(actual: bytes, expected: bytes) -> bytes:
    pairs = zip(elements(actual), elements(expected))
    return tensor(array("f", (abs(a - e) for a, e in pairs)))


def elements(content: bytes) -> array:
    """The elements of a file that tensor() has made."""
    start = 10 + struct.unpack_from("<H", content, 8)[0]
    return array("f", content[start:])


def samples(content: bytes) -> str:
    """The size of a file and the checksum of its samples: 16 blocks from the first to the last."""
    last, count = max(len(content) - 4096, 0), 16
    places = [last // (count - 1) * i + last % (count - 1) * i // (count - 1) for i in range(count)] if last else [0]
    blocks = [(content[at : at + 4096], at) for at in places]
    total = sum(XXH64(block, len(block), at) for block, at in blocks)
    return f"{len(content)} bytes, samples {total % 2**64:016x}"


def slab_index(source: bytes) -> bytes:
    """The index of --split-output with one slab of the tensor in a file."""
    count = len(elements(source))
    index = {"object": "slabs", "version": 1, "dtype": "float32", "shape": [count], "fortran_order": False, "axis": 0,
             "plan": f"plan 1: <f4 C({count}) 0+{count} f4*3ff0000000000000+3ff0000000000000 lo=c2480000 hi=447a0000 nan=keep",
             "input": samples(source), "slabs": [{"file": SLAB, "begin": 0, "end": count}]}
    return json.dumps(index, indent=1).encode() + b"\n"


def split(count: int) -> Mode:
    source = tensor(numbers(count))
    after = {SLAB: tensor(result(numbers(count))), "out.json": slab_index(source)}
    words = ("--shard", "0/1", "--split-output", "in.npy", "out.npy")
    return Mode("--split-output", words, {"in.npy": source}, after)


def streams() -> list[Mode]:
    values = numbers(10_000)
    source, target = tensor(values), tensor(result(values))
    return [Mode("pipe to pipe", ("-", "-"), {}, {}, source, target),
            Mode("pipe to file", ("-", "out.npy"), {}, {"out.npy": target}, source),
            Mode("file to pipe", ("in.npy", "-"), {"in.npy": source}, {}, None, target)]


def archive(members: dict[str, array], method: int) -> bytes:
    """An .npz archive of these tensors and a text."""
    contents = {f"{name}.npy": tensor(values) for name, values in members.items()}
    return numpy_archive(contents | {"notes.txt": b"Not a tensor.\n"}, method)


def archives(count: int, method: int, dtype: str = "f") -> list[Mode]:
    """Modes with an archive of a member of `count` elements, an empty one and a small one."""
    members = {"w": numbers(count), "empty": array("f"), "v": numbers(700, 2)}
    after = {name: array(dtype, result(values)) for name, values in members.items()}
    before, after, kind = archive(members, method), archive(after, method), "stored" if method == STORED else "deflated"
    return [Mode(f"archive, {kind}", ("in.npz", "out.npz"), {"in.npz": before}, {"out.npz": after}),
            Mode(f"archive in place, {kind}", ("--in-place", "in.npz"), {"in.npz": before}, {"in.npz": after}, durable=True),
            Mode(f"member, {kind}", ("in.npz:w", "out.npy"), {"in.npz": before}, {"out.npy": tensor(array(dtype, result(members["w"])))})]


def safetensors(members: dict[str, array], flag: str = "flag") -> bytes:
    """A safetensors file of these tensors and a flag, which comes first, so that no element is aligned."""
    fields, data = {flag: {"dtype": "BOOL", "shape": [1], "data_offsets": [0, 1]}}, b"\1"
    for name, values in members.items():
        end = len(data) + 4 * len(values)
        fields[name] = {"dtype": "F32", "shape": [len(values)], "data_offsets": [len(data), end]}
        data += values.tobytes()
    header = json.dumps(fields).encode()
    return struct.pack("<Q", len(header)) + header + data


def of_safetensors(count: int) -> list[Mode]:
    members = {"w": numbers(count), "none": array("f"), "small": numbers(9, 3)}
    before, after = safetensors(members), safetensors({name: result(values) for name, values in members.items()})
    return [Mode("safetensors", ("in.safetensors", "out.safetensors"), {"in.safetensors": before}, {"out.safetensors": after}),
            Mode("safetensors in place", ("--in-place", "in.safetensors"), {"in.safetensors": before}, {"in.safetensors": after}, durable=True)]


def foreign(count: int) -> list[Mode]:
    """Files that are no .npy files: raw ones after the header of another format, and a TensorProto with a name and a doc_string."""
    values = numbers(count)

    def raw(numbers: array) -> bytes:
        return b"HEAD" + numbers.tobytes()

    def pb(numbers: array) -> bytes:
        def varint(value: int) -> bytes:
            return bytes([value & 127 | 128]) + varint(value >> 7) if value > 127 else bytes([value])
        return b"\x08" + varint(count) + b"\x10\x01\x42\x01w\x4a" + varint(4 * count) + numbers.tobytes() + b"\x62\x03doc"
    made = []
    for kind, file, words in (("raw", raw, ("--raw", "float32@4")), ("pb", pb, ())):
        before, after = {f"in.{kind}": file(values)}, file(result(values))
        made += [Mode(kind, (*words, f"in.{kind}", f"out.{kind}"), before, {f"out.{kind}": after}),
                 Mode(f"{kind} in place", (*words, "--in-place", f"in.{kind}"), before, {f"in.{kind}": after}, durable=True)]
    return made


def many_archives(name: str, words: tuple[str, ...], directory: str, **more) -> Mode:
    values = {f"{letter}.npz": {"w": numbers(3000, i), "v": numbers(9, i + 7)} for i, letter in enumerate("abc")}
    methods = dict(zip(values, (STORED, DEFLATED, STORED)))
    before = {file: archive(each, methods[file]) for file, each in values.items()}
    after = {directory + file: archive({name: result(each) for name, each in members.items()}, methods[file])
             for file, members in values.items()}
    return Mode(name, (*words, *before), before, after, **more)


def other_files(words: tuple[str, ...], made: str) -> Mode:
    """Two files below a directory are clipped; the third one is no tensor that clipper clips, and is copied or left alone."""
    values = {f"{letter}.npy": numbers(3000, i) for i, letter in enumerate("ab")}
    strings = {"s.npy": tensor(array("f", range(20_000))).replace(b"<f4", b"<U1")}
    before = {f"d/{file}": content for file, content in ({file: tensor(each) for file, each in values.items()} | strings).items()}
    after = {file: tensor(result(each)) for file, each in values.items()} | (strings if made else {})
    return Mode(f"other files, {words[0]}", ("-q", *words, "--recursive", "d"), before,
                {f"{made or 'd/'}{file}": content for file, content in after.items()}, durable=not made,
                directories=("made",) if made else ())


def flagless(count: int) -> list[Mode]:
    """Modes on a file system without O_TMPFILE and flags of renameat2, such as FUSE."""
    values, more = numbers(count), {"named": True, "flagless": True}
    return [one_file("new, --no-clobber, plain file system", ("--no-clobber",), values, **more),
            replacement("replace, plain file system", (), **more),
            in_place("in place, plain file system", values, **more)]


def uncached(count: int) -> list[Mode]:
    """--no-cache where the kernel drops what is written, and where clipper waits for it and drops it."""
    values = numbers(count)
    dropped = [one_file("new, --no-cache", ("--no-cache",), values), in_place("in place, --no-cache", values, "--no-cache")]
    return [*dropped, *(replace(mode, name=f"{mode.name}, plain file system", named=True, flagless=True) for mode in dropped)]


def casts(count: int) -> list[Mode]:
    """Modes that write float64: header and size of the file change."""
    kinds = [one_file("new", (), numbers(count)), in_place("in place", numbers(count)), replacement("replace", ()),
             *shards(one_file("new", (), numbers(count)))[2:], *archives(count, STORED, "d")[:2], *archives(140_000, DEFLATED, "d")[:2]]
    def cast(content: bytes) -> bytes:
        return tensor(array("d", elements(content))) if content.startswith(b"\x93NUMPY") else content
    def of(mode: Mode) -> Mode:
        words = mode.words if mode.after_shards else ("--to", "float64", *mode.words)
        return replace(mode, name=f"{mode.name}, --to float64", words=words, after_shards=tuple(map(of, mode.after_shards)),
                       after={name: cast(content) for name, content in mode.after.items()})
    return [of(mode) for mode in kinds]


def modes() -> list[Mode]:
    """All modes except resumed --direct runs, see direct.resumed_modes()."""
    values = numbers(10_000)
    return [
        one_file("new", (), values),
        one_file("new, space reserved", ("--chunk-size", "262144"), numbers(300_000)),
        one_file("new, --sync", ("--sync",), values, durable=True),
        one_file("new, --no-clobber", ("--no-clobber",), values),
        one_file("new, named", (), values, named=True),
        one_file("new, named, --sync", ("--sync",), values, named=True, durable=True),
        replacement("replace", ()),
        replacement("replace, --sync", ("--sync",), durable=True),
        replacement("replace, named", (), named=True),
        linked_output(10_000),
        golden(10_000),
        differences(10_000),
        split(10_000),
        in_place("in place", values),
        in_place("in place, named", values, named=True),
        linked_input(10_000),
        *backups(),
        done_before(),
        *saved_figures(),
        *set_by_names(),
        *flagless(10_000),
        *uncached(10_000),
        in_place("direct", batches(4), "--direct"),
        *streams(),
        *shards(one_file("new", (), values)),
        *shards(replacement("replace", ()))[2:],
        *shards(one_file("new, machines", (), values), remote=True),
        many_files("3 files, --output-dir", ("--output-dir", "made"), "made/", directories=("made",)),
        many_files("3 files, --in-place", ("--in-place",), "", durable=True),
        one_file("new, 4 threads", (), values, threads=4),
        in_place("in place, 4 threads", values, threads=4),
        other_files(("--output-dir", "made"), "made/"),
        other_files(("--in-place",), ""),
        *archives(10_000, STORED),
        *of_safetensors(140_000),
        *foreign(10_000),
        *archives(140_000, DEFLATED),  # more than a piece that is deflated alone
        many_archives("3 archives, --output-dir", ("--output-dir", "made"), "made/", directories=("made",)),
        many_archives("3 archives, --in-place", ("--in-place",), "", durable=True),
        *(replace(mode, name=f"{mode.name}, 4 threads", threads=4) for mode in archives(100_000, STORED)[:2]),
        *(replace(mode, name=f"{mode.name}, 4 threads", threads=4) for mode in archives(140_000, DEFLATED)[:2]),
        *casts(10_000),
        in_place("direct, 4 threads", batches(4), "--direct", threads=4),
        many_files("3 files, --in-place, 4 threads", ("--in-place",), "", durable=True, threads=4),
    ]
