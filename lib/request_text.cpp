#include "request_text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>
#include <vector>

#include "clipper.hpp"
#include "compare/tolerance.hpp"
#include "contract/bounds.hpp"
#include "contract/fields.hpp"
#include "element/text.hpp"
#include "error.hpp"
#include "flows/saved_figures.hpp"
#include "formats/container.hpp"
#include "formats/parameter_file.hpp"
#include "os/os.hpp"

namespace clipper {
namespace {

using Files = const Reading&;

[[noreturn]] void refuse_text(std::string_view name, const Message& why) {
  throw Error(ErrorKind::usage, Term{name, name} + why);
}

/// Errors keep the library's words: what a program would advise applies to its input only.
Parameter number_in_file(std::string_view name, const std::string& path, Files files,
                         npy::Types types = npy::Types::dtypes) {
  if (path.empty()) refuse_text(name, " @ has no file name (is a shell variable empty?)");
  if (path == "-") refuse_text(name, " @-: cannot be read from standard input; use a file");
  try {
    return read_parameter(path, files, types);
  } catch (const Error& error) {
    throw Error(error.kind(), Term{name, name} + Message(fmt::format(" @{}", error.what())),
                error.system_error());
  }
}

bool looks_like_file(const std::string& text) {
  const Format* const format = format_named(text);
  return (format != nullptr && !format->has_entries()) || member_path(text) ||
         (!text.empty() && os::access(text.c_str(), F_OK) == 0);
}

/// "1%" as a number; nothing for texts that are not a number and a percent sign.
std::optional<Number> percentage_in(const std::string& text) {
  return text.ends_with('%') ? parse_number(std::string_view(text).substr(0, text.size() - 1)) : std::nullopt;
}

/// An expression of figures; nothing for a number and a file. Refuses what is nearly an expression.
std::optional<Parameter> figure_of_text(std::string_view name, const std::string& text) {
  if (parse_number(text) || names_file(text)) return std::nullopt;
  if (std::optional<Parameter> figure = Parameter::expression_in(text)) return figure;
  if (percentage_in(text))
    refuse_text(name, fmt::format(" {}: a percentile is a number from 0% to 100%", text));
  if (const std::optional<std::string> meant = expression_meant_by(text))
    refuse_text(name, fmt::format(": '{}' is not a number; write {}", text, *meant));
  const auto is_letter = [](char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); };
  const auto is_in = [&](std::string_view word) { return text.find(word) != std::string::npos; };
  if (std::ranges::all_of(text, is_letter) && nearest_name(text, kStatisticWords))
    static_cast<void>(place_of_text(name, text, kStatisticWords));
  if (text.find_first_of("%+-*/") != std::string::npos && !looks_like_file(text) &&
      std::ranges::any_of(kStatisticWords, is_in))
    refuse_text(name,
                fmt::format(": '{}' is not an expression such as median+3*1.4826*mad or absmax/127", text));
  return std::nullopt;
}

/// A number, an array, or an expression of figures.
Parameter factor_of_text(std::string_view name, const std::string& text, Files files) {
  std::optional<Parameter> figure = figure_of_text(name, text);
  return figure ? *std::move(figure) : number_of_text(name, text, files);
}

/// A bound is also an expression of figures, a date, true or false.
Parameter bound_of_text(std::string_view name, const std::string& text, Files files) {
  if (std::optional<Parameter> word = Parameter::word(text)) return *std::move(word);
  return factor_of_text(name, text, files);
}

Parameter scale_of_text(std::string_view name, const std::string& text, Files files) {
  constexpr std::string_view kReciprocal = "1/";
  if (!text.starts_with(kReciprocal)) return number_of_text(name, text, files);
  const std::string divisor = text.substr(kReciprocal.size());
  std::optional<Parameter> list = Parameter::list_in(divisor);
  return Parameter::reciprocal(list ? *std::move(list) : number_of_text(name, divisor, files));
}

/// "0:255", or "1%:99%".
std::pair<Parameter, Parameter> range_of_text(const Field& field, const std::string& text) {
  const std::size_t colon = text.find(':');
  if (colon == std::string::npos)
    refuse_text(field.name, fmt::format(": '{}' is not {}", text,
                                        field.grammar == Field::Grammar::figure ? "A:B, such as 1%:99%"
                                                                                : "LO:HI, such as 0:255"));
  return {end_of_text(field, text.substr(0, colon)), end_of_text(field, text.substr(colon + 1))};
}

/// "keep" or a number.
Parameter divisor_of_text(std::string_view name, const std::string& text) {
  if (text == "keep") return {1, text};
  if (!parse_number(text)) refuse_text(name, fmt::format(": '{}' is not keep, error or a number", text));
  return typed_number_of_text(name, text);
}

const Profile* profile_of_text(std::string_view name, const std::string& text) {
  if (const Profile* const profile = profile_named(text)) return profile;
  if (text == "jax") refuse_text(name, ": unknown value 'jax'; jax.lax.clamp is that of 'stablehlo'");
  if (text == "native") refuse_text(name, ": unknown value 'native'; its name is 'clipper'");
  std::vector<std::string_view> names;
  for (const Profile& row : profiles()) {
    if (std::ranges::find(names, row.family) == names.end()) names.push_back(row.family);
    if (row.name != row.family) names.push_back(row.name);
  }
  static_cast<void>(place_of_text(name, text, names));
  return nullptr;
}

Parameter mask_of_text(std::string_view name, const std::string& text, Files files) {
  if (!text.starts_with('@')) refuse_text(name, fmt::format(": '{}' is not @FILE.npy", text));
  return number_in_file(name, text.substr(1), files, npy::Types::clipped);
}

Parameter given_of_text(const Field& field, const std::string& text, Files files) {
  if (std::optional<Parameter> list =
          std::ranges::find(fields::kLists, field.name, &Field::name) != fields::kLists.end()
              ? Parameter::list_in(text)
              : std::nullopt)
    return *std::move(list);
  switch (field.grammar) {
    case Field::Grammar::typed: return typed_number_of_text(field.name, text);
    case Field::Grammar::number: return number_of_text(field.name, text, files);
    case Field::Grammar::scale: return scale_of_text(field.name, text, files);
    case Field::Grammar::bound: return bound_of_text(field.name, text, files);
    case Field::Grammar::result:
    case Field::Grammar::factor: return factor_of_text(field.name, text, files);
    case Field::Grammar::divisor: return divisor_of_text(field.name, text);
    case Field::Grammar::figure: return end_of_text(field, text);
    case Field::Grammar::mask: return mask_of_text(field.name, text, files);
  }
  __builtin_unreachable();
}

constexpr std::array<std::string_view, 3> kAboveWords{"error", "min", "max"};

/// Sets a member of a request, or adds to it, as the text says.
struct SetMember {
  const Field& field;
  const std::string& text;
  Files files;

  void operator()(std::optional<Parameter>& number) const {
    const bool is_none = field.grammar == Field::Grammar::divisor && text == "error";
    number = is_none ? std::nullopt : std::optional(given_of_text(field, text, files));
  }
  void operator()(std::vector<Parameter>& numbers) const {
    numbers.push_back(given_of_text(field, text, files));
  }
  void operator()(std::vector<std::int64_t>& axes) const { axes.push_back(axis_of_text(field.name, text)); }
  void operator()(OnNan& nan) const { nan = nan_of_text(text); }
  void operator()(ProfileChoice& profile) const { profile = profile_of_text(field.name, text); }
  void operator()(std::optional<OrderedDType>& dtype) const { dtype = dtype_of_text(field.name, text); }
  void operator()(std::optional<std::pair<Parameter, Parameter>>& range) const {
    range = range_of_text(field, text);
  }
  void operator()(bool& flag) const { flag = flag_of_text(field.name, text); }
  void operator()(std::optional<MinAboveMax>& rule) const {
    rule = static_cast<MinAboveMax>(place_of_text(field.name, text, kAboveWords));
  }
  void operator()(std::optional<Norm>& norm) const {
    norm = static_cast<Norm>(place_of_text(field.name, text, kNormWords));
  }
  void operator()(std::optional<Round>& round) const {
    round = static_cast<Round>(place_of_text(field.name, text, kRoundWords));
  }
};

/// The opposite of SetMember.
struct TextsOfMember {
  using Texts = std::vector<std::string>;

  Texts operator()(const std::optional<Parameter>& number) const { return {number->text}; }
  Texts operator()(const std::optional<std::pair<Parameter, Parameter>>& range) const {
    return {range->first.text + ":" + range->second.text};
  }
  Texts operator()(const std::optional<OrderedDType>& dtype) const { return {text_of(*dtype)}; }
  Texts operator()(const std::optional<MinAboveMax>& rule) const { return word_of(kAboveWords, *rule); }
  Texts operator()(const std::optional<Norm>& norm) const { return word_of(kNormWords, *norm); }
  Texts operator()(const std::optional<Round>& round) const { return word_of(kRoundWords, *round); }
  Texts operator()(const ProfileChoice& profile) const { return {std::string(profile->name)}; }
  Texts operator()(const OnNan& nan) const {
    return nan.number ? Texts{nan.number->text} : word_of(kNanWords, nan.action);
  }
  Texts operator()(bool flag) const { return {flag ? "true" : "false"}; }
  Texts operator()(const std::vector<Parameter>& numbers) const {
    Texts texts;
    for (const Parameter& number : numbers) texts.push_back(number.text);
    return texts;
  }
  Texts operator()(const std::vector<std::int64_t>& axes) const {
    Texts texts;
    for (const std::int64_t axis : axes) texts.push_back(std::to_string(axis));
    return texts;
  }

  static Texts word_of(std::span<const std::string_view> words, auto value) {
    return {std::string(words[static_cast<std::size_t>(value)])};
  }
};

}  // namespace

void set_text(const Field& field, Request& request, const std::string& text, const Reading& files) {
  std::visit([&](const auto member) { SetMember{field, text, files}(request.*member); }, field.member);
}

std::vector<std::string> texts_of(const Field& field, const Request& request) {
  return std::visit([&](const auto member) { return TextsOfMember{}(request.*member); }, field.member);
}

void check_texts(const Request& request) {
  for (std::size_t i = 0; i < request.then.size(); ++i)
    with_path(stage_name(i + 1), [&] { check_texts(request.then[i]); });
  if (request.nan.action != OnNan::keep || !request.to || is_floating(*request.to)) return;
  const std::string to(traits(*request.to).name);
  throw Error(ErrorKind::usage, Term{"nan", "nan"} + Message(" keep and ") + Term{"to", "to"} +
                                    fmt::format(" {0} cannot be used together: {0} has no NaN", to));
}

Parameter number_of_text(std::string_view name, const std::string& text, Files files) {
  if (text.starts_with('@')) return number_in_file(name, text.substr(1), files);
  if (std::optional<Number> number = parse_number(text)) return {*std::move(number), text};
  const std::string is_none = fmt::format(": '{}' is not a number", text);
  for (const auto& [minus, what] : {std::pair("\u2212", "U+2212"), std::pair("\u2013", "an en dash")})
    if (const std::string_view sign = minus; text.starts_with(sign))
      refuse_text(name,
                  fmt::format("{}: its minus is {}; write -{}", is_none, what, text.substr(sign.size())));
  if (percentage_in(text)) refuse_text(name, is_none + ", and cannot be a percentile");
  if (looks_like_file(text))
    refuse_text(name, fmt::format("{}; to read the number from a file, write @{}", is_none, text));
  refuse_text(name, is_none);
}

Parameter end_of_text(const Field& field, const std::string& text) {
  std::optional<Parameter> figure;
  if (field.grammar == Field::Grammar::figure) figure = figure_of_text(field.name, text);
  return figure ? *std::move(figure) : typed_number_of_text(field.name, text);
}

Parameter typed_number_of_text(std::string_view name, const std::string& text) {
  if (names_file(text)) refuse_text(name, fmt::format(": '{}' is not a number", text));
  return number_of_text(name, text);
}

OnNan nan_of_text(const std::string& text) {
  const auto* const word = std::ranges::find(kNanWords, text);
  if (word != kNanWords.end()) return static_cast<OnNan::Action>(word - kNanWords.begin());
  std::optional<Number> number = parse_number(text);
  if (number && number->kind != Number::Kind::nan) return Parameter(*std::move(number), text);
  if (std::optional<Parameter> given = Parameter::word(text)) return *std::move(given);
  if (std::optional<Parameter> figure = Parameter::expression_in(text)) return *std::move(figure);
  if (nearest_name(text, kNanWords)) static_cast<void>(place_of_text("nan", text, kNanWords));
  static_cast<void>(figure_of_text("nan", text));
  refuse_text("nan", fmt::format(": '{}' is not keep, error, min, max or a number", text));
}

bool names_file(std::string_view text) {
  return text.starts_with('@') || text.starts_with("1/@");
}

namespace {

/// The nearest of the words, also to ONNX-14 and numpy2, which have capitals, or a number too many.
std::optional<std::string_view> meant_by(std::string_view text, std::span<const std::string_view> words) {
  if (const auto meant = nearest_name(text, words)) return meant;
  std::string lower(text);
  for (char& c : lower)
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  if (const auto meant = nearest_name(lower, words)) return meant;
  const std::string letters = lower.substr(0, lower.find_first_of("-.0123456789"));
  return letters.empty() ? std::nullopt : nearest_name(letters, words);
}

}  // namespace

std::size_t place_of_text(std::string_view name, std::string_view text,
                          std::span<const std::string_view> words) {
  const auto word = std::ranges::find(words, text);
  if (word != words.end()) return static_cast<std::size_t>(word - words.begin());
  const std::string unknown = fmt::format(": unknown value '{}'", text);
  if (const auto meant = meant_by(text, words))
    refuse_text(name, fmt::format("{}; did you mean '{}'?", unknown, *meant));
  refuse_text(name, fmt::format("{}; expected one of: {}", unknown, joined(words, ", ")));
}

OrderedDType dtype_of_text(std::string_view name, std::string_view text) {
  const DTypeWord word = dtype_word(text);
  if (word.dtype) return *word.dtype;
  if (!word.objection.empty()) refuse_text(name, fmt::format(": '{}' {}", text, word.objection));
  std::vector<std::string_view> names;
  for (const DTypeTraits& row : kDTypes) names.push_back(row.name);
  return kDTypes.at(place_of_text(name, text, names)).dtype;
}

std::size_t count_of_text(std::string_view name, std::string_view text, std::size_t lowest,
                          std::size_t highest) {
  const auto value = integer_in<std::size_t>(text);
  if (value && *value >= lowest && *value <= highest) return *value;
  refuse_text(name, fmt::format(": '{}' is not a whole number from {} to {}", text, lowest, highest));
}

std::int64_t axis_of_text(std::string_view name, const std::string& text) {
  const std::optional<Number> number = parse_number(text);
  constexpr std::int64_t kLimit = 64;  // kMaxRank
  if (!number || !is_integer(*number) || *number < Number(-kLimit) || *number > Number(kLimit - 1))
    refuse_text(name, fmt::format(": '{}' is not an axis, an integer such as 1 or -1{}", text,
                                  text.find(',') == text.npos ? "" : "; give each axis by itself"));
  return static_cast<std::int64_t>(to_integer(*number, Rounding::toward_zero));
}

bool flag_of_text(std::string_view name, std::string_view text) {
  constexpr std::array<std::string_view, 2> kWords{"false", "true"};
  return place_of_text(name, text, kWords) != 0;
}

namespace {

using Name = std::string_view;
using String = const std::string&;

Number tolerance_of_text(Name name, String text) {
  const std::optional<Number> number = parse_number(text);
  if (number && is_tolerance(*number)) return *number;
  refuse_text(name, fmt::format(": '{}' is not a finite number, 0 or more", text));
}

template <class T>
T& of(FileOptions& files, CompareOptions& /*compare*/, T FileOptions::*member) {
  return files.*member;
}

template <class T>
T& of(FileOptions& /*files*/, CompareOptions& compare, T CompareOptions::*member) {
  return compare.*member;
}

template <auto kMember>
void set_flag(FileOptions& files, CompareOptions& compare, Name name, String text) {
  of(files, compare, kMember) = flag_of_text(name, text);
}

template <auto kMember>
void add_text(FileOptions& files, CompareOptions& /*compare*/, Name /*name*/, String text) {
  (files.*kMember).push_back(text);
}

template <auto kMember>
void set_tolerance(FileOptions& /*files*/, CompareOptions& compare, Name name, String text) {
  compare.*kMember = tolerance_of_text(name, text);
}

constexpr std::size_t kMaxThreads = 1024;
constexpr std::size_t kMaxShown = 1000;
constexpr std::array<std::string_view, 2> kTrailingWords{"error", "ignore"};

constexpr std::array kOtherTexts{
    OtherText{"dtype", [](FileOptions& files, CompareOptions&, Name n,
                          String text) { files.dtype = dtype_of_text(n, text); }},
    OtherText{"trailing",
              [](FileOptions& files, CompareOptions&, Name n, String text) {
                files.ignore_trailing = place_of_text(n, text, kTrailingWords) != 0;
              }},
    OtherText{"raw", [](FileOptions& files, CompareOptions&, Name, String text) { files.raw = text; }},
    OtherText{"to_raw", set_flag<&FileOptions::to_raw>},
    OtherText{"format",
              [](FileOptions& files, CompareOptions&, Name n, String text) {
                files.format = format_words()[place_of_text(n, text, format_words())];
              }},
    OtherText{"no_clobber", [](FileOptions& files, CompareOptions&, Name n,
                               String text) { files.overwrite = !flag_of_text(n, text); }},
    OtherText{"sync", set_flag<&FileOptions::sync>},
    OtherText{"no_cache", set_flag<&FileOptions::no_cache>},
    OtherText{"direct", set_flag<&FileOptions::direct>},
    OtherText{"special_paths", set_flag<&FileOptions::special_paths>},
    OtherText{"fit", [](FileOptions& files, CompareOptions&, Name, String text) { files.fit = text; }},
    OtherText{"threads",
              [](FileOptions& files, CompareOptions&, Name n, String text) {
                files.threads = static_cast<unsigned>(count_of_text(n, text, 1, kMaxThreads));
              }},
    OtherText{"member", add_text<&FileOptions::members>},
    OtherText{"exclude_member", add_text<&FileOptions::exclude_members>},
    OtherText{"only", add_text<&FileOptions::only>},
    OtherText{"rtol", set_tolerance<&CompareOptions::rtol>},
    OtherText{"atol", set_tolerance<&CompareOptions::atol>},
    OtherText{"ulp", [](FileOptions&, CompareOptions& compare, Name n,
                        String text) { compare.ulp = count_of_text(n, text, 0, SIZE_MAX); }},
    OtherText{"tolerance",
              [](FileOptions&, CompareOptions& compare, Name n, String text) {
                compare.tolerance = kPresetWords.at(place_of_text(n, text, kPresetWords));
              }},
    OtherText{"nan_differ",
              [](FileOptions&, CompareOptions& compare, Name n, String text) {
                compare.nan_equal = flag_of_text(n, text) ? std::optional(false) : std::nullopt;
              }},
    OtherText{"any_dtype", set_flag<&CompareOptions::any_dtype>},
    OtherText{"bits", set_flag<&CompareOptions::bits>},
    OtherText{"show", [](FileOptions&, CompareOptions& compare, Name n, String text) {
                compare.max_listed = count_of_text(n, text, 0, kMaxShown);
              }}};

}  // namespace

std::span<const OtherText> other_texts() noexcept {
  return kOtherTexts;
}

Reading reading_of(const FileOptions& options, bool raw_if_needed) {
  Reading how;
  how.dtype = options.dtype;
  how.takes_integers = true;
  if (!options.raw.empty()) how.raw = std::make_shared<const raw::Layout>(raw::parse(options.raw));
  const std::vector<std::string_view> words = format_words();
  if (!options.format.empty())
    how.format = format_of_word(words[place_of_text("format", options.format, words)]);
  how.raw_if_needed = raw_if_needed;
  how.ignore_trailing = options.ignore_trailing;
  how.caching = options.no_cache ? Caching::dropped : Caching::kept;
  return how;
}

Request from_fit(const std::filesystem::path& path, Request request, const FileOptions& options) {
  set_figures(request, os::text_of(path), reading_of(options));
  return request;
}

std::optional<TypeChoice> types_of(const FileOptions& options) {
  TypeChoice types;
  for (const std::string& word : options.only)
    if (!types.add(word)) {
      const std::string_view objection = dtype_word(word).objection;
      const std::string why =
          objection.empty() ? "is neither float, int, bool, date or all nor a dtype" : std::string(objection);
      throw Error(ErrorKind::usage, Term{"only", "only"} + Message(": '" + word + "' " + why));
    }
  return options.only.empty() ? std::nullopt : std::optional(types);
}

}  // namespace clipper
