#!/usr/bin/env python3
"""wine_cases.py FOLDER.FILE.xml...: counts what Catch2 has reported: for each folder of tests the cases that ran, passed, and were
left out, in whole or from some point on, by reason. Fails if a case failed, or a report ends early.

Needs Python's own library only.
"""

import collections
import pathlib
import sys
import xml.etree.ElementTree as xml

counts = collections.defaultdict(collections.Counter)
failed = []
for path in map(pathlib.Path, sys.argv[1:]):
    folder = path.name.split(".")[0]
    try:
        cases = list(xml.parse(path).iter("TestCase"))
    except xml.ParseError as error:
        failed.append(f"{path.name}: {error}")
        continue
    for case in cases:
        reasons = [text for text in (warning.text.strip() for warning in case.iter("Warning")) if text.startswith("SKIPPED: ")]
        if case.find("OverallResult").get("success") != "true":
            failed.append(f"{path.name}: {case.get('name')}")
            result = "failed"
        else:
            result = reasons[0].removeprefix("SKIPPED: ") if reasons else "passed"
        counts[folder][result] += 1
for folder, results in sorted(counts.items()):
    print(f"{folder}: {results.total()} cases, {results.pop('passed', 0)} passed")
    for result, count in results.most_common():
        print(f"{count:6}  {result}")
print(*failed, sep="\n")
sys.exit(bool(failed))
