#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "clip/clip.hpp"
#include "command_line/command_line.hpp"
#include "command_line/command_spec.hpp"
#include "command_line/shared_options.hpp"
#include "console/diagnostics.hpp"
#include "console/json.hpp"
#include "console/terminal.hpp"
#include "contract/plan.hpp"
#include "contract/profile.hpp"
#include "element/element.hpp"
#include "element/tensor_layout.hpp"
#include "element/text.hpp"
#include "error.hpp"
#include "files/input_file.hpp"
#include "formats/formats.hpp"
#include "npy/header.hpp"
#include "simd/levels.hpp"

namespace clipper {
namespace {

/// What a profile makes of bounds for one tensor.
struct ProfileCheck {
  const Profile* profile;
  std::optional<Failure> refusal;  ///< without it the members below hold
  std::string min;                 ///< as converted: the dtype's limit if there is no bound
  std::string max;

  /// Where the result differs from that of profile clipper: kinds of elements ("NaN", "-0", "0", "inf",
  /// "-inf", "numbers"), or why profile clipper refuses the bounds ("min > max", "NaN as a bound", "bounds").
  std::vector<std::string_view> differs;

  /// For which of these elements and bounds the system contradicts itself or specifies nothing: "NaN", "NaN
  /// as a bound", "zeros", "subnormals".
  std::vector<std::string_view> unspecified;
};

/// The kind of an element, for people.
std::string_view kind_of(DType dtype, ElementBits element) {
  const Number number = number_of(dtype, element);
  if (!is_floating(dtype)) return "numbers";
  if (number.kind == Number::Kind::nan) return "NaN";
  if (number.kind == Number::Kind::infinite) return number.negative ? "-inf" : "inf";
  if (number.digits.empty()) return number.negative ? "-0" : "0";
  return "numbers";
}

/// Elements of all kinds: NaNs with either sign, quiet and signalling, the limits, and the bounds with their
/// neighbours.
std::vector<ElementBits> samples_of(DType dtype, const std::vector<ElementBits>& bounds) {
  std::vector<ElementBits> samples{
      0, 1, lowest_element(dtype), highest_element(dtype), lowest_finite(dtype), highest_finite(dtype)};
  if (is_floating(dtype)) {
    const ElementBits sign = lowest_element(dtype) ^ highest_element(dtype);
    for (const ElementBits nan : {canonical_nan(dtype), canonical_nan(dtype) + 1, highest_element(dtype) + 1})
      samples.insert(samples.end(), {nan, nan | sign});
    samples.push_back(sign);
  }
  for (const ElementBits bound : bounds) samples.insert(samples.end(), {bound - 1, bound, bound + 1});
  return samples;
}

/// The bits of the samples after the plan's operation.
std::vector<ElementBits> clipped(const Plan& plan, const std::vector<ElementBits>& samples) {
  return with_type(plan.operation.dtype, [&]<class T>() {
    std::vector<T> elements;
    for (const ElementBits bits : samples) elements.push_back(from_bits<T>(bits));
    auto* const bytes = reinterpret_cast<std::byte*>(elements.data());
    clip(plan.operation, bytes, bytes, elements.size(), simd_levels().back());
    std::vector<ElementBits> result;
    for (const T element : elements) result.push_back(to_bits(element));
    return result;
  });
}

bool is_nan(const std::optional<Parameter>& bound) {
  return bound && bound->number.kind == Number::Kind::nan;
}

/// What the system leaves open for the plan: zeros only if a bound is zero.
std::vector<std::string_view> unspecified(const Profile& profile, const Request& bounds, const Plan& plan) {
  const DType dtype = plan.operation.dtype;
  const Profile::Unspecified& open = profile.unspecified;
  const bool has_zero = number_of(dtype, plan.min) == Number(0) || number_of(dtype, plan.max) == Number(0);
  std::vector<std::string_view> result;
  if (open.nan_element.contains(dtype)) result.push_back("NaN");
  if (open.nan_bound.contains(dtype) && (is_nan(bounds.min) || is_nan(bounds.max)))
    result.push_back("NaN as a bound");
  if (open.zero_tie.contains(dtype) && has_zero) result.push_back("zeros");
  if (open.subnormals.contains(dtype)) result.push_back("subnormals");
  return result;
}

/// Why profile clipper refuses bounds that another profile takes.
std::string_view refused_by_own(const Request& bounds) {
  if (is_nan(bounds.min) || is_nan(bounds.max)) return "NaN as a bound";
  return bounds.min && bounds.max && bounds.min->number > bounds.max->number ? "min > max" : "bounds";
}

std::vector<std::string_view> differences(const Plan& plan, const Plan& own) {
  const DType dtype = plan.operation.dtype;
  const std::vector<ElementBits> samples =
      samples_of(dtype, {plan.min, plan.max, own.min, own.max, plan.operation.lo, plan.operation.hi});
  const std::vector<ElementBits> ours = clipped(own, samples);
  const std::vector<ElementBits> theirs = clipped(plan, samples);
  std::vector<std::string_view> kinds;
  for (const std::string_view kind : {"NaN", "-0", "0", "-inf", "inf", "numbers"})
    for (std::size_t i = 0; i < samples.size(); ++i)
      if (ours[i] != theirs[i] && kind_of(dtype, samples[i]) == kind &&
          std::ranges::find(kinds, kind) == kinds.end())
        kinds.push_back(kind);
  return kinds;
}

std::optional<Plan> plan_for(const Profile& profile, Request bounds, const TensorLayout& layout,
                             std::optional<Failure>& refusal) {
  bounds.profile = &profile;
  try {
    return make_plan(bounds, layout);
  } catch (const Error&) {
    refusal = explained(std::current_exception());
    return std::nullopt;
  }
}

/// For each profile. Clips some elements of each kind with it and with profile clipper; reads nothing. The
/// bounds are numbers, not arrays.
std::vector<ProfileCheck> check_profiles(const Request& bounds, const TensorLayout& tensor) {
  TensorLayout layout = tensor;
  layout.order = kNativeOrder;
  std::optional<Failure> unused;
  const std::optional<Plan> own = plan_for(*profile_named("clipper"), bounds, layout, unused);
  std::vector<ProfileCheck> result;
  for (const Profile& profile : profiles()) {
    ProfileCheck check{&profile, std::nullopt, "", "", {}, {}};
    if (const std::optional<Plan> plan = plan_for(profile, bounds, layout, check.refusal)) {
      check.min = bound_text(*plan, ParameterId::min);
      check.max = bound_text(*plan, ParameterId::max);
      check.differs = own ? differences(*plan, *own) : std::vector{refused_by_own(bounds)};
      check.unspecified = unspecified(profile, bounds, *plan);
    }
    result.push_back(std::move(check));
  }
  return result;
}

/// What a profile decides, as a member in JSON and as a column in tables.
struct Column {
  std::string_view name;  ///< in JSON
  std::string_view heading;
  std::array<std::string_view, 5> words;  ///< in the order of the enumerators
  std::size_t (*word)(const Profile&);
  DTypeSet Profile::Unspecified::*unspecified = nullptr;
};

template <auto Profile::*member>
std::size_t index(const Profile& profile) {
  return static_cast<std::size_t>(profile.*member);
}

constexpr std::array kColumns{
    Column{"bounds", "BOUNDS", {"optional", "required", "one"}, index<&Profile::bounds>},
    Column{"arrays", "ARRAYS", {"broadcast", "no", "both", "same-shape"}, index<&Profile::arrays>},
    Column{
        "absent_bound", "ABSENT", {"none", "float32-limits", "dtype-limits"}, index<&Profile::absent_bound>},
    Column{"bound_text_to", "TEXT TO", {"dtype", "float32", "float64", "python"}, index<&Profile::carrier>},
    Column{"inexact_integer_bound",
           "INEXACT",
           {"truncate", "inward", "error", "half-even", "no-bound"},
           index<&Profile::inexact>},
    Column{"min_above_max", "MIN>MAX", {"error", "min", "max"}, index<&Profile::min_above_max>},
    Column{"nan_bound",
           "NAN BOUND",
           {"error", "ignored", "poisons"},
           index<&Profile::nan_bound>,
           &Profile::Unspecified::nan_bound},
    Column{"nan_element",
           "NAN",
           {"kept", "canonical", "min"},
           index<&Profile::nan_element>,
           &Profile::Unspecified::nan_element},
    Column{"zero_tie",
           "ZEROS",
           {"x", "upper", "ordered"},
           index<&Profile::zero_tie>,
           &Profile::Unspecified::zero_tie},
    Column{"scale_bias", "SCALE", {"yes", "float32", "no"}, index<&Profile::scale_bias>},
};

std::string_view word_of(const Column& column, const Profile& profile) {
  return column.words.at(column.word(profile));
}

constexpr std::string_view kLegend = R"(
DIMS       number of dimensions that a tensor may have
ARRAYS     bounds that are arrays: broadcast to the tensor's shape; no; both, if both bounds are given (they
           broadcast, too); or same-shape, of exactly the tensor's shape
ABSENT     value of a bound that is not given: none, or the lowest and highest finite value of float32 or of
           the tensor's dtype
TEXT TO    type to which the text of a bound is rounded before it is converted to the tensor's dtype; python:
           an integer is exact, anything else is rounded to float64
INEXACT    a bound that an integer tensor cannot hold: truncate cuts off the fraction and saturates (an error if
           that breaks the bound); inward rounds min up and max down, and saturates; error refuses the bound;
           half-even rounds to the nearest and saturates; no-bound: an integer at or below the lowest value as
           min, or at or above the highest as max, is no bound, and any other is refused
MIN>MAX    what min above max does: an error, or all elements become min or max; --min-above-max overrides it
NAN BOUND  what a bound that is NaN does: an error, the bound is ignored, or every element becomes that NaN
NAN        what an element that is NaN becomes: it is kept, becomes the canonical NaN, or min; --nan overrides it
ZEROS      what an element becomes that is equal to a bound, but is the zero of the other sign: x stays; upper: max
           if it equals max; ordered: the bound, if the element is beyond it in an order in which -0 < +0
SCALE      whether --scale and --bias are allowed, and the type to which they are rounded
*          the system contradicts itself or specifies nothing for some dtypes, which --json lists
)";

std::size_t last_rank(const Profile& profile) {
  return std::min(profile.max_rank, kMaxRank);
}

std::vector<std::string_view> names_of(DTypeSet dtypes) {
  std::vector<std::string_view> names;
  for (const DTypeTraits& row : kDTypes)
    if (dtypes.contains(row.dtype)) names.push_back(row.name);
  return names;
}

const DTypeSet& unspecified(const Column& column, const Profile& profile) {
  return profile.unspecified.*column.unspecified;
}

/// "int8-int64 float32": names that differ only in their size, three or more of them, by the first and last.
std::string dtypes_text(const Profile& profile) {
  const auto kind = [](std::string_view name) { return name.substr(0, name.find_first_of("0123456789")); };
  std::vector<std::string> texts;
  std::size_t taken = 0;
  for (std::size_t i = 0, end = 0; i < kKernelDTypes.size(); i = std::max(end, i + 1)) {
    const std::string_view first = kKernelDTypes[i].name;
    for (end = i; end < kKernelDTypes.size() && kind(kKernelDTypes[end].name) == kind(first) &&
                  profile.dtypes.contains(kKernelDTypes[end].dtype);)
      ++end;
    taken += end - i;
    if (end - i > 2)
      texts.push_back(fmt::format("{}-{}", first, kKernelDTypes[end - 1].name));
    else
      for (std::size_t j = i; j < end; ++j) texts.emplace_back(kKernelDTypes[j].name);
  }
  const std::string text = taken == kKernelDTypes.size() ? "all" : joined(texts, " ");
  return profile.dtypes.contains(DType::float8_e4m3fn) ? text + " float8" : text;
}

std::string dimensions(const Profile& profile) {
  if (profile.min_rank == profile.max_rank) return fmt::format("{}", profile.min_rank);
  return fmt::format("{}-{}", profile.min_rank, last_rank(profile));
}

std::string as_json() {
  Json rows = Json::list();
  for (const Profile& profile : profiles()) {
    Json row = named_object("profile");
    row.add("name", profile.name).add("family", profile.family).add("system", profile.system);
    row.add("dtypes", names_of(profile.dtypes));
    row.add("min_rank", profile.min_rank).add("max_rank", last_rank(profile));
    Json open = Json::object();
    for (const Column& column : kColumns) {
      row.add(column.name, word_of(column, profile));
      if (column.unspecified != nullptr) open.add(column.name, names_of(unspecified(column, profile)));
    }
    open.add("subnormals", names_of(profile.unspecified.subnormals));
    row.add("unspecified", std::move(open));
    rows.add(std::move(row));
  }
  return rows.dump(2) + "\n";
}

std::string cell(const Profile& profile, std::string_view heading) {
  if (heading == "PROFILE") return std::string(profile.name);
  if (heading == "STANDS FOR") return std::string(profile.system);
  if (heading == "DTYPES") return dtypes_text(profile);
  if (heading == "DIMS") return dimensions(profile);
  const Column& column = *std::ranges::find(kColumns, heading, &Column::heading);
  const bool is_open = column.unspecified != nullptr && !names_of(unspecified(column, profile)).empty();
  return std::string(word_of(column, profile)) + (is_open ? "*" : "");
}

std::string as_table() {
  std::vector<std::string_view> rules{"PROFILE"};
  for (const Column& column : kColumns) rules.push_back(column.heading);
  constexpr std::array<std::string_view, 4> kTensors{"PROFILE", "STANDS FOR", "DTYPES", "DIMS"};
  return profile_table(kTensors) + "\n" + profile_table(rules).append(kLegend);
}

constexpr std::array<std::string_view, 2> kForms{"[OPTIONS]", "[OPTIONS] FILE"};

constexpr std::string_view kFooter = R"(
Examples:
  clipper profiles
  clipper profiles --min 0 --max 6 in.npy
)";

// One block per option, without the indentation that clang-format gives to long texts.
// clang-format off
constexpr Option kFile{
    .names = "FILE", .value = Value::tensor,
    .help = "A tensor, of which only the header is read",
    .details = R"(A file of one tensor, or a member ARCHIVE.npz:NAME, of which only the header is read.)"};

constexpr Option kMin{
    .names = "--min", .type = "X", .value = Value::number,
    .help = "The lower bound for FILE",
    .details = R"(Print what this lower bound becomes in the dtype of FILE: a number, or @FILE.npy with one element.)"};

constexpr Option kMax{
    .names = "--max", .type = "X", .value = Value::number,
    .help = "The upper bound for FILE",
    .details = R"(Print the same for the upper bound.)"};

constexpr Option kFileDtype{
    .names = "--dtype", .type = "DTYPE", .words = kDtypeNames,
    .help = "Read FILE as DTYPE (for bfloat16 saved as |V2)",
    .details = R"(Read FILE as DTYPE. Needed for bfloat16 that NumPy saved as |V2, a header that does not name
the type.)"};

constexpr Option kJson{
    .names = "--json",
    .help = "Print JSON: an array of profiles; for FILE an object",
    .details = R"(Print all profiles as one JSON array instead of tables, or one JSON object about FILE. The
words in it are the words of the tables.)"};
// clang-format on
constexpr std::array kPositionals{Positional{&kFile, Arity::optional}};
constexpr std::array kOptions{&kMin, &kMax, &kFileDtype, &kJson, &kHelp};

Request bounds_of(const RawOptions& raw) {
  const Request bounds{.min = given(raw, kMin), .max = given(raw, kMax)};
  for (const auto* const bound : {&bounds.min, &bounds.max})
    if (*bound && (*bound)->array)
      refuse(fmt::format("{} has shape {}; clipper profiles takes one number", (*bound)->text,
                         shape_text((*bound)->shape)));
  return bounds;
}

/// "NaN, -0": a dash if there are none.
std::string text_of(const std::vector<std::string_view>& kinds) {
  return kinds.empty() ? "-" : joined(kinds, ", ");
}

std::string as_table(const std::vector<ProfileCheck>& checks) {
  Table table({{"PROFILE"}, {"MIN"}, {"MAX"}, {"DIFFERS FROM CLIPPER"}, {"UNSPECIFIED"}});
  std::string refused;
  for (const ProfileCheck& check : checks) {
    const std::string name(check.profile->name);
    if (check.refusal)
      refused += fmt::format("{} refuses: {}\n", name, escape_for_terminal(check.refusal->message));
    else
      table.add({name, check.min, check.max, text_of(check.differs), text_of(check.unspecified)});
  }
  return table.text() + (refused.empty() ? "" : "\n") + refused;
}

Json as_json(DType dtype, const std::vector<ProfileCheck>& checks) {
  Json rows = Json::list();
  for (const ProfileCheck& check : checks) {
    Json row{{"name", check.profile->name}, {"family", check.profile->family}};
    row.add("status", check.refusal ? static_cast<int>(check.refusal->kind) : 0);
    if (check.refusal) {
      row.add("error", check.refusal->message);
    } else {
      row.add("min", Json::number(dtype, check.min));
      row.add("max", Json::number(dtype, check.max));
      row.add("differs", check.differs);
      row.add("unspecified", check.unspecified);
    }
    rows.add(std::move(row));
  }
  return rows;
}

/// What each profile makes of the bounds for the tensor in the file, of which only the header is read.
std::string text_about_file(const RawOptions& raw) {
  const std::string& path = raw.text(kFile);
  const std::optional<DType> dtype = parse_dtype(raw, kFileDtype);
  const Request bounds = bounds_of(raw);
  InputFile file = open_input(path);
  read_as(file, {});
  const npy::Header header = read_header(file, dtype);
  const std::vector<ProfileCheck> checks = check_profiles(bounds, header);
  if (!raw.has(kJson))
    return fmt::format("{}: {} {}\n\n{}", escape_for_terminal(path), traits(header.dtype).name,
                       shape_text(header.shape), as_table(checks));
  Json json = named_object("profiles_of_file");
  json.add_name("input", path);
  json.add("dtype", traits(header.dtype).name).add("shape", header.shape);
  json.add("profiles", as_json(header.dtype, checks));
  return json.dump() + "\n";
}

int list_profiles(const RawOptions& raw) {
  if (raw.has(kFile)) {
    print(text_about_file(raw));
    return 0;
  }
  for (const Option* const option : {&kMin, &kMax, &kFileDtype})
    if (raw.has(*option)) refuse(fmt::format("{} needs FILE", long_name(*option)));
  print(raw.has(kJson) ? as_json() : as_table());
  return 0;
}

}  // namespace

constexpr CommandSpec kProfilesSpec{
    .run = &list_profiles,
    .name = "profiles",
    .summary = "print the rules of every --profile",
    .description =
        "Prints tables of the rules that each --profile follows. With FILE, prints what each "
        "profile makes of --min and --max for a tensor like that in FILE: the bounds as converted, or "
        "why it refuses them, and the kinds of elements on which it and the profile clipper differ.",
    .forms = kForms,
    .footer = kFooter,
    .positionals = kPositionals,
    .options = kOptions,
};

std::string profile_table(std::span<const std::string_view> headings) {
  std::vector<Table::Column> columns;
  for (const std::string_view heading : headings) columns.push_back({std::string(heading)});
  Table table(std::move(columns));
  for (const Profile& profile : profiles()) {
    Table::Row row;
    for (const std::string_view heading : headings) row.push_back(cell(profile, heading));
    table.add(row);
  }
  return table.text();
}

}  // namespace clipper
