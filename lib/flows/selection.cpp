#include "flows/selection.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>

#include "contract/fields.hpp"
#include "contract/steps.hpp"
#include "files/place.hpp"
#include "flows/figure_requests.hpp"
#include "flows/file_clip.hpp"
#include "formats/formats.hpp"
#include "npy/dict.hpp"
#include "npy/header.hpp"
#include "npz/archive.hpp"
#include "os/os.hpp"

namespace clipper {
namespace {

[[noreturn]] void refuse_usage(const std::string& path, const Message& why) {
  throw Error(ErrorKind::usage, path + ": " + why);
}

bool is_stream(const std::string& out) {
  os::Status status{};
  return out == "-" ||
         (os::stat(out.c_str(), &status) == 0 && !S_ISREG(status.st_mode) && !S_ISDIR(status.st_mode));
}

std::string_view words_for(const TensorLayout& layout) {
  switch (layout.meaning.kind) {
    case LogicalType::Kind::number: break;
    case LogicalType::Kind::boolean: return "bool";
    case LogicalType::Kind::datetime: return "dates, datetime64";
    case LogicalType::Kind::timedelta: return "durations, timedelta64";
    case LogicalType::Kind::complex: return "complex numbers";
  }
  return traits(layout.dtype).name;
}

/// The types that are clipped in an archive, of members that nobody names.
TypeChoice types_in_archives(const ClipSettings& settings) {
  if (settings.selection.only) return *settings.selection.only;
  return keeps_integers(settings) ? TypeChoice::floats() : TypeChoice::numbers();
}

/// Why a tensor is not clipped: "int64", "bool", "number of dimensions"; empty if it is.
std::string_view why_other(const ClipSettings& settings, const TypeChoice& types,
                           const TensorLayout& layout) {
  bool is_number = layout.meaning.kind == LogicalType::Kind::number;
  const bool is_given = is_number && settings.reading.dtype == layout.dtype;
  bool is_taken = is_given || types.contains(layout.dtype, layout.meaning);
  bool has_rank = true;
  DType dtype = layout.dtype;
  for_each_stage(settings.request, [&](const Request& stage) {
    const Profile& profile = *stage.profile;
    is_taken = is_taken && (is_number ? profile.dtypes.contains(dtype) : profile.takes_dates);
    const std::size_t rank = layout.shape.size();
    has_rank = has_rank && rank >= profile.min_rank && rank <= profile.max_rank;
    is_number = is_number || stage.to;
    dtype = stage.to.value_or(dtype);
  });
  if (!is_taken) return words_for(layout);
  return has_rank ? "" : "number of dimensions";
}

/// Error{usage} for integers that nobody named and of which the request makes fractions. To round them would
/// round the floats beside them, too: it is not the first advice.
void expect_rounding_of_others(const ClipSettings& settings, const std::string& path, DType dtype) {
  const Message advice =
      Term{"only", "only=", Says::setting} + Message("float leaves integers as they are; otherwise add ");
  if (!settings.selection.only) with_path(path, [&] { expect_rounding(settings.request, dtype, advice); });
}

/// The word of Selection::only for the type that why_other() says: "int"; empty for types that are never
/// clipped.
std::string_view word_of_only(std::string_view reason) {
  for (const DTypeTraits& row : kDTypes)
    if (row.name == reason) return row.only_if_named ? row.name : is_floating(row.dtype) ? "float" : "int";
  return reason == "bool" ? reason : "";
}

/// The use of a member that may be clipped. `is_named`: chosen by its name.
MemberUse use_of(const ClipSettings& settings, const TypeChoice& types, const Container& archive,
                 const Entry& member, bool is_named) {
  const npy::Types read_types = types.has_meanings() ? npy::Types::clipped : npy::Types::dtypes;
  const EntryHeader read = archive.header(member,
                                          is_named ? static_cast<const npy::GivenDType&>(settings.reading)
                                                   : npy::GivenDType{settings.reading.dtype},
                                          read_types);
  if (!read.header) return {.action = MemberAction::copied, .reason = read.other};
  const std::string_view reason = why_other(settings, types, *read.header);
  if (!reason.empty()) return {.action = MemberAction::copied, .reason = reason};
  if (!is_named) expect_rounding_of_others(settings, archive.path_of(member), read.header->dtype);
  const std::string path = archive.path_of(member);
  std::optional<Request> own;
  const Plan plan =
      with_path(path, [&] { return plan_before_reading(settings.request_for(path, own), *read.header); });
  const auto to = plan.output.dtype == plan.input.dtype ? std::nullopt : std::optional(plan.output.dtype);
  expect_byte_order(archive.format(), plan, archive.file().path());
  if (to && !archive.format().has_dtype(*to))
    throw Error(ErrorKind::usage, fmt::format("{}: {} has no {}", archive.file().path(),
                                              archive.format().name, traits(*to).name));
  return {MemberAction::clipped, "", plan.input_size(), plan.output_size(), to};
}

/// Throws the error that a file with the contents of a named member causes.
[[noreturn]] void refuse_named(const ClipSettings& settings, const Container& archive, const Entry& member,
                               const MemberUse& use) {
  InputFile input = archive.open(member);
  static_cast<void>(plan_header(settings, input, plan_before_reading));
  throw Error(ErrorKind::input, fmt::format("{}: cannot be clipped ({})", input.path(), use.reason));
}

}  // namespace

void expect_byte_order(const Format& format, const Plan& plan, const std::string& path) {
  if (format.little_endian && plan.changes_order() && plan.output.order == ByteOrder::big)
    throw Error(ErrorKind::usage, fmt::format("{}: {} has only little-endian elements", path, format.name));
}

bool has_other_order(const Request& request, const TensorLayout& result) {
  std::optional<ByteOrder> order;
  for_each_stage(request, [&](const Request& stage) {
    if (stage.to)
      order = traits(*stage.to).size == 1 ? std::nullopt : stage.to->order ? stage.to->order : order;
  });
  return order.value_or(result.order) != result.order;
}

bool keeps_integers(const ClipSettings& settings) {
  return has_cast(settings.request) && !settings.selection.only;
}

std::string_view why_other(const ClipSettings& settings, InputFile& input, std::optional<ReadHeader>* read) {
  try {
    ReadHeader own = header_of(settings, input);
    const npy::Header& found = own.header;
    const std::string_view reason =
        why_other(settings, settings.selection.only.value_or(TypeChoice::numbers()), found);
    if (settings.selection.members.has_patterns()) return kNotChosen;
    if (!reason.empty()) return reason;
    expect_rounding_of_others(settings, input.path(), found.dtype);
    if (read != nullptr) *read = std::move(own);
    return "";
  } catch (const Error& error) {
    const std::string_view type = refused_type(error);
    if (type.empty()) throw;
    static_cast<void>(read_header(input, {}, nullptr, std::nullopt, npy::Opaque::refused,
                                  npy::Types::all));  // throws if the file is not whole
    return type;
  }
}

MemberAction action_on_other(const ClipSettings& settings, const std::string& path, std::string_view reason) {
  switch (settings.selection.other) {
    case Selection::Other::copy: return MemberAction::copied;
    case Selection::Other::drop: return MemberAction::dropped;
    case Selection::Other::error: break;
  }
  throw Error(ErrorKind::input, path + fmt::format(": would not be clipped ({}), which ", reason) +
                                    Term{"unclipped", "unclipped=", Says::setting} + "error forbids");
}

std::vector<MemberUse> member_uses(const ClipSettings& settings, const Container& archive) {
  using How = NameChoice::How;
  const std::vector<How> chosen = settings.selection.members.of(archive);
  const TypeChoice types = types_in_archives(settings);
  const std::vector<Entry>& members = archive.entries();
  std::vector<MemberUse> uses(members.size(), {.action = MemberAction::copied, .reason = kNotChosen});
  for (std::size_t i = 0; i < members.size(); ++i) {
    MemberUse& use = uses[i];
    const bool is_named = chosen[i] == How::by_name;
    if (chosen[i] != How::not_chosen)
      use = use_of(settings, is_named ? TypeChoice::all() : types, archive, members[i], is_named);
    use.member = &members[i];
    if (use.action == MemberAction::clipped) continue;
    if (is_named) refuse_named(settings, archive, members[i], use);
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
  const auto is_not_chosen = [](const MemberUse& use) { return use.reason == kNotChosen; };
  if (settings.selection.members.is_for_many() && std::ranges::all_of(uses, is_not_chosen)) return;
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
          refuse_first(
              use, "member to convert",
              "; to convert it, add " + Message(Term{"only", "only=", Says::setting}) + std::string(word));
  refuse_first(uses.front(), "member can be clipped", "");
}

void expect_archive(const ClipSettings& settings, const InputFile& input, const Format* archive,
                    bool is_named) {
  const NameChoice& members = settings.selection.members;
  if (archive == nullptr && is_named && members.needs_archive())
    refuse_usage(input.path(), members.term() + Message(" needs an archive"));
}

void expect_tensor(const InputFile& input, const Term& what) {
  if (is_archive(input))
    refuse_usage(input.path(),
                 Term(what) + fmt::format(" takes one tensor, not an archive; name a tensor in it: {}:NAME",
                                          npy::name_for_commands(input.path())));
}

void check_output_name(const InputFile& input, const Format* archive, const std::string& out, bool to_raw) {
  if (member_path(out)) refuse_usage(out, "a member cannot be written; write a file, or clip the archive");
  if (archive != nullptr && is_stream(out))
    refuse_usage(input.path(), "an archive cannot be written to a stream; write to a file");
  const Format* const named = format_named(out);
  if (named != nullptr && (archive != nullptr ? named != archive : named->has_entries()))
    refuse_usage(out, fmt::format("{} is {}, so the result needs a name like OUT{}", input.path(),
                                  archive != nullptr ? archive->name : "not an archive",
                                  archive != nullptr ? archive->suffix() : ".npy"));
  expect_written_kind(input, out, to_raw, is_stream);
  if (input.is_member() && find_file(out) == id_of(input.status()))
    refuse(input.path(), fmt::format("refused to avoid data loss: {} is its archive", out));
}

}  // namespace clipper
