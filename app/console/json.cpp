#include "console/json.hpp"

#include <fmt/format.h>

#include <charconv>
#include <cmath>

#include "contract/fields.hpp"
#include "element/element.hpp"
#include "element/number.hpp"
#include "npy/dict.hpp"
#include "request_text.hpp"

// nlohmann-json's lists and objects would end the process if there is no memory.

namespace clipper {
namespace {

bool is_utf8(std::string_view text) {
  while (!text.empty())
    if (!npy::take_code_point(text)) return false;
  return true;
}

/// RFC 4648, section 4.
std::string base64(std::string_view bytes) {
  constexpr std::string_view kDigits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string text;
  for (std::size_t i = 0; i < bytes.size(); i += 3) {
    const std::string_view group = bytes.substr(i, 3);
    std::uint32_t bits = 0;
    for (std::size_t k = 0; k < 3; ++k)
      bits = bits << 8 | (k < group.size() ? static_cast<unsigned char>(group[k]) : 0U);
    for (std::size_t k = 0; k < 4; ++k) text += k <= group.size() ? kDigits[bits >> (18 - 6 * k) & 63] : '=';
  }
  return text;
}

/// The path in "@lo.npy" or "1/@s.npy".
std::string_view file_in(std::string_view text) {
  return text.substr(text.find('@') + 1);
}

Json typed_json(const std::string& text) {
  return parse_number(text) ? Json::number(DType::float64, text) : Json(text);
}

Json file_json(const Parameter& given) {
  Json json = Json::object();
  json.add_name("file", file_in(given.text));
  json.add("shape", given.shape);
  return given.divides ? json.add("divides", true) : json;
}

}  // namespace

Json::Json(double number) {
  NumberText room;
  text_ = print(DType::float64, to_bits(number), room);
}

Json::Json(std::initializer_list<Member> members) : kind_(Kind::object) {
  for (const auto& [key, value] : members) add(key, value);
}

Json Json::verbatim(std::string text) {
  Json json;
  json.text_ = std::move(text);
  return json;
}

Json Json::number(DType dtype, std::string_view text) {
  const Number number = parse_number(text).value();
  const Json exact = decimal_text(number);
  if (!is_floating(dtype) && is_integer(number)) {
    const Int128 integer = to_integer(number, Rounding::toward_zero);
    const auto narrow = static_cast<std::int64_t>(integer);
    return narrow == integer ? Json(narrow) : exact;
  }
  const auto nearest = round_to<double>(number);
  if (parse_number(fmt::format("{}", nearest)) == number) return Json(nearest);
  return !is_integer(number) && Number(nearest) == number ? verbatim(decimal_text(number)) : exact;
}

std::string_view Json::print(DType dtype, ElementBits element, NumberText& room) noexcept {
  ElementText text;
  const std::string_view number = element_text(dtype, element, text);
  const auto in_room = [&](auto format, auto value) -> std::string_view {
    return {room.data(), fmt::format_to_n(room.data(), room.size(), format, value).size};
  };
  if (!is_floating(dtype)) {
    std::int64_t integer = 0;
    const auto read = std::from_chars(number.data(), number.data() + number.size(), integer);
    return read.ec == std::errc() && is_exact(integer) ? in_room(FMT_STRING("{}"), number)
                                                       : in_room(FMT_STRING("\"{}\""), number);
  }
  double nearest = 0;
  std::from_chars(number.data(), number.data() + number.size(), nearest);
  if (std::isnan(nearest)) return "\"nan\"";
  if (std::isinf(nearest)) return in_room(FMT_STRING("\"{}\""), nearest);
  if (nearest == 0) return std::signbit(nearest) ? "-0.0" : "0";
  return in_room(FMT_STRING("{}"), nearest);
}

Json& Json::add(Json value) {
  return add("", std::move(value));
}

Json& Json::add(std::string_view key, Json value) {
  members_.emplace_back(key, std::move(value));
  return *this;
}

Json& Json::add_name(std::string_view key, std::string_view name) {
  add(key, name);
  return is_utf8(name) ? *this : add(std::string(key) + "_bytes", base64(name));
}

std::string Json::dump(std::size_t indent) const {
  std::string text;
  text.reserve(size());
  append_to(text, indent, 0);
  return text;
}

std::string Json::quoted(std::string_view text) {
  constexpr std::string_view kEscaped = "\b\f\n\r\t\"\\";
  constexpr std::string_view kLetters = "bfnrt\"\\";
  std::string json = "\"";
  while (!text.empty()) {
    const std::string_view from = text;
    const std::optional<char32_t> code = npy::take_code_point(text);
    if (!code)
      json += "\xef\xbf\xbd";  // U+FFFD
    else if (const std::size_t at = kEscaped.find(from.front()); at != kEscaped.npos)
      json.append("\\") += kLetters[at];
    else if (*code < ' ')
      json += fmt::format("\\u{:04x}", static_cast<unsigned>(*code));
    else
      json += from.substr(0, from.size() - text.size());
  }
  return json + '"';
}

std::size_t Json::size() const noexcept {
  constexpr std::size_t kPunctuation = 4;  // of a member
  std::size_t size = text_.size();
  for (const auto& [key, value] : members_) size += key.size() + value.size() + kPunctuation;
  return size;
}

void Json::append_to(std::string& text, std::size_t indent, std::size_t level) const {
  if (kind_ == Kind::scalar) {
    text += text_;
    return;
  }
  const auto break_line = [&](std::size_t at) {
    if (indent != 0 && !members_.empty()) text.append("\n").append(at * indent, ' ');
  };
  text += kind_ == Kind::list ? '[' : '{';
  for (std::size_t i = 0; i < members_.size(); ++i) {
    const auto& [key, value] = members_[i];
    if (i != 0) text += ',';
    break_line(level + 1);
    if (kind_ == Kind::object) text += quoted(key) + (indent != 0 ? ": " : ":");
    value.append_to(text, indent, level + 1);
  }
  break_line(level);
  text += kind_ == Kind::list ? ']' : '}';
}

Json named_object(std::string_view name) {
  return {{"object", name}, {"version", kJsonVersion}};
}

Json element_json(DType dtype, const LogicalType& meaning, ElementBits element, ElementBits imaginary) {
  Json::NumberText room;
  if (meaning.kind == LogicalType::Kind::number)
    return Json::verbatim(std::string(Json::print(dtype, element, room)));
  const std::string text = element_text(dtype, meaning, element, imaginary);
  if (meaning.kind == LogicalType::Kind::boolean) return element != 0;
  if (meaning.kind == LogicalType::Kind::timedelta && text != "NaT") return Json::number(dtype, text);
  return text;
}

Json array_json(const ArrayParameter& parameter) {
  Json json = Json::object();
  if (parameter.array->is_found())
    json.add("values", Json::verbatim({'[', kValues, ']'}));
  else
    json.add_name("file", file_in(parameter.text));
  json.add("shape", parameter.array->layout().shape);
  return json;
}

Json request_json(const Request& request) {
  Json json = Json::object();
  for (const Field& field : fields::kAll) {
    if (!field.is_given(request)) continue;
    const auto* const number = field.number() == nullptr ? nullptr : &(request.*field.number());
    if (number != nullptr && (*number)->dtype) {
      json.add(field.name, file_json(**number));
      continue;
    }
    Json values = Json::list();
    const std::vector<std::string> texts = texts_of(field, request);
    for (const std::string& text : texts) values.add(typed_json(text));
    if (std::holds_alternative<bool Request::*>(field.member))
      json.add(field.name, true);
    else
      json.add(field.name, field.is_list() ? std::move(values) : typed_json(texts.front()));
  }
  Json then = Json::list();
  for (const Request& stage : request.then) then.add(request_json(stage));
  if (!request.then.empty()) json.add("then", std::move(then));
  return json;
}

}  // namespace clipper
