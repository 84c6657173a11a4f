"""The measurements: for each name one figure per round, so that two names can be compared round by round."""

from collections import defaultdict
from dataclasses import dataclass
from statistics import median

NOISY = 1.5  # if the rounds of a ratio spread by more, the ratio cannot prove that a target was missed


@dataclass(frozen=True)
class Ratio:
    """The ratio of two names, or the worst of several ratios: median, minimum and maximum over the rounds."""
    median: float
    low: float
    high: float
    of: str = ""  # which ratio is the worst
    cpu: tuple[float, float] | None = None  # medians of both sides' CPU time in seconds
    seconds: tuple[float, float] | None = None  # medians of both sides' times

    @property
    def noisy(self):
        return self.high > NOISY * self.low


class Samples(defaultdict):
    """name -> figures, one for each round. Names with slashes are times of kernels and libraries, names that begin with MiB
    are a process's memory, "CPU NAME" is the CPU time (user and system) of all threads for the time NAME, all others are times of
    processes. Times are in seconds."""

    def __init__(self):
        super().__init__(list)

    def median(self, name):
        return median(self[name]) if name in self else None

    def ratio(self, name, reference, of=""):
        """None unless both were measured."""
        if name not in self or reference not in self:
            return None
        rounds = [a / b for a, b in zip(self[name], self[reference], strict=True)]
        cpu = tuple(self.median(f"CPU {each}") for each in (name, reference))
        seconds = (self.median(name), self.median(reference))
        return Ratio(median(rounds), min(rounds), max(rounds), of, cpu if all(cpu) else None, seconds)

    def worst(self, pairs, pick=max):
        """`pairs` has (of, name, reference). Ignores names that were not measured."""
        ratios = [self.ratio(name, reference, of) for of, name, reference in pairs]
        return pick((ratio for ratio in ratios if ratio), key=lambda ratio: ratio.median, default=None)
