"""What must hold after a run in which an outsider has acted: README.md lists the rules and their limits.

Each function returns the violations of one rule as texts."""

import functools
import io
import os
import stat
import struct
import zipfile
import zlib
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path

from actions import ACTIONS, Action, Stuff
from modes import TEMPORARY, UNFINISHED, VERSION_AT, Files, Link, Mode, difference, elements, result, slab_index, tensor
from process import AFTER_ERROR, Run
from zip_bytes import numpy_archive


@dataclass(frozen=True)
class File:
    inode: int
    content: bytes


Tree = dict[str, File]  # the regular files, by path


def tree() -> Tree:
    paths = (os.path.relpath(os.path.join(parent, name)) for parent, _, names in os.walk(".") for name in names)
    return {path: File(os.lstat(path).st_ino, Path(path).read_bytes()) for path in paths if stat.S_ISREG(os.lstat(path).st_mode)}


def contents(files: Tree) -> set[bytes]:
    return {file.content for file in files.values()}


@dataclass(frozen=True)
class Scene:
    """A run, the outsider's last action, and the files before and after them."""
    mode: Mode
    action: Action
    path: str  # the target of the action
    late: bool  # clipper did not look at the file again after the action
    stuff: Stuff
    stopped: Tree  # before the action
    acted: Tree  # after it
    outputs: frozenset[str]  # the names of OUT after the action, and their links' targets
    end: Tree
    run: Run
    drained: frozenset[bytes] = frozenset()  # what was read from a FIFO that replaced OUT
    again: bool = False  # this is the second run of the same command
    begun: Tree = field(default_factory=dict)  # before the run
    earlier: Tree = field(default_factory=dict)  # before the first of two actions
    first: Tree = field(default_factory=dict)  # after it
    took_result: bool = False  # another clipper has clipped the result of this run, exit 0

    @property
    def is_done(self) -> bool:
        return self.run.code in (0, 6)

    @property
    def strangers(self) -> set[File]:
        """Files that clipper has not made. They may get a hidden name of clipper when names are exchanged."""
        return {*self.begun.values(), *(file for path, file in self.first.items() if not TEMPORARY.fullmatch(path))}

    @property
    def own(self) -> set[int]:
        """clipper's temporary files. clipper may change these even if they were renamed."""
        return {file.inode for path, file in self.stopped.items() if TEMPORARY.fullmatch(path) and file not in self.strangers}

    def is_older_backup(self, path: str, file: File) -> bool:
        """Whether --force replaces the file. It gets a hidden name before it is removed."""
        before = self.stopped if self.again else self.begun
        older = {each.inode for name, each in before.items() if name.endswith("~")}
        kept = {each.inode for name, each in before.items() if not name.endswith("~")}
        return "--force" in self.mode.words and (path.endswith("~") or file.inode in older) and file.inode not in kept

    @property
    def results_seen(self) -> set[bytes]:
        """What had a name that is not hidden when the outsider acted. It may have removed a result."""
        return {file.content for path, file in [*self.earlier.items(), *self.stopped.items()] if not TEMPORARY.fullmatch(path)}

    def is_written_result(self, path: str, file: File) -> bool:
        """Whether the outsider has written into the result. clipper may take it back."""
        was = self.stopped.get(path)
        return self.action.writes and was is not None and was.inode == file.inode and was.content in self.mode.results | self.correct

    @property
    def changed_directly(self) -> set[int]:
        return {file.inode for path, file in self.stopped.items() if self.mode.direct and path in self.mode.after}

    @property
    def correct(self) -> set[bytes]:
        given = {self.mode.stdin or b"", *self.mode.before.values(), *contents(self.acted), *contents(self.first), self.stuff.same, self.stuff.other}
        given -= self.mode.results  # no result may be clipped again
        tensors = [each for each in given if is_tensor(each)]
        archives = [each for each in given if members_of(each)]
        if any(":" in word for word in self.mode.words):
            return {clipped(members_of(each)["w.npy"]) for each in archives}
        if self.mode.compares:
            return {difference(a, e) for a in tensors for e in tensors if len(a) == len(e)}
        indexes = set(map(slab_index, tensors)) if "--split-output" in self.mode.words else set()
        return {clipped(each, self.mode.bias) for each in tensors + archives} | indexes


@functools.lru_cache(256)
def is_tensor(content: bytes) -> bool:
    return content.startswith(b"\x93NUMPY\1") and tensor(elements(content[: len(content) // 4 * 4])) == content


@functools.lru_cache(256)
def members_of(content: bytes) -> Files:
    """The members of an archive that modes.py has made; otherwise nothing."""
    try:
        with zipfile.ZipFile(io.BytesIO(content)) as file:
            members = {name: file.read(name) for name in file.namelist()}
        return members if numpy_archive(members, method_of(content)) == content else {}
    except (OSError, ValueError, zipfile.BadZipFile, zlib.error, NotImplementedError):
        return {}


def method_of(content: bytes) -> int:
    return struct.unpack_from("<H", content, 8)[0]


def can_be_clipped(content: bytes) -> bool:
    return is_tensor(content) or bool(members_of(content))


@functools.lru_cache(256)
def clipped(content: bytes, bias: int = 1) -> bytes:
    """The result of a tensor or an archive."""
    if members := members_of(content):
        return numpy_archive({name: clipped(each) if is_tensor(each) else each for name, each in members.items()}, method_of(content))
    return tensor(result(elements(content), bias=bias))


def stuff_like(content: bytes) -> Stuff:
    """An outsider's tensors or archives instead of this one."""
    if members := members_of(content):
        each = {name: stuff_like(member) if is_tensor(member) else Stuff(member, member) for name, member in members.items()}
        return Stuff(*(numpy_archive({name: getattr(stuff, what) for name, stuff in each.items()}, method_of(content))
                       for what in ("same", "other")))
    return Stuff.for_shape(len(elements(content)))


def is_poisoned(content: bytes) -> bool:
    return content.startswith(b"\x93N") and content[VERSION_AT] == UNFINISHED


def lost(scene: Scene) -> list[str]:
    """Rule 1: no content is lost that existed after the action, except what the command replaces or clips in place."""
    left = Counter({file.inode: file.content for file in scene.end.values()}.values())
    kept = contents(scene.end)
    texts, seen = [], set()
    for path, file in scene.acted.items():
        if file.inode in seen | scene.own or may_go(scene, path, file, kept):
            continue
        seen.add(file.inode)
        left[file.content] -= 1
        if left[file.content] < 0:
            texts.append(f"exit {scene.run.code}, and what {path} held is lost")
    there = contents(scene.stopped) | kept
    texts += [f"exit {scene.run.code}, and what {path} held after the first action is lost" for path, file in scene.first.items()
              if file.content not in there and file in scene.strangers and not may_go(scene, path, file, kept)]
    return texts


def may_go(scene: Scene, path: str, file: File, kept: set[bytes]) -> bool:
    if scene.late and (scene.action.writes or scene.mode.flagless or TEMPORARY.fullmatch(path)):
        return True
    takes_back = scene.mode.in_place or "--backup" in scene.mode.words  # names are exchanged, and back if a stranger came out
    if takes_back and not scene.is_done and scene.is_written_result(path, file):
        return True
    if file.inode in scene.changed_directly:
        overwritten = scene.action.writes and file != scene.stopped.get(path)
        now = next((each.content for each in scene.end.values() if each.inode == file.inode), b"")
        if not overwritten and is_poisoned(file.content) or not scene.is_done:
            return overwritten or is_poisoned(file.content) or is_poisoned(now)
    if takes_back and not scene.is_done and file.content in scene.correct:
        return True  # clipper took back a result
    if "--backup" in scene.mode.words:  # what is replaced is kept
        return scene.is_done and scene.is_older_backup(path, file)
    if scene.mode.in_place:
        done = can_be_clipped(file.content) and clipped(file.content, scene.mode.bias) in kept | scene.results_seen
        return done and (scene.is_done or len(scene.mode.after) > 1)
    replaces = path in scene.outputs and "--no-clobber" not in scene.mode.words
    return replaces and scene.is_done and bool(scene.correct & (kept | scene.results_seen))


def undone(scene: Scene) -> list[str]:
    """Rule 2: after exit 0 the result exists under some name, or existed when the outsider acted."""
    if scene.run.code != 0 or (scene.late and scene.action.writes):
        return []
    there = contents(scene.end) | contents(scene.stopped) | contents(scene.earlier) | scene.drained | {scene.run.stdout}
    wanted = set(scene.mode.after.values()) or {scene.mode.stdout}
    if wanted <= there or (scene.correct - wanted) & there:
        return []
    return ["exit 0, but not done"]


def done_nevertheless(scene: Scene) -> list[str]:
    """Rule 4: after exit 3, 4 and 5 there is no result that is newer than the action."""
    if scene.run.code not in (3, 4, 5) or len(scene.mode.after) != 1:
        return []
    new = contents(scene.end) - contents(scene.acted) - contents(scene.stopped)
    made = {path for path, file in scene.end.items()
            if file.content in new & scene.correct and file.inode not in scene.own and not TEMPORARY.fullmatch(path)}
    texts = [f"exit {scene.run.code}, but {path} is done" for path in made]
    return texts + ([f"exit {scene.run.code}, but another clipper has clipped the result"] if scene.took_result else [])


def mixed(scene: Scene) -> list[str]:
    """Rule 3: every readable file is old, the outsider's, or the result of one of them."""
    allowed = contents(scene.acted) | contents(scene.first) | scene.correct | set(scene.mode.before.values())
    names = {*scene.mode.before, *scene.mode.after}
    texts = []
    for path, file in scene.end.items():
        is_own = TEMPORARY.fullmatch(path) or (file.inode in scene.own and path not in names)
        if file.content in allowed or is_own or (scene.late and scene.action.writes):
            continue
        if is_poisoned(file.content) and scene.mode.direct:
            if scene.run.code == 0:
                texts.append(f"exit 0, but {path} is unfinished")
        elif file.inode not in scene.changed_directly or file.content.startswith(b"\x93NUMPY"):
            texts.append(f"exit {scene.run.code}, and {path} is a mixture")
    streamed = scene.drained | ({scene.run.stdout} if scene.mode.stdout else set())
    if scene.run.code == 0 and not streamed <= scene.correct:
        texts.append("exit 0, and what was streamed is a mixture")
    return texts


def wrong_ending(scene: Scene) -> list[str]:
    """Rule 4: exit 0 with at most one warning, or exit 3, 4, 5 or 6 with one line."""
    run, texts = scene.run, []
    if run.code == -9:
        return []
    allowed = {0, 3, 4, 5} | ({6} if scene.mode.durable else set()) | ({1, 2} if scene.mode.compares else set())
    if scene.mode.reads_archives and scene.action is ACTIONS["put a FIFO"]:  # an archive is neither read from nor written to a stream
        allowed |= {2}
    if scene.action is ACTIONS["put a directory"]:  # a directory as IN without --recursive, or as OUT, is wrong usage
        allowed |= {2}
    if run.code not in allowed:
        texts.append(f"exit {run.code}: {run.stderr!r}")
    lines = AFTER_ERROR.sub("", run.stderr).splitlines()
    if run.code != 1 and (len(lines) > 1 or (run.code > 0 and not lines) or not all(line.startswith("clipper: ") for line in lines)):
        texts.append(f"exit {run.code}, on stderr: {run.stderr!r}")
    return texts


def litter(scene: Scene) -> list[str]:
    """Rule 5: no temporary file stays."""
    if scene.run.code == -9 or TEMPORARY.fullmatch(scene.path):
        return []
    texts = []
    for path, file in scene.end.items():
        theirs = path in scene.acted and scene.acted[path].inode != scene.stopped.get(path, File(0, b"")).inode
        theirs |= file.inode not in scene.own and scene.run.code in (4, 5, 6) and path in scene.run.stderr
        outsiders = path in scene.acted and (theirs or scene.again)
        if TEMPORARY.fullmatch(path) and not outsiders:
            texts.append(f"exit {scene.run.code}, and {path} is left")
    return texts


def violations(scene: Scene) -> list[str]:
    return [text for check in (lost, undone, done_nevertheless, mixed, wrong_ending, litter) for text in check(scene)]


def can_go_on(scene: Scene) -> bool:
    """Whether the same command must finish an interrupted --direct run. False if that run had done all of its work."""
    finished = scene.mode.after.items() <= {path: file.content for path, file in scene.end.items()}.items()
    return scene.mode.direct and scene.run.code not in (0, 6) and not finished


def outputs(mode: Mode) -> frozenset[str]:
    """OUT's names and the paths that they lead to."""
    names = {*mode.after, *(name for name, content in mode.before.items() if isinstance(content, Link))}
    return frozenset(names | {os.path.relpath(os.path.realpath(name)) for name in names})
