"""Writes the figures as Markdown. A printed ratio is the quotient of the printed times; tables_test.py divides them."""

import re
import textwrap

from measure import DOUBLED, LEAST, OTHERS, SPREAD

BEGIN, END = "<!-- written by scripts/bench -->", "<!-- end of what scripts/bench wrote -->"
UNITS = {"s": 1, "ms": 1e-3, "µs": 1e-6}
IN_README = ("cp", "numpy", "numpy in blocks")


def table(head, rows):
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join("| " + " | ".join(cells) + " |" for cells in lines) + "\n"


def number(value):
    """Three significant digits."""
    digits = f"{value:.3g}"
    return f"{value:.0f}" if "e" in digits else digits


def times(figures, who, clock=0):
    """In one unit for all of a row: the text without the unit, and with it."""
    unit, scale = next((pair for pair in UNITS.items() if figures.median("clipper") >= pair[1]), ("µs", 1e-6))
    text = number(figures.median(who, clock) / scale)
    return text, f"{text} {unit}"


def ratio(figures, peer):
    """Of the printed times."""
    if figures.is_noisy(peer):
        return "noisy"
    quotient = float(times(figures, "clipper")[0]) / float(times(figures, peer)[0])
    return f"{quotient:.3f}" if quotient < 0.1 else f"{quotient:.2f}"


def rows_of(figures, before):
    mine = times(figures, "clipper")[1]
    for peer in figures.peers():
        now = ratio(figures, peer)
        yield [figures.what, peer, mine, times(figures, peer)[1], now, before.get((figures.what, peer), ""),
               f"{100 * figures.spread(peer):.0f} %", *(times(figures, who, 1)[1] for who in ("clipper", peer)),
               f"{len(figures.quiet_rounds())} of {len(figures.all_rounds)}"]


def last_ratios(text, cpu):
    """(what, beside) -> ratio, of an earlier table of the same CPU."""
    cells = re.findall(r"^\| (.*?) \| (.*?) \| .*? \| .*? \| ([\d.]+) \|", text, re.MULTILINE) if f"| CPU | {cpu} |" in text else ()
    return {(what, peer): found for what, peer, found in cells}


def markdown(found, memory, wrong, machine, date, last):
    before = last_ratios(last, machine["CPU"])
    head = ["what", "beside", "clipper", "the other", "ratio", "before", "spread", "CPU, clipper", "CPU, the other", "rounds"]
    text = (f"# Results of scripts/bench\n\n{date}. Times are medians over the rounds, and ratios their quotients. [README.md](README.md) "
            f"explains the columns. Rounds in which others used more than {OTHERS} cores do not count. A ratio is noisy if after {DOUBLED} doublings of its "
            f"rounds fewer than {LEAST} count, or the middle half of them still spreads by more than {100 * SPREAD:.0f} %.\n\n")
    text += table(head, [row for figures in found for row in rows_of(figures, before)])
    if wrong:
        text += f"\nResults that are not numpy's: {', '.join(f'{library}, {dtype}' for library, dtype in wrong)}.\n"
    if memory:
        text += "\n## Peak memory\n\n" + table(["command", "MiB"], [[f"`{line}`", f"{size:.1f}"] for line, size in memory.items()])
    return text + "\n## Versions\n\n" + table(["what", "version"], machine.items())


def for_readme(found, machine, date):
    """The rows that matter to users and are quiet beside cp; a noisy peer has empty cells. Lines have at most 100 columns."""
    quiet = [figures for figures in found if figures.in_readme and not figures.is_noisy("cp")]
    rows = []
    for figures in quiet:
        row = [figures.what, times(figures, "clipper")[1], f"{figures.size / figures.median('clipper') / 1e9:.2g}"]
        for peer in IN_README:
            is_figure = peer in figures.peers() and not figures.is_noisy(peer)
            row += [times(figures, peer)[1], ratio(figures, peer)] if is_figure else ["", ""]
        rows.append(row)
    if not quiet:
        return textwrap.fill(f"`scripts/bench` found no quiet row on {date}. [All figures](tests/bench/results.md).", 100) + "\n"
    cpu = "; ".join(f"{figures.what} {times(figures, 'clipper', 1)[1]}, `cp` {times(figures, 'cp', 1)[1]}" for figures in quiet)
    about = (f"`scripts/bench`, {date}, {machine['CPU']}, {machine['memory']}, {machine['kernel']}: 256 MiB of float32 in the page cache, "
             "medians. The pipe is beside `cat`. CPU seconds of all cores: " + cpu + ". [All figures](tests/bench/results.md).")
    head = ["what", "clipper", "GB/s", "`cp`", "ratio", "numpy", "ratio", "numpy, mapped", "ratio"]
    return table(head, rows) + "\n" + textwrap.fill(about, 100, break_on_hyphens=False) + "\n"


def update(readme, text):
    """Replaces the text between the markers, if the file has them."""
    old = readme.read_text()
    if BEGIN in old and END in old:
        readme.write_text(f"{old.partition(BEGIN)[0]}{BEGIN}\n{text}{END}{old.partition(END)[2]}")
