"""Writes the results as Markdown and JSON."""

import json
import re
import textwrap

from samples import NOISY, Ratio
from targets import CACHED, DTYPES, LEVELS, LIBRARIES, TARGETS, UNCACHED, in_memory, kernel, level, size_text

BEGIN, END = "<!-- written by scripts/bench -->", "<!-- end of what scripts/bench wrote -->"
CALL = 16  # bytes, as in peers.py
ROW = re.compile(r"^\| (?P<what>.+?) \| (?P<median>[\d.]+)[^|]*\| (?:(?P<low>[\d.]+) to (?P<high>[\d.]+) )?")  # of summary()
NOTABLE = 1.05  # a smaller change is none, even if rounds do not spread
WORKS = {"clip": "clip", "scale_bias_clip": "scale, bias, clip", "clip_and_count": "clip and count"}


def table(head, rows):
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join("| " + " | ".join(cells) + " |" for cells in lines) + "\n"


def number(value):
    """Formats a ratio with two or three significant digits."""
    return f"{value:.3f}" if value < 0.1 else f"{value:.2f}" if value < 10 else f"{value:.1f}"


def duration(seconds):
    unit, scale = next((pair for pair in (("s", 1), ("ms", 1e-3), ("µs", 1e-6)) if seconds >= 0.1 * pair[1]), ("ns", 1e-9))
    return f"{seconds / scale:.3g} {unit}"


def cpu_text(cpu):
    return f"{duration(cpu[0])} / {duration(cpu[1])} = {number(cpu[0] / cpu[1])}" if cpu else ""


def verdict(target, ratio):
    return {True: "yes", False: "noisy" if ratio.noisy else "**no**", None: ""}[target.reached(ratio)]


def target_rows(samples, parts):
    for target in TARGETS:
        if target.part not in parts:
            continue
        sign = "≥" if target.at_least else "≤"
        limit = f"{sign} {target.limit:g}{target.unit}" if target.limit is not None else ""
        ratio = target.measured(samples)
        if ratio is None:
            yield [target.what, "not measured", "", "", limit, ""]
            continue
        figure = number(ratio.median) + target.unit + (f" ({ratio.of})" if ratio.of else "")
        spread = f"{number(ratio.low)} to {number(ratio.high)}" if ratio.low < ratio.high else ""
        yield [target.what, figure, spread, cpu_text(ratio.cpu), limit, verdict(target, ratio)]


def for_readme(samples, about, directory):
    """The README's part: the rows that matter to users, in seconds. Lines have at most 100 columns."""
    rows = []
    for target in TARGETS:
        ratio = target.in_readme and target.measured(samples)
        if ratio:
            rows.append([target.what, *map(duration, ratio.seconds), number(ratio.median), number(ratio.cpu[0] / ratio.cpu[1])])
    machine = about["machine"]
    text = textwrap.fill(f"`scripts/bench`, {about['date']}, {machine['CPU']}, {machine['memory']}, {machine['kernel']}; "
                         f"{about['file_bytes'] >> 20} MiB of float32 in the page cache; medians of {about['rounds']['files']} "
                         f"rounds, in which the programs take turns. [All figures]({directory}/results.md).", 100)
    return text + "\n\n" + table(["what / what it is compared with", "clipper", "the other", "time ratio", "CPU ratio"], rows)


def last_ratios(table):
    """what -> ratio, from the text of an earlier results.md. Rows without figures are left out."""
    rows = (match for match in map(ROW.match, table.splitlines()) if match)
    return {row["what"]: Ratio(*(float(row[key] or row["median"]) for key in ("median", "low", "high"))) for row in rows}


def worse(samples, last):
    """The rows that became worse by more than their noise: each median lies beyond all rounds of the other run."""
    before = last_ratios(last)
    for target in TARGETS:
        new, old = target.measured(samples), before.get(target.what)
        if not new or not old:
            continue
        bad, good = (old, new) if target.at_least else (new, old)  # the larger ratio first if the row became worse
        if bad.median > max(NOTABLE * good.median, good.high) and good.median < bad.low:
            yield f"{target.what}: {number(new.median)}{target.unit}, was {number(old.median)}{target.unit}"


def worse_text(samples, last):
    rows = list(worse(samples, last))
    date = last.partition("\n\n")[2].partition(",")[0]
    found = "".join(f"\n- {row}" for row in rows) if rows else " none."
    return f"Rows that became worse since {date} by more than the rounds of both runs spread:{found}\n" if last else ""


def summary(samples, about):
    machine = about["machine"]
    rounds = " and ".join(f"{about['rounds'][part]} rounds of {part}" for part in about["parts"])
    text = (f"{about['date']}, {machine['CPU']}, {machine['memory']}, {machine['kernel']}, {machine['file system']}. "
            f"Each figure is the median of the ratios in {rounds}, and the worst of several dtypes. CPU is the median of user and "
            f"system time of all threads. A ratio that is missed is noisy if its rounds spread by more than {NOISY:g}. "
            f"Unless stated otherwise, files hold {about['file_bytes'] >> 20} MiB of float32 and are in the page cache.\n\n")
    head = ["clipper's time / other program's time", "median", "range over the rounds", "CPU / peer's CPU", "target", "reached"]
    return text + table(head, target_rows(samples, about["parts"]))


def processes(samples):
    rows = []
    for name, times in samples.items():
        cpu, memory = samples.median(f"CPU {name}"), samples.median(f"MiB {name}")
        if cpu is not None and "/" not in name:
            seconds = (samples.median(name), min(times), max(times), cpu)
            rows.append([name.replace("|", "\\|"), *(f"{1000 * time:.1f}" for time in seconds), f"{memory:.0f}" if memory else ""])
    return table(["command", "median, ms", "min", "max", "CPU, ms", "peak memory, MiB"], rows)


def gigabytes(samples, name, size):
    return f"{size / samples.median(name) / 1e9:.1f}" if name in samples else "–"


def throughput(samples, wrong):
    head = ["dtype"] + [f"{who}, {size_text(size)}" for size in (CACHED, UNCACHED)
                        for who in ("clipper", *LIBRARIES.values())]
    rows = []
    for dtype in DTYPES:
        row = [dtype]
        for size in (CACHED, UNCACHED):
            row.append(gigabytes(samples, in_memory(samples, dtype, size), size))
            row += [gigabytes(samples, f"{library}/{dtype}/{size}/1", size) + ("*" if (library, dtype) in wrong else "")
                    for library in LIBRARIES]
        rows.append(row)
    return table(head, rows)


def net_rows(samples):
    """For each library the time of a call, and clipper's kernel relative to the rest of the library's time."""
    for dtype in DTYPES:
        row = [dtype]
        for library in LIBRARIES:
            call, all_ = (samples.median(f"{library}/{dtype}/{size}/1") for size in (CALL, CACHED))
            mine = samples.median(kernel(samples, "clip", dtype, CACHED))
            row += [f"{call * 1e6:.1f}", number(mine / (all_ - call)) if all_ > call else "–"] if call else ["–", "–"]
        yield row


def beside_memcpy(samples, size):
    levels = LEVELS[: LEVELS.index(level(samples)) + 1]
    rows = []
    for dtype in DTYPES:
        row = [dtype]
        for work in WORKS:
            for each in levels:
                ratio = samples.ratio(f"{work}/{dtype}/{each}/{size}", f"memcpy/{size}")
                row.append(number(ratio.median) if ratio else "")
        rows.append(row)
    return table(["dtype"] + [f"{title}, {each}" for title in WORKS.values() for each in levels], rows)


def kernels(samples, wrong):
    text = "## Throughput, GB/s of input, one thread\n\n"
    memcpy = (f"{gigabytes(samples, f'memcpy/{size}', size)} ({size_text(size)})" for size in (CACHED, UNCACHED))
    text += "memcpy: " + ", ".join(memcpy)
    text += ". All read and write memory that is already allocated. \"–\": the library does not support the dtype"
    text += "; *: the library's result is not numpy's" if wrong else ""
    text += ".\n\n" + throughput(samples, wrong)
    text += ("\nEach call of a library has a fixed cost, measured with 16 bytes. \"Rest\" is the library's time on 64 KiB minus "
             "this cost; clipper's time is that of its kernel on 64 KiB.\n\n")
    head = [cell for title in LIBRARIES.values() for cell in (f"{title}: call, µs", "clipper / the rest")]
    text += table(["dtype", *head], net_rows(samples))
    for size in (CACHED, UNCACHED):
        text += f"\n## Kernels, {size_text(size)}: time relative to memcpy\n\n"
        text += beside_memcpy(samples, size)
    return text


def markdown(samples, about, last):
    """`last` is the text of the last complete results.md."""
    text = f"# Results of scripts/bench\n\n{summary(samples, about)}\n{worse_text(samples, last)}\n"
    if {"files", "bounds", "archives"} & set(about["parts"]):
        text += f"## Whole processes\n\n{processes(samples)}\n"
    if "kernels" in about["parts"]:
        text += kernels(samples, {tuple(pair) for pair in about["wrong"]}) + "\n"
    return text + "## Versions\n\n" + table(["what", "version"], about["machine"].items())


def as_json(samples, about):
    """The results as JSON, with one line for each name."""
    targets = []
    for target in TARGETS:
        ratio = target.measured(samples)
        if ratio:
            targets.append({"what": target.what, "median": ratio.median, "low": ratio.low, "high": ratio.high, "of": ratio.of,
                            "cpu": ratio.cpu, "limit": target.limit, "reached": target.reached(ratio)})
    entries = [f"{json.dumps(key)}: {json.dumps(value)}" for key, value in about.items()]
    entries.append('"targets": [\n' + ",\n".join(map(json.dumps, targets)) + "\n]")
    rounded = {name: [float(f"{figure:.4g}") for figure in figures] for name, figures in samples.items()}
    lines = (f"{json.dumps(name)}: {json.dumps(row)}" for name, row in rounded.items())
    entries.append('"samples": {\n' + ",\n".join(lines) + "\n}")
    return "{\n" + ",\n".join(entries) + "\n}\n"


def update(readme, text):
    """Replaces the text between the markers, if the file has them."""
    old = readme.read_text()
    if BEGIN in old and END in old:
        before, after = old.partition(BEGIN)[0], old.partition(END)[2]
        readme.write_text(f"{before}{BEGIN}\n{text}{END}{after}")
