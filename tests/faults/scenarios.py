"""The scenarios that systems.py runs on each file system; see also aliases.py, sharded.py and strange.py."""

import os
import re
import shutil
import signal
import subprocess
from array import array
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import checks
import direct
from actions import overwrite
from modes import BATCH, HIGHEST, LOWEST, OPERATION, REPEATABLE, Mode, archive, archives, batches, few_changes, in_place, many_archives, many_files, numbers, one_file, replacement, result, tensor
from mounts import OUTSIDE, PLACE, System, bound, mount_again, share_blocks
from place import Place, differences
from process import KINDS, Fault, Run, wait_for_stop
from zip_bytes import DEFLATED, STORED

FEW = numbers(10_000)
OLD, NEW = tensor(FEW), tensor(result(FEW))
OTHER, NEW_OTHER = (tensor(each) for each in (numbers(10_000, 2), result(numbers(10_000, 2))))
MANY = 300  # files; clipper replaces them in several batches
FILLERS = 12  # files that fill the disk
LARGE_OLD, LARGE_NEW = tensor(FEW * 120), tensor(result(FEW) * 120)  # enough for four shards of 1 MiB


@dataclass(frozen=True)
class Scenario:
    """`act` returns violations. `needs`: features without which the scenario is not tried. If the file system has none of
    the features in `without`, clipper must refuse with one of `codes`. `either`: clipper may refuse anywhere."""
    name: str
    act: Callable[[Place], list[str]]
    needs: tuple[str, ...] = ()
    without: tuple[str, ...] = ()
    codes: tuple[int, ...] = (5,)
    either: bool = False


def existing_kept(place: Place) -> list[str]:
    mode = replacement("", ("-n",))
    place.put(mode.before)
    return place.unchanged(place.run(*mode.arguments), mode.before, 5)


def through_link(place: Place) -> list[str]:
    place.put({"real/in.npy": OLD})
    os.symlink("real/in.npy", "link.npy")
    run = place.run(*OPERATION, "--in-place", "link.npy")
    if not os.path.islink("link.npy"):
        return ["the link is no longer a link"]
    os.unlink("link.npy")
    return place.judged(Mode("", ("--in-place",), {"real/in.npy": OLD}, {"real/in.npy": NEW}), run)


def many_in_place(place: Place) -> list[str]:
    values = {f"{i % 3}/{i}.npy": numbers(100, i) for i in range(MANY)}
    before = {name: tensor(each) for name, each in values.items()}
    after = {name: tensor(result(each)) for name, each in values.items()}
    return place.attempt(Mode("", ("--in-place", *before), before, after, threads=2))


def into_directory(place: Place) -> list[str]:
    """One run for a tree, then two runs that divide it as xargs does: every file has the same output."""
    names = ("a.npy", "t/b.npy", "t/u/c.npy", "v/d.npy")
    before = {f"in/{name}": tensor(numbers(3000, i)) for i, name in enumerate(names)}
    after = {f"out/in/{name}": tensor(result(numbers(3000, i))) for i, name in enumerate(names)}
    mode = Mode("", ("--output-dir", "out", *before), before, after, threads=2)
    texts = place.attempt(mode)
    place.put(before)
    cut = place.source.randrange(1, len(before))
    for part in (list(before)[:cut], list(before)[cut:]):
        run = place.run(*OPERATION, "--output-dir", "out", *part)
        texts += [f"exit {run.code}: {run.stderr}"] if run.code else []
    return texts + differences(before | after)


def equal_output(place: Place) -> list[str]:
    """Elements within the bounds: the output takes no blocks of its own. One element beyond them: it does."""
    texts = []
    for last, shares in ((0, True), (1e9, False)):
        values = result(FEW * 120)
        content, expected = (tensor(values + array("f", [element])) for element in (last, min(last, HIGHEST)))
        for name in ("new.npy", "replaced.npy"):
            place.put({"in.npy": content, "replaced.npy": OLD})
            run = place.run("--min", str(LOWEST), "--max", str(HIGHEST), "in.npy", name)
            extents = subprocess.run(["filefrag", "-v", name], capture_output=True, text=True, check=True).stdout
            texts += [f"exit {run.code}: {run.stderr}"] if run.code else []
            texts += [] if Path(name).read_bytes() == expected else [f"{name} has other bytes"]
            texts += [] if ("shared" in extents) == shares else [f"{name}: {extents}"]
    return texts


SPARSE = few_changes("few blocks change", "--in-place", "in.npy")


def few_changed(place: Place) -> list[str]:
    """The result shares all blocks but those that change: a block of one chunk, and the 33 blocks of another one."""
    texts = []
    for mode in (SPARSE, few_changes("new", "--sync", "in.npy", "out.npy", made="out.npy"),
                 few_changes("replaced", "--sync", "in.npy", "kept.npy", made="kept.npy")):
        name = mode.words[-1]
        place.put(mode.before)
        share_blocks("in.npy", "kept.npy")  # has the old blocks when in.npy is replaced
        run = place.run(*mode.arguments)
        done = run.code == 0 and Path(name).read_bytes() == mode.after[name]
        extents = subprocess.run(["filefrag", "-vb4096", name], capture_output=True, text=True, check=True).stdout
        shared = sum(map(int, re.findall(r"^ *\d+: +\d+\.\. *\d+: +\d+\.\. *\d+: +(\d+):.*shared", extents, re.MULTILINE)))
        own = -(-len(mode.after[name]) // 4096) - shared
        texts += [] if done and own == 34 else [f"{name}: exit {run.code}: {run.stderr}, {own} own blocks: {extents}"]
    return texts


def few_changed_failing(place: Place) -> list[str]:
    """Each call fails once or kills clipper: the file is old or new, and only a kill leaves a temporary file."""
    place.put(SPARSE.before)
    calls = place.clipper.run(SPARSE).calls
    texts = [] if sum(call.name == "ioctl" for call in calls) >= 5 else ["too few calls of ioctl"]
    for at, call in enumerate(calls, 1):
        for what in ("EIO", "ENOSPC", "KILL", "KILL after"):
            if KINDS[what] & ~call.kinds:
                continue
            fault = Fault(at, what)
            place.put(SPARSE.before)
            run = place.clipper.run(SPARSE, fault)
            place.runs, place.fired = place.runs + 1, place.fired + bool(run.fired)
            checked = checks.is_checked(SPARSE, calls, fault)
            more = checks.violations(SPARSE, fault, run, checked, attributes="attributes" in place.has)
            texts += [f"{call.name}, {fault}: {text}" for text in more]
    return texts


def written_before_sharing(place: Place) -> list[str]:
    """Another program writes elements beyond the bounds before blocks are shared, and sets the time back: they stay out."""
    beyond = array("f", [2 * HIGHEST]).tobytes()
    texts = []

    def write(pid: int) -> None:
        if wait_for_stop(pid):
            status = os.stat("in.npy")
            for at in range(8192, status.st_size, BATCH):
                overwrite("in.npy", beyond, at)
            os.utime("in.npy", ns=(status.st_atime_ns, status.st_mtime_ns))
            place.fired += 1
            os.kill(pid, signal.SIGCONT)

    for mode in (few_changes("parts", "--sync", "in.npy", "out.npy", made="out.npy"),
                 Mode("whole", ("--bias", "0", "in.npy", "out.npy"), {"in.npy": LARGE_NEW}, {})):
        place.put(mode.before)
        calls = [call.name for call in place.clipper.run(mode).calls]
        clones = [at for at, name in enumerate(calls, 1) if name == "ioctl"]
        texts += [] if clones else [f"{mode.name}: no call of ioctl"]
        for at in clones:
            place.put(mode.before)
            run = place.clipper.run(mode, Fault(at, "STOP"), write)
            place.runs += 1
            high = run.code == 0 and beyond in Path("out.npy").read_bytes()
            texts += [f"{mode.name}, call {at}: the output has elements beyond the bounds"] if high else []
    return texts


DIRECT = in_place("direct", batches(3), "--direct")


def direct_with_links(place: Place) -> list[str]:
    place.put(DIRECT.before)
    os.link("in.npy", "other.npy")
    run = place.run(*DIRECT.arguments)
    if not os.path.samefile("in.npy", "other.npy"):
        return ["the link is another file now"]
    os.unlink("other.npy")
    return place.judged(DIRECT, run)


def killed(place: Place, mode: Mode, judge: Callable[[Fault, Run], list[str]]) -> list[str]:
    """The mode is killed before a random call."""
    place.put(mode.before)
    calls = len(place.clipper.run(mode).calls)
    texts = []
    for _ in range(place.often):
        fault = Fault(place.source.randrange(1, calls + 1), "KILL")
        place.put(mode.before)
        run = place.clipper.run(mode, fault)
        place.runs, place.fired = place.runs + 1, place.fired + (run.code == -9)
        texts += [f"killed at {fault}: {text}" for text in place.sifted(judge(fault, run))]
    return texts


def direct_killed(place: Place, then: Callable[[System], None] = lambda system: None) -> list[str]:
    """The same command as the killed one must finish the file."""
    def judge(_: Fault, run: Run) -> list[str]:
        place.runs += 1
        then(place.system)
        more, again = direct.interrupted(place.clipper, DIRECT, run)
        return more + (direct.finish(place.clipper, DIRECT) if again else [])

    return killed(place, DIRECT, judge)


def in_place_killed(place: Place) -> list[str]:
    """The file is old or new. A temporary file may stay."""
    mode = in_place("", FEW)
    return killed(place, mode, lambda fault, run: checks.violations(mode, fault, run, attributes="attributes" in place.has))


WAYS = (one_file("new", (), FEW), replacement("replace", ()), in_place("in place", FEW), DIRECT)


def full_disk(place: Place) -> list[str]:
    """A new output, a replaced output, --in-place and --in-place --direct on a full disk; also of an archive and its member."""
    before = {"in.npy": LARGE_OLD, "out.npy": OTHER, "in.npz": archive({"w": FEW * 120}, STORED)}
    place.put({f"d/{name}": content for name, content in before.items()})
    fillers = fill()
    os.chdir("d")
    texts = []
    for words in (("in.npy", "new.npy"), ("in.npy", "out.npy"), ("--in-place", "in.npy"), ("--in-place", "--direct", "in.npy"),
                  ("in.npz", "new.npz"), ("--in-place", "in.npz"), ("in.npz:w", "new.npy")):
        run = place.run(*(REPEATABLE if "--direct" in words else OPERATION), *words)
        texts += [f"{' '.join(words)}: {text}" for text in place.unchanged(run, before, 4, 5)]
    for filler in fillers:
        with suppress(FileNotFoundError):
            os.truncate(f"../{filler}", 0)  # btrfs needs free space to remove a file
    return texts


def little_room(place: Place) -> list[str]:
    """Room for one more file, of which an ext4 keeps all for root: each of six is replaced, and one that does not change without room."""
    before = {f"{i}.npy": tensor(numbers(10_000, i) * 30) for i in range(6)}
    after = {f"{i}.npy": tensor(result(numbers(10_000, i)) * 30) for i in range(6)}
    place.put(before)
    fillers = fill()
    size = len(before["0.npy"])
    rest = {name: Path(name).read_bytes() for name in fillers if Path(name).exists()}
    same = place.run("--min", "-1e30", "--in-place", *before)
    texts = [] if same.code == 0 else [f"nothing changes: exit {same.code}: {same.stderr}"]
    os.truncate(fillers[0], max(0, os.stat(fillers[0]).st_size - 3 * size))
    rest[fillers[0]] = Path(fillers[0]).read_bytes()
    run = place.run(*OPERATION, "--in-place", "--threads", "4", *before)
    texts += [f"exit {run.code}: {run.stderr}"] if run.code else []
    return texts + differences((before if run.code else after) | rest)


def holes_kept(place: Place) -> list[str]:
    """Results of a sparse file take up as little as its copies, and have the bytes that those of a dense file have."""
    texts = []
    for _ in range(place.often):
        values = array("f", bytes(4 * place.source.randrange(1, 2_000_000)))
        for _ in range(place.source.randrange(4)):
            at, count = place.source.randrange(len(values)), place.source.randrange(1, 20_000)
            values[at:at + count] = numbers(count, at)[:len(values) - at]
        expected = array("f", (max(LOWEST, min(HIGHEST, value)) for value in values))
        place.put({"dense.npy": tensor(values)})
        for words in (("new.npy",), ("--sync", "kept.npy"), ("--in-place",)):
            subprocess.run(["cp", "--sparse=always", "dense.npy", "in.npy"], check=True)
            Path("kept.npy").write_bytes(OLD)
            run = place.run("--min", str(LOWEST), "--max", str(HIGHEST), "in.npy", *words)
            name = words[-1] if words[-1].endswith(".npy") else "in.npy"
            done = run.code == 0 and Path(name).read_bytes() == tensor(expected)
            os.sync()
            subprocess.run(["cp", "--sparse=always", name, "copy.npy"], check=True)
            os.sync()
            blocks = [os.stat(each).st_blocks // 2 for each in ("copy.npy", name)]
            texts += [] if done and blocks[1] <= blocks[0] + 600 else [f"{words}: exit {run.code}: {run.stderr}, {blocks} KiB"]
    return texts


def link_out(place: Place) -> list[str]:
    """Nothing is written where a link below --output-dir leads to outside of it; an absolute link that stays inside is followed."""
    before = {"in/a/x.npy": OLD, "in/b/x.npy": OTHER}
    texts = []
    for target, code in ((OUTSIDE, 5), (PLACE, 5), (PLACE / "out" / "real", 0)):
        place.put(before)
        clear_outside()
        os.makedirs("out/real")
        os.symlink(target, "out/a")
        run = place.run(*OPERATION, "--recursive", "in", "--output-dir", "out", "--keep-going")
        made = {"out/b/x.npy": NEW_OTHER} | ({"out/real/x.npy": NEW} if code == 0 else {})
        os.unlink("out/a")
        texts += [] if run.code == code else [f"{target}: exit {run.code}: {run.stderr}"]
        texts += differences(before | made) + litter_outside()
    return texts


def link_out_meanwhile(place: Place) -> list[str]:
    """At each call another process moves a directory of --output-dir away and puts a link to outside in its place."""
    mode = Mode("", ("--recursive", "in", "--output-dir", "out"), {"in/a/x.npy": OLD, "in/b/x.npy": OTHER}, {})
    texts = []

    def act(pid: int) -> None:
        if wait_for_stop(pid):
            if os.path.isdir("out/a"):
                os.rename("out/a", "moved")
            with suppress(OSError):
                os.symlink(OUTSIDE, "out/a")
                place.fired += 1
            os.kill(pid, signal.SIGCONT)

    place.put(mode.before)
    calls = place.clipper.run(mode).calls
    for at in range(1, len(calls) + 1):
        place.put(mode.before)
        clear_outside()
        run = place.clipper.run(mode, Fault(at, "STOP"), act)
        good = {0: (), 4: ("x.npy",), 5: ("leads out of", "x.npy")}
        texts += [] if all(word in run.stderr for word in good.get(run.code, ("?",))) else [f"{at}: exit {run.code}: {run.stderr}"]
        texts += [f"{at} ({calls[at - 1].name}): {text}" for text in litter_outside()]
        place.runs += 1
    return texts


def fill() -> list[str]:
    """Fills all disks of the file system: each filler may be stored on another disk. Some file systems report a full disk
    only when a file is synced or closed."""
    names = [f"filler{number}" for number in range(FILLERS)]
    for name in names:
        with suppress(OSError), open(name, "wb", buffering=0) as file:
            for size in (1 << 20, 4096):
                with suppress(OSError):
                    while file.write(bytes(size)):
                        pass
            os.fsync(file.fileno())
    return names


def read_only(place: Place) -> list[str]:
    texts = []
    for mode in WAYS:
        place.put(mode.before)
        with bound(PLACE, PLACE, "bind,ro"):
            os.chdir(PLACE)
            run = place.run(*mode.arguments)
            compared = place.run("compare", "in.npy", "in.npy")
        os.chdir(PLACE)
        texts += [f"{mode.name}: {text}" for text in place.unchanged(run, mode.before, 4, 5)]
        texts += [f"compare: exit {compared.code}"] if compared.code else []
    return texts


def from_elsewhere(place: Place) -> list[str]:
    """First the input, then the output is on another file system. rename(2) does not work across file systems."""
    clear_outside()
    (OUTSIDE / "in.npy").write_bytes(OLD)
    (OUTSIDE / "in.npy").chmod(checks.MODE)
    place.put({})
    run = place.run(*OPERATION, str(OUTSIDE / "in.npy"), "out.npy")
    texts = place.judged(Mode("", (), {}, {"out.npy": NEW}), run)
    place.put({"in.npy": OLD})
    back = place.run(*OPERATION, "in.npy", str(OUTSIDE / "out.npy"))
    same = (OUTSIDE / "out.npy").exists() and (OUTSIDE / "out.npy").read_bytes() == NEW
    return texts + ([] if back.code == 0 and same else [f"there: exit {back.code}: {back.stderr}"]) + litter_outside()


def link_elsewhere(place: Place) -> list[str]:
    """--in-place on a symbolic link to a file on another file system."""
    clear_outside()
    (OUTSIDE / "in.npy").write_bytes(OLD)
    place.put({})
    os.symlink(OUTSIDE / "in.npy", "link.npy")
    run = place.run(*OPERATION, "--in-place", "link.npy")
    texts = [] if run.code == 0 and (OUTSIDE / "in.npy").read_bytes() == NEW else [f"exit {run.code}: {run.stderr}"]
    return texts + ([] if os.path.islink("link.npy") else ["the link is no longer a link"]) + litter_outside()


def clear_outside() -> None:
    for entry in OUTSIDE.iterdir():
        shutil.rmtree(entry) if entry.is_dir() else entry.unlink()


def litter_outside() -> list[str]:
    return [f"{entry} is left" for entry in OUTSIDE.iterdir() if entry.name not in ("in.npy", "out.npy")]


def mode_scenario(mode: Mode, **more) -> Scenario:
    return Scenario(mode.name, lambda place: place.attempt(mode), **more)


SCENARIOS = (
    mode_scenario(one_file("new output", (), FEW)),
    mode_scenario(Mode("new output, space reserved", ("--chunk-size", "262144", "in.npy", "out.npy"), {"in.npy": LARGE_OLD},
                       {"out.npy": LARGE_NEW})),
    mode_scenario(one_file("new output, --sync", ("--sync",), FEW)),
    mode_scenario(replacement("replaced output", ())),
    mode_scenario(replacement("replaced output, --sync", ("--sync",))),
    mode_scenario(one_file("-n, new output", ("-n",), FEW), without=("unnamed files", "renames that do not replace", "links")),
    Scenario("-n, existing output", existing_kept),
    Scenario("output equals the input", equal_output, needs=("shared blocks",)),
    Scenario("few blocks change", few_changed, needs=("shared blocks",)),
    Scenario("few blocks change, each call fails", few_changed_failing, needs=("shared blocks",)),
    Scenario("written before blocks are shared", written_before_sharing, needs=("shared blocks",)),
    mode_scenario(many_files("3 outputs beside", ("-o", "made-{name}"), "made-")),
    Scenario("--output-dir, a tree", into_directory),
    mode_scenario(in_place("--in-place", FEW)),
    Scenario("--in-place, by a link", through_link, needs=("symbolic links",)),
    Scenario(f"--in-place, {MANY} files", many_in_place),
    Scenario("--in-place, killed", in_place_killed),
    mode_scenario(in_place("--direct", batches(3), "--direct")),
    Scenario("--direct, hard links", direct_with_links, needs=("links",)),
    Scenario("--direct, killed and finished", direct_killed),
    Scenario("--direct, killed, mounted again and finished", partial(direct_killed, then=mount_again), needs=("a disk",)),
    *(mode_scenario(mode) for method in (STORED, DEFLATED) for mode in archives(10_000, method)),
    mode_scenario(many_archives("3 archives in place", ("--in-place",), "")),
    Scenario("full disk", full_disk),
    Scenario("room for one of six files", little_room),
    Scenario("holes stay holes", holes_kept, needs=("holes",)),
    Scenario("a link out of --output-dir", link_out, needs=("symbolic links",)),
    Scenario("a link out of --output-dir, meanwhile", link_out_meanwhile, needs=("symbolic links",)),
    Scenario("read-only", read_only),
    Scenario("from and to another file system", from_elsewhere),
    Scenario("--in-place, by a link to another file system", link_elsewhere, needs=("symbolic links",)),
)
