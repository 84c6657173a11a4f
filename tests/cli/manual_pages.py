#!/usr/bin/env python3
"""manual_pages.py [--length] PAGE...: prints sentences that stand on two pages of the manual or have one of the worst patterns, or how many lines of 80 columns all have. A list of
names and a reference are no sentences."""

import os
import re
import subprocess
import sys
from pathlib import Path

# Clauses as subjects and passive names, in place of which a noun or a verb says the same.
WORST = re.compile(r"^What (is|are|was|becomes)\b|\b(of|for|and) what (is|are|becomes)\b|\b(that|those) of\b|\b(has|have) none\b|\b(is|are) taken\b|, too[.,;:]")
SHORT = 40  # characters: shorter ones, such as "Profile clipper only.", may be repeated


def sentences(path):
    text = re.sub(r"^\.(nf|EX)\n.*?^\.(fi|EE)\n", ".PP\n", path.read_text(), flags=re.DOTALL | re.MULTILINE)
    text = re.sub(r"^\.(?!\\).*$", "\0", text.split(".SH DESCRIPTION", 1)[-1], flags=re.MULTILINE)
    text = re.sub(r"\\f[BIR]|\\&", "", text).replace("\\-", "-")
    for paragraph in text.split("\0"):
        yield from re.split(r"(?<=[.:]) ", " ".join(paragraph.split()))


def lines(path):
    environment = {**os.environ, "MANWIDTH": "80", "LC_ALL": "C"}
    return subprocess.run(["man", "-l", path], env=environment, check=True, capture_output=True, text=True).stdout.count("\n")


pages = [Path(name) for name in sys.argv[1:] if name != "--length"]
if "--length" in sys.argv:
    print(sum(map(lines, pages)))
else:
    seen = {}
    for page in pages:
        for sentence in sentences(page):
            if WORST.search(sentence):
                print(f"{page.name}: {sentence}")
            first = seen.setdefault(sentence, page.name)
            if first != page.name and len(sentence) >= SHORT and sentence.endswith((".", ":")) and not sentence.startswith("See "):
                print(f"{page.name}, {first}: {sentence}")
