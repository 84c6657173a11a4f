"""The measurements: for each name one figure per round, so that two names can be compared round by round."""

from collections import defaultdict
from dataclasses import dataclass
from statistics import median


@dataclass(frozen=True)
class Ratio:
    """The ratio of two names, or the worst of several ratios: median, minimum and maximum over the rounds."""
    median: float
    low: float
    high: float
    of: str = ""  # which ratio is the worst


class Samples(defaultdict):
    """name -> figures, one for each round. Names with slashes are times of kernels and libraries, names that begin with MiB
    are a process's memory, names that begin with CPU the CPU time of all its threads, all others are times of processes. Times
    are in seconds."""

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
        """`pairs` has (of, name, reference). Ignores names that were not measured."""
        ratios = [self.ratio(name, reference, of) for of, name, reference in pairs]
        return pick((ratio for ratio in ratios if ratio), key=lambda ratio: ratio.median, default=None)
