"""The archives of hostile.py, and the exit codes that clipper must answer with."""

import struct
import zlib
from array import array
from collections.abc import Callable
from dataclasses import dataclass

from modes import numbers, tensor
from zip_bytes import (DEFLATED, DESCRIPTOR, DESCRIPTOR_MAGIC, UNKNOWN, UTF8, Member, Parts, archive, deflated,
                       numpy_archive, parts, zip64)

WAYS = ("info", "compare", "member", "new", "in place")
REFUSED = "33333"
UNREAD = "03333"  # `info` does not read elements
TAKEN = "01000"  # not hostile for clipper; `compare` finds a member that the good archive lacks
EQUAL = "00000"
ONE_EACH = "31333"  # `info` has a line about each member; `compare` finds differences before it reads members
MIB, GIB, EIB = 1 << 20, 1 << 30, 1 << 60


@dataclass(frozen=True)
class Case:
    """`codes`: one digit for each of WAYS. `member`: what is clipped as a file."""
    name: str
    content: Callable[[], bytes]
    codes: str = REFUSED
    member: str = "w"


def header(count: int, text: str = "", version: bytes = b"\1\0") -> bytes:
    """The header of a tensor with other elements than it says."""
    text = (text or f"{{'descr': '<f4', 'fortran_order': False, 'shape': ({count},), }}").ljust(117) + "\n"
    size = struct.pack("<H" if version[0] == 1 else "<I", len(text))
    return b"\x93NUMPY" + version + size + text.encode()


W, V = tensor(numbers(500)), tensor(numbers(300, 2))
NOTES = Member(b"notes.txt", b"Not a tensor.\n")


def good() -> bytes:
    return numpy_archive({"w.npy": W, "v.npy": V})


def w(content: bytes = W, name: bytes = b"w.npy", **more) -> Member:
    return Member(name, content, **more)


def v(**more) -> Member:
    return Member(b"v.npy", V, **more)


def two(**more) -> bytes:
    """The member `w` with these changes, between two good ones."""
    return archive(v(), w(**more), NOTES)


def ended(**changes) -> bytes:
    return archive(w(), v(), **changes)


def ended64(*, end: dict | None = None, place: dict | None = None, **changes) -> bytes:
    made = parts(w(), v())
    return made.members + made.list + made.end64(end, place, **changes)


def put_together(change: Callable[[Parts], bytes]) -> bytes:
    return change(parts(w(), v()))


CASES: list[Case] = []


def case(name: str, content: Callable[[], bytes] | bytes, codes: str = REFUSED, member: str = "w") -> None:
    CASES.append(Case(name, content if callable(content) else (lambda: content), codes, member))


# Truncated, and bytes around -----------------------------------------------------------------------------

whole = ended()
made = parts(w(), v())
first = len(w().local_header()) + len(W)
boundaries = {"the magic number": 2, "the first bytes": 4, "a local header": 20, "the name in a local header": 32,
              "a local header and its member's first byte": 37, "a member": 900, "the first member": first,
              "the second local header": first + 30, "all members": len(made.members),
              "an entry of the list": len(made.members) + 30, "one entry of the list": len(made.members) + 51,
              "the list": len(made.members) + len(made.list), "the end record": len(whole) - 10}
for what, size in boundaries.items():
    case(f"truncated after {size} bytes, in or after {what}", whole[:size])
case("truncated by one byte", whole[:-1])
case("empty file", b"")
whole64 = ended64()
for what, cut in (("end record", 22), ("locator", 42), ("ZIP64 end record", 98)):
    case(f"ZIP64, truncated before the {what}", whole64[:-cut])
case("a byte in front", b"\0" + whole)
case("a program in front", b"MZ" + bytes(510) + whole)
case("an archive in front, offsets not adjusted", good() + whole)
case("a byte behind", whole + b"\0")
case("an end of line behind", whole + b"\n")
case("another archive behind", whole + good())
case("a KiB of zeros behind", whole + bytes(1024))
case("a marker of split archives in front", archive(w(before=b"PK\7\x08"), v()))
case("bytes between two members", archive(w(), v(before=b"gap")))
case("a local header between two members that the list lacks", archive(w(), v(before=w(name=b"x.npy").local_header() + W)))
case("bytes between the members and the list", put_together(lambda p: p.members + b"gap" + p.list + p.end(begin=len(p.members) + 3)))
case("bytes between the list and the end record", put_together(lambda p: p.members + p.list + b"gap" + p.end()))
case("a signature behind the list", put_together(lambda p: p.members + p.list + b"PK\5\5\3\0abc" + p.end()))


def list_first() -> bytes:
    size = len(parts(w()).list)
    made = parts(w(begin=size))
    return made.list + made.members + made.end(begin=0)


case("the list in front of the members", list_first())

# The end record ------------------------------------------------------------------------------------------

for number in (0, 1, 3, 65534, 65535):
    case(f"two members, the end record says {number}", ended(count=number, on_disk=number))
case("two members, one of them on this disk", ended(on_disk=1))
case("disk 1", ended(disk=1))
case("the list on disk 1", ended(list_disk=1))
size = len(made.list)
for number in (0, size - 1, size + 1, size - 51, UNKNOWN - 1, UNKNOWN):
    case(f"a list of {size} bytes, the end record says {number}", ended(size=number))
begin_of_list = len(made.members)
for number in (0, begin_of_list - 1, begin_of_list + 1, begin_of_list + 51, len(whole), UNKNOWN - 1, UNKNOWN):
    case(f"a list at {begin_of_list}, the end record says {number}", ended(begin=number))
case("a comment", ended(comment=b"saved by np.savez"), EQUAL)
case("a comment that is longer than it says", ended(comment=b"comment", comment_size=5))
case("a comment that is shorter than it says", ended(comment=b"comment", comment_size=9))
case("a comment with an end record", ended(comment=archive(w())[-22:]))
case("a comment with an end record that ends the file", lambda: ended(comment=b"x" + Parts(made.members, made.list, 2).end(begin=7)))
case("a comment that is an archive", ended(comment=archive(v())))
case("no members", archive(), "01200", "w")

# ZIP64 ---------------------------------------------------------------------------------------------------

case("ZIP64 records without need", ended64(), EQUAL)
case("ZIP64, the locator points behind the file", ended64(place={"at": 1 << 40}))
case("ZIP64, the locator points at 2^64 - 1", ended64(place={"at": 2**64 - 1}))
case("ZIP64, the locator points at the first member", ended64(place={"at": 0}))
case("ZIP64, the locator says disk 1", ended64(place={"disk": 1}))
case("ZIP64, the locator says 2 disks", ended64(place={"disks": 2}))
case("ZIP64, a wrong magic number", ended64(magic=b"PK\6\5"))
for number in (0, 43, 45, 2**63, 2**64 - 1):
    case(f"ZIP64, an end record of {number} bytes", ended64(rest=number))
case("ZIP64, disk 1", ended64(disk=1))
case("ZIP64, the list on disk 1", ended64(list_disk=1))
for number in (0, 1, 3, 2**32, 2**63, 2**64 - 1):
    case(f"ZIP64, two members, the end record says {number}", ended64(count=number, on_disk=number))
for number in (0, size - 1, 2**62, 2**64 - 1):
    case(f"ZIP64, a list of {size} bytes, the end record says {number}", ended64(size=number))
for number in (0, begin_of_list + 1, 2**63, 2**64 - 1):
    case(f"ZIP64, a list at {begin_of_list}, the end record says {number}", ended64(begin=number))
case("ZIP64, the two end records disagree about the count", ended64(end={"count": 1, "on_disk": 1}))
case("ZIP64, the two end records disagree about the list's size", ended64(end={"size": size - 51}))
case("ZIP64, the two end records disagree about the list's place", ended64(end={"begin": 51}))
case("an end record that needs ZIP64 records that are missing", ended(count=0xFFFF, on_disk=0xFFFF, size=UNKNOWN, begin=UNKNOWN))
case("sizes in a ZIP64 field that is missing", two(size=UNKNOWN, stored_size=UNKNOWN))
case("a ZIP64 field that is too short", two(local={"size": UNKNOWN, "stored_size": UNKNOWN, "extra": zip64(len(W))}))
case("a ZIP64 field with a third number", two(local={"size": UNKNOWN, "stored_size": UNKNOWN, "extra": zip64(len(W), len(W), 0)}))
case("two ZIP64 fields that disagree",
     two(local={"size": UNKNOWN, "stored_size": UNKNOWN, "extra": zip64(len(W), len(W)) + zip64(9, 9)}))
case("a ZIP64 field that says more", two(local={"size": UNKNOWN, "stored_size": UNKNOWN, "extra": zip64(len(W) + 1, len(W) + 1)}))
case("a ZIP64 field that disagrees with the sizes", two(local={"extra": zip64(9, 9)}))
case("the list's ZIP64 field says 8 EiB",
     two(listed={"size": UNKNOWN, "stored_size": UNKNOWN, "extra": zip64(8 * EIB, 8 * EIB)}))
case("the list's ZIP64 field puts a local header at 8 EiB", two(listed={"begin": UNKNOWN, "extra": zip64(8 * EIB)}))
case("the list's ZIP64 field puts a local header at 2^64 - 1", two(listed={"begin": UNKNOWN, "extra": zip64(2**64 - 1)}))

# Members that disagree with the list, or overlap ----------------------------------------------------------

case("two members of one name", archive(w(), v(), w(V)))
case("two equal members of one name", archive(w(), w()))
case("one local header, listed twice with one name", archive(w(), w(begin=0, absent=True)))
case("one local header, listed twice with two names", archive(w(), v(begin=0, absent=True)))
case("a member inside another one's data",
     archive(w(W + v().local_header() + V), v(begin=len(w().local_header()) + len(W), absent=True)))
case("a member whose data reaches into the next one", archive(w(W, stored_size=len(W) + 9, size=len(W) + 9), v()))
case("a member whose data reaches into the list", archive(v(), w(W, stored_size=len(W) + 60, size=len(W) + 60)))
case("a member whose data reaches behind the file", archive(v(), w(W, stored_size=len(W) + 9999, size=len(W) + 9999)))
case("a member that is shorter in the list", two(stored_size=len(W) - 4, size=len(W) - 4))
case("all members in one another, as in zip bombs", lambda: quoted(200))
case("a local header at another member's", two(begin=0))
case("a local header one byte later", two(begin=len(v().local_header()) + len(V) + 1))
case("a local header in the list", archive(v(), w(begin=len(parts(v(), w()).members))))
case("a local header behind the file", two(begin=1 << 30))
case("a local header at 4 GiB - 2", two(begin=UNKNOWN - 1))
case("a wrong magic number of a local header", two(local={"magic": b"PK\3\5"}))
case("a wrong magic number of an entry", two(listed={"magic": b"PK\1\3"}))
for what, name in (("another name", b"x.npy"), ("a longer name", b"ww.npy"), ("an empty name", b"")):
    case(f"{what} in the local header", two(local={"name": name}))
for field, value in (("method", DEFLATED), ("crc", 1), ("size", 1), ("stored_size", 1), ("flags", 1), ("flags", UTF8)):
    case(f"another {field.replace('_', ' ')} in the local header ({value})", two(local={field: value}))
    case(f"another {field.replace('_', ' ')} in the list ({value})", two(listed={field: value}))
case("a member on disk 1", two(listed={"disk": 1}))
case("a name that reaches behind the list", archive(v(), w(listed={"name_size": 60000})))
case("an extra field that reaches behind the list", archive(v(), w(listed={"extra_size": 60000})))
case("a name in the local header that reaches behind the file", archive(v(), w(local={"name_size": 60000})))
case("stored, with two sizes", two(size=len(W) + 1))
case("stored, with two sizes, the first 8 EiB", two(local={"size": UNKNOWN, "stored_size": UNKNOWN, "extra": zip64(8 * EIB, len(W))},
                                              listed={"size": UNKNOWN, "extra": zip64(8 * EIB)}))


def quoted(count: int) -> bytes:
    """Members whose data are the local headers and data of all members after them."""
    content, members = W, []
    for number in range(count):
        name = b"w.npy" if number == count - 1 else f"{number}.npy".encode()
        members.append(Member(name, content, absent=number < count - 1))
        content = members[-1].local_header() + content
    members.reverse()
    at = 0
    for member in members:
        member.begin, member.absent = at, member is not members[0]
        at += len(member.local_header())
    return archive(*members)


# Names ---------------------------------------------------------------------------------------------------

for what, name in (("a NUL", b"w\0.npy"), ("a NUL and another name", b"w.npy\0x.txt"), ("a line break", b"w\n.npy"), ("an escape", b"w\x1b[2J.npy"),
                   ("a tab", b"w\t.npy"), ("a DEL", b"w\x7f.npy")):
    case(f"{what} in a name", archive(v(), w(name=name)), member="v")
case("an empty name", archive(v(), w(name=b"")), member="v")
case("a C1 control character in a name", archive(v(), w(name="w\x85.npy".encode(), flags=UTF8)), member="v")
case("a name that is no UTF-8, but says so", archive(v(), w(name=b"w\xff.npy", flags=UTF8)), member="v")
case("the name ../../w.npy", archive(v(), w(name=b"../../w.npy")), TAKEN, "../../w")
case("the name /w.npy", archive(v(), w(name=b"/w.npy")), TAKEN, "/w")
case("the name C:\\w.npy", archive(v(), w(name=b"C:\\w.npy")), TAKEN, "C:\\w")
case("the name a.npz:w.npy", archive(v(), w(name=b"a.npz:w.npy")), TAKEN, "a.npz:w")
case("the name @w.npy", archive(v(), w(name=b"@w.npy")), TAKEN, "@w")
case("the name .npy", archive(v(), w(name=b".npy")), TAKEN, ".npy")
case("a name of 60,000 bytes", archive(v(), w(name=b"w" * 59996 + b".npy")), TAKEN, "v")

# Encryption and methods -----------------------------------------------------------------------------------

case("encrypted", two(flags=1))
case("strong encryption", two(flags=0x41))
case("an encrypted list", two(flags=0x2000))
case("patched data", two(flags=0x20))
for method in (1, 6, 9, 12, 14, 93, 95, 98, 99, 65535):
    case(f"method {method}", two(method=method))
case("a directory with data", archive(v(), w(name=b"w.npy/")), member="v")
case("a symbolic link", archive(v(), w(b"/etc/passwd", attributes=0o120777 << 16)))
case("a symbolic link to another member", archive(v(), w(b"v.npy", attributes=0o120777 << 16)))
case("a tensor with the attributes of a symbolic link", archive(v(), w(attributes=0o120777 << 16)), EQUAL)
case("a tensor with the attributes of a device", archive(v(), w(attributes=0o60777 << 16)), EQUAL)

# Extra fields ---------------------------------------------------------------------------------------------


def field(kind: int, content: bytes) -> bytes:
    return struct.pack("<HH", kind, len(content)) + content


def unicode_path(name: bytes, other: bytes) -> bytes:
    return field(0x7075, b"\1" + struct.pack("<I", zlib.crc32(name)) + other)


case("a Unicode path that is another name", two(extra=unicode_path(b"w.npy", b"x.npy")))
case("a Unicode path that is another member's name", two(extra=unicode_path(b"w.npy", b"v.npy")))
case("extra fields of 65,535 bytes", two(extra=field(0x7777, bytes(65531))), TAKEN)
case("16,383 extra fields", two(extra=field(0x7777, b"") * 16383), TAKEN)
case("an extra field that is longer than all extra fields", two(extra=struct.pack("<HH", 0x7777, 9) + b"abc"))
case("three bytes of an extra field", two(extra=b"abc"))

# Data descriptors -----------------------------------------------------------------------------------------

UNSAID = {"crc": 0, "size": 0, "stored_size": 0}


def described(crc: int, stored_size: int, size: int, magic: bytes = DESCRIPTOR_MAGIC, form: str = "<III") -> bytes:
    return two(flags=DESCRIPTOR, local=UNSAID, descriptor=magic + struct.pack(form, crc, stored_size, size))


W_CRC, W_SIZE = zlib.crc32(W), len(W)
case("a data descriptor", described(W_CRC, W_SIZE, W_SIZE), TAKEN)
case("a data descriptor without a magic number", described(W_CRC, W_SIZE, W_SIZE, b""), TAKEN)
case("a data descriptor of 64 bits without a ZIP64 field", described(W_CRC, W_SIZE, W_SIZE, form="<IQQ"))
case("a data descriptor with another CRC", described(1, W_SIZE, W_SIZE))
case("a data descriptor with another size", described(W_CRC, W_SIZE, W_SIZE + 1))
case("a data descriptor with another size in the archive", described(W_CRC, W_SIZE + 1, W_SIZE))
case("a data descriptor that is missing", two(flags=DESCRIPTOR, local=UNSAID))
case("a data descriptor that is cut off", two(flags=DESCRIPTOR, local=UNSAID, descriptor=DESCRIPTOR_MAGIC + bytes(7)))
case("a data descriptor without its flag", two(descriptor=DESCRIPTOR_MAGIC + struct.pack("<III", W_CRC, W_SIZE, W_SIZE)))
case("a data descriptor, only by the list", two(listed={"flags": DESCRIPTOR}))

# Contents -------------------------------------------------------------------------------------------------

case("a wrong CRC, stored", two(crc=1), UNREAD)
case("a wrong CRC, deflated", two(crc=1, method=DEFLATED), UNREAD)
case("a wrong CRC of a text", archive(v(), w(), Member(b"notes.txt", b"text", crc=1)), TAKEN)  # a copied member keeps its damage
case("a changed element, stored", two(data=W[:-1] + b"\1"), UNREAD)
packed = deflated(W)
for what, data, codes in (  # `info` inflates the header only
        ("a changed byte", packed[:200] + b"\0\0\0" + packed[203:], REFUSED), ("a stream that is cut off", packed[:-20], UNREAD),
        ("a stream without its last byte", packed[:-1], UNREAD), ("bytes behind the stream", packed + b"more", UNREAD),
        ("a second stream", packed + packed, UNREAD), ("zlib's header", zlib.compress(W), REFUSED),
        ("the stream of a shorter file", deflated(W[:-4]), UNREAD), ("the stream of a longer file", deflated(W + b"more"), REFUSED),
        ("no stream", b"", REFUSED), ("an unknown kind of block", b"\7" + bytes(99), REFUSED),
        ("a distance before the begin", bytes.fromhex("4b04022000"), REFUSED)):
    case(f"deflated: {what}", two(method=DEFLATED, data=data), codes)
case("w.npy is a text", two(content=b"hello"))
case("w.npy is empty", two(content=b""))
case("w.npy is an archive", lambda: two(content=good()))
case("w.npy is a header that is cut off", two(content=W[:40]))
case("w.npy has no elements", two(content=W[:128]))
case("w.npy has an element too few", two(content=W[:-4]))
case("w.npy has an element too many", two(content=W + bytes(4)))
case("w.npy has an element too many, deflated", two(content=W + bytes(4), method=DEFLATED))
case("w.npy has an unknown version", two(content=W[:6] + b"\x09" + W[7:]))
case("w.npy has negative dimensions", two(content=header(0, "{'descr': '<f4', 'fortran_order': False, 'shape': (-1,), }")))

# Bombs ----------------------------------------------------------------------------------------------------

case("stored: the header says 1 GiB", two(content=header(GIB // 4) + b"few"))
case("deflated: the header says 1 GiB", two(content=header(GIB // 4) + b"few", method=DEFLATED))
case("stored: the header says 8 EiB", two(content=header(2**61 - 1) + b"few"))
case("deflated: the header says 8 EiB", two(content=header(2**61 - 1) + b"few", method=DEFLATED))
case("stored: a header of 4 GiB", two(content=header(1, version=b"\2\0")[:8] + b"\xff" * 4 + bytes(99)))
case("deflated: a header of 4 GiB", two(content=header(1, version=b"\2\0")[:8] + b"\xff" * 4 + bytes(99), method=DEFLATED))


def zeros(size: int) -> bytes:
    """A deflate stream of `size` zeros."""
    packer = zlib.compressobj(9, zlib.DEFLATED, -15)
    piece = packer.compress(bytes(MIB)) + packer.flush(zlib.Z_FULL_FLUSH)
    return piece * (size // MIB) + deflated(b"")


def bomb(said: int, count: int = 1, **more) -> bytes:
    """A deflated tensor of `count` elements, followed by 1 GiB of zeros. The archive says `said` bytes."""
    start = header(count)
    packer = zlib.compressobj(6, zlib.DEFLATED, -15)
    data = packer.compress(start) + packer.flush(zlib.Z_FULL_FLUSH) + zeros(GIB)
    sizes = {"size": said} if said < UNKNOWN else {
        "local": {"size": UNKNOWN, "stored_size": UNKNOWN, "extra": zip64(said, len(data))},
        "listed": {"size": UNKNOWN, "extra": zip64(said)}}
    return two(method=DEFLATED, data=data, **sizes, **more)


case("deflated: 1 GiB of zeros behind one element", lambda: bomb(128 + GIB))
case("deflated: 1 GiB of zeros, the archive says 132 bytes", lambda: bomb(132))
case("deflated: 1 GiB of zeros, the archive says 8 EiB", lambda: bomb(8 * EIB - 1))
case("deflated: 1 GiB of zeros, the header and the archive say 8 EiB", lambda: bomb(128 + 4 * (2**61 - 33), 2**61 - 33))
case("65,536 members that are no tensors", lambda: many(65536, b"x"), ONE_EACH, "0")
case("65,536 tensors", lambda: many(65536, tensor(array("f", [9]))), TAKEN, "0")
case("65,536 members, the first of them no tensor", lambda: many(65535, tensor(array("f", [9])), w(b"text")))
case("65,537 members that are no tensors", lambda: many(65537, b"x"), ONE_EACH, "0")
case("65,536 members of 32,768 names", lambda: many(65536, b"x", names=32768))


def many(count: int, content: bytes, *more: Member, names: int = 0) -> bytes:
    made = parts(*more, *(Member(f"{i % (names or count)}.npy".encode(), content) for i in range(count)))
    return made.members + made.list + made.end64()
