#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "element/dtype.hpp"
#include "error.hpp"
#include "files/input_file.hpp"
#include "flows/clip_file.hpp"
#include "formats/container.hpp"

/// Which tensors are clipped: a file or a member that the user names, and otherwise those that
/// Selection::members and Selection::only have. Without it these are all numbers that the profile takes; with
/// Request::to in archives only floats, because integers there are indices and counts, which another dtype
/// would change. All others are "other", if they are valid: what is damaged or unknown is an Error{input}.
namespace clipper {

struct ReadHeader;  // file_clip.hpp

/// Why a member or file is other that the names of Selection::members leave out.
inline constexpr std::string_view kNotChosen = "not chosen";

/// Error{usage} if the result's byte order is one that the format lacks. `path` names the output.
void expect_byte_order(const Format& format, const Plan& plan, const std::string& path);

/// Whether elements of a result have another byte order than the request says.
[[nodiscard]] bool has_other_order(const Request& request, const TensorLayout& result);

/// Whether members of archives are other because Request::to would change what they mean.
[[nodiscard]] bool keeps_integers(const ClipSettings& settings);

/// Why a regular file that is no archive and that nobody named is not clipped: "int64", "bool", "structured",
/// "number of dimensions"; empty if it is: then `read` becomes its header. Error{input} for a file that is
/// damaged or no .npy file.
[[nodiscard]] std::string_view why_other(const ClipSettings& settings, InputFile& input,
                                         std::optional<ReadHeader>* read = nullptr);

/// What is done to another member or file. Error{input} if the selection forbids it.
[[nodiscard]] MemberAction action_on_other(const ClipSettings& settings, const std::string& path,
                                           std::string_view reason);

/// What is done to a member of an archive.
struct MemberUse {
  MemberAction action = MemberAction::clipped;
  std::string_view reason;  ///< why the member is not clipped: "bool", "not chosen"
  std::uint64_t size = 0;   ///< bytes of the elements to clip
  std::uint64_t clipped_size = 0;
  std::optional<DType> to{};      ///< the dtype of the clipped elements, if it is another one
  const Entry* member = nullptr;  ///< of the archive
};

/// Decides for all members, in the archive's order, from their headers and without their elements. Throws the
/// errors of planning and of NameChoice::of(). Error{input} for a member
/// that was chosen by its name and cannot be clipped and, if Selection::other says so, for every other member
/// that is not clipped.
[[nodiscard]] std::vector<MemberUse> member_uses(const ClipSettings& settings, const Container& archive);

[[nodiscard]] bool has_clipped_member(const std::vector<MemberUse>& uses);

/// Error{input} if no member is clipped although there are members. Of many archives, one may have none that
/// Selection::members chooses.
void expect_clipped_member(const ClipSettings& settings, const Container& archive,
                           const std::vector<MemberUse>& uses);

/// Error{usage} if members were chosen and the input, which was named, is no archive: `archive` is null.
void expect_archive(const ClipSettings& settings, const InputFile& input, const Format* archive,
                    bool is_named);

/// Error{usage} if the input is an archive, which `what` does not take, but a member of it.
void expect_tensor(const InputFile& input, const Term& what);

/// Error{usage} if the result would be an archive in OUT.npy or in a stream, or a tensor in OUT.npz; also if
/// `out` is FILE:MEMBER, and for a name of expect_written_kind(). Error{refused} if a member would replace
/// its archive. `archive` is the input's format. For a tensor call this after its plan is made: if the input
/// is damaged, another name would not help.
void check_output_name(const InputFile& input, const Format* archive, const std::string& out,
                       bool to_raw = false);

}  // namespace clipper
