#include "npz/zip_records.hpp"

#include <fmt/format.h>

#include <cstddef>

#include "npz/archive.hpp"

namespace clipper::npz {
namespace {

/// Removes the first field and returns it. Nothing after the last one.
std::optional<std::string_view> take_field(std::string_view& extras) {
  if (extras.size() < kExtraPreamble) {
    // Programs that align the data pad extra fields with zeros.
    if (extras.find_first_not_of('\0') != std::string_view::npos) refuse("its extra fields are malformed");
    return std::nullopt;
  }
  const std::size_t length = kExtraPreamble + get(extras, Field16{2});
  if (length > extras.size()) refuse("its extra fields are malformed");
  const std::string_view field = extras.substr(0, length);
  extras.remove_prefix(length);
  return field;
}

}  // namespace

std::optional<std::string_view> extra_field(std::string_view extras, std::uint16_t id) {
  std::optional<std::string_view> found;
  while (const std::optional<std::string_view> field = take_field(extras)) {
    if (get(*field, Field16{0}) != id) continue;
    if (found) refuse(fmt::format("it has two extra fields {:#06x}", id));
    found = field->substr(kExtraPreamble);
  }
  return found;
}

std::size_t count_extra_fields(std::string_view extras) {
  std::size_t count = 0;
  while (take_field(extras)) ++count;
  return count;
}

void take_zip64(std::string_view extras, std::initializer_list<std::uint64_t*> numbers, bool may_have_all) {
  const std::optional<std::string_view> field = extra_field(extras, kZip64);
  std::string_view rest = field.value_or("");
  const bool has_all = may_have_all && rest.size() == numbers.size() * sizeof(std::uint64_t);
  for (std::uint64_t* const number : numbers) {
    const bool is_in_field = *number == kInZip64;
    if (!is_in_field && !has_all) continue;
    if (rest.size() < sizeof(std::uint64_t)) refuse("its ZIP64 field is too short");
    const std::uint64_t value = get(rest, Field64{0});
    if (!is_in_field && value != *number) refuse("its ZIP64 field disagrees with its other fields");
    *number = value;
    rest.remove_prefix(sizeof(std::uint64_t));
  }
  if (!rest.empty()) refuse("its ZIP64 field is too long");
}

void check_unicode_path(std::string_view extras, std::string_view name) {
  constexpr std::size_t kPreamble = 5;  // a version and the CRC-32 of the name
  const std::optional<std::string_view> field = extra_field(extras, kUnicodePath);
  if (field && (field->size() < kPreamble || field->substr(kPreamble) != name || !is_utf8_text(name)))
    refuse("its extra field 0x7075 gives it another name");
}

}  // namespace clipper::npz
