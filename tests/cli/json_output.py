"""Validates what the tests' commands printed with --json against clipper.schema.json.

json_output.py PROGRAM SCHEMA RECORDS: PROGRAM is the build's clipper, unless $CLIPPER names another; RECORDS is the
directory of the files that tests/cli/json_record.hpp writes. Records that are older than the program are ignored.
"""
import base64
import json
import os
import sys
from pathlib import Path

SKIPPED = 77  # for ctest; in CI, which is root and installs everything, a skip is a failure


def skip(why):
    print(f"SKIPPED: {why}")
    return 1 if os.environ.get("CI") == "true" and os.geteuid() == 0 else SKIPPED


def documents(text):
    """The JSON values in a stream: one array or object on several lines, or one object per line among other lines."""
    if text.startswith(("[", "{\n")):
        return [json.loads(text)]
    return [json.loads(line) for line in text.splitlines() if line.startswith("{")]


def records(directory, program):
    for path in sorted(directory.glob("*")):
        if path.stat().st_mtime < program.stat().st_mtime:
            continue
        for line in path.read_text().splitlines():
            record = json.loads(line)
            if Path(record["words"][0]) == program:
                yield record


def lost_names(value):
    """The names in a document whose bytes a reader cannot get: from NAME_bytes, if U+FFFD in NAME stands for some."""
    if isinstance(value, list):
        return [name for each in value for name in lost_names(each)]
    if not isinstance(value, dict):
        return []
    lost = [name for each in value.values() for name in lost_names(each)]
    for key in {"input", "output", "member", "actual", "expected", "file"} & value.keys():
        text = value[key]
        if not isinstance(text, str):
            continue  # an element, as in `first` of compare
        name = base64.b64decode(value.get(f"{key}_bytes", "")) or text.replace("\ufffd", "").encode()
        is_utf8 = name.decode(errors="replace") == name.decode(errors="ignore")
        if is_utf8 != ("\ufffd" not in text) or name.decode(errors="ignore") != text.replace("\ufffd", ""):
            lost.append(f"{text!r}, {name!r}")
    return lost


def wrong(error):
    """The violations of the schema's object that the document resembles most."""
    alternatives = {}
    for each in error.context:
        alternatives.setdefault(each.schema_path[0], []).append(each)
    closest = min(alternatives.values(), key=lambda errors: (errors[0].validator == "type", len(errors)))
    return [f"{each.json_path}: {each.message}" for each in closest]


def main(program, schema, directory):
    try:
        from jsonschema import Draft202012Validator
    except ImportError:
        return skip("python3-jsonschema is missing")
    schema = json.loads(schema.read_text())
    Draft202012Validator.check_schema(schema)
    validator = Draft202012Validator(schema)
    count = violations = 0
    for record in records(directory, program):
        for document in documents(record["output"]) + documents(record["error"]):
            count += 1
            if any(next(iter(each)) != "object" for each in (document if isinstance(document, list) else [document])):
                violations += 1
                print(f"{record['words'][1:]} printed an object that does not begin with its name")
            for name in lost_names(document):
                violations += 1
                print(f"{record['words'][1:]} printed the bytes of a name wrongly: {name}")
            for error in validator.iter_errors(document):
                violations += 1
                print(f"{record['words'][1:]} printed\n{json.dumps(document)}", *wrong(error), sep="\n  ")
    if count == 0:
        return skip(f"no test has run {program} with --json")
    print(f"{count} JSON documents, {violations} violations")
    return 1 if violations else 0


if __name__ == "__main__":
    sys.exit(main(Path(os.environ.get("CLIPPER", sys.argv[1])), Path(sys.argv[2]), Path(sys.argv[3])))
