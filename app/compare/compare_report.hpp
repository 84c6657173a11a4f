#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "compare/compare_files.hpp"
#include "console/color.hpp"
#include "console/error_line.hpp"

namespace clipper {

/// What was compared: elements, their bits or all bytes of the files, which then are uint8 elements.
enum class Compared : std::uint8_t { values, bits, bytes };

/// What came of comparing two files.
struct PairReport : FileComparison {
  std::string actual;    ///< as given, or found below the directory that was given
  std::string expected;  ///< as given, or found below the directory that was given
  int status = 0;        ///< 0 or 1, which is ErrorKind::different
  Compared compared = Compared::values;
  std::vector<std::string> notes;  ///< of --verify: what notes_on() says of the plan
};

/// For people: a line that begins with "ok" or "FAIL" and the actual file, and below it the first mismatches,
/// at most `shown` of them. Differences are rounded up to two digits, so that what is said to be a
/// tolerance with which the files pass is one.
[[nodiscard]] std::string as_text(const PairReport& report, std::size_t shown, const Paint& paint);

/// One JSON object in a line. Elements and differences are text; bytes of a path that are not UTF-8 become
/// U+FFFD. Always:
///     version      of this schema: 1
///     actual       the path
///     expected     the path
///     status       0: same, or let pass; 1: different; or of a failure its exit status
///     error        of a failure only, which has nothing further: its message
///     notes        of --verify, if there are any: what else should be known, as lines
///     reason       of files that are different as a whole, which have nothing further: what is different
///     dtype        "float32"; of --bytes uint8
///     shape        [4, 6]; of --bytes [bytes]
///     compared     how many elements
///     mismatches   how many of them do not match
///     largest      {difference, index}: of all elements but NaN; null if none differ
///     passes_with  {atol, ulp}: either of these would let all mismatches pass, the other options being
///                  the same; null: none would, or it is no option for this. Null if there are none
///     first        the first mismatches: [{index, actual, expected, difference, ulp}]
///                  difference: null if one is NaN; ulp: null unless both are finite floats
[[nodiscard]] std::string as_json(const PairReport& report);
[[nodiscard]] std::string as_json(const PairReport& report, const Failure& failure);

}  // namespace clipper
