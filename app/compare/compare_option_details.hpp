#pragma once

#include <string_view>

/// What the manual says about each option in compare_options.cpp, in the markup of generate/troff.hpp.
namespace clipper::compare_details {

inline constexpr std::string_view kActual =
    "The tensor that is checked, an .npz archive, or a directory. With two directories, every .npy and .npz "
    "file below one is compared with the file of the same path below the other; a file without a partner is "
    "a difference. With two archives, the members of the same name are compared, in any order, stored or "
    "deflated; members that are no tensors that clipper reads are compared byte by byte. ARCHIVE.npz:NAME is "
    "one tensor of an archive.";

inline constexpr std::string_view kExpected =
    "The tensor, archive or directory that ACTUAL should be equal to. One of the two files may be `-`, "
    "standard input.";

inline constexpr std::string_view kRtol =
    "R is a finite number from 0. An element may differ by R times the absolute value of the expected "
    "element, plus A of `--atol`. For example `--rtol 1e-5 --atol 1e-8` is the tolerance of numpy.allclose. "
    "Excludes `--bits` and `--bytes`.";

inline constexpr std::string_view kAtol =
    "A is a finite number from 0. An element may differ by A, plus R of `--rtol` times the absolute value of "
    "the expected element. Excludes `--bits` and `--bytes`.";

inline constexpr std::string_view kUlp =
    "An element also matches if at most N - 1 values of its dtype lie between it and the expected one. "
    "`--ulp 1` accepts the next larger and the next smaller value. It has no effect on integers, and works "
    "besides `--rtol` and `--atol`: an element that satisfies one of them matches. Excludes `--bits` and "
    "`--bytes`.";

inline constexpr std::string_view kNan =
    "`equal`: NaN matches NaN, whatever its bits, and nothing else. `differ`: NaN matches nothing, as in "
    "IEEE 754. Excludes `--bits` and `--bytes`.";

inline constexpr std::string_view kHeader =
    "`semantic`: dtype and shape must be equal, while byte order, memory order, the version of the format "
    "and the spelling of the header may differ. `strict`: the bytes of the headers must be equal, too.";

inline constexpr std::string_view kBits =
    "Elements match only if they have the same bits: 0 and -0 differ, and so do NaN with different payloads. "
    "Excludes the tolerances, `--nan` and `--bytes`.";

inline constexpr std::string_view kBytes =
    "Compare two files byte by byte, header included, as cmp(1) does, without reading them as tensors or "
    "archives. Excludes every other rule of matching, `--trailing` and `--diff-out`.";

inline constexpr std::string_view kDiffOut =
    "Write the absolute difference of every pair of elements to FILE, a tensor of the same shape: float32 "
    "for float16, bfloat16 and float32, float64 for float64, and the unsigned dtype of the same size for "
    "integers. dtype and shape of the two tensors must be equal. Not for directories and archives, but for "
    "their tensors.";

inline constexpr std::string_view kMaxMismatch =
    "Exit with 0 if at most N elements differ, or at most P percent (`--max-mismatch 0.1%`); nothing is "
    "rounded. The default is 0. With directories and archives each pair is judged by itself.";

inline constexpr std::string_view kShow =
    "After the line of a pair that differs, list its first N differing elements with their index, both "
    "values and their distance; at most 1000.";

inline constexpr std::string_view kDtype =
    "Read both tensors as DTYPE. Needed for bfloat16 that NumPy saved as |V2, a header that does not name "
    "the type.";

inline constexpr std::string_view kJson =
    "Print one JSON object in one line for every pair instead of text. JSON lists the members. Excludes "
    "`--quiet`.";

inline constexpr std::string_view kVerbose =
    "Print a line that begins with ok for every pair that matches, not only the lines that begin with FAIL.";

}  // namespace clipper::compare_details
