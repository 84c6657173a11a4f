"""What was measured: for each name a figure from each round, so that two names can be compared round by round."""

from collections import defaultdict
from dataclasses import dataclass
from statistics import median


@dataclass(frozen=True)
class Ratio:
    """Of two names, or the worst of several such: the median over the rounds and how far they spread."""
    median: float
    low: float
    high: float
    of: str = ""  # which of several


class Samples(defaultdict):
    """name -> figures, one for each round. Names with slashes are of kernels and libraries, those that begin with MiB of a
    process's memory, all others of a process's time; times are in seconds."""

    def __init__(self):
        super().__init__(list)

    def median(self, name):
        return median(self[name]) if name in self else None

    def ratio(self, name, reference, of=""):
        """None unless both were measured."""
        if name not in self or reference not in self:
            return None
        rounds = [a / b for a, b in zip(self[name], self[reference], strict=True)]
        return Ratio(median(rounds), min(rounds), max(rounds), of)

    def worst(self, pairs, pick=max):
        """`pairs` has (of, name, reference); those that were not measured don't count."""
        ratios = [self.ratio(name, reference, of) for of, name, reference in pairs]
        return pick((ratio for ratio in ratios if ratio), key=lambda ratio: ratio.median, default=None)
