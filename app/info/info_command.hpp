#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "command_line/input_names.hpp"
#include "command_line/shared_options.hpp"
#include "console/diagnostics.hpp"
#include "console/terminal.hpp"
#include "contract/plan.hpp"
#include "element/dtype.hpp"
#include "engine/engine.hpp"
#include "formats/container.hpp"
#include "formats/formats.hpp"
#include "npy/header.hpp"
#include "statistics/figure.hpp"
#include "statistics/statistics.hpp"

namespace clipper {

class RawOptions;

/// A parsed command line of `clipper info`, not yet compared with any file.
struct InfoCommand {
  std::vector<std::string> inputs;
  std::set<std::string> named;  ///< inputs that may be pipes, because they were not found below a directory
  TensorWalk walk;
  TensorChoice choice;
  Reading reading;
  bool statistics = false;
  bool json = false;
  Request bounds;
  std::vector<Number> percentages;  ///< of --percentile, in the order given

  std::vector<Parameter> values;  ///< of --value: expressions

  /// Whether each tensor's statistics are not those of all its elements alone.
  [[nodiscard]] bool is_divided() const { return !bounds.per_axis.empty() || bounds.pooled; }

  std::optional<std::string> svg;  ///< of --histogram-svg
  std::optional<Table::Format> table;
  std::size_t bins = Histogram::kMaxRows;
  Engine::Options engine;
  Progress::When progress = Progress::When::never;  ///< never without statistics: headers are read at once
};

[[nodiscard]] int show_info(const RawOptions& raw);  ///< as CommandSpec::run

/// Throws Error{usage} if options contradict each other or a value is invalid.
[[nodiscard]] InfoCommand validate_info(const RawOptions& raw);

/// The begin of a row of the histogram, or the end of the last one: a number, a date or a flag.
[[nodiscard]] std::string edge_text(DType dtype, const LogicalType& meaning, const Histogram& histogram,
                                    std::size_t row);

/// The histogram as lines of ASCII: range, count, share and bar of each row, at most `width` columns wide if
/// that leaves room for a bar. Colored lines mark bounds that are numbers: the rows between them lie within
/// the bounds.
/// The histogram must have rows.
[[nodiscard]] std::string histogram_text(const ElementStatistics& statistics, const LogicalType& meaning,
                                         const std::optional<Limit>& min, const std::optional<Limit>& max,
                                         std::size_t width, const Paint& paint);

struct TensorInfo;

/// The histogram as an SVG picture, from edge to edge of its rows: lines mark bounds that are numbers, and
/// the parts of bars beyond them have another color. The tensor must have statistics.
[[nodiscard]] std::string histogram_svg(const TensorInfo& tensor);

struct Percentile {
  Number percentage;
  std::optional<Scalar> value;  ///< nothing if all elements are NaN
};

struct FoundValue {
  std::string expression;
  std::optional<Figure> value{};  ///< nothing if all elements are NaN
};

/// What info prints about one file, or about one member of an archive.
struct TensorInfo {
  std::string input;              ///< path as given
  std::string path;               ///< for people: "standard input", "a.npz:w"
  const Entry* member = nullptr;  ///< of an archive
  std::string_view other;         ///< what the member is if it has no header that numpy reads: "not .npy"
  npy::Header header;             ///< not with `other`
  bool has_npy_header = true;
  std::uint64_t header_bytes = 0;
  int version_major = 1;  ///< of the .npy format
  int version_minor = 0;
  std::optional<ElementStatistics> statistics;
  bool is_file = true;           ///< not a stream, which can be read only once: it has no percentiles
  std::optional<Scalar> median;  ///< nothing if all elements are NaN
  std::vector<Percentile> percentiles;
  std::vector<FoundValue> values;
  std::optional<Limit> min;  ///< --min, whose violations are counted
  std::optional<Limit> max;
  std::optional<std::size_t>
      total;  ///< with --total: the number of tensors, of which `header` is the first's
  std::vector<std::optional<std::int64_t>>
      index;                            ///< with --per-axis: of these elements; nothing for other axes
  std::uint64_t count = 0;              ///< of elements, with `total` or `index`
  std::optional<std::uint64_t> nodata;  ///< the elements that --nodata names, which no statistic has
};

/// Text for people: the path, one line per fact, and a histogram of `width` columns if there are statistics.
[[nodiscard]] std::string as_text(const TensorInfo& tensor, std::size_t width, const Paint& paint);

/// The table for the members of an archive, without rows, and the row of a member that np.load calls `key`.
[[nodiscard]] Table member_table();
[[nodiscard]] Table::Row as_row(const TensorInfo& tensor, std::string_view key);

/// The table for several tensors, without rows, and the row of a tensor, or of a member that is none. After
/// the shape are the facts of as_text() that have, or begin with, these names, or the size if there are none.
[[nodiscard]] Table tensor_table(const std::vector<std::string>& facts, Table::Format format);
[[nodiscard]] Table::Row as_row(const TensorInfo& tensor, const std::vector<std::string>& facts);

/// One line: the object `info` of clipper.schema.json, for a file or a member, or for the failure of a
/// file or, unless it is null, of a member.
[[nodiscard]] std::string as_json(const TensorInfo& tensor);
[[nodiscard]] std::string as_json(const std::string& input, const Entry* member, const Failure& failure);

/// The same for an archive without members.
[[nodiscard]] std::string empty_archive_json(const std::string& input);

}  // namespace clipper
