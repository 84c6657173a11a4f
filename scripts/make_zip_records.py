#!/usr/bin/env python3
"""Writes data/archives/records.tsv: the records that np.savez makes Python's zipfile write, for members of any size.

Python 3.11.4 changed the records: run with such a version. Debian 12's /usr/bin/python3 has an earlier one and writes its own
rows. The members themselves, which may have terabytes, are not written.
"""

import subprocess
import sys
import zipfile
from pathlib import Path

OUT = Path(__file__).resolve().parent.parent / "data/archives/records.tsv"
MEMBER = "f4.npy"  # a member of data/archives/savez.npz and of the others that are named in the column `archive`
LIMIT = 2**31 - 1
CRC = 0x89ABCDEF
STORED = [(size, size, begin, end, 1) for size, begin, end in (
    (100, 0, 500), (LIMIT - 1, 0, LIMIT), (LIMIT, 1, LIMIT + 1), (LIMIT + 1, LIMIT, LIMIT + 1000), (2**32 - 2, LIMIT + 1, 2**32 - 1),
    (2**32 - 1, 2**32 - 1, 2**32), (2**32, 2**32, 2**33), (5 * 10**12, 2**40, 2**50), (100, 2**31, 2**31 + 200))]
COUNTS = [(1, 1, 5, 2**20, 65535), (1, 1, 5, 2**20, 65536)]
DEFLATED = [(100, 90, 0, 500, 1), (LIMIT + 1, 90, 0, 500, 1), (LIMIT, LIMIT + 1, 7, 2**31 + 99, 1), (2**32, 4 * 10**6, 2**31, 2**32, 1)]


class Tail:
    """A file that already has `size` bytes, and keeps what is written after them."""

    def __init__(self, size):
        self.size, self.bytes = size, bytearray()

    def write(self, data):
        self.bytes += data

    def tell(self):
        return self.size + len(self.bytes)

    def flush(self):
        pass


def member(method, size, stored_size, begin):
    """A member as ZipFile.open(name, "w", force_zip64=True) makes it, which np.savez calls."""
    made = zipfile.ZipInfo(MEMBER)
    made.compress_type, made.external_attr, made.header_offset = method, 0o600 << 16, begin
    made.CRC, made.file_size, made.compress_size = CRC, size, stored_size
    return made, made.FileHeader(zip64=True)


def rows(archives):
    for archive, method, cases in ((archives[0], zipfile.ZIP_STORED, STORED + COUNTS), (archives[1], zipfile.ZIP_DEFLATED, DEFLATED)):
        for size, stored_size, begin, end, count in cases:
            made, local = member(method, size, stored_size, begin)
            file = zipfile.ZipFile(Tail(0), "w")
            file.fp, file.start_dir, file.filelist = Tail(end), end, [made] * count
            file._write_end_record()
            written, file.fp = file.fp.bytes, None
            entry = written.find(b"PK\1\2", 1) if count > 1 else 0
            yield archive, size, stored_size, begin, end, count, local.hex(), written[entry * (count - 1):].hex()


if __name__ == "__main__":
    if len(sys.argv) > 1:
        for row in rows(sys.argv[1:]):
            print(*row, sep="\t")
    else:
        heading = "archive\tsize\tstored_size\tbegin\tend\tcount\tlocal\tlast\n"
        texts = [subprocess.run([python, __file__, *archives], check=True, capture_output=True, text=True).stdout for python, *archives in (
            (sys.executable, "savez", "savez_compressed"), ("/usr/bin/python3", "debian-savez", "debian-savez_compressed"))]
        OUT.write_text(heading + "".join(texts))
