#!/usr/bin/env python3
"""manual_pages.py [--length | --untried] PAGE...: prints sentences that stand on two pages of the manual, or on one and in a header, or have one of the worst patterns, or how many lines of 80 columns all have.
A list of names and a reference are no sentences. --untried prints the sentences that name an exit status, where no transcript ends with it whose title has their page and their option
or section: "clipper(1), --flat: ..."."""

import os
import re
import subprocess
import sys
from pathlib import Path

# Clauses as subjects and passive names, in place of which a noun or a verb says the same.
WORST = re.compile(r"^What (is|are|was|becomes)\b|\b(of|for|and) what (is|are|becomes)\b|\b(that|those) of\b|\b(has|have) none\b|\b(is|are) taken\b|, too[.,;:]")
STATUS = re.compile(r"(?:^| )\((?:error, )?([1-6])(?:\)|; [^()]*, ([1-6])\))|(?:[Ss]tatus(?: is)?|exits? with|ends with|With) ([1-6])\b")
SHORT = 40  # characters: shorter ones, such as "Profile clipper only.", may be repeated


def plain(path):
    return re.sub(r"^\.(nf|EX)\n.*?^\.(fi|EE)\n", ".PP\n", path.read_text(), flags=re.DOTALL | re.MULTILINE)


def comments(path):
    for comment in re.findall(r"(?:^ *///.*\n)+|///<.*|/\*(?s:.*?)\*/", path.read_text(), flags=re.MULTILINE):
        yield from re.split(r"(?<=[.:]) ", " ".join(re.sub(r"///<?|/\*|\*/", "", comment).split()))


def sentences(path):
    if path.suffix in (".h", ".hpp"):
        yield from comments(path)
        return
    text = plain(path)
    text = re.sub(r"^\.(?!\\).*$", "\0", text.split(".SH DESCRIPTION", 1)[-1], flags=re.MULTILINE)
    text = re.sub(r"\\f[BIR]|\\&", "", text).replace("\\-", "-")
    for paragraph in text.split("\0"):
        yield from re.split(r"(?<=[.:]) ", " ".join(paragraph.split()))


def with_status(path):
    """Sentences that name statuses, with these and their option or section. A tag that names one, as in EXIT STATUS, makes one sentence with all below it."""
    place = section = tag = ""
    for block in re.split(r"\n(?=\.(?:SH|SS|TP|PP|IP)\b)", re.sub(r"\\f[BIR]|\\&", "", plain(path)).replace("\\-", "-").replace("\\(aq", "'")):
        macro, *text = block.split("\n")
        if macro[:3] in (".SH", ".SS"):
            place = section = macro[4:]
        elif macro == ".TP":
            tag, *text = text
            place = (re.findall(r"--[a-z-]+", tag) or [section])[0]
            tag = f"Exit status {tag}" if section == "EXIT STATUS" else tag
        text = " ".join(line for line in text if not line.startswith("."))
        is_one = macro == ".TP" and STATUS.search(tag)
        for sentence in [f"{tag}: {text}"] if is_one else re.split(r"(?<=[.;]) ", text):
            if found := {number for match in STATUS.findall(sentence) for number in match if number}:
                yield found, place, sentence


def tried(page, place):
    """The statuses of transcripts whose titles have the page's name and the place's."""
    cases = [case for file in Path(__file__).parent.glob("*.cases") for case in re.split(r"^== ", file.read_text(), flags=re.MULTILINE)]
    named = [case for case in cases if page in case.split("\n")[0] and place in case.split("\n")[0]]
    return {number for case in named for number in re.findall(r"^[?!] (\d)", case, re.MULTILINE)}


def lines(path):
    environment = {**os.environ, "MANWIDTH": "80", "LC_ALL": "C"}
    return subprocess.run(["man", "-l", path], env=environment, check=True, capture_output=True, text=True).stdout.count("\n")


pages = [Path(name) for name in sys.argv[1:] if not name.startswith("--")]
if "--length" in sys.argv:
    print(sum(map(lines, pages)))
elif "--untried" in sys.argv:
    for page in pages:
        title = re.sub(r"\.(\d)$", r"(\1)", page.name)
        for statuses, place, sentence in with_status(page):
            if statuses - tried(title, place):
                print(f"{title}, {place}: {sentence}")
else:
    seen = {}
    for page in pages:
        for sentence in sentences(page):
            if page.suffix[1:].isdigit() and WORST.search(sentence):
                print(f"{page.name}: {sentence}")
            first = seen.setdefault(sentence, page.name)
            if first != page.name and len(sentence) >= SHORT and sentence.endswith((".", ":")) and not sentence.startswith("See "):
                print(f"{page.name}, {first}: {sentence}")
