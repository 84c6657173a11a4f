#pragma once

#include "contract/profile.hpp"

/// The options that say what a clip does with elements.
namespace clipper {

class RawOptions;

/// The request, still without the numbers in files, which are read after all other options are validated.
/// Throws Error{usage} if a value is invalid.
[[nodiscard]] Request typed_request(const RawOptions& raw);

/// Adds the numbers in files. Throws what read_parameter() throws.
void read_number_files(const RawOptions& raw, Request& request);

/// Whether the request would change no element of any tensor.
[[nodiscard]] bool is_without_effect(const RawOptions& raw, const Request& request);

}  // namespace clipper
