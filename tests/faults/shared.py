"""What must hold after a shard's run: the same command, without a fault, finishes the output and leaves nothing else."""

import checks
from modes import Mode
from process import Clipper, Fault, Run


def violations(clipper: Clipper, mode: Mode, fault: Fault | None, run: Run, attributes: bool) -> list[str]:
    """Calls may fail unnoticed that only remove what is no longer needed."""
    texts = checks.violations(mode, fault, run, False, attributes)
    again = clipper.run(mode)
    attributes = attributes and not checks.UNSUPPORTED & {*run.fired}
    return texts + [f"run again: {text}" for text in checks.violations(mode, None, again, False, attributes)]
