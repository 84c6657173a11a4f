#include "flows/member_uses.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <string>

#include "error.hpp"
#include "files/container.hpp"
#include "flows/file_clip.hpp"
#include "flows/percentile_bounds.hpp"
#include "flows/selection.hpp"

namespace clipper {
namespace {

/// For each member whether it was chosen by its name; empty if none was.
std::vector<bool> chosen_members(const Selection& selection, const Container& archive) {
  if (selection.members.empty()) return {};
  std::vector<bool> chosen(archive.entries().size());
  for (const std::string& name : selection.members)
    chosen[static_cast<std::size_t>(&archive.named(name) - archive.entries().data())] = true;
  return chosen;
}

/// The use of a member that may be clipped. `is_chosen`: by its name.
MemberUse use_of(const ClipSettings& settings, const TypeChoice& types, const Container& archive,
                 const Entry& member, bool is_chosen) {
  const Trailing trailing = settings.ignore_trailing ? Trailing::ignored : Trailing::refused;
  const npy::Types read_types = types.has_meanings() ? npy::Types::clipped : npy::Types::dtypes;
  const EntryHeader read =
      archive.header(member, is_chosen ? settings.dtype : settings.dtype.dtype, trailing, read_types);
  if (!read.header) return {.action = MemberAction::copied, .reason = read.other};
  const std::string_view reason = why_other(settings, types, *read.header);
  if (!reason.empty()) return {.action = MemberAction::copied, .reason = reason};
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

}  // namespace

std::vector<MemberUse> member_uses(const ClipSettings& settings, const Container& archive) {
  const std::vector<bool> chosen = chosen_members(settings.selection, archive);
  const TypeChoice types = types_in_archives(settings);
  const std::vector<Entry>& members = archive.entries();
  std::vector<MemberUse> uses(members.size(), {.action = MemberAction::copied, .reason = "not chosen"});
  for (std::size_t i = 0; i < members.size(); ++i) {
    MemberUse& use = uses[i];
    const bool may_be_clipped = chosen.empty() || chosen[i];
    if (may_be_clipped) use = use_of(settings, types, archive, members[i], !chosen.empty());
    use.member = &members[i];
    if (use.action == MemberAction::clipped) continue;
    if (!chosen.empty() && chosen[i]) refuse_chosen(settings, archive, members[i], use);
    use.action = action_on_other(settings, archive.path_of(members[i]), use.reason);
  }
  return uses;
}

bool has_clipped_member(const std::vector<MemberUse>& uses) {
  return std::ranges::any_of(uses, [](const MemberUse& use) { return use.action == MemberAction::clipped; });
}

void expect_clipped_member(const ClipSettings& settings, const Container& archive,
                           const std::vector<MemberUse>& uses) {
  if (uses.empty() || has_clipped_member(uses)) return;
  const std::string& path = archive.file().path();
  const auto refuse_first = [&](const MemberUse& use, std::string_view what, const Message& advice) {
    throw Error(ErrorKind::input, fmt::format("{}: no {} (the first, {}: {})", path, what,
                                              archive.path_of(*use.member), use.reason) +
                                      advice);
  };
  if (keeps_integers(settings))
    for (const bool any : {false, true})
      for (const MemberUse& use : uses)
        if (const std::string_view word = word_of_only(use.reason); word == "int" || (any && !word.empty()))
          refuse_first(use, "member to convert",
                       "; to convert it, add " + Message(Term{"only", "only="}) + std::string(word));
  refuse_first(uses.front(), "member can be clipped", "");
}

}  // namespace clipper
