#include "console/table.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace clipper {
namespace {

/// Longer cells do not widen their column.
constexpr std::size_t kWidestColumn = 40;

/// How many columns of a terminal the text takes: fmt pads to columns, of which a character takes 1 or 2.
std::size_t columns_of(const std::string& text) {
  return 2 * text.size() - fmt::formatted_size("{:{}}", text, text.size());
}

}  // namespace

Table::Table(std::vector<Column> columns) : columns_(std::move(columns)) {
  Row headings;
  for (const Column& column : columns_) headings.emplace_back(column.heading);
  widths_.resize(columns_.size());
  add(std::move(headings));
}

void Table::add(Row row) {
  for (std::size_t i = 0; i < row.size(); ++i)
    widths_[i] = std::max(widths_[i], std::min(columns_of(row[i]), kWidestColumn));
  rows_.push_back(std::move(row));
}

std::string Table::text(std::string_view indent) const {
  std::string text;
  for (const Row& row : rows_) {
    text += indent;
    for (std::size_t i = 0; i < row.size(); ++i) {
      const bool is_right = columns_[i].align == Align::right;
      text += is_right ? fmt::format("{:>{}}", row[i], widths_[i]) : fmt::format("{:{}}", row[i], widths_[i]);
      text += "  ";
    }
    text.erase(text.find_last_not_of(' ') + 1);
    text += '\n';
  }
  return text;
}

}  // namespace clipper
