#pragma once

#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string_view>

/// The extra fields of a member: in its local header and in its entry of the list. Functions throw
/// Error{input} for fields that are malformed.
namespace clipper::npz {

/// The data of the extra field with an id, which is a part of `extras`. Error{input} if there are two.
[[nodiscard]] std::optional<std::string_view> extra_field(std::string_view extras, std::uint16_t id);

/// How many extra fields there are.
[[nodiscard]] std::size_t count_extra_fields(std::string_view extras);

/// Replaces each number that is in the ZIP64 field of `extras`. The field has these numbers or, if
/// `may_have_all`, all numbers.
void take_zip64(std::string_view extras, std::initializer_list<std::uint64_t*> numbers, bool may_have_all);

/// Error{input} if a field gives the member another name: programs of different ages take different ones.
void check_unicode_path(std::string_view extras, std::string_view name);

}  // namespace clipper::npz
