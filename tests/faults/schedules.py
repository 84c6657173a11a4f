"""One random schedule of shards: starts them, kills, stops and disturbs them, and checks the results."""

import contextlib
import os
import random
import subprocess
import time
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path

from attempts import DONE, FINALIZE, KILLED, REFUSED, SHARD, STRANGER, Attempt, Fate, killed, stopped
from beside import ALIAS, HARMS, IN, OTHER, OUT, PROBE, Names, exists
from disturb import Disturber, Trouble
from ending import finish
from settings import OPERATION, OTHER_OPERATION, Setting
from truth import NOTHING, Truth, named_shards
from watch import View, Watch

LOCAL_LIMIT, NETWORK_LIMIT = 30, 300  # seconds; a schedule that takes longer has hung


@dataclass
class Outcome:
    """How often each thing was done, and the violations."""
    counts: Counter = field(default_factory=Counter)
    violations: list[str] = field(default_factory=list)


class Schedule:
    """One run of shards as its setting describes it. `roots` has one path per mount, all to the same directory."""

    def __init__(self, clipper: Path, source: random.Random, setting: Setting, roots: list[Path], disturber: Disturber):
        self.clipper, self.source, self.setting, self.roots, self.disturber = clipper, source, setting, roots, disturber
        self.outcome, self.begun = Outcome(), time.monotonic()
        self.limit = LOCAL_LIMIT if len(roots) == 1 else NETWORK_LIMIT
        self.views = [View(root / OUT) for root in roots]
        self.watch = Watch(self.views, [setting.old], source, self.violation)
        self.running: list[Attempt] = []
        self.ended: list[Attempt] = []
        self.truth = Truth(setting.shards, self.has_record)
        self.is_final = False  # a --finalize has exited with 0
        self.trouble: Trouble | None = None

    def run(self) -> Outcome:
        self.prepare()
        extras = self.source.choices((self.duplicate, self.finalize), k=self.setting.extras)
        while not self.is_final or self.running or extras or self.trouble:
            self.step(extras)
        finish(self)
        self.outcome.counts["moments without OUT"] = self.watch.blinks
        return self.outcome

    def prepare(self) -> None:
        setting, root = self.setting, self.roots[0]
        files = {IN: setting.tensor, OTHER: setting.other} | ({} if setting.old is None else {OUT: setting.old})
        for name, content in files.items():
            (root / name).write_bytes(content)
        if setting.old is not None:
            os.symlink(OUT, root / ALIAS)
        os.utime(root / OTHER, (0, 0))
        self.new, self.other_new = (self.clipped(operation) for operation in (OPERATION, OTHER_OPERATION))
        self.watch.history.append(self.new)
        (root / PROBE).mkdir()
        start = time.monotonic()
        subprocess.run([self.clipper, "--shard", f"0/{setting.shards}", *OPERATION, *setting.words, root / IN, root / PROBE / OUT],
                       timeout=self.limit, check=True)
        self.duration = time.monotonic() - start
        (record,) = (root / PROBE).glob("*.done")
        self.names = Names(setting.shards, record.name.split(".")[-2])
        self.wait_until(lambda: all(self.is_visible(at / name, content) for at in self.roots for name, content in files.items()))

    def clipped(self, operation: tuple[str, ...]) -> bytes:
        return subprocess.run([self.clipper, *operation, *self.setting.words, "-", "-"], input=self.setting.tensor,
                              stdout=subprocess.PIPE, check=True).stdout

    def is_visible(self, path: Path, content: bytes) -> bool:
        try:
            return path.read_bytes() == content
        except OSError:
            return False

    def wait_until(self, condition) -> None:
        while not condition():
            self.expect_time()
            time.sleep(0.01)

    def expect_time(self) -> None:
        if time.monotonic() > self.begun + self.limit:
            raise TimeoutError

    # Actions -----------------------------------------------------------------------------------------------

    def step(self, extras: list) -> None:
        self.expect_time()
        awake = [attempt for attempt in self.running if attempt.is_awake()]
        busy = self.truth.done.keys() | {attempt.shard for attempt in awake}
        waiting = [] if self.is_final else [shard for shard in range(self.setting.shards) if shard not in busy]
        if extras and self.source.random() < (0.3 if self.is_final else 0.02):
            extras.pop()()
        elif self.is_due("strangers", 0.02):
            self.stranger()
        elif self.truth.done and self.can_look() and self.is_due("harms", 0.02):
            self.harm()
        elif self.disturber.known and not self.trouble and self.is_due("disturbances", 0.02):
            self.disturb()
        elif waiting and len(awake) < self.setting.at_once:
            self.shard(self.source.choice(waiting))
        elif not self.is_final and not waiting and not awake:
            self.finalize()
        else:
            time.sleep(0.0003)
        if self.trouble and time.monotonic() > self.trouble.until:
            self.end_trouble()
        is_over = self.is_final and not extras and not awake
        for attempt in [each for each in self.running if each.has_ended(is_over)]:
            self.running.remove(attempt)
            self.ended.append(attempt)
            self.judge(attempt)
        if self.can_look():
            self.watch.look()

    def is_due(self, what: str, chance: float) -> bool:
        """Decides at random, up to the max number in the setting."""
        return self.outcome.counts[what] < getattr(self.setting, what) and self.source.random() < chance

    def can_look(self) -> bool:
        return not (self.trouble and self.trouble.kind.hides)

    def shard(self, shard: int) -> None:
        self.start(SHARD, ("--shard", f"{shard}/{self.setting.shards}", *OPERATION, *self.setting.words, IN, OUT), shard)

    def duplicate(self) -> None:
        """Starts a random shard again, even if it runs, is done, or OUT is in place."""
        self.shard(self.source.randrange(self.setting.shards))

    def finalize(self) -> None:
        """Starts --finalize, even if shards are missing, another --finalize runs, or OUT is in place."""
        arguments = ("--shard", f"0/{self.setting.shards}", *OPERATION, *self.setting.words, IN)
        given = self.source.random() < (0.8 if self.outcome.counts[STRANGER] else 0.5)
        self.start(FINALIZE, ("--finalize", *(arguments if given else ()), OUT))

    def stranger(self) -> None:
        """Starts a shard of another run with the same OUT. The last shard of that run is never started."""
        shards, operation, tensor = max(2, self.setting.shards), OPERATION, IN
        kind = self.source.choice(("bounds", "number of shards", "input"))
        if kind == "bounds":
            operation = OTHER_OPERATION
        elif kind == "input":
            tensor = OTHER
        else:
            shards += 1
        shard = f"{self.source.randrange(shards - 1)}/{shards}"
        self.start(STRANGER, ("--shard", shard, *operation, *self.setting.words, tensor, OUT))

    def harm(self) -> None:
        """Overwrites, appends to, truncates or removes a file of the shards, unless it is or may become OUT."""
        shard, mount = self.source.choice([*self.truth.done]), self.source.choice(self.mounted())
        names = [name for name in (self.names.part(shard), self.names.record(shard), self.names.common) if self.is_there(name)]
        name = self.source.choice(names or [self.names.record(shard)])
        is_common = name == self.names.common
        if is_common and any(each.kind == FINALIZE for each in self.running):
            return
        with contextlib.suppress(OSError):  # the file is missing or is being replaced
            if (self.roots[mount] / name).stat().st_nlink > 1:
                return
            self.source.choice(HARMS)(self.roots[mount] / name)
            self.truth.harmed_at |= dict.fromkeys(range(self.setting.shards) if is_common else [shard], time.monotonic())
            self.outcome.counts["harms"] += 1

    def mounted(self) -> list[int]:
        return [number for number, view in enumerate(self.views) if view.is_mounted]

    def start(self, kind: str, words: tuple[str, ...], shard: int | None = None) -> None:
        """Starts clipper on a random mount, sometimes with a symbolic link to OUT."""
        mount, fate = self.source.choice(self.mounted()), self.fate(kind)
        root, out = self.roots[mount], ALIAS if self.setting.old is not None and self.source.random() < 0.3 else OUT
        paths = {IN: root / IN, OTHER: root / OTHER, OUT: root / out}
        more = {"LD_PRELOAD": str(self.clipper.parent / "libclipper_faults.so"), "CLIPPER_FAULT": fate.fault} if fate.fault else {}
        process = subprocess.Popen([self.clipper, *(paths.get(word, word) for word in words)], stdin=subprocess.DEVNULL,
                                   stderr=subprocess.PIPE, text=True, env=os.environ | more)
        attempt = Attempt(process, kind, mount, fate, shard, IN in words, self.trouble is not None)
        self.running.append(attempt)
        self.truth.begins(attempt)
        self.outcome.counts[kind] += 1
        self.outcome.counts["late shards"] += kind == SHARD and self.is_final

    def fate(self, kind: str) -> Fate:
        chance, doomed = self.source.random(), [each for each in self.running + self.ended if each.fate.kills]
        asleep = [each for each in self.running + self.ended if each.fate.wake_at]
        if chance < self.setting.deadly and len(doomed) < self.setting.deaths:
            return killed(self.source, kind, self.duration)
        if self.source.random() < 0.3 and len(asleep) < self.setting.sleepers:
            return stopped(self.source, kind, self.duration)
        return Fate()

    def disturb(self) -> None:
        """Disturbs the file system for a while. Kills the processes on a client before it is unmounted."""
        kind, mount = self.source.choice(self.disturber.known), self.source.randrange(len(self.roots))
        if kind.of_client:
            self.kill_all(mount)
        trouble = Trouble(kind, mount, time.monotonic() + self.source.uniform(0.2, 2))
        if not self.disturber.begin(trouble):
            return
        self.trouble = trouble
        self.views[mount].is_mounted = not kind.of_client
        for attempt in self.running:
            attempt.disturbed = True
        self.outcome.counts["disturbances"] += 1
        self.outcome.counts[kind.name] += 1

    def kill_all(self, mount: int) -> None:
        there = [attempt for attempt in self.running if attempt.mount == mount]
        for attempt in there:
            attempt.kill()
        self.wait_until(lambda: all(attempt.process.poll() is not None for attempt in there))

    def end_trouble(self) -> None:
        self.disturber.end(self.trouble)
        self.wait_until(lambda: all(self.is_visible(root / IN, self.setting.tensor) for root in self.roots))
        self.views[self.trouble.mount].is_mounted, self.trouble = True, None

    # Checks ------------------------------------------------------------------------------------------------

    def judge(self, attempt: Attempt) -> None:
        """Checks a process that has ended."""
        if text := attempt.wrong_ending():
            self.violation(text)
        self.outcome.counts["stopped"] += attempt.was_stopped
        if attempt.code == KILLED:
            self.outcome.counts[f"killed {self.stage(attempt)}"] += 1
        if attempt.kind == SHARD:
            self.truth.ends(attempt, self.running, self.can_look())
        elif attempt.kind == FINALIZE:
            self.judge_finalize(attempt)

    def judge_finalize(self, attempt: Attempt) -> None:
        knows_run = attempt.has_arguments or not self.outcome.counts[STRANGER]
        if attempt.code == DONE:
            self.is_final = True
            if self.can_look() and not self.watch.is_in_place([self.views[attempt.mount]]):
                self.violation("--finalize has ended with 0, and OUT is not in place")
        elif attempt.code == REFUSED:
            for text in self.truth.lies(attempt) if knows_run else ():
                self.violation(text)
            for shard in named_shards(attempt.stderr):
                self.truth.done.pop(shard, None)
            # An earlier --finalize was killed after it had put OUT in place and removed all parts.
            self.is_final |= NOTHING in attempt.stderr and self.can_look() and self.watch.sees_last([self.views[attempt.mount]])

    def stage(self, attempt: Attempt) -> str:
        """At which stage a process was killed, judged by the files that exist."""
        if attempt.kind == STRANGER or not self.can_look():
            return attempt.kind
        if attempt.kind == FINALIZE:
            return "cleaning up" if any(self.watch.sees_last([view]) for view in self.views) else "before OUT"
        is_recorded = self.has_record(attempt.shard)
        has_part = self.is_there(self.names.part(attempt.shard)) or self.is_there(self.names.common)
        if is_recorded and not has_part and not self.truth.cleaners and attempt.shard not in self.truth.harmed_at:
            self.violation(f"shard {attempt.shard} has a record and no part")
        return "after their record" if is_recorded else "before their record"

    def has_record(self, shard: int) -> bool:
        return self.is_there(self.names.record(shard))

    def is_there(self, name: str) -> bool:
        return any(exists(self.roots[mount] / name) for mount in self.mounted())

    def abandon(self) -> None:
        """Ends the processes that still run."""
        if self.trouble:
            self.disturber.end(self.trouble)
        for attempt in self.running:
            attempt.kill()
        for attempt in self.running:
            with contextlib.suppress(subprocess.TimeoutExpired):
                attempt.process.wait(self.limit / 10)

    def violation(self, text: str) -> None:
        if text not in self.outcome.violations:
            self.outcome.violations.append(text)
