"""The program behind scripts/bench, which builds clipper and kernel_bench first."""

import argparse
import os
import shutil
import sys
from datetime import date
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
HERE = ROOT / "tests/bench"

sys.dont_write_bytecode = True  # keeps __pycache__ out of the source tree
sys.path.insert(0, str(ROOT / "scripts"))

import libraries  # noqa: E402


def arguments():
    description = ("Measures clipper's speed relative to cp, dd, memcpy, numpy, ONNX Runtime and OpenVINO. A complete run writes its "
                   "tables to tests/bench/ and README.md; a run of some rows writes them to build/bench/.")
    parser = argparse.ArgumentParser(prog="scripts/bench", description=description)
    parser.add_argument("rows", nargs="*", metavar="ROW", help="measure only rows whose names begin so; kernels: the clip loops")
    parser.add_argument("--rounds", type=int, default=5, help="run ROUNDS rounds of a row before it is judged (default: %(default)s)")
    parser.add_argument("--cores", type=int, help="let all programs run on the first CORES CPUs only")
    parser.add_argument("--dir", type=Path, default=ROOT / "build/bench", help="directory for the measured files (default: build/bench)")
    return parser.parse_args()


def measure(options, chosen):
    import kernels
    from measure import measure_row, peak_memory, scratch_directory
    from rows import MEMORY, ROWS

    found, memory, wrong = [], {}, []
    with scratch_directory(options.dir, ROOT / "build"):
        for row in ROWS:
            if chosen(row.what) and ("static" not in row.what or shutil.which("static-clipper")):
                print(f"bench: {row.what}", file=sys.stderr)
                found.append(measure_row(row, options.rounds))
        if chosen("memory"):
            memory = {line: peak_memory(line) for line in MEMORY}
        if chosen("kernels"):
            print("bench: kernels", file=sys.stderr)
            figures, wrong = kernels.measure(ROOT / "build/kernel_bench")
            found += figures
    return found, memory, wrong


def main():
    options = arguments()
    if options.cores:
        os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[: options.cores])
    libraries.require(libraries.PEERS)
    import machine
    import report

    options.dir.mkdir(parents=True, exist_ok=True)
    everything = not options.rows and not options.cores
    about, today = machine.describe(ROOT, options.dir), date.today().isoformat()
    found = measure(options, lambda what: not options.rows or what.startswith(tuple(options.rows)))
    table = HERE / "results.md"
    last = table.read_text() if table.exists() else ""
    table = table if everything else ROOT / "build/bench/results.md"
    table.write_text(report.markdown(*found, about, today, last))
    if everything:
        report.update(ROOT / "README.md", report.for_readme(found[0], about, today))
    print(table)


if __name__ == "__main__":
    main()
