#include "flows/selection.hpp"

#include <fmt/format.h>

#include "error.hpp"
#include "files/container.hpp"
#include "npy/header.hpp"

namespace clipper {
namespace {

std::string_view words_for(const TensorLayout& layout) {
  switch (layout.meaning.kind) {
    case Meaning::Kind::number: break;
    case Meaning::Kind::boolean: return "bool";
    case Meaning::Kind::datetime: return "dates, datetime64";
    case Meaning::Kind::timedelta: return "durations, timedelta64";
    case Meaning::Kind::complex: return "complex numbers";
  }
  return traits(layout.dtype).name;
}

}  // namespace

bool keeps_integers(const ClipSettings& settings) {
  return settings.request.to && !settings.selection.only && settings.selection.members.empty();
}

TypeChoice types_in_archives(const ClipSettings& settings) {
  if (!settings.selection.members.empty()) return TypeChoice::all();
  if (settings.selection.only) return *settings.selection.only;
  return keeps_integers(settings) ? TypeChoice::floats() : TypeChoice::numbers();
}

TypeChoice types_of_files(const ClipSettings& settings) {
  return settings.selection.only.value_or(TypeChoice::numbers());
}

std::string_view why_other(const ClipSettings& settings, const TypeChoice& types,
                           const TensorLayout& layout) {
  const Profile& profile = *settings.request.profile;
  const bool is_number = layout.meaning.kind == Meaning::Kind::number;
  const bool is_taken = is_number ? profile.dtypes.contains(layout.dtype) : profile.takes_dates;
  const bool is_given = is_number && settings.dtype.dtype == layout.dtype;
  if (!is_taken || !(is_given || types.contains(layout.dtype, layout.meaning))) return words_for(layout);
  const std::size_t rank = layout.shape.size();
  return rank < profile.min_rank || rank > profile.max_rank ? "number of dimensions" : "";
}

std::string_view why_other(const ClipSettings& settings, InputFile& input) {
  if (settings.ignore_trailing) input.ignore_trailing();
  const auto header = [&](const npy::GivenDType& dtype, npy::Types types) {
    return read_header(input, dtype, nullptr, std::nullopt, npy::Opaque::refused, types);
  };
  try {
    return why_other(settings, types_of_files(settings), header(settings.dtype, npy::Types::clipped));
  } catch (const Error& error) {
    const std::string_view type = refused_type(error);
    if (type.empty()) throw;
    static_cast<void>(header({}, npy::Types::all));  // throws if the file is not whole
    return type;
  }
}

std::string_view word_of_only(std::string_view reason) {
  for (const DTypeTraits& row : kDTypes)
    if (row.name == reason) return row.only_if_named ? row.name : is_floating(row.dtype) ? "float" : "int";
  return reason == "bool" ? reason : "";
}

MemberAction action_on_other(const ClipSettings& settings, const std::string& path, std::string_view reason) {
  switch (settings.selection.other) {
    case Selection::Other::copy: return MemberAction::copied;
    case Selection::Other::drop: return MemberAction::dropped;
    case Selection::Other::error: break;
  }
  throw Error(ErrorKind::input, path + fmt::format(": would not be clipped ({}), which ", reason) +
                                    Term{"other", "the choice of members forbids"});
}

}  // namespace clipper
