#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace clipper {

/// A table for people, whose columns are as wide on a terminal as their widest cells. The cells must not
/// contain control characters: see escape_for_terminal().
class Table {
 public:
  enum class Align : std::uint8_t { left, right };

  struct Column {
    std::string_view heading;
    Align align = Align::left;
  };

  using Row = std::vector<std::string>;

  explicit Table(std::vector<Column> columns);

  /// Adds a row, which has a cell for each column.
  void add(Row row);

  /// One line per row, after the line of headings. `indent` begins every line.
  [[nodiscard]] std::string text(std::string_view indent = "") const;

 private:
  std::vector<Column> columns_;
  std::vector<std::size_t> widths_;
  std::vector<Row> rows_;
};

}  // namespace clipper
