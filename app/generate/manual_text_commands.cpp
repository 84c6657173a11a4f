#include "generate/manual_text.hpp"

namespace clipper::manual_text {

const std::string_view kCompare = R"text(
A (`--atol`) and R (`--rtol`) are 0 by default. Integers are compared exactly, also beyond 2^53; floats are compared in
float64. -0 matches 0. NaN matches only NaN. An infinity matches only the infinity of the same sign, whatever the
tolerance.

If all elements match, clipper prints nothing and exits with 0. If not, it prints one line on standard output and exits
with 1: how many elements differ, the first and the largest difference, and the tolerance with which all elements would
match. A status of 2 or more is an error; it never means "different" and never "equal". Here the line is shortened:

    $ clipper compare in.npy golden.npy || true
    FAIL in.npy: 2 of 6 differ (33.3 %); first [0] actual -3.5 ...

Two .npz archives are compared member by member, by name. A missing member is a difference; the order and the compression of
the members are not.

Two directories are compared file by file: every file whose name ends in .npy or .npz, below either of them, by its path. A
missing file is a difference. Symbolic links to directories are followed; a loop of links is an error (4). Files of any size take a
few MiB of memory.

    $ clipper compare out.npy golden.npy
    $ clipper compare --ulp 2 --show 10 --diff-out d.npy out.npy golden.npy
    $ clipper compare out/ golden/
    $ clipper compare out.npz golden.npz
    $ clipper compare out.npz:weights golden.npy
    $ producer | clipper --min 0 --max 6 - - | clipper compare - golden.npy
    $ clipper --min 0 --max 6 in.npy --verify golden.npy
    $ clipper --min 0 --max 6 in.npy --verify golden.npy --update-golden

The last two lines clip and compare in one pass; see `--verify` and `--update-golden`. A test of many results in a script,
with UPDATE=--update-golden set by hand if a change is intended:

    $ for f in in/train/*.npy; do
        clipper --min 0 --max 6 "$f" --verify "golden/${f##*/}" \
          $UPDATE || failed=1
      done
      exit "${failed:-0}"
)text";

const std::string_view kInfo = R"text(
Of an .npz archive, info shows a table with a row for each member; ARCHIVES has an example. SIZE is the size of the elements in bytes
or, if clipper does not read such a tensor, that of the member. With `--stats` info shows of each member what it shows of a file.

Without `--stats`, `--percentile`, `--min` and `--max` only the header is read. With any of them the elements are read, too: those of
a file two to five times, because of the median and the percentiles, those of a stream once.

    $ clipper info --min 0 --max 6 in.npy
    in.npy
      dtype     float32, little-endian
      shape     (6,), C order
      elements  6
      ...
      below 0   1 (16.7 %)
      above 6   1 (16.7 %)
      ...

The rows of the histogram are as wide as a power of two, and every row holds exactly the elements that it names. Lines mark
bounds that are numbers.

Find the bounds that clip the lowest and the highest 1 percent of the elements.

    $ clipper info --percentile 1,99 in.npy
    ...
      mean           1.85 of 5 finite elements
      std            3.85876
      median         0.25
      percentile 1   -3.36
      percentile 99  6.94
    ...

The exit status is 0 if every file and member could be read, otherwise the highest status of all.
)text";

const std::string_view kProfilesCommand = R"text(
PROFILES has the table and explains its columns.
)text";

}  // namespace clipper::manual_text
