"""What must hold after a shard or --finalize met a fault: the same command without a fault, and then --finalize, must finish
the output and leave no other files."""

from dataclasses import replace

import checks
from checks import TEMPORARY, found
from modes import SHARDS, Mode, result_of
from process import Clipper, Fault, Run


def begin(clipper: Clipper, mode: Mode) -> None:
    """Runs the shards that must have ended before --finalize."""
    for shard in mode.after_shards:
        clipper.run(shard)


def violations(clipper: Clipper, mode: Mode, fault: Fault | None, run: Run, checked: bool, attributes: bool) -> list[str]:
    """All checks after a shard or --finalize. clipper may ignore a failed flock, which only makes it slower, and failed calls
    that remove temporary files."""
    texts = checks.violations(mode, fault, run, checked and "flock" not in run.fired, attributes)
    attributes = attributes and not checks.UNSUPPORTED & {*run.fired}
    for each in following(mode, run):
        litter = [name for name in found() if TEMPORARY.fullmatch(name)]
        again = clipper.run(each)
        more = checks.violations(each, None, again, False, attributes)
        texts += [f"{each.name}, then: {text}" for text in more if not any(text == f"{name} is left" for name in litter)]
    return texts


def following(mode: Mode, run: Run) -> list[Mode]:
    """The commands that must finish the output."""
    if mode.after_shards:
        is_over = not any(checks.SHARED.fullmatch(name) for name in found())
        return [] if is_over else [mode]
    number = int(mode.words[1].split("/")[0])
    others = [replace(mode, words=("--shard", f"{i}/{SHARDS}", *mode.words[2:])) for i in range(SHARDS) if i != number or run.code]
    return [*others, replace(mode, name="--finalize", words=("--finalize", mode.words[-1]), after=result_of(mode), shared=False,
                             after_shards=(mode,), durable=True)]
