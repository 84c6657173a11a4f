#pragma once

#include <string>
#include <string_view>

#include "safetensors/header.hpp"

/// The steps of parse() and format() that know JSON, by nlohmann-json.
namespace clipper::safetensors {

inline constexpr std::string_view kMetadata = "__metadata__";

/// The row of the type with this name. Null if there is none.
[[nodiscard]] const Type* type_named(std::string_view name);

/// Throws Error{input} about a tensor.
[[noreturn]] void refuse_tensor(std::string_view name, std::string_view why);

/// Reads the fields of all tensors, in the header's order. Error{input} for what is not JSON, not such a
/// header, or has a field twice; nothing else is checked.
void read_json(std::string_view text, Header& header);

/// The text as a string of JSON.
[[nodiscard]] std::string quoted(const std::string& text);

}  // namespace clipper::safetensors
