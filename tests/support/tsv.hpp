#pragma once

#include "element/dtype.hpp"
#include "support/catch.hpp"
#include "support/paths.hpp"

/// Reads the tables in data/.
namespace clipper::tsv {

/// The dtypes that have goldens: all but those that are found only by their name, which come last.
inline constexpr std::span kGoldenDTypes = std::span(kDTypes).first(
    static_cast<std::size_t>(std::ranges::count(kDTypes, false, &DTypeTraits::only_if_named)));

/// The parts of a text between separators; an empty text has no parts.
inline std::vector<std::string> split(std::string_view text, char separator) {
  std::vector<std::string> parts;
  while (!text.empty()) {
    const std::size_t end = text.find(separator);
    parts.emplace_back(text.substr(0, end));
    if (end == std::string_view::npos) break;
    text.remove_prefix(end + 1);
    if (text.empty()) parts.emplace_back();
  }
  return parts;
}

/// The rows of data/`name` without the heading. Each row must have as many fields as the heading.
inline std::vector<std::vector<std::string>> read(const std::string& name) {
  std::ifstream file(testing::source_path("data/" + name));
  std::vector<std::vector<std::string>> rows;
  for (std::string line; std::getline(file, line);) rows.push_back(split(line, '\t'));
  INFO(name);
  REQUIRE_FALSE(rows.empty());
  for (const auto& row : rows) REQUIRE(row.size() == rows.front().size());
  rows.erase(rows.begin());
  return rows;
}

/// "504b" -> "PK".
inline std::string from_hex(std::string_view hex) {
  std::string bytes;
  for (std::size_t i = 0; i < hex.size(); i += 2)
    bytes += static_cast<char>(std::stoi(std::string(hex.substr(i, 2)), nullptr, 16));
  return bytes;
}

/// "3,4" -> {3, 4}; "" -> {}, the shape of a 0-d tensor.
inline std::vector<std::int64_t> shape(std::string_view field) {
  std::vector<std::int64_t> dimensions;
  for (const std::string& dimension : split(field, ',')) dimensions.push_back(std::stoll(dimension));
  return dimensions;
}

}  // namespace clipper::tsv
