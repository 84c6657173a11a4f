"""Reads an archive with Python's zipfile, which checks the CRCs: zip_members.py ARCHIVE DIRECTORY

Writes the contents of member number N to DIRECTORY/N. Prints for each member its name, method, time and attributes.
"""
import sys
import zipfile
from pathlib import Path

DATA_DESCRIPTOR = 8  # the flag of members whose sizes follow the data

with zipfile.ZipFile(sys.argv[1]) as archive:
    for number, member in enumerate(archive.infolist()):
        (Path(sys.argv[2]) / str(number)).write_bytes(archive.read(member))
        flags = member.flag_bits & ~DATA_DESCRIPTOR
        fields = [member.compress_type, *member.date_time, flags, member.create_system, member.external_attr]
        print(member.filename, *fields, member.extra.hex(), member.comment.hex(), sep="\t")
    print(archive.comment)
