"""What scripts/bench runs, when clipper and kernel_bench are there."""

import argparse
import sys
from datetime import date
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
HERE = ROOT / "tests/bench"

sys.dont_write_bytecode = True  # leave no trace in the tree
sys.path.insert(0, str(ROOT / "scripts"))

import libraries  # noqa: E402

PARTS = ("files", "kernels")
THOROUGH = {"rounds": {"files": 11, "kernels": 15}, "file_bytes": 1 << 30, "kernel_seconds": 0.01}
QUICK = {"rounds": {"files": 3, "kernels": 3}, "file_bytes": 1 << 27, "kernel_seconds": 0.005}


def arguments():
    description = ("Measures clipper beside cp, cat, memcpy, numpy, ONNX Runtime and OpenVINO. The results of everything go to "
                   "tests/bench/ and the README, those of a part or of --quick to build/bench/.")
    parser = argparse.ArgumentParser(prog="scripts/bench", description=description)
    parser.add_argument("part", nargs="?", choices=PARTS, help="only whole processes, or only kernels")
    parser.add_argument("--quick", action="store_true", help="fewer rounds, and files of 128 MiB")
    parser.add_argument("--dir", type=Path, default=ROOT / "build/bench", help="where files are written (default: build/bench)")
    return parser.parse_args()


def measure(options, parts, settings):
    import files
    import kernels
    import machine
    from samples import Samples

    samples = Samples()
    options.dir.mkdir(parents=True, exist_ok=True)
    about = {"date": date.today().isoformat(), "parts": parts, **settings,
             "machine": machine.describe(ROOT, options.dir), "wrong": []}
    if about["machine"]["file system"] != "ext4":
        print("bench: the targets are for ext4; where cp shares blocks it copies nothing", file=sys.stderr)
    if "files" in parts:
        files.measure(ROOT / "build/clipper", options.dir, settings["file_bytes"], settings["rounds"]["files"], samples)
    if "kernels" in parts:
        binary, rounds = ROOT / "build/kernel_bench", settings["rounds"]["kernels"]
        about["wrong"] = kernels.measure(binary, settings["kernel_seconds"], rounds, samples)
    return samples, about


def main():
    options = arguments()
    libraries.require(libraries.PEERS | libraries.PLOTTING)
    import plot
    import report

    parts = [options.part] if options.part else PARTS
    everything = len(parts) == len(PARTS) and not options.quick
    results = HERE if everything else ROOT / "build/bench"
    samples, about = measure(options, parts, QUICK if options.quick else THOROUGH)
    results.mkdir(parents=True, exist_ok=True)
    plot.draw(samples, about, results / "throughput.png")
    (results / "results.json").write_text(report.as_json(samples, about))
    (results / "results.md").write_text(report.markdown(samples, about, "throughput.png"))
    if everything:
        report.update(ROOT / "README.md", report.for_readme(samples, about, "tests/bench"))
    print(results / "results.md")


if __name__ == "__main__":
    main()
