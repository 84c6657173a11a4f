"""The files in a schedule's directory: its own, the files that shards create next to OUT, and ways to damage them."""

import os
import re
from dataclasses import dataclass
from pathlib import Path

IN, OTHER, OUT, ALIAS, PROBE = "in.npy", "other.npy", "out.npy", "alias.npy", "probe"
OWN_NAMES = {IN, OTHER, OUT, ALIAS, PROBE}
OF_SHARD = re.compile(r"out\.npy\.shard-(\d+)-of-\d+\.[0-9a-f]{16}(\.done)?")
RUN = "out.npy.shards"


@dataclass(frozen=True)
class Names:
    """The names of the files that belong to one run."""
    shards: int
    fingerprint: str

    def part(self, shard: int) -> str:
        return f"{OUT}.shard-{shard}-of-{self.shards}.{self.fingerprint}"

    def record(self, shard: int) -> str:
        return f"{self.part(shard)}.done"

    @property
    def common(self) -> str:
        """The file that all shards write to, on a file system that machines do not share."""
        return f"{RUN}.{self.fingerprint}"


def exists(path: Path) -> bool:
    """Also true while the file is being replaced, when some file systems fail with ESTALE."""
    try:
        return path.exists()
    except OSError:
        return True


def overwrite(path: Path) -> None:
    with open(path, "r+b") as file:
        file.seek(path.stat().st_size // 2)
        file.write(b"harm")


def append(path: Path) -> None:
    with open(path, "r+b") as file:
        file.seek(0, os.SEEK_END)
        file.write(b"harm")


HARMS = (overwrite, append, os.unlink, lambda path: os.truncate(path, path.stat().st_size // 2))
