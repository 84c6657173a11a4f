"""Scenarios of strange names and places: long, not text, unchangeable, other users', mounted."""

import os
from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from pathlib import Path

from checks import MODE, found
from modes import OPERATION, Mode, numbers, result, tensor
from mounts import ANYONE, PLACE, append_only, bound, command
from place import Place, differences, refused
from scenarios import NEW, OLD, OTHER, Scenario

NAME_MAX, PATH_MAX = 255, 4096
NARROW, WIDE = "n" * (NAME_MAX - 4) + ".npy", "€" * 83 + "ab.npy"
DELAYED = ("strace", "-f", "-qq", "-o", "/dev/null", "-e", "trace=umask", "-e", "inject=umask:delay_exit=100000")


def ways(name: str, directory: str = "") -> Iterator[tuple[Mode, bool]]:
    """To write a file of that name, and whether refusing is as good."""
    source, target = directory + "in.npy", directory + name
    yield Mode("new", (source, target), {source: OLD}, {target: NEW}), False
    yield Mode("-n", ("-n", source, target), {source: OLD}, {target: NEW}), False
    yield Mode("replace", (source, target), {source: OLD, target: OTHER}, {target: NEW}), False
    yield Mode("in place", ("--in-place", target), {target: OLD}, {target: NEW}), False
    yield Mode("direct", ("--in-place", "--direct", target), {target: OLD}, {target: NEW}), True
    yield Mode("shard", ("--shard", "0/1", source, target), {source: OLD}, {target: NEW}, shared=True), True


def long_name(place: Place, name: str) -> list[str]:
    """The hidden names beside it must fit, too; not those of --direct and --shard, which have to be found again."""
    texts = []
    for mode, may_refuse in ways(name):
        place.put(mode.before)
        run = place.run(*mode.arguments)
        more = place.judged(mode, run)
        if run.code and not may_refuse and not (mode.name == "-n" and "links" not in place.has):
            more.append(f"exit {run.code}: {run.stderr}")
        texts += [f"{mode.name}: {text}" for text in more]
    place.refusal = None
    return texts


def long_paths(place: Place) -> list[str]:
    """Done or refused, and nothing left; the last two have a directory whose path is too long for any call."""
    texts = []
    for length in (PATH_MAX - 40, PATH_MAX - 20, PATH_MAX - 1, PATH_MAX + 200):
        for mode, _ in ways("out.npy"):
            place.put({})
            try:
                directory = deep(length - len("/out.npy"))
            except OSError:
                continue  # FUSE, whose programs use paths
            for name, content in mode.before.items():
                Path(name).write_bytes(content)
                os.chmod(name, MODE)
            words = [f"{directory}/{word}" if word.endswith(".npy") and length < PATH_MAX else word for word in mode.words]
            run = place.run(*OPERATION, *words)
            judged = place.judged(replace(mode, directories=()), run)
            texts += [f"{length} bytes, {mode.name}: {text}" for text in judged if "has lost" not in text]
    os.chdir(PLACE)
    place.refusal = None
    return texts


def deep(length: int) -> str:
    """The current directory then has a path of that length."""
    path = str(PLACE)
    while length - len(path) > 202:
        path = f"{path}/{'d' * 200}"
        enter("d" * 200)
    last = "e" * (length - len(path) - 1)
    enter(last)
    return f"{path}/{last}"


def enter(directory: str) -> None:
    os.mkdir(directory)
    os.chdir(directory)


def strange_bytes(place: Place) -> list[str]:
    name = os.fsdecode(b"\xff\xc3.npy")
    modes = [mode for mode, _ in ways(name) if name not in mode.before or "any bytes in names" in place.has]
    return [text for mode in modes for text in place.attempt(mode)]


def narrow_umask(place: Place) -> list[str]:
    """Threads create files while another one, which replaces a file, asks for the umask, and that takes long."""
    values = {f"{i}.npy": numbers(100, i) for i in range(16)}
    before = {name: tensor(each) for name, each in values.items()} | {"out/0.npy": OTHER}
    place.put(before)
    os.chmod("out", 0o755)
    words = (*OPERATION, "--threads", "4", "--output-dir", "out", *values)
    run = place.run(*words, prefix=DELAYED, umask=0o077)
    after = {f"out/{name}": tensor(result(each)) for name, each in values.items()}
    texts = differences(before | after) + ([f"exit {run.code}: {run.stderr}"] if run.code else [])
    wide = [name for name in after if os.stat(name).st_mode & 0o777 != (MODE if name in before else 0o600)]
    return texts + place.sifted([f"another mode: {', '.join(wide)}"] if wide else [])


def append_only_directory(place: Place) -> list[str]:
    """From which nothing can be removed, a temporary neither."""
    texts = []
    for mode, _ in ways("out.npy", "d/"):
        place.put(mode.before)
        with append_only("d"):
            run = place.run(*mode.arguments)
        texts += [f"{mode.name}: {text}" for text in place.judged(mode, run)]
    return texts


def unchangeable_file(place: Place) -> list[str]:
    """Append-only or immutable: it can be neither replaced nor changed."""
    texts = []
    for mode, _ in list(ways("out.npy"))[2:]:
        for flag in "ai":
            place.put(mode.before | {"out.npy": mode.before.get("out.npy", OTHER)})
            before = found()
            os.chmod("out.npy", MODE)  # after which it is in overlayfs' upper layer
            command("chattr", f"+{flag}", "out.npy")
            run = place.run(*mode.arguments)
            command("chattr", f"-{flag}", "out.npy")
            left = [text for text in differences(before) if mode.name != "shard" or "out.npy is" in text]
            texts += [f"+{flag}, {mode.name}: {text}" for text in refused(run, 4, 5) + left]
    return texts


def sticky_directory(place: Place) -> list[str]:
    """Another user's files can be read and written there, but not replaced."""
    texts = []
    for mode, _ in list(ways("out.npy", "d/")):
        place.put(mode.before)
        os.chmod("d", 0o1777)
        for name in mode.before:
            os.chown(name, ANYONE, ANYONE)
            os.chmod(name, 0o666)
        run = place.run(*mode.arguments, user=ANYONE + 1, group=ANYONE + 1, extra_groups=[])
        must_refuse = mode.name in ("replace", "in place", "shard") and "d/out.npy" in mode.before
        after = mode.before if run.code else mode.before | mode.after
        more = differences(after) + (refused(run, 4, 5) if must_refuse or run.code else [])
        texts += [f"{mode.name}: {text}" for text in more]
    return texts


def mounted_file(place: Place) -> list[str]:
    """A file that something is mounted on, as containers have it, cannot be replaced."""
    texts = []
    for mode, _ in list(ways("out.npy"))[2:5]:
        before = mode.before | {"other.npy": mode.before["out.npy"], "out.npy": b""}
        place.put(before)
        with bound(PLACE / "other.npy", PLACE / "out.npy"):
            run = place.run(*mode.arguments)
        done = mode.name == "direct" and run.code == 0
        after = before | {"other.npy": NEW} if done else before
        texts += [f"{mode.name}: {text}" for text in differences(after) + ([] if done else refused(run, 4, 5))]
    return texts


STRANGE = (
    Scenario("names of 255 bytes", partial(long_name, name=NARROW)),
    Scenario("names of 255 bytes that are fewer characters", partial(long_name, name=WIDE)),
    Scenario("paths near 4,096 bytes", long_paths, either=True),
    Scenario("names that are not UTF-8", strange_bytes, without=("any bytes in names",), code=4),
    Scenario("umask 077, threads, a delay", narrow_umask),
    Scenario("append-only directory", append_only_directory, needs=("append-only directories",), either=True),
    Scenario("append-only or immutable file", unchangeable_file, needs=("append-only directories",)),
    Scenario("sticky directory, another user's files", sticky_directory, needs=("owners", "modes")),
    Scenario("a file that is a mount", mounted_file),
)
