"""Prints an SPDX 2.3 document about packages: python3 scripts/sbom.py PACKAGE...

What a package contains of other projects is read from the file `copyright` in the package.
"""

import datetime
import hashlib
import io
import json
import os
import re
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path


def copyright_of(package: Path) -> str:
    """The text of the package's file `copyright`."""
    if package.suffix in (".whl", ".zip"):
        with zipfile.ZipFile(package) as wheel:
            name = next(name for name in wheel.namelist() if name.endswith("/copyright"))
            return wheel.read(name).decode()
    content = package.read_bytes()
    if package.suffix == ".deb":
        content = subprocess.run(["dpkg-deb", "--fsys-tarfile", package], check=True, capture_output=True).stdout
    with tarfile.open(fileobj=io.BytesIO(content)) as archive:
        member = next(member for member in archive if member.name.endswith("/copyright"))
        return archive.extractfile(member).read().decode()


def spdx_package(name: str, version: str, licence: str, **fields) -> dict:
    return {
        "SPDXID": "SPDXRef-" + re.sub("[^A-Za-z0-9.-]", "-", fields.get("packageFileName", f"{name}-{version}")),
        "name": name,
        "versionInfo": version,
        "downloadLocation": "NOASSERTION",
        "filesAnalyzed": False,
        "licenseConcluded": "NOASSERTION",
        "licenseDeclared": licence,
        "copyrightText": "NOASSERTION",
        **fields,
    }


def relationship(first: str, kind: str, second: str) -> dict:
    return {"spdxElementId": first, "relationshipType": kind, "relatedSpdxElement": second}


def rows_of(text: str) -> list[tuple[str, list[str]]]:
    """The rows of the tables of what a package contains, and of what it opens by a SONAME, which is the row's last word."""
    tables = [("CONTAINS", "component"), ("DEPENDS_ON", "opened for archives")]
    return [(kind, row.split(" | ")) for kind, heading in tables
            for table in re.findall(rf"^{heading} \| version .*\n((?:.+\n)+)", text, re.MULTILINE) for row in table.splitlines()]


def main() -> None:
    packages, relationships, components = [], [], {}
    for file in sorted(map(Path, sys.argv[1:])):
        text = copyright_of(file)
        licence = re.match("SPDX-License-Identifier: (.+)\n", text)
        version = re.search(r"^This file belongs to clipper ([0-9.]+),", text, re.MULTILINE).group(1)
        digest = hashlib.sha256(file.read_bytes()).hexdigest()
        package = spdx_package("clipper-npy", version, licence.group(1) if licence else "NONE", packageFileName=file.name,
                               checksums=[{"algorithm": "SHA256", "checksumValue": digest}])
        packages.append(package)
        relationships.append(relationship("SPDXRef-DOCUMENT", "DESCRIBES", package["SPDXID"]))
        for kind, row in rows_of(text):
            component = spdx_package(*row[:3], **{"packageFileName": soname for soname in row[3:]})
            components[component["SPDXID"]] = component
            relationships.append(relationship(package["SPDXID"], kind, component["SPDXID"]))
    digest = hashlib.sha256(json.dumps(packages).encode()).hexdigest()
    created = datetime.datetime.fromtimestamp(int(os.environ["SOURCE_DATE_EPOCH"]), datetime.timezone.utc)
    document = {
        "spdxVersion": "SPDX-2.3",
        "dataLicense": "CC0-1.0",
        "SPDXID": "SPDXRef-DOCUMENT",
        "name": f"clipper-npy-{version}",
        "documentNamespace": f"urn:sha256:{digest}",
        "creationInfo": {"created": created.strftime("%Y-%m-%dT%H:%M:%SZ"), "creators": ["Tool: clipper-sbom.py"]},
        "packages": packages + [components[name] for name in sorted(components)],
        "relationships": relationships,
    }
    print(json.dumps(document, indent=1))


if __name__ == "__main__":
    main()
