#pragma once

#include "engine/clip_file.hpp"
#include "files/archive_file.hpp"
#include "files/input_file.hpp"
#include "files/output_file.hpp"

/// Clips the members of .npz archives. clip_file.hpp calls these functions if its input is an archive.
///
/// A member is clipped if it was chosen (MemberChoice::names) and is a tensor that the profile takes. All
/// other members are handled by MemberChoice::other. Error{input} for a member NAME.npy that is no .npy file,
/// for damaged contents, and if no member can be clipped although there are members. Error{usage} for a
/// chosen name that the archive lacks. Nothing is written then.
namespace clipper {

/// Throws the errors that are known from the members' headers. Returns the size of the elements to clip.
[[nodiscard]] std::uint64_t check_archive(const ClipSettings& settings, const InputFile& input);

/// Whether clip_archive() would change any byte of the contents. Error{input} and Error{different} as
/// clip_archive(). With `complete`, counts everything and notifies the observer of each member.
[[nodiscard]] bool scan_archive(const Clipping& clipping, const InputFile& input, bool complete);

/// Writes the archive with clipped members to `output`, which must be regular and which the caller commits.
/// Notifies the observer of each member.
void clip_archive(const Clipping& clipping, const InputFile& input, OutputFile& output, ClipResult& result);

}  // namespace clipper
