#include "clip/request_options.hpp"

#include <algorithm>
#include <array>
#include <optional>

#include "clip/clip_option_table.hpp"
#include "command_line/command_line.hpp"
#include "command_line/given_number.hpp"
#include "command_line/values.hpp"

namespace clipper {
namespace {

using namespace clip_options;

struct NumberOption {
  const Option* option;
  std::optional<Given> Request::*number;
  decltype(parse_given)* parse;
};

constexpr std::array kNumbers{
    NumberOption{&kMin, &Request::min, parse_bound}, NumberOption{&kMax, &Request::max, parse_bound},
    NumberOption{&kScale, &Request::scale, parse_given}, NumberOption{&kBias, &Request::bias, parse_given}};

enum class NumberSource : bool { typed, files };

void take_numbers(const RawOptions& raw, NumberSource source, Request& request) {
  for (const NumberOption& row : kNumbers)
    if (raw.has(*row.option) && raw.text(*row.option).starts_with('@') == (source == NumberSource::files))
      request.*row.number = row.parse(long_name(*row.option), raw.text(*row.option));
}

}  // namespace

Request typed_request(const RawOptions& raw) {
  Request request;
  if (raw.has(kProfile)) request.profile = profile_named(raw.text(kProfile));
  if (request.profile == nullptr) refuse_word(kProfile, raw.text(kProfile));
  if (raw.has(kMinAboveMax)) request.min_above_max = static_cast<MinAboveMax>(word_of(raw, kMinAboveMax));
  take_numbers(raw, NumberSource::typed, request);
  if (raw.has(kNan)) request.nan = parse_on_nan(raw.text(kNan));
  return request;
}

void read_number_files(const RawOptions& raw, Request& request) {
  take_numbers(raw, NumberSource::files, request);
}

bool is_without_effect(const RawOptions& raw, const Request& request) {
  const Profile& profile = *request.profile;
  const bool has_numbers =
      std::ranges::any_of(kNumbers, [&](const NumberOption& row) { return raw.has(*row.option); });
  return !has_numbers && profile.bounds != Profile::Bounds::required &&
         profile.absent_bound == Profile::AbsentBound::none && request.nan.action == OnNan::keep;
}

}  // namespace clipper
