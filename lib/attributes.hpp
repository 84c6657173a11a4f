#pragma once

#include "descriptor.hpp"
#include "input_file.hpp"

namespace clipper {

/// Gives the file that is going to replace `input` its owner, access control list, `user.` attributes and
/// security label; the permission bits are left to the caller, to be set last. Error{refused} for what cannot
/// be kept.
void keep_attributes(const InputFile& input, const Descriptor& replacement);

}  // namespace clipper
