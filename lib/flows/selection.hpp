#pragma once

#include <string>
#include <string_view>

#include "element/tensor_layout.hpp"
#include "element/type_choice.hpp"
#include "files/input_file.hpp"
#include "flows/clipping.hpp"

/// Which tensors are clipped: a file or a member that the user names, and otherwise those that
/// Selection::only has. Without it these are all numbers that the profile takes; with Request::to in archives
/// only floats, because integers there are indices and counts, which another dtype would change. All others
/// are "other", if they are valid: what is damaged or unknown is an Error{input}.
namespace clipper {

/// Whether members of archives are other because Request::to would change what they mean.
[[nodiscard]] bool keeps_integers(const ClipSettings& settings);

/// The types that are clipped in an archive, or among files that nobody named.
[[nodiscard]] TypeChoice types_in_archives(const ClipSettings& settings);
[[nodiscard]] TypeChoice types_of_files(const ClipSettings& settings);

/// Why such a tensor is not clipped: "int64", "bool", "number of dimensions"; empty if it is.
[[nodiscard]] std::string_view why_other(const ClipSettings& settings, const TypeChoice& types,
                                         const TensorLayout& layout);

/// The same for a regular file that is no archive and that nobody named; also "Python objects", "structured".
/// Error{input} for a file that is damaged or no .npy file.
[[nodiscard]] std::string_view why_other(const ClipSettings& settings, InputFile& input);

/// The word of Selection::only for the type that why_other() says: "int"; empty for types that are never
/// clipped.
[[nodiscard]] std::string_view word_of_only(std::string_view reason);

/// What is done to another member or file. Error{input} if the selection forbids it.
[[nodiscard]] MemberAction action_on_other(const ClipSettings& settings, const std::string& path,
                                           std::string_view reason);

}  // namespace clipper
