"""Watches OUT from every mount."""

import os
import random
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

PATIENCE = 15  # seconds; GlusterFS clients on a busy machine show changes late
AGAIN = 0.05  # share of looks that read a file again although its status is the same


@dataclass
class View:
    """OUT as one mount has shown it last."""
    path: Path
    identity: tuple | None = None
    content: bytes | None = None
    stage: int = 0  # index in Watch.history
    is_mounted: bool = True

    def read(self, anew: bool) -> bytes | None:
        """The content of OUT, or None if there is no file. Tries three times: some file systems fail while a file is replaced."""
        for last in (False, False, True):
            try:
                status = os.stat(self.path)
                identity = (status.st_ino, status.st_size, status.st_mtime_ns)
                if identity != self.identity or anew:
                    self.content = self.path.read_bytes()
                self.identity = identity
                return self.content
            except FileNotFoundError:
                self.identity = self.content = None
                return None
            except OSError:
                if last:
                    raise
                time.sleep(1)


@dataclass
class Watch:
    """`history`: the contents that OUT may have, oldest first. No mount may go back to an older content."""
    views: list[View]
    history: list[bytes | None]
    source: random.Random
    report: Callable[[str], None]
    blinks: int = 0  # moments without OUT: for other clients a rename may look like a removal

    def look(self, anew: bool = False) -> None:
        for number, view in enumerate(self.views):
            if view.is_mounted:
                self.judge(number, view, anew or self.source.random() < AGAIN)

    def judge(self, number: int, view: View, anew: bool) -> None:
        try:
            content = view.read(anew)
        except OSError as error:
            self.report(f"mount {number}: OUT cannot be read: {error.strerror}")
            return
        later = self.stages(view, content)
        if not later and content is None:
            later = self.stages(view, content := self.read_soon(view))
            self.blinks += bool(later)
        if later:
            view.stage = later[0]
            return
        what = "absent" if content is None else f"{len(content)} bytes"
        known = "as it was before" if content in self.history else "neither old nor new"
        self.report(f"mount {number}: OUT is {what}, {known}")

    def stages(self, view: View, content: bytes | None) -> list[int]:
        return [stage for stage in range(view.stage, len(self.history)) if self.history[stage] == content]

    def read_soon(self, view: View) -> bytes | None:
        end, content = time.monotonic() + PATIENCE, None
        while content is None and time.monotonic() < end:
            time.sleep(0.1)
            content = view.read(anew=True)
        return content

    def sees_last(self, views: list[View]) -> bool:
        return all(view.content == self.history[-1] for view in views)

    def is_in_place(self, views: list[View] | None = None) -> bool:
        """Waits until these views (default: all) see the last content of the history. False after PATIENCE."""
        views, end = views or self.views, time.monotonic() + PATIENCE
        self.look(anew=True)
        while not self.sees_last(views) and time.monotonic() < end:
            time.sleep(0.1)
            self.look(anew=True)
        return self.sees_last(views)
