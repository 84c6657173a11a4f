"""What the programs here share: their arguments, and the row of figures that each prints as its last line."""

import argparse
import json
import sys
import time
from collections.abc import Iterable
from pathlib import Path

SHOWN = 20  # max number of violations that are printed


def parser(text: str, path: str, what: str) -> argparse.ArgumentParser:
    """For a program with the argument `path`, which is described by `what`."""
    made = argparse.ArgumentParser(description=text, formatter_class=argparse.RawDescriptionHelpFormatter)
    made.add_argument(path, type=lambda given: Path(given).resolve(), help=what)
    return made


def add_runs(to: argparse.ArgumentParser, runs: int, what: str) -> None:
    to.add_argument("--runs", type=int, default=runs, help=f"{what} (default: {runs})")
    to.add_argument("--seed", type=int, default=1, help="seed of the random choices (default: 1)")


class Figures:
    def __init__(self, what: str):
        self.row = {"what": what, "cases": 0, "fired": 0, "violations": 0}
        self.start = time.monotonic()

    def add(self, cases: int, fired: int, violations: Iterable[str]) -> None:
        """Prints the first violations of all."""
        self.row["cases"] += cases
        self.row["fired"] += fired
        for text in violations:
            self.row["violations"] += 1
            if self.row["violations"] <= SHOWN:
                print(text, flush=True)

    def skip(self, reason: str) -> None:
        self.row["skipped"] = reason
        print(f"{Path(sys.argv[0]).stem}: SKIPPED: {reason}", file=sys.stderr)

    def printed(self) -> int:
        """Prints the row. Returns the program's exit code."""
        print(json.dumps(self.row | {"seconds": round(time.monotonic() - self.start, 1)}))
        return 1 if self.row["violations"] else 0
