#include "flows/member_uses.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <string>

#include "error.hpp"
#include "files/container.hpp"
#include "flows/file_clip.hpp"
#include "flows/percentile_bounds.hpp"

namespace clipper {
namespace {

/// For each member whether it was chosen; empty if all are.
std::vector<bool> chosen_members(const MemberChoice& choice, const Container& archive) {
  if (choice.names.empty()) return {};
  std::vector<bool> chosen(archive.entries().size());
  for (const std::string& name : choice.names)
    chosen[static_cast<std::size_t>(&archive.named(name) - archive.entries().data())] = true;
  return chosen;
}

/// Why the profile does not take such a tensor; empty if it does.
std::string_view refused_by(const Profile& profile, const TensorLayout& layout) {
  if (!profile.dtypes.contains(layout.dtype)) return traits(layout.dtype).name;
  const std::size_t rank = layout.shape.size();
  return rank < profile.min_rank || rank > profile.max_rank ? "number of dimensions" : "";
}

/// The use of a member that may be clipped. `is_named`: whether the user chose it by its name.
MemberUse use_of(const ClipSettings& settings, const Container& archive, const Entry& member, bool is_named) {
  const Trailing trailing = settings.ignore_trailing ? Trailing::ignored : Trailing::refused;
  const EntryHeader read = archive.header(member, is_named ? settings.dtype : settings.dtype.dtype, trailing,
                                          is_named ? settings.types : npy::Types::dtypes);
  if (!read.header) return {.action = MemberAction::copied, .reason = read.other};
  const std::string_view reason = refused_by(*settings.request.profile, *read.header);
  if (!reason.empty()) return {.action = MemberAction::copied, .reason = reason};
  const DTypeTraits& dtype = traits(read.header->dtype);
  if (dtype.only_if_named && !is_named && settings.dtype.dtype != dtype.dtype)
    return {.action = MemberAction::copied, .reason = dtype.name};
  const Plan plan =
      with_path(archive.path_of(member), [&] { return plan_before_reading(settings.request, *read.header); });
  const auto to = plan.output.dtype == plan.input.dtype ? std::nullopt : std::optional(plan.output.dtype);
  if (member.type != nullptr && to && safetensors::type_of(*to) == nullptr)
    throw Error(ErrorKind::usage, fmt::format("{}: a safetensors file has no {}", archive.file().path(),
                                              traits(plan.output.dtype).name));
  return {MemberAction::clipped, "", plan.input_size(), plan.output_size(), to};
}

/// Throws the error that a file with the contents of a chosen member causes.
[[noreturn]] void refuse_chosen(const ClipSettings& settings, const Container& archive, const Entry& member,
                                const MemberUse& use) {
  InputFile input = archive.open(member);
  static_cast<void>(plan_header(settings, input, plan_before_reading));
  throw Error(ErrorKind::input, fmt::format("{}: cannot be clipped ({})", input.path(), use.reason));
}

void expect_clipped_member(const Container& archive, const std::vector<MemberUse>& uses) {
  const auto is_clipped = [](const MemberUse& use) { return use.action == MemberAction::clipped; };
  if (uses.empty() || std::ranges::any_of(uses, is_clipped)) return;
  const std::string first = archive.path_of(archive.entries().front());
  throw Error(ErrorKind::input, fmt::format("{}: no member can be clipped (the first, {}: {})",
                                            archive.file().path(), first, uses.front().reason));
}

}  // namespace

std::vector<MemberUse> member_uses(const ClipSettings& settings, const Container& archive) {
  using Other = MemberChoice::Other;
  const std::vector<bool> chosen = chosen_members(settings.members, archive);
  const std::vector<Entry>& members = archive.entries();
  const Other other = settings.members.other;
  std::vector<MemberUse> uses(members.size(), {.action = MemberAction::copied, .reason = "not chosen"});
  for (std::size_t i = 0; i < members.size(); ++i) {
    MemberUse& use = uses[i];
    if (chosen.empty() || chosen[i]) use = use_of(settings, archive, members[i], !chosen.empty());
    use.member = &members[i];
    if (use.action == MemberAction::clipped) continue;
    if (!chosen.empty() && chosen[i]) refuse_chosen(settings, archive, members[i], use);
    if (other == Other::error)
      throw Error(ErrorKind::input, archive.path_of(members[i]) +
                                        fmt::format(": would not be clipped ({}), which ", use.reason) +
                                        Term{"other", "the choice of members forbids"});
    if (other == Other::drop) use.action = MemberAction::dropped;
  }
  expect_clipped_member(archive, uses);
  return uses;
}

}  // namespace clipper
