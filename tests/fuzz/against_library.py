"""Reads damaged files with clipper and with a library.

    NAME.py HEADER_DUMP COUNT [SEED]
"""

import itertools
import json
import random
import struct
import subprocess
import sys
from collections import Counter

BATCH = 10_000


def clipper_on(dump, kind, files):
    stream = b"".join(struct.pack("<I", len(file)) + file for file in files)
    lines = subprocess.run([dump, kind], input=stream, stdout=subprocess.PIPE, check=True).stdout.decode(errors="replace").split("\n")
    assert len(lines) == len(files) + 1
    return lines


def main(kind, what, damaged, wrong_with):
    """Ends the program. `damaged(rng)` makes a file of the kind that header_dump calls `kind`; `wrong_with(file, found, used)` says how the
    library contradicts the line `found`, or None, and counts in `used` by which exception it may."""
    dump, count, seed = sys.argv[1], int(sys.argv[2]), int(sys.argv[3]) if len(sys.argv) > 3 else 1
    rng = random.Random(seed)
    files = (damaged(rng) for _ in range(count))
    cases, accepted, violations, used = 0, 0, 0, Counter()
    while batch := list(itertools.islice(files, BATCH)):
        cases += len(batch)
        for file, found in zip(batch, clipper_on(dump, kind, batch)):
            accepted += not found.startswith("refused: ")
            if wrong := wrong_with(file, found, used):
                violations += 1
                print(f"{file!r}\n  clipper says {found}\n  {wrong}")
    print(f"accepted: {accepted}; refused, though the library accepts: {dict(used)}")
    print(json.dumps({"what": what, "cases": cases, "violations": violations}))
    sys.exit(1 if violations else 0)
