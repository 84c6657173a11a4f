#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "console/line_blocks.hpp"

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
  void add(const Row& row);

  /// Calls `print` with parts of the text, in order: a line with the headings, and a line for each row, all
  /// of which begin with `indent`.
  void print(std::string_view indent, const std::function<void(const std::string&)>& print) const;

  /// The whole text.
  [[nodiscard]] std::string text() const;

 private:
  void append_line(std::string_view row, std::string& text) const;

  std::vector<Column> columns_;
  std::vector<std::size_t> widths_;
  LineBlocks rows_;  ///< cells, a tab after each
};

}  // namespace clipper
