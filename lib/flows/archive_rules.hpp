#pragma once

#include <string>

#include "error.hpp"
#include "files/input_file.hpp"
#include "flows/clipping.hpp"

/// What can be done with .npz archives and their members, and what cannot.
namespace clipper {

/// Whether the input is an archive. Error{usage} if members were chosen and it is none.
[[nodiscard]] bool is_archive_for(const ClipSettings& settings, const InputFile& input);

/// Error{usage} if the input is an archive, which `what` does not take, but a member of it.
void expect_tensor(const InputFile& input, const Term& what);

/// Error{usage} if the input is an archive, which cannot be changed without a second file, or if members were
/// chosen.
void expect_no_direct_archive(const ClipSettings& settings, const InputFile& input);

/// Error{usage} if the result would be an archive in OUT.npy or in a stream, or a tensor in OUT.npz; also if
/// `out` is FILE:MEMBER. Error{refused} if a member would replace its archive.
/// For a tensor call this after its plan is made: if the input is damaged, another name would not help.
void check_output_name(const InputFile& input, bool is_archive, const std::string& out);

}  // namespace clipper
