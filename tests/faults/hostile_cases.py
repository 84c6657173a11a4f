"""The hostile archives, what clipper must say about them, and its exit codes: the table of hostile.py, of tests/npz/hostile_test.cpp
and of npz_fuzz's first inputs.

    hostile_cases.py        prints a line for each archive that is small: the message of npz::read_archive() and the bytes in hex. If
                            there is no message, also what Python's zipfile reads in hex, and whether the contents are sound
"""

import io
import struct
import zipfile
import zlib
from array import array
from collections.abc import Callable
from dataclasses import dataclass

import modes
from modes import numbers, tensor
from zip_bytes import (DEFLATED, DESCRIPTOR, DESCRIPTOR_MAGIC, LOCATOR_MAGIC, UNKNOWN, UTF8, Member, Parts, archive, deflated,
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
    """`says`: why npz::read_archive() refuses the archive. Empty: it does not, but a member may be refused. `codes`: one digit for
    each of WAYS. `member`: what is clipped as a file."""
    name: str
    content: Callable[[], bytes] | bytes
    says: str = ""
    codes: str = REFUSED
    member: str = "w"

    def bytes(self) -> bytes:
        return self.content() if callable(self.content) else self.content


CASES: list[Case] = []


def case(name: str, content: Callable[[], bytes] | bytes, codes: str = REFUSED, member: str = "w") -> None:
    CASES.append(Case(name, content, "", codes, member))


def refused(says: str, **archives: bytes) -> None:
    """Archives that are refused for the same reason. A name that is a number in this file only tells the archives apart."""
    CASES.extend(Case(f"{says}: {name}", content, says) for name, content in archives.items())


def header(count: int) -> bytes:
    """The header of a tensor with other elements than it says."""
    return modes.header("<f4", (count,))


W, V = tensor(numbers(9)), tensor(numbers(5, 2))
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


def named(name: bytes, **more) -> bytes:
    return archive(v(), w(name=name, **more))


def ended(**changes) -> bytes:
    return archive(w(), v(), **changes)


def ended64(*, end: dict | None = None, place: dict | None = None, **changes) -> bytes:
    return made.members + made.list + made.end64(end, place, **changes)


def field(kind: int, content: bytes) -> bytes:
    return struct.pack("<HH", kind, len(content)) + content


def unicode_path(name: bytes, other: bytes) -> bytes:
    return field(0x7075, b"\1" + struct.pack("<I", zlib.crc32(name)) + other)


def list_first() -> bytes:
    size = len(parts(w()).list)
    made = parts(w(begin=size))
    return made.list + made.members + made.end(begin=0)


def shifted(**end) -> bytes:
    """Members whose headers are one byte after the begin, as the list says, too."""
    later = parts(w(begin=1), v(begin=first + 1))
    return b"x" + later.members + later.list + later.end(begin=begin_of_list + 1)


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


made = parts(w(), v())
whole, whole64 = ended(), ended64()
first, size, begin_of_list = len(w().local_header()) + len(W), len(made.list), len(made.members)
end_bytes = made.end()

# The archive as a whole -----------------------------------------------------------------------------------

refused("truncated: no end record of a zip archive",
        empty=b"", by_one_byte=whole[:-1], ends_with_a_signature=ended(comment=b"PK\5\6"),
        **{f"after_{size}_bytes": whole[:size] for size in (2, 4, 20, 32, 37, 100, first, first + 30, begin_of_list,
        begin_of_list + 30,
                                                             begin_of_list + 51, begin_of_list + size, len(whole) - 10)},
        **{f"ZIP64_without_{cut}_bytes": whole64[:-cut] for cut in (22, 42, 98)})
refused("damaged: the end record of the zip archive is not at the end",
        a_byte_behind=whole + b"\0", a_line_behind=whole + b"\n", a_KiB_behind=whole + bytes(1024),
        comment_longer=ended(comment=b"comment", comment_size=5),
        comment_shorter=ended(comment=b"comment", comment_size=9), an_archive_and_a_byte_as_comment=ended(comment=whole + b"x"))
refused("ambiguous: two end records of a zip archive",
        in_the_comment=ended(comment=archive(w())[-22:]), empty_in_the_comment=ended(comment=archive()),
        archive_as_comment=ended(comment=archive(v())),
        ending_the_file=ended(comment=b"x" + Parts(made.members, made.list, 2).end(begin=7)))
refused("damaged: the list of members is not directly before the end record of the zip archive",
        a_byte_in_front=b"\0" + whole, a_program_in_front=b"MZ" + bytes(510) + whole, an_archive_in_front=good() + whole,
        an_archive_behind=whole + good(), gap_after_the_list=made.members + made.list + b"gap" + end_bytes,
        signature_after_the_list=made.members + made.list + b"PK\5\5\3\0abc" + end_bytes, list_in_front=list_first(),
        gap_after_ZIP64_records=whole64[:-22] + b"gap" + whole64[-22:],
        **{f"size_{number}": ended(size=number) for number in (0, size - 1, size + 1, size - 51, UNKNOWN - 1, UNKNOWN)},
        **{f"begin_{number}": ended(begin=number) for number in (0, begin_of_list - 1, begin_of_list + 1, begin_of_list + 51,
        len(whole), UNKNOWN - 1, UNKNOWN)},
        **{f"ZIP64_size_{number}": ended64(size=number) for number in (0, size - 1, 2**62, 2**64 - 1)},
        **{f"ZIP64_begin_{number}": ended64(begin=number) for number in (0, begin_of_list + 1, 2**63, 2**64 - 1)},
        ZIP64_records_missing=ended(count=0xFFFF, on_disk=0xFFFF, size=UNKNOWN, begin=UNKNOWN))
refused("there are bytes before the first member of the zip archive",
        without_members=b"x" + archive(begin=1), marker_of_split_archives=archive(w(before=b"PK\7\x08"), v()),
        adjusted_offsets=shifted())
refused("damaged: the list of members is too short",
        **{str(number): ended(count=number, on_disk=number) for number in (3, 65534, 65535)}, ZIP64_3=ended64(count=3, on_disk=3),
        ZIP64_65536=ended64(count=65536, on_disk=65536))
refused("damaged: there are bytes after the last entry of the list of members",
        **{str(number): ended(count=number, on_disk=number) for number in (0, 1)},
        **{f"ZIP64_{number}": ended64(count=number, on_disk=number) for number in (0, 1)})
refused("a part of a zip archive on several disks",
        one_member_here=ended(on_disk=1), disk_1=ended(disk=1), list_on_disk_1=ended(list_disk=1), ZIP64_disk_1=ended64(disk=1),
        ZIP64_list_on_disk_1=ended64(list_disk=1), locator_on_disk_1=ended64(place={"disk": 1}),
        locator_says_2_disks=ended64(place={"disks": 2}))
refused("damaged: the ZIP64 end record is not where its locator says",
        **{str(at): ended64(place={"at": at}) for at in (0, 1 << 40, 2**64 - 1, len(whole64) - 99)},
        alone=made.members + made.list + LOCATOR_MAGIC + bytes(16) + end_bytes,
        only_records=LOCATOR_MAGIC + bytes(16) + archive())
refused("damaged: the ZIP64 end record is malformed",
        magic=ended64(magic=b"PK\6\5"), **{f"of_{number}_bytes": ended64(rest=number) for number in (0, 43, 45, 2**63, 2**64 - 1)})
refused("damaged: the end record and the ZIP64 end record disagree",
        count=ended64(end={"count": 1, "on_disk": 1}), size=ended64(end={"size": size - 51}), begin=ended64(end={"begin": 51}),
        count_here=ended64(on_disk=1))
refused("more than 400000 members", **{str(number): ended64(count=number, on_disk=number) for number in (2**32, 2**63, 2**64 - 1)})
case("a comment", ended(comment=b"saved by np.savez"), EQUAL)
case("a comment of 65,535 bytes", ended(comment=b"x" * 65535), EQUAL)
case("a list in another order than the data", made.members + v().entry(first) + w().entry(0) + end_bytes, EQUAL)
case("no members", archive(), "01200")
case("ZIP64 records without need", ended64(), EQUAL)
case("ZIP64 records, and the end record has the numbers, too",
     ended64(end={"count": 2, "on_disk": 2, "size": size, "begin": begin_of_list}), EQUAL)

# The list of members --------------------------------------------------------------------------------------

refused("damaged: the list of members is malformed", magic=two(listed={"magic": b"PK\1\3"}),
        name=archive(v(), w(listed={"name_size": 60000})),
        extra_field=archive(v(), w(listed={"extra_size": 60000})))
refused("two members are named 'w.npy'", others=archive(w(), v(), w(V)), equal=archive(w(), w()),
        one_local_header=archive(w(), w(begin=0, absent=True)))
for number, gap in ((3, b"gap"), (35 + len(W), w(name=b"x.npy").local_header() + W)):
    refused(f"member 'w.npy': {number} bytes after its data belong to no member", between=archive(w(), v(before=gap)))
refused("member 'v.npy': 3 bytes after its data belong to no member",
        before_the_list=made.members + b"gap" + made.list + made.end(begin=begin_of_list + 3))
refused("member 'v.npy': its data overlaps what follows it", of_another=two(begin=0), one_byte_later=two(begin=1))


def about_w(says: str, **archives: bytes) -> None:
    refused(f"member 'w.npy': {says}", **archives)


longer = len(W) + 9
about_w("its data overlaps what follows it",
        inside_another=archive(w(W + v().local_header() + V), v(begin=35 + len(W), absent=True)),
        next_member=archive(w(W, stored_size=longer, size=longer), v()),
        **{f"by_{more}": archive(v(), w(W, stored_size=len(W) + more, size=len(W) + more)) for more in (1, 60, 9999)},
        zip_bomb=quoted(6),
        one_local_header=archive(w(), v(begin=0, absent=True)))
about_w("4 bytes after its data belong to no member", shorter=two(stored_size=len(W) - 4, size=len(W) - 4))
about_w("its header is not before the list of members", **{f"at_{at}": two(begin=at) for at in (1 << 30, UNKNOWN - 1)},
        at_the_list=archive(v(), w(begin=begin_of_list)), after_the_list=archive(v(), w(begin=begin_of_list + 1)),
        at_8_EiB=two(listed={"begin": UNKNOWN, "extra": zip64(8 * EIB)}),
        at_the_last_byte=two(listed={"begin": UNKNOWN, "extra": zip64(2**64 - 1)}))
about_w("its header overlaps the list of members", name=archive(v(), w(local={"name_size": 60000})))
refused(f"member 'v.npy': {34 + len(W)} bytes after its data belong to no member",
        of_w_at_its_last_byte=archive(v(), w(begin=begin_of_list - 1)))
about_w(f"it has no header at byte {first - 16}", magic=two(local={"magic": b"PK\3\5"}))
about_w("its two headers disagree about its name",
        **{str(len(name)) + "_bytes": two(local={"name": name}) for name in (b"x.npy", b"ww.npy", b"")})
about_w("its two headers disagree about its compression", local=two(local={"method": DEFLATED}),
        listed=two(listed={"method": DEFLATED}), listed_bzip2=two(listed={"method": 12}))
about_w("its two headers disagree about its CRC-32", local=two(local={"crc": 1}), listed=two(listed={"crc": 1}))
about_w("its two headers disagree about its size", **{f"local_{name}": two(local={name: 1}) for name in ("size", "stored_size")})
about_w("its two headers disagree about its flags",
        **{f"local_{flags}": two(local={"flags": flags}) for flags in (1, DESCRIPTOR, UTF8)},
        **{f"listed_{flags}": two(listed={"flags": flags}) for flags in (DESCRIPTOR, UTF8)})
about_w("its two headers disagree about its version", local=two(local={"version": 45}))
about_w("its two headers disagree about its time", local=two(local={"time": 1}), listed=two(listed={"date": 34}))
about_w(f"it is stored, but has {len(W)} bytes instead of 1", listed=two(listed={"size": 1}))
about_w(f"it is stored, but has 1 bytes instead of {len(W)}", listed=two(listed={"stored_size": 1}))
about_w(f"it is stored, but has {len(W)} bytes instead of {len(W) + 1}", both=two(size=len(W) + 1))
about_w(f"it is stored, but has {len(W)} bytes instead of {8 * EIB}", listed=two(
    local={"size": UNKNOWN, "stored_size": UNKNOWN, "extra": zip64(8 * EIB, len(W))},
        listed={"size": UNKNOWN, "extra": zip64(8 * EIB)}))
about_w(f"{1032 * longer} bytes cannot be deflated to {longer - 1}",
        both=two(method=DEFLATED, data=bytes(longer - 1), size=1032 * longer))
case("1032 times as many bytes", two(method=DEFLATED, data=W, size=1032 * len(W)))
about_w("it is on another disk", disk_1=two(listed={"disk": 1}))
about_w("it needs a later zip format", version_64=two(version=64))

# ZIP64 fields ---------------------------------------------------------------------------------------------


def in_zip64(*numbers: int, more: bytes = b"", headers: tuple[str, ...] = ("local", "listed")) -> bytes:
    """The ZIP64 fields of w's headers have its sizes."""
    told = {"size": UNKNOWN, "stored_size": UNKNOWN, "extra": (zip64(*numbers) if numbers else b"") + more}
    return two(**{name: told for name in headers})


def locally(*numbers: int, more: bytes = b"") -> bytes:
    return in_zip64(*numbers, more=more, headers=("local",))


about_w("its ZIP64 field is too short", missing=in_zip64(), missing_locally=locally(), one=in_zip64(len(W)),
        one_locally=locally(len(W)))
about_w("its ZIP64 field is too long", three=in_zip64(len(W), len(W), 9), three_locally=locally(len(W), len(W), 0),
        without_need=two(listed={"extra": zip64(len(W), len(W))}),
        for_one=two(listed={"stored_size": UNKNOWN, "extra": zip64(len(W), len(W))}))
about_w("it has two extra fields 0x0001", locally=locally(len(W), len(W), more=zip64(9, 9)),
        in_both=in_zip64(len(W), len(W), more=zip64(9, 9)))
about_w("its ZIP64 field disagrees with its other fields", locally=two(local={"extra": zip64(9, 9)}))
about_w("its two headers disagree about its size", listed_8_EiB=in_zip64(8 * EIB, 8 * EIB, headers=("listed",)),
        more=locally(len(W) + 1, len(W) + 1))
about_w("1 bytes after its data belong to no member", less_by_ZIP64=in_zip64(len(W) - 1, len(W) - 1))
about_w("its data overlaps what follows it", **{f"by_ZIP64_{number}": in_zip64(number, number) for number in (8 * EIB, 2**64 - 1)})

# Names ----------------------------------------------------------------------------------------------------

for name, text, more in ((b"w\0.npy", r"w\x00.npy", {}), (b"w.npy\0x.txt", r"w.npy\x00x.txt", {}), (b"w\n.npy", r"w\x0a.npy", {}),
                         (b"w\x1b[2J.npy", r"w\x1b[2J.npy", {}), (b"w\t.npy", r"w\x09.npy", {}), (b"w\x7f.npy", r"w\x7f.npy", {}),
                         ("w\x85.npy".encode(), r"w\xc2\x85.npy", {"flags": UTF8})):
    refused(f"member '{text}': its name has control characters", in_both=named(name, **more))
for name in (b"\xff", b"\x80", b"\xc0\xaf", b"\xed\xa0\x80", b"\xf4\x90\x80\x80", b"\xe2\x82", b"\xe2\x82x"):
    text = "".join(f"\\x{each:02x}" if each > 127 else chr(each) for each in name)
    refused(f"member 'w{text}': its name is not UTF-8, although the archive says so", in_both=named(b"w" + name, flags=UTF8))
refused("member '': a member has no name", empty=named(b""))
refused("member 'w.npy/': it is a directory with data", slash=named(b"w.npy/"))
about_w("its extra field 0x7075 gives it another name", other=two(extra=unicode_path(b"w.npy", b"x.npy")),
        another_member=two(extra=unicode_path(b"w.npy", b"v.npy")),
        local=two(local={"extra": unicode_path(b"w.npy", b"x.npy")}), too_short=two(extra=field(0x7075, b"\1")))
refused(r"member 'w\xff.npy': its extra field 0x7075 gives it another name",
        not_utf8=named(b"w\xff.npy", extra=unicode_path(b"w\xff.npy", b"w\xff.npy")))
about_w("its comment is not text in UTF-8, although the archive says so", byte=two(flags=UTF8, listed={"comment": b"\xff"}),
        control=two(flags=UTF8, listed={"comment": b"\2"}))
about_w("ambiguous: it ends with a record of a zip archive", locator=two(listed={"comment": LOCATOR_MAGIC + bytes(16)}))
case("sizes in ZIP64 fields", two(
    local={"size": UNKNOWN, "stored_size": UNKNOWN, "extra": field(0xCAFE, b"") + zip64(len(W), len(W))},
    listed={"size": UNKNOWN, "stored_size": UNKNOWN, "begin": UNKNOWN,
            "extra": zip64(len(W), len(W), len(v().local_header()) + len(V)) + field(0xCAFE, b"x")}), TAKEN)
case("sizes in a ZIP64 field, too, as by Python before 3.11.4", two(local={"extra": zip64(len(W), len(W))}), TAKEN)
case("a Unicode path that is the name", two(extra=unicode_path(b"w.npy", b"w.npy")), TAKEN)
for name in ("../../w", "/w", "C:\\w", "a.npz:w", "@w", "", "w'", "a b"):
    case(f"the name {name}.npy", named(f"{name}.npy".encode()), TAKEN, name or ".npy")
case("a name without .npy", named(b"w"), TAKEN)
case("a name in no Unicode", named(b"gr\x94\xe1e.npy"), TAKEN, "v")
case("a name beyond ASCII", named("größe 🍎.npy".encode(), flags=UTF8), TAKEN, "größe 🍎")
case("a directory", archive(v(), Member(b"d/", b"")), TAKEN, "v")
case("a name of 60,000 bytes", lambda: named(b"w" * 59996 + b".npy"), TAKEN, "v")

# Flags, methods, extra fields -----------------------------------------------------------------------------

about_w("it is encrypted", **{f"flags_{flags}": two(flags=flags) for flags in (1, 0x40, 0x41, 0x2000)}, WinZip=two(method=99),
        listed=two(listed={"flags": 1}))
about_w("it is a patch", flags=two(flags=0x20))
for method in (1, 6, 9, 12, 14, 93, 95, 98, 65535):
    case(f"method {method}", two(method=method))
case("a symbolic link", archive(v(), w(b"/etc/passwd", attributes=0o120777 << 16)))
case("a symbolic link to another member", archive(v(), w(b"v.npy", attributes=0o120777 << 16)))
case("a tensor with the attributes of a symbolic link", archive(v(), w(attributes=0o120777 << 16)), EQUAL)
case("a tensor with the attributes of a device", archive(v(), w(attributes=0o60777 << 16)), EQUAL)
about_w("its extra fields are malformed", longer_than_all=two(extra=struct.pack("<HH", 0x7777, 9) + b"abc"),
        three_bytes=two(extra=b"abc"), locally=two(local={"extra": b"abc"}),
        listed=two(listed={"extra": b"\1\2\5\0abc"}))
case("extra fields of 65,535 bytes", lambda: two(extra=field(0x7777, bytes(65531))), TAKEN)
case("16,383 extra fields", lambda: two(extra=field(0x7777, b"") * 16383), TAKEN)

# Data descriptors -----------------------------------------------------------------------------------------

UNSAID = {"crc": 0, "size": 0, "stored_size": 0}


def described(*numbers: int, magic: bytes = DESCRIPTOR_MAGIC, form: str = "<III", end: bytes = b"") -> bytes:
    return two(flags=DESCRIPTOR, local=UNSAID, descriptor=magic + struct.pack(form, *numbers) + end)


W_CRC, W_SIZE = zlib.crc32(W), len(W)
case("a data descriptor", described(W_CRC, W_SIZE, W_SIZE), TAKEN)
case("a data descriptor without a magic number", described(W_CRC, W_SIZE, W_SIZE, magic=b""), TAKEN)
for magic in (DESCRIPTOR_MAGIC, b""):
    case(f"a data descriptor of 64 bits after {magic}", two(
        flags=DESCRIPTOR, local=UNSAID | {"extra": zip64(0, 0)}, descriptor=magic + struct.pack("<IQQ", W_CRC, W_SIZE, W_SIZE)), TAKEN)
about_w("its data descriptor is malformed, or disagrees with the list of members",
        of_64_bits_without_ZIP64=described(W_CRC, W_SIZE, W_SIZE, form="<IQQ"), crc=described(1, W_SIZE, W_SIZE),
        size=described(W_CRC, W_SIZE, W_SIZE + 1),
        stored_size=described(W_CRC, W_SIZE + 1, W_SIZE), magic=described(W_CRC, W_SIZE, W_SIZE, magic=b"QK\7\x08"),
        more=described(W_CRC, W_SIZE, W_SIZE, end=b"x"),
        missing=two(flags=DESCRIPTOR, local=UNSAID),
        cut_off=two(flags=DESCRIPTOR, local=UNSAID, descriptor=DESCRIPTOR_MAGIC + bytes(7)))
about_w("16 bytes after its data belong to no member",
        no_flag=two(descriptor=DESCRIPTOR_MAGIC + struct.pack("<III", W_CRC, W_SIZE, W_SIZE)))

# Contents -------------------------------------------------------------------------------------------------

case("a wrong CRC, stored", two(crc=1), UNREAD)
case("a wrong CRC, deflated", two(crc=1, method=DEFLATED), UNREAD)
case("a wrong CRC of a text", lambda: archive(v(), w(), Member(b"notes.txt", b"text", crc=1)), TAKEN)  # a copied member keeps its damage
case("a changed element, stored", two(data=W[:-1] + b"\1"), UNREAD)
large = tensor(numbers(500))
packed = deflated(large)
about_w(f"{len(large)} bytes cannot be deflated to 0", none=two(content=large, method=DEFLATED, data=b""))
case("deflated: no stream", two(method=DEFLATED, data=b""))
for what, data, codes in (  # `info` inflates the header only
        ("a changed byte", packed[:200] + b"\0\0\0" + packed[203:], REFUSED), ("a stream that is cut off", packed[:-20], UNREAD),
        ("a stream without its last byte", packed[:-1], UNREAD), ("bytes behind the stream", packed + b"more", UNREAD),
        ("a second stream", packed + packed, UNREAD), ("zlib's header", zlib.compress(large), REFUSED),
        ("the stream of a shorter file", deflated(large[:-4]), UNREAD),
        ("the stream of a longer file", deflated(large + b"more"), REFUSED),
        ("an unknown kind of block", b"\7" + bytes(99), REFUSED),
        ("a distance before the begin", bytes.fromhex("4b04022000"), REFUSED)):
    case(f"deflated: {what}", two(content=large, method=DEFLATED, data=data), codes)
case("w.npy is a text", two(content=b"hello"))
case("w.npy is empty", two(content=b""))
case("w.npy is an archive", lambda: two(content=good()))
case("w.npy is a header that is cut off", two(content=W[:40]))
case("w.npy has no elements", two(content=W[:128]))
case("w.npy has an element too few", two(content=W[:-4]))
case("w.npy has an element too many", two(content=W + bytes(4)))
case("w.npy has an element too many, deflated", two(content=W + bytes(4), method=DEFLATED))
case("w.npy has an unknown version", two(content=W[:6] + b"\x09" + W[7:]))
case("w.npy has negative dimensions", two(content=header(-1)))

# Bombs ----------------------------------------------------------------------------------------------------

case("stored: the header says 1 GiB", two(content=header(GIB // 4) + b"few"))
case("deflated: the header says 1 GiB", two(content=header(GIB // 4) + b"few", method=DEFLATED))
case("stored: the header says 8 EiB", two(content=header(2**61 - 1) + b"few"))
case("deflated: the header says 8 EiB", two(content=header(2**61 - 1) + b"few", method=DEFLATED))
case("stored: a header of 4 GiB", two(content=b"\x93NUMPY\2\0" + b"\xff" * 4 + bytes(99)))
case("deflated: a header of 4 GiB", two(content=b"\x93NUMPY\2\0" + b"\xff" * 4 + bytes(99), method=DEFLATED))


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


def read_by_zipfile(content: bytes) -> bytes:
    """The comment and the names, each in a line, as they are in the archive."""
    with zipfile.ZipFile(io.BytesIO(content)) as file:
        names = (info.orig_filename.encode("utf-8" if info.flag_bits & UTF8 else "cp437") for info in file.infolist())
        return b"\n".join([file.comment, *names])


if __name__ == "__main__":
    for each in CASES:
        if not callable(each.content):
            read = "" if each.says else f"\t{read_by_zipfile(each.content).hex()}\t{int(each.codes in (TAKEN, EQUAL))}"
            print(f"{each.says}\t{each.content.hex()}{read}")
