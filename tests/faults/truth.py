"""What is known of the shards of a run, and whether what --finalize says of them is true."""

import math
import re
import time
from collections.abc import Callable
from dataclasses import dataclass, field

from attempts import DONE, FINALIZE, KILLED, REFUSED, SHARD, UNCONFIRMED, Attempt

LIST = re.compile(r"\bshards? (\d[\d, to]*) of (\d+)\b")
LISTED = re.compile(r"(is|are) (missing|damaged)\b")
NOTHING, OVERTAKEN = "no shards of it wait", "another clipper --finalize has put it in place"


def named_shards(text: str) -> set[int]:
    """Of "shards 0, 3 to 5 of 8 are missing"."""
    found = LIST.search(text)
    return {number for first, last in re.findall(r"(\d+)(?: to (\d+))?", found[1] if found else "")
            for number in range(int(first), int(last or first) + 1)}


@dataclass
class Truth:
    """`has_record`: whether there is one of a shard, seen from whatever mount."""
    shards: int
    has_record: Callable[[int], bool]
    done: dict[int, Attempt] = field(default_factory=dict)  # what ended with 0, if the shard has not been called missing since
    absent_since: dict[int, float] = field(default_factory=dict)  # math.inf: there may be a record
    harmed_at: dict[int, float] = field(default_factory=dict)  # when somebody has changed or removed a file of it
    cleaners: list[Attempt] = field(default_factory=list)  # each --finalize

    def begins(self, attempt: Attempt) -> None:
        if attempt.kind == SHARD:
            self.absent_since[attempt.shard] = math.inf
        elif attempt.kind == FINALIZE:
            self.cleaners.append(attempt)

    def ends(self, attempt: Attempt, others: list[Attempt], can_look: bool) -> None:
        """Of a shard; there are others."""
        if attempt.code == DONE:
            self.done[attempt.shard] = attempt
            if attempt.begin > self.harmed_at.get(attempt.shard, 0):
                self.harmed_at.pop(attempt.shard, None)
        elif can_look and not any(each.shard == attempt.shard for each in others) and not self.has_record(attempt.shard):
            self.absent_since[attempt.shard] = time.monotonic()

    def may_clean(self, cleaner: Attempt) -> bool:
        """Whether it has put OUT in place, or may have: then it removes parts and records."""
        return cleaner.code in (None, DONE, UNCONFIRMED, KILLED) or cleaner.disturbed

    def is_done(self, shard: int, finalize: Attempt) -> bool:
        """Before that began, for sure, and nobody else can have removed it."""
        attempt = self.done.get(shard)
        return attempt is not None and shard not in self.harmed_at and attempt.end < finalize.begin and not any(
            self.may_clean(each) and each.end > attempt.begin for each in self.cleaners if each is not finalize)

    def lies(self, finalize: Attempt) -> list[str]:
        """Of a --finalize that was refused and knew which run it was about. What it could not see is not held against it."""
        text, named = finalize.stderr, named_shards(finalize.stderr)
        done = {shard for shard in self.done if self.is_done(shard, finalize)}
        absent = {shard for shard in range(self.shards) if self.absent_since.get(shard, 0) < finalize.begin}
        texts = []
        if OVERTAKEN in text:
            others = [each for each in self.cleaners if each is not finalize and each.end > finalize.begin]
            if 0 not in self.harmed_at and not any(map(self.may_clean, others)):  # it looks for the first shard's record
                texts.append("there is no other")
        elif wrong := done if NOTHING in text else done & named:
            texts += [] if finalize.disturbed else [f"{sorted(wrong)} have ended with 0"]
        elif NOTHING not in text and (not named or not LISTED.search(text)):
            texts.append("no shard is named")
        elif NOTHING not in text and absent - named:
            texts.append(f"{sorted(absent - named)} have no record")
        return [f"--finalize: {text.strip()!r}, but {each}" for each in texts]
