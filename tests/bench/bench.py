"""The program behind scripts/bench, which builds clipper and kernel_bench first."""

import argparse
import os
import sys
from datetime import date
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
HERE = ROOT / "tests/bench"

sys.dont_write_bytecode = True  # keeps __pycache__ out of the source tree
sys.path.insert(0, str(ROOT / "scripts"))

import libraries  # noqa: E402

PARTS = ("files", "bounds", "archives", "kernels")
THOROUGH = {"rounds": {"files": 11, "bounds": 11, "archives": 11, "kernels": 15}, "file_bytes": 1 << 30, "kernel_seconds": 0.01}
QUICK = {"rounds": {"files": 3, "bounds": 3, "archives": 3, "kernels": 3}, "file_bytes": 1 << 27, "kernel_seconds": 0.005}


def arguments():
    description = ("Measures clipper's speed relative to cp, cat, memcpy, numpy, ONNX Runtime and OpenVINO. A complete run writes its "
                   "tables to tests/bench/ and README.md; a run of one part or with --quick writes them to build/bench/. "
                   "The samples are always written to build/bench/.")
    parser = argparse.ArgumentParser(prog="scripts/bench", description=description)
    parser.add_argument("part", nargs="?", choices=PARTS,
                        help="measure only whole processes with numbers as bounds (files), with arrays and percentiles (bounds), "
                             "with .npz archives (archives), or only the clip loops (kernels)")
    parser.add_argument("--quick", action="store_true", help="run fewer rounds, with files of 128 MiB instead of 1 GiB")
    parser.add_argument("--rounds", type=int, help="run ROUNDS rounds of each part (default: 11, of kernels 15; with --quick 3)")
    parser.add_argument("--cores", type=int,
                        help="let all programs run on the first CORES CPUs only; the tables are then written to build/bench/")
    parser.add_argument("--dir", type=Path, default=ROOT / "build/bench", help="directory for the measured files (default: build/bench)")
    return parser.parse_args()


def measure(options, parts, settings):
    import archives
    import bounds
    import files
    import kernels
    import machine
    from samples import Samples

    samples = Samples()
    options.dir.mkdir(parents=True, exist_ok=True)
    about = {"date": date.today().isoformat(), "parts": parts, **settings,
             "machine": machine.describe(ROOT, options.dir), "wrong": []}
    if about["machine"]["file system"] != "ext4":
        print("bench: the targets are for ext4; on some other file systems cp shares blocks instead of copying them", file=sys.stderr)
    if "files" in parts:
        files.measure(ROOT / "build/clipper", options.dir, settings["file_bytes"], settings["rounds"]["files"], samples)
    if "bounds" in parts:
        bounds.measure(ROOT / "build/clipper", options.dir, settings["file_bytes"], settings["rounds"]["bounds"], samples)
    if "archives" in parts:
        archives.measure(ROOT / "build/clipper", options.dir, settings["file_bytes"], settings["rounds"]["archives"], samples)
    if "kernels" in parts:
        binary, rounds = ROOT / "build/kernel_bench", settings["rounds"]["kernels"]
        about["wrong"] = kernels.measure(binary, settings["kernel_seconds"], rounds, samples)
    return samples, about


def main():
    options = arguments()
    if options.cores:
        os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[: options.cores])
    libraries.require(libraries.PEERS)
    import report

    parts = [options.part] if options.part else PARTS
    everything = len(parts) == len(PARTS) and not options.quick and not options.cores
    generated = ROOT / "build/bench"
    results = HERE if everything else generated
    settings = QUICK if options.quick else THOROUGH
    if options.rounds:
        settings = {**settings, "rounds": dict.fromkeys(PARTS, options.rounds)}
    last = (HERE / "results.md").read_text() if (HERE / "results.md").exists() else ""
    samples, about = measure(options, parts, settings)
    generated.mkdir(parents=True, exist_ok=True)
    (generated / "results.json").write_text(report.as_json(samples, about))
    (results / "results.md").write_text(report.markdown(samples, about, last))
    if everything:
        report.update(ROOT / "README.md", report.for_readme(samples, about, "tests/bench"))
    sys.stderr.write(report.worse_text(samples, last))
    print(results / "results.md")


if __name__ == "__main__":
    main()
