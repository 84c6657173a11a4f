"""Scenarios with strange files: long names, names that are no text, unchangeable files, files of other users, mounts."""

import os
from collections.abc import Iterable
from functools import partial
from pathlib import Path

from checks import MODE, found
from modes import OPERATION, REPEATABLE, Mode, numbers, result, tensor
from mounts import ANYONE, PLACE, append_only, bound, command
from place import Place, differences, refused
from process import Run
from scenarios import FEW, NEW, OLD, OTHER, Scenario

NAME_MAX, PATH_MAX = 255, 4096
NARROW, WIDE = "n" * (NAME_MAX - 4) + ".npy", "€" * 83 + "ab.npy"
DELAYED = ("strace", "-f", "-qq", "-o", "/dev/null", "-e", "trace=umask", "-e", "inject=umask:delay_exit=100000")


def ways(name: str, directory: str = "") -> list[Mode]:
    """The ways to write a file of that name."""
    source, target = directory + "in.npy", directory + name
    return [Mode("new", (source, target), {source: OLD}, {target: NEW}),
            Mode("-n", ("-n", source, target), {source: OLD}, {target: NEW}),
            Mode("replace", (source, target), {source: OLD, target: OTHER}, {target: NEW}),
            Mode("in place", ("--in-place", target), {target: OLD}, {target: NEW}),
            Mode("direct", ("--in-place", "--direct", target), {target: OLD}, {target: tensor(result(FEW, bias=0))}),
            Mode("shard", ("--shard", "0/1", source, target), {source: OLD}, {}, shared=True)]


def answered(place: Place, mode: Mode, run: Run, must: Iterable[str] = (), may: Iterable[str] = ()) -> list[str]:
    """Checks one way. clipper must refuse the ways in `must` and may refuse those in `may`. It must leave no files."""
    if mode.name == "-n" and not place.has & {"links", "renames that do not replace", "unnamed files"}:
        must = (*must, mode.name)
    texts = place.judged(mode, run)
    if run.code and mode.name not in {*must, *may}:
        texts.append(f"exit {run.code}: {run.stderr}")
    if not run.code and mode.name in must:
        texts.append("not refused")
    place.refusal = None
    return [f"{mode.name}: {text}" for text in texts]


def long_name(place: Place, name: str) -> list[str]:
    """A name of max length. clipper's temporary files need longer names and must work all the same. --shard may
    refuse, because it cannot shorten the names of parts."""
    texts = []
    for mode in ways(name):
        place.put(mode.before)
        texts += answered(place, mode, place.run(*mode.arguments), may=("shard",))
    return texts


def long_paths(place: Place) -> list[str]:
    """Paths near PATH_MAX. The last one is relative to a directory whose absolute path is longer than PATH_MAX."""
    lengths = {PATH_MAX - 100: (), PATH_MAX - 40: ("shard",), PATH_MAX - 20: ("shard",), PATH_MAX - 1: ("shard",),
               PATH_MAX + 200: ("shard", "in place", "direct")}
    texts = []
    for length in lengths if "unnamed files" in place.has else [PATH_MAX - 100]:  # FUSE programs prepend a directory to paths
        for mode in ways("out.npy"):
            place.put({})
            directory = deep(length - len("/out.npy"))
            for name, content in mode.before.items():
                Path(name).write_bytes(content)
                os.chmod(name, MODE)
            words = [f"{directory}/{word}" if word.endswith(".npy") and length < PATH_MAX else word for word in mode.words]
            answers = answered(place, mode, place.run(*OPERATION, *words), may=lengths[length])
            texts += [f"{length} bytes, {text}" for text in answers if "has lost" not in text]
    os.chdir(PLACE)
    return texts


def deep(length: int) -> str:
    """Makes and enters a directory whose path has this length."""
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
    modes = [mode for mode in ways(name) if name not in mode.before or "any bytes in names" in place.has]
    return [text for mode in modes for text in place.attempt(mode)]


def narrow_umask(place: Place) -> list[str]:
    """One thread reads the umask, slowed down by strace, while other threads create files."""
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
    """Nothing can be removed from the directory, not even a temporary file."""
    texts = []
    for mode in ways("out.npy", "d/"):
        place.put(mode.before)
        with append_only("d"):
            run = place.run(*mode.arguments)
        texts += answered(place, mode, run, must=("replace", "in place"), may=("shard",))
    return texts


def unchangeable_file(place: Place) -> list[str]:
    """An append-only or immutable file can be neither replaced nor changed."""
    texts = []
    for mode in ways("out.npy")[2:5]:
        for flag in "ai":
            place.put(mode.before | {"out.npy": mode.before.get("out.npy", OTHER)})
            before = found()
            os.chmod("out.npy", MODE)  # makes overlayfs copy the file to its upper layer
            command("chattr", f"+{flag}", "out.npy")
            run = place.run(*mode.arguments)
            command("chattr", f"-{flag}", "out.npy")
            texts += [f"+{flag}, {mode.name}: {text}" for text in refused(run, 4, 5) + differences(before)]
    return texts


def sticky_directory(place: Place) -> list[str]:
    """In a sticky directory clipper can read and write another user's files, but not replace them."""
    texts = []
    for mode in ways("out.npy", "d/")[:5]:
        place.put(mode.before)
        os.chmod("d", 0o1777)
        for name in mode.before:
            os.chown(name, ANYONE, ANYONE)
            os.chmod(name, 0o666)
        run = place.run(*mode.arguments, user=ANYONE + 1, group=ANYONE + 1, extra_groups=[])
        must_refuse = mode.name in ("replace", "in place") and "d/out.npy" in mode.before
        after = mode.before if run.code else mode.before | mode.after
        more = differences(after) + (refused(run, 4, 5) if must_refuse or run.code else [])
        texts += [f"{mode.name}: {text}" for text in more]
    return texts


def mounted_file(place: Place) -> list[str]:
    """A file that another file is mounted on, as in containers, cannot be replaced."""
    texts = []
    for mode in ways("out.npy")[2:5]:
        before = mode.before | {"other.npy": mode.before["out.npy"], "out.npy": b""}
        place.put(before)
        with bound(PLACE / "other.npy", PLACE / "out.npy"):
            run = place.run(*mode.arguments)
        done = mode.name == "direct" and run.code == 0
        after = before | {"other.npy": NEW} if done else before
        texts += [f"{mode.name}: {text}" for text in differences(after) + ([] if done else refused(run, 4, 5))]
    return texts


def unmapped_ids(place: Place) -> list[str]:
    """In a user namespace without mappings all users and groups look like one. The user could not give a new file this group, nor
    an access control list that names users."""
    texts = []
    for mode in ways("out.npy")[2:5]:
        place.put(mode.before)
        for name in mode.before:
            os.chown(name, 0, ANYONE)
        run = place.run(*mode.arguments, prefix=("unshare", "-U"))
        done = mode.name == "direct" or (mode.name == "replace" and "attributes" not in place.has)
        texts += [f"{mode.name}: {text}" for text in differences(mode.before | mode.after if done else mode.before)]
        texts += [] if done and run.code == 0 else [f"{mode.name}: {text}" for text in refused(run, 5 if mode.in_place else 4)]
        if mode.name != "replace" and os.stat("out.npy").st_gid != ANYONE:
            texts.append(f"{mode.name}: another group")
    return texts


def descriptor_as_path(place: Place) -> list[str]:
    """A descriptor whose file was hidden by a mount: the path of the descriptor seems to lead to another file."""
    texts = []
    for words, code in ((("--in-place",), 5), (("--in-place", "--direct"), 5), (("in.npy",), 0), (("-n", "in.npy"), 5)):
        before = {"in.npy": OLD, "a/x.npy": OTHER, "b/x.npy": OTHER + b"more"}
        place.put(before)
        fd = os.open("a/x.npy", os.O_RDWR)
        with bound(PLACE / "b", PLACE / "a"):
            run = place.run(*(REPEATABLE if "--direct" in words else OPERATION), *words, f"/proc/self/fd/{fd}", pass_fds=(fd,))
        os.close(fd)
        after = before if code else before | {"a/x.npy": NEW}
        more = differences(after) + (refused(run, code) if code else [] if run.code == 0 else [f"exit {run.code}: {run.stderr}"])
        texts += [f"{' '.join(words)}: {text}" for text in more]
    return texts


STRANGE = (
    Scenario("names of 255 bytes", partial(long_name, name=NARROW)),
    Scenario("names of 255 bytes that are fewer characters", partial(long_name, name=WIDE)),
    Scenario("paths near 4,096 bytes", long_paths),
    Scenario("names that are not UTF-8", strange_bytes, without=("any bytes in names",), codes=(4,)),
    Scenario("umask 077, threads, a delay", narrow_umask),
    Scenario("append-only directory", append_only_directory, needs=("append-only directories",)),
    Scenario("append-only or immutable file", unchangeable_file, needs=("append-only directories",)),
    Scenario("sticky directory, another user's files", sticky_directory, needs=("owners", "modes")),
    Scenario("a file that is a mount", mounted_file),
    Scenario("a group that the user namespace does not map", unmapped_ids, needs=("owners",)),
    Scenario("a descriptor whose file a mount hides", descriptor_as_path),
)
