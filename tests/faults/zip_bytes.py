"""Writes zip archives byte by byte, also wrong ones."""

import struct
import zlib
from dataclasses import dataclass, field

ENTRY_MAGIC, LOCAL_MAGIC, END_MAGIC = b"PK\1\2", b"PK\3\4", b"PK\5\6"
END64_MAGIC, LOCATOR_MAGIC, DESCRIPTOR_MAGIC = b"PK\6\6", b"PK\6\7", b"PK\7\x08"
STORED, DEFLATED = 0, 8
DESCRIPTOR, UTF8 = 8, 0x800  # flags
PIECE = 512 << 10  # bytes that clipper deflates together
UNKNOWN = 0xFFFFFFFF  # the true number is in the ZIP64 field


def deflated(content: bytes, end: int = zlib.Z_FINISH) -> bytes:
    packer = zlib.compressobj(6, zlib.DEFLATED, -15)
    return packer.compress(content) + packer.flush(end)


def zip64(*numbers: int) -> bytes:
    """The ZIP64 field."""
    return struct.pack(f"<HH{len(numbers)}Q", 1, 8 * len(numbers), *numbers)


@dataclass
class Member:
    """A member and what its two headers say. None: the truth. `local` and `listed` change fields of one header."""
    name: bytes
    content: bytes
    method: int = STORED
    flags: int = 0
    data: bytes | None = None  # the bytes in the archive
    crc: int | None = None
    size: int | None = None
    stored_size: int | None = None
    extra: bytes = b""
    version: int = 20
    attributes: int = 0o600 << 16
    descriptor: bytes = b""  # after the data
    before: bytes = b""  # bytes in front of the local header
    begin: int | None = None  # where the list says that the local header is
    absent: bool = False  # the list has an entry, but the archive no local header
    local: dict = field(default_factory=dict)
    listed: dict = field(default_factory=dict)

    @property
    def bytes(self) -> bytes:
        if self.data is not None:
            return self.data
        return deflated(self.content) if self.method == DEFLATED else self.content

    def fields(self, changes: dict) -> dict:
        crc = zlib.crc32(self.content) if self.crc is None else self.crc
        size = len(self.content) if self.size is None else self.size
        stored_size = len(self.bytes) if self.stored_size is None else self.stored_size
        told = {"magic": None, "version": self.version, "flags": self.flags, "method": self.method, "time": 0, "date": 33,
                "crc": crc, "stored_size": stored_size, "size": size, "name": self.name, "extra": self.extra}
        return told | changes

    def local_header(self) -> bytes:
        told = self.fields(self.local)
        numbers = [told[name] for name in ("version", "flags", "method", "time", "date", "crc", "stored_size", "size")]
        return (told["magic"] or LOCAL_MAGIC) + struct.pack(
            "<HHHHHIIIHH", *numbers, told.get("name_size", len(told["name"])), told.get("extra_size", len(told["extra"]))
        ) + told["name"] + told["extra"]

    def entry(self, begin: int) -> bytes:
        told = {"comment": b"", "disk": 0, "begin": begin if self.begin is None else self.begin} | self.fields(self.listed)
        numbers = [told[name] for name in ("version", "flags", "method", "time", "date", "crc", "stored_size", "size")]
        return (told["magic"] or ENTRY_MAGIC) + struct.pack(
            "<HHHHHHIIIHHHHHII", 0x300 | self.version, *numbers, told.get("name_size", len(told["name"])),
            told.get("extra_size", len(told["extra"])), len(told["comment"]), told["disk"], 0, self.attributes, told["begin"]
        ) + told["name"] + told["extra"] + told["comment"]


def end_record(count: int, size: int, begin: int, changes: dict) -> bytes:
    told = {"magic": END_MAGIC, "disk": 0, "list_disk": 0, "on_disk": count, "count": count, "size": size, "begin": begin,
            "comment_size": None, "comment": b""} | changes
    comment = told.pop("comment")
    if told["comment_size"] is None:
        told["comment_size"] = len(comment)
    return told["magic"] + struct.pack("<HHHHIIH", *list(told.values())[1:]) + comment


def end64_record(count: int, size: int, begin: int, changes: dict) -> bytes:
    told = {"magic": END64_MAGIC, "rest": 44, "made": 45, "version": 45, "disk": 0, "list_disk": 0, "on_disk": count,
            "count": count, "size": size, "begin": begin} | changes
    return told["magic"] + struct.pack("<QHHIIQQQQ", *list(told.values())[1:])


def locator(at: int, changes: dict) -> bytes:
    told = {"disk": 0, "at": at, "disks": 1} | changes
    return LOCATOR_MAGIC + struct.pack("<IQI", *told.values())


@dataclass
class Parts:
    """An archive in parts, so that a case can change one of them."""
    members: bytes
    list: bytes
    count: int

    def end(self, **changes) -> bytes:
        return end_record(self.count, len(self.list), len(self.members), changes)

    def end64(self, end_changes: dict | None = None, locator_changes: dict | None = None, **changes) -> bytes:
        """The three records of a ZIP64 archive. `changes` are of the first."""
        at = len(self.members) + len(self.list)
        last = {"on_disk": 0xFFFF, "count": 0xFFFF, "size": UNKNOWN, "begin": UNKNOWN} | (end_changes or {})
        return (end64_record(self.count, len(self.list), len(self.members), changes) + locator(at, locator_changes or {})
                + end_record(0, 0, 0, last))


def parts(*members: Member) -> Parts:
    made, entries = bytearray(), bytearray()
    for member in members:
        made += member.before
        entries += member.entry(len(made))
        if not member.absent:
            made += member.local_header() + member.bytes + member.descriptor
    return Parts(bytes(made), bytes(entries), len(members))


def archive(*members: Member, **end) -> bytes:
    made = parts(*members)
    return made.members + made.list + made.end(**end)


def numpy_archive(contents: dict[str, bytes], method: int = STORED) -> bytes:
    """np.savez's archive (Python 3.11.4 and newer): sizes are only in the ZIP64 field of the local header. Deflated as clipper
    does it, in pieces; up to 512 KiB that is how np.savez_compressed does it."""
    members = []
    for name, content in contents.items():
        data = in_pieces(content) if method == DEFLATED else content
        sizes = {"stored_size": UNKNOWN, "size": UNKNOWN, "extra": zip64(len(content), len(data))}
        members.append(Member(name.encode(), content, method, data=data, version=45, local=sizes))
    return archive(*members)


def in_pieces(content: bytes) -> bytes:
    """A deflate stream of pieces that are deflated alone, by zlib."""
    pieces = [content[at : at + PIECE] for at in range(0, len(content), PIECE)]
    return b"".join(deflated(piece, zlib.Z_FINISH if i + 1 == len(pieces) else zlib.Z_FULL_FLUSH) for i, piece in enumerate(pieces))
