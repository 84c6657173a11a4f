#include "generate/manual_text.hpp"

namespace clipper::manual_text {

const std::string_view kArchives = R"text(
An .npz archive is a zip file, as numpy.savez and numpy.savez_compressed write it. Its members are .npy files: the member
w.npy is what numpy.load finds by the key w. clipper clips archives as it clips files: to OUT,
in place, many at once, also below directories (`--recursive`). A file is an archive if it begins like one, whatever its name is. The
result of an archive is an archive.

    $ clipper --min 0 --max 6 w.npz out.npz
    $ clipper --min 0 --max 6 -v --in-place w.npz
    ...
    clipper: w.npz:mask: copied (bool)
    clipper: w.npz: 2 members clipped, 1 copied
    $ clipper info w.npz
    w.npz
      KEY   DTYPE    SHAPE  SIZE  COMPRESSION
      a     float32  (6,)     24  stored
      b     float32  (6,)     24  stored
      mask  bool     -       132  stored

## Which members are clipped

All tensors whose dtype and number of dimensions the profile takes, or those that `--member` names. Bounds are checked for each
member by itself: `--min 300` refuses an archive that has a member of int8, and `--min 1%` is a percentile of each member. The
other members are copied, unless `--other` says `drop` or `error`: other dtypes, such as bool, strings and structured arrays,
members that `--member` does not name, and files that are not .npy. `-v` and `--json` say what was done to each.
`--dtype bfloat16` is for archives whose chosen members are all bfloat16: choose them with `--member`.

    $ clipper --max 6 --member a --member b w.npz out.npz
    $ clipper --max 6 --other drop w.npz tensors.npz

`--fail-if-clipped` judges each member. If one of them fails, for whatever reason, nothing is written.

## One member

ARCHIVE.npz:NAME is a member as a file, wherever a file is read: as IN, as a bound, in compare and info. NAME is the key of
numpy.load or the whole name; a whole name wins. ARCHIVE must end in .npz, and a file that has the whole name ARCHIVE.npz:NAME
wins. A member cannot be OUT: to change one member, use `--in-place` ARCHIVE.npz `--member` NAME.

    $ clipper --min 0 w.npz:a out.npy
    $ clipper --min @w.npz:a in.npy out.npy
    $ clipper compare w.npz:a w.npz:b
    $ clipper --min 0 --in-place --member a w.npz

`clipper compare` of two archives compares the members of the same name.

## What the result is

The members keep their order, names, dates and attributes, and their compression: stored or deflated. The result of an archive that
numpy.savez has written is byte for byte what numpy.savez would write for the clipped arrays (DTYPES AND BOUNDS has the
exceptions). Members that were deflated are deflated
again at zlib's level 6, as by numpy.savez_compressed, but in independent pieces by all threads: numpy.load returns the same
arrays, and the archive is slightly larger. Two runs write the same bytes, whatever `--threads` says.

The CRC-32 of a member is checked when the member is clipped. The bytes of a member that is copied are copied as they are, unchecked.

Archives are read from regular files, not from pipes, and written to regular files. A deflated member of more than 1 MiB is
inflated to an unnamed file in $TMPDIR or, without that variable, in /var/tmp, which needs room for one such member. An archive takes
the memory of a file, and less than 1 KiB for each member.

## What is refused

= By usage (2)
A tensor as the input of OUT.npz, an archive as that of OUT.npy or of a stream, a member that an archive does not have, and
archives with `--direct`, `--verify`, `--shard` of one input and `--split-output`.

= By the archive (3)
Everything that two programs could read differently: a file that was cut off, bytes before, between or after the members, members that
overlap, two of one name, names with control characters, sizes that disagree, encryption. libzip reads the list of members, too, and
must find the same. Also more than 400,000 members, or 32 MiB of headers.

= By a member (3)
A member that is to be clipped and whose CRC-32 is wrong, or that is compressed otherwise than deflated. A member NAME.npy that is not
a .npy file. An archive that has members of which none can be clipped. The message names the member.

Names of members are only names: `../x.npy` and `/x.npy` are never paths of files.
)text";

}  // namespace clipper::manual_text
