#pragma once

#include <string>

#include "files/descriptor.hpp"
#include "files/input_file.hpp"

/// What a replacement keeps from the file that it replaces. The permission bits are not included: the caller
/// sets them as the last step.
namespace clipper {

/// Gives `replacement` the POSIX access control list (ACL) of the file at `path`, or removes the ACL that it
/// inherited from its directory. Otherwise the old ACL's mask would become the permissions of the group.
/// Returns false, with errno, on failure.
[[nodiscard]] bool keep_access_list(const std::string& path, const Descriptor& replacement);

/// Gives `replacement` the owner, ACL, `user.` attributes and SELinux label of `input`. Error{refused} if the
/// user or the file system cannot keep one of them; Error{io} for any other failure, such as a full quota.
void keep_attributes(const InputFile& input, const Descriptor& replacement);

}  // namespace clipper
