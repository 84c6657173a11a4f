#include "console/table.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace clipper {
namespace {

/// Longer cells do not widen their column.
constexpr std::size_t kWidestColumn = 50;

/// How many columns of a terminal the text takes: fmt pads to columns, of which a character takes 1 or 2.
std::size_t columns_of(const std::string& text) {
  return 2 * text.size() - fmt::format("{:{}}", text, text.size()).size();
}

}  // namespace

std::string csv_field(std::string_view text) {
  if (text.find_first_of(",\"\r\n") == text.npos) return std::string(text);
  std::string field = "\"";
  for (const char c : text) field.append(c == '"' ? 2 : 1, c);
  return field + '"';
}

Table::Table(std::vector<Column> columns, Format format) : columns_(std::move(columns)), format_(format) {
  Row headings;
  for (const Column& column : columns_) {
    std::string& heading = headings.emplace_back(column.heading);
    if (format == Format::text)
      std::ranges::transform(heading, heading.begin(),
                             [](char c) { return 'a' <= c && c <= 'z' ? c - 'a' + 'A' : c; });
  }
  widths_.resize(columns_.size());
  add(headings);
}

void Table::add(const Row& row) {
  std::string line;
  for (std::size_t i = 0; i < row.size(); ++i) {
    widths_[i] = std::max(widths_[i], std::min(columns_of(row[i]), kWidestColumn));
    line.append(row[i]) += '\t';
  }
  rows_.add(line);
}

void Table::append_line(std::string_view row, std::string& text) const {
  for (std::size_t i = 0; !row.empty(); ++i) {
    const std::string_view cell = row.substr(0, row.find('\t'));
    row.remove_prefix(cell.size() + 1);
    if (format_ == Format::csv) {
      text += (i == 0 ? "" : ",") + (cell == "-" ? "" : csv_field(cell));
      continue;
    }
    const bool is_right = columns_[i].align == Align::right;
    text += is_right ? fmt::format("{:>{}}", cell, widths_[i]) : fmt::format("{:{}}", cell, widths_[i]);
    text += "  ";
  }
  text.erase(text.find_last_not_of(' ') + 1);
  text += '\n';
}

void Table::print(std::string_view indent, const std::function<void(const std::string&)>& print) {
  constexpr std::size_t kPart = 65536;
  std::string part;
  rows_.for_each([&](std::string_view row) {
    part += indent;
    append_line(row, part);
    if (part.size() < kPart) return;
    print(part);
    part.clear();
  });
  if (!part.empty()) print(part);
  rows_ = {};
}

std::string Table::text() {
  std::string text;
  print("", [&](const std::string& part) { text += part; });
  return text;
}

}  // namespace clipper
