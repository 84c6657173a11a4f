"""Python's zipfile as a second opinion for npz_fuzz: zipfile_opinion.py FINDS

Reads archives and what clipper read in them from standard input. The first archive that zipfile reads differently is stored in
the directory FINDS and ends the program with exit code 1.
"""

import hashlib
import io
import struct
import sys
import zipfile
from pathlib import Path


def sized():
    """The next bytes of standard input, which come after their size. Nothing at the end."""
    size = sys.stdin.buffer.read(4)
    return sys.stdin.buffer.read(struct.unpack("<I", size)[0]) if size else None


def opinion(archive: bytes, accepted: list[bytes]):
    """What zipfile reads, in the lines of npz_fuzz.cpp. It also reads the members that clipper can read: those whose line ends with 1."""
    with zipfile.ZipFile(io.BytesIO(archive)) as file:
        yield file.comment.hex().encode()
        for info, line in zip(file.infolist(), accepted[1:], strict=True):
            name = info.orig_filename.encode("utf-8" if info.flag_bits & 0x800 else "cp437")
            read = line.endswith(b" 1") and len(file.read(info)) == info.file_size
            numbers = (info.compress_type, info.CRC, info.file_size, info.compress_size, info.header_offset, int(read))
            yield b"%b %d %d %d %d %d %d" % (name, *numbers)


def main():
    while (archive := sized()) is not None:
        accepted, difference = sized().split(b"\n"), None
        try:
            read = list(opinion(archive, accepted))
            difference = (read, accepted) if read != accepted else None
        except Exception as error:
            difference = error
        if difference:
            find = Path(sys.argv[1]) / f"npz_fuzz-zipfile-{hashlib.sha1(archive).hexdigest()[:8]}"
            find.write_bytes(archive)
            print(f"violated: zipfile reads what clipper accepts: {difference!r}\nTest unit written to {find}", file=sys.stderr)
            return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
