"""Reads an archive with Python's zipfile, which checks the CRCs: zip_members.py ARCHIVE DIRECTORY

Writes the contents of member number N to DIRECTORY/N. Prints for each member its name, method, time and attributes. Names have the
bytes that the archive has, as Info-ZIP shows them; zipfile reads them as code page 437 unless a flag says that they are UTF-8.
"""
import sys
import zipfile
from pathlib import Path

DATA_DESCRIPTOR, UTF8 = 8, 0x800  # flags: sizes follow the data; the name is UTF-8

with zipfile.ZipFile(sys.argv[1]) as archive:
    for number, member in enumerate(archive.infolist()):
        (Path(sys.argv[2]) / str(number)).write_bytes(archive.read(member))
        flags = member.flag_bits & ~DATA_DESCRIPTOR
        fields = [member.compress_type, *member.date_time, flags, member.create_system, member.external_attr]
        name = member.filename.encode("utf-8" if member.flag_bits & UTF8 else "cp437").decode()
        print(name, *fields, member.extra.hex(), member.comment.hex(), sep="\t")
    print(archive.comment)
