#pragma once

#include <string>

#include "files/descriptor.hpp"
#include "files/input_file.hpp"

/// What a file in place of another keeps of it, besides its permission bits, which are the caller's to set,
/// last.
namespace clipper {

/// Gives the replacement the access control list of the file at `path`, or takes away the one that its
/// directory has given it. Without it, a list's mask would become permissions of the group. False, with
/// errno, if that fails.
[[nodiscard]] bool keep_access_list(const std::string& path, const Descriptor& replacement);

/// Gives the file that is going to replace `input` its owner, access control list, `user.` attributes and
/// security label. Error{refused} for what cannot be kept.
void keep_attributes(const InputFile& input, const Descriptor& replacement);

}  // namespace clipper
