"""The files in a schedule's directory: its own, those that shards make beside OUT, and what somebody does to them."""

import os
import re
from dataclasses import dataclass
from pathlib import Path

IN, OTHER, OUT, ALIAS, PROBE = "in.npy", "other.npy", "out.npy", "alias.npy", "probe"
OWN_NAMES = {IN, OTHER, OUT, ALIAS, PROBE}
TEMPORARY = re.compile(r"\..+\.clipper-[0-9a-f]{16}")
OF_SHARD = re.compile(r"out\.npy\.shard-(\d+)-of-\d+\.[0-9a-f]{16}(\.done)?")
RUN = "out.npy.shards"


@dataclass(frozen=True)
class Names:
    """Of one run."""
    shards: int
    fingerprint: str

    def part(self, shard: int) -> str:
        return f"{OUT}.shard-{shard}-of-{self.shards}.{self.fingerprint}"

    def record(self, shard: int) -> str:
        return f"{self.part(shard)}.done"

    @property
    def common(self) -> str:
        """Where machines do not share the file system, parts are stretches of this."""
        return f"{RUN}.{self.fingerprint}"


def exists(path: Path) -> bool:
    """Also if it is just being replaced, for which some file systems have ESTALE."""
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
