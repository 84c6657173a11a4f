"""What a schedule knows about the shards of its run, and whether --finalize's message about them is true."""

import math
import re
import time
from collections.abc import Callable
from dataclasses import dataclass, field

from attempts import DONE, FINALIZE, KILLED, SHARD, UNCONFIRMED, Attempt

LIST = re.compile(r"\bshards? (\d[\d, to]*) of (\d+)\b")
LISTED = re.compile(r"(is|are) (missing|damaged)\b")
NOTHING, OVERTAKEN = "no shards to finalize", "another clipper --finalize has already finished it"


def named_shards(text: str) -> set[int]:
    """The numbers in a message such as "shards 0, 3 to 5 of 8 are missing"."""
    found = LIST.search(text)
    return {number for first, last in re.findall(r"(\d+)(?: to (\d+))?", found[1] if found else "")
            for number in range(int(first), int(last or first) + 1)}


@dataclass
class Truth:
    """`has_record` returns whether any mount shows the shard's record (.done)."""
    shards: int
    has_record: Callable[[int], bool]
    done: dict[int, Attempt] = field(default_factory=dict)  # shards that exited with 0 and were not reported missing since
    absent_since: dict[int, float] = field(default_factory=dict)  # when a shard was seen without a record; math.inf: it may have one
    harmed_at: dict[int, float] = field(default_factory=dict)  # when a file of the shard was damaged or removed
    cleaners: list[Attempt] = field(default_factory=list)  # all --finalize

    def begins(self, attempt: Attempt) -> None:
        if attempt.kind == SHARD:
            self.absent_since[attempt.shard] = math.inf
        elif attempt.kind == FINALIZE:
            self.cleaners.append(attempt)

    def ends(self, attempt: Attempt, others: list[Attempt], can_look: bool) -> None:
        """A shard has ended; `others` are still running."""
        if attempt.code == DONE:
            self.done[attempt.shard] = attempt
            if attempt.begin > self.harmed_at.get(attempt.shard, 0):
                self.harmed_at.pop(attempt.shard, None)
        elif can_look and not any(each.shard == attempt.shard for each in others) and not self.has_record(attempt.shard):
            self.absent_since[attempt.shard] = time.monotonic()

    def may_clean(self, cleaner: Attempt) -> bool:
        """Whether a --finalize may have put OUT in place. If so, it removes parts and records."""
        return cleaner.code in (None, DONE, UNCONFIRMED, KILLED) or cleaner.disturbed

    def is_done(self, shard: int, finalize: Attempt) -> bool:
        """Whether the shard was certainly done before `finalize` began, and no other --finalize can have removed its files."""
        attempt = self.done.get(shard)
        return attempt is not None and shard not in self.harmed_at and attempt.end < finalize.begin and not any(
            self.may_clean(each) and each.end > attempt.begin for each in self.cleaners if each is not finalize)

    def lies(self, finalize: Attempt) -> list[str]:
        """False statements of a --finalize that refused. It must know its run; what it could not see does not count."""
        text, named = finalize.stderr, named_shards(finalize.stderr)
        done = {shard for shard in self.done if self.is_done(shard, finalize)}
        absent = {shard for shard in range(self.shards) if self.absent_since.get(shard, 0) < finalize.begin}
        texts = []
        if OVERTAKEN in text:
            others = [each for each in self.cleaners if each is not finalize and each.end > finalize.begin]
            if 0 not in self.harmed_at and not any(map(self.may_clean, others)):  # --finalize looks for the record of shard 0
                texts.append("there is no other")
        elif wrong := done if NOTHING in text else done & named:
            texts += [] if finalize.disturbed else [f"{sorted(wrong)} have ended with 0"]
        elif NOTHING not in text and (not named or not LISTED.search(text)):
            texts.append("no shard is named")
        elif NOTHING not in text and absent - named:
            texts.append(f"{sorted(absent - named)} have no record")
        return [f"--finalize: {text.strip()!r}, but {each}" for each in texts]
