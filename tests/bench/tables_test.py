"""Divides the times that scripts/bench has printed: each ratio is a quotient to its last digit. tables_test.py FILE..."""

import sys
from pathlib import Path


def seconds(text):
    value, unit = text.split()
    return float(value) * {"s": 1, "ms": 1e-3, "µs": 1e-6}[unit]


def check(file):
    """Prints what is wrong, and returns how many ratios are right, or -1."""
    head, right = [], 0
    for line in Path(file).read_text().splitlines():
        cells = [cell.strip() for cell in line.strip("|").split("|")] if line.startswith("| ") else []
        if not cells or not head:
            head = cells
        elif "clipper" in head:
            for i, name in enumerate(head):
                if name == "ratio" and cells[i] not in ("---", "noisy", ""):
                    digits = len(cells[i].partition(".")[2])
                    quotient = seconds(cells[head.index("clipper")]) / seconds(cells[i - 1])
                    if abs(quotient - float(cells[i])) > 0.5001 * 10**-digits:
                        print(f"{file}: {cells[0]}: {cells[i]} is printed for {quotient:.4f}")
                        return -1
                    right += 1
    return right


results = {file: check(file) for file in sys.argv[1:]}
for file, right in results.items():
    print(f"{file}: {right} ratios")
sys.exit(min(results.values()) < 0)
