#include "npy/dict.hpp"

#include <fmt/format.h>

#include <array>
#include <charconv>
#include <system_error>
#include <utility>

#include "npy/header.hpp"

namespace clipper::npy {
namespace {

/// Structured types in structured types.
constexpr int kMaxDepth = 32;

/// Accepts the three keys, each with one form of value: only structured types nest, and nothing is evaluated.
class DictParser {
 public:
  DictParser(std::string_view text, std::size_t offset, Python2 python2, Structured structured,
             std::string_view python)
      : text_(text),
        offset_(offset),
        python2_(python2 == Python2::yes),
        structured_(structured),
        python_(python) {}

  Fields parse() {
    skip_empty_lines();
    if (!rest().starts_with('{')) fail_expecting("'{'");
    ++at_;
    while (!take("}")) {
      entry();
      if (!take(",") && !rest().starts_with('}')) fail_expecting("',' or '}'");
    }
    check_end();
    if (!fields_.descr) refuse("the header has no 'descr'");
    if (!fields_.fortran_order) refuse("the header has no 'fortran_order'");
    if (!fields_.shape) refuse("the header has no 'shape'");
    return std::move(fields_);
  }

 private:
  [[nodiscard]] std::string_view rest() const { return text_.substr(at_); }

  [[noreturn]] void fail(std::size_t at, const std::string& what) const {
    refuse(fmt::format("malformed header at byte {}: {}", offset_ + at, what));
  }

  [[noreturn]] void fail_expecting(std::string_view what) const {
    if (rest().empty()) fail(at_, fmt::format("expected {}, found the end of the header", what));
    const std::string_view word =
        rest().substr(0, std::max<std::size_t>(rest().find_first_of(" \n,:()[]{}"), 1));
    fail(at_, fmt::format("expected {}, found '{}'", what, excerpt(word)));
  }

  /// Python strips blanks before the first line; before a later line they are indentation, which is an error.
  void skip_empty_lines() {
    at_ = std::min(text_.find_first_not_of(" \t"), text_.size());
    while (rest().starts_with('\n') || rest().starts_with("\r\n")) at_ += rest().find('\n') + 1;
  }

  /// Skips what Python allows between two tokens in brackets: white space and comments.
  void skip_space() {
    for (bool comment = true; comment;) {
      at_ = std::min(text_.find_first_not_of(" \t\f\r\n", at_), text_.size());
      comment = rest().starts_with('#');
      if (comment) skip_comment();
    }
  }

  void skip_comment() {
    const std::size_t end = std::min(text_.find_first_of("\r\n", at_), text_.size());
    const auto* const wrong = std::find_if(text_.begin() + at_, text_.begin() + end, [](char c) {
      return c == '\0' || static_cast<unsigned char>(c) > '\x7f';
    });
    at_ = static_cast<std::size_t>(wrong - text_.begin());
    if (at_ != end) fail_expecting("a comment in ASCII");
  }

  /// Python treats white space in a last line without newline as indentation, which is an error. numpy then
  /// reads the header as Python 2's, which accepts it unless the line before ends in CR alone.
  void check_end() {
    const std::size_t dict_end = at_;
    skip_space();
    if (!rest().empty()) fail_expecting("nothing after the '}'");
    const std::size_t line_end = text_.find_last_of("\r\n");
    if (line_end == std::string_view::npos || line_end < dict_end) return;
    const std::string_view last = text_.substr(line_end + 1);
    const bool indented = !last.empty() && last.find('#') == std::string_view::npos;
    if (indented && (!python2_ || text_[line_end] == '\r'))
      fail(line_end + 1, "an indented line after the '}'");
  }

  bool take(std::string_view token) {
    skip_space();
    if (!rest().starts_with(token)) return false;
    at_ += token.size();
    return true;
  }

  void expect(std::string_view token) {
    if (!take(token)) fail_expecting(fmt::format("'{}'", token));
  }

  void entry() {
    skip_space();
    const std::size_t start = at_;
    const std::string_view key = quoted("a quoted key");
    expect(":");
    skip_space();
    if (key == "descr" && !fields_.descr)
      fields_.descr = descr(0);
    else if (key == "fortran_order" && !fields_.fortran_order)
      fields_.fortran_order = boolean();
    else if (key == "shape" && !fields_.shape)
      fields_.shape = shape();
    else
      fail(start, fmt::format("unknown or repeated key '{}'", excerpt(key)));
  }

  std::string_view quoted(std::string_view what) {
    const std::size_t start = at_;
    if (!rest().starts_with('\'') && !rest().starts_with('"')) fail_expecting(what);
    const std::size_t end = text_.find(text_[start], start + 1);
    if (end == std::string_view::npos) fail(start, "unterminated string");
    at_ = end + 1;
    return text_.substr(start + 1, end - start - 1);
  }

  Descr descr(int depth) {
    if (rest().starts_with('('))
      refuse("a " + Term{kTypeField, "sub-array"} +
             fmt::format(" dtype is not supported: {}", excerpt(rest())));
    if (!rest().starts_with('[')) return {quoted("a quoted dtype"), false, {}};
    if (structured_ == Structured::refused)
      refuse(Term{kTypeField, "structured"} +
             fmt::format(" dtype {}] is not supported; save one field: np.save('x.npy', {}['FIELD'])",
                         excerpt(rest().substr(0, rest().find(']'))), python_));
    if (depth == kMaxDepth) fail(at_, "a structured dtype that nests too deeply");
    const std::size_t start = at_++;
    Descr result{{}, true, {}};
    while (!take("]")) {
      result.fields.push_back(field(depth + 1));
      if (!take(",") && !rest().starts_with(']')) fail_expecting("',' or ']'");
    }
    result.text = text_.substr(start, at_ - start);
    return result;
  }

  /// ('name', TYPE), ('name', TYPE, SHAPE), or with ('title', 'name') as the name.
  StructField field(int depth) {
    StructField result;
    expect("(");
    if (take("(")) {
      result.title = name();
      expect(",");
      result.name = name();
      static_cast<void>(take(","));
      expect(")");
    } else {
      result.name = name();
    }
    expect(",");
    skip_space();
    result.type = descr(depth);
    if (take(")")) return result;
    expect(",");
    if (take(")")) return result;
    result.shape = shape();
    static_cast<void>(take(","));
    expect(")");
    return result;
  }

  /// A string with the escapes that Python writes. Before version 3.0 headers are Latin-1.
  std::string name() {
    skip_space();
    const std::size_t start = at_;
    if (!rest().starts_with('\'') && !rest().starts_with('"')) fail_expecting("a quoted name");
    std::string result;
    for (++at_; !rest().starts_with(text_[start]);) {
      if (rest().empty() || rest().front() == '\n' || rest().front() == '\r' || rest().front() == '\0')
        fail(start, "unterminated string");
      append_code_point(character(), result);
    }
    ++at_;
    return result;
  }

  char32_t character() {
    if (rest().starts_with('\\')) return escaped();
    if (python2_) return static_cast<unsigned char>(text_[at_++]);
    std::string_view left = rest();
    const std::optional<char32_t> code = take_code_point(left);
    if (!code) fail(at_, "bytes that are not UTF-8");
    at_ = text_.size() - left.size();
    return *code;
  }

  char32_t escaped() {
    constexpr std::string_view kLetters = "\\'\"nrtxuU";
    constexpr std::string_view kMeanings = "\\'\"\n\r\t";
    constexpr std::array<std::size_t, 3> kDigits{2, 4, 8};
    const std::size_t start = at_++;
    const std::size_t letter = rest().empty() ? kLetters.npos : kLetters.find(rest().front());
    if (letter == kLetters.npos) fail(start, "an unknown escape");
    ++at_;
    if (letter < kMeanings.size()) return static_cast<unsigned char>(kMeanings[letter]);
    const std::string_view digits = rest().substr(0, kDigits.at(letter - kMeanings.size()));
    std::uint32_t code = 0;
    const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), code, 16);
    const bool is_whole = digits.size() == kDigits.at(letter - kMeanings.size()) &&
                          end == digits.data() + digits.size() && error == std::errc{};
    if (!is_whole || code > 0x10ffff || (code >= 0xd800 && code < 0xe000)) fail(start, "a malformed escape");
    at_ += digits.size();
    return code;
  }

  bool boolean() {
    if (take("True")) return true;
    if (take("False")) return false;
    fail_expecting("True or False");
  }

  std::vector<std::int64_t> shape() {
    std::vector<std::int64_t> dimensions;
    expect("(");
    while (!take(")")) {
      if (dimensions.size() == kMaxRank) refuse(fmt::format("more than {} dimensions", kMaxRank));
      dimensions.push_back(dimension());
      const bool may_end = dimensions.size() > 1;  // (7) is a number, (7,) a tuple
      if (!take(",") && !(may_end && rest().starts_with(')'))) fail_expecting(may_end ? "',' or ')'" : "','");
    }
    return dimensions;
  }

  std::int64_t dimension() {
    // numpy 2 prints its scalars as np.int64(7) and wrote them into headers (numpy issue 28334).
    const bool is_scalar = take("np.");
    if (is_scalar) {
      const std::string_view type = rest().substr(0, rest().find('('));
      const std::optional<DType> dtype = dtype_named(type);
      if (!dtype || is_floating(*dtype)) fail_expecting("an integer dtype");
      at_ += type.size();
      expect("(");
    }
    skip_space();
    const std::string_view digits = rest().substr(0, rest().find_first_not_of("0123456789"));
    if (digits.empty() || (digits.size() > 1 && digits.starts_with('0')))
      fail_expecting("a dimension (a decimal number, 0 or more)");
    std::int64_t value = 0;
    if (std::from_chars(digits.data(), digits.data() + digits.size(), value).ec != std::errc())
      fail(at_, fmt::format("shape too large: dimension {}", excerpt(digits)));
    at_ += digits.size();
    if (is_scalar)
      expect(")");
    else if (python2_ && rest().starts_with('L'))  // Python 2's suffix of long integers
      ++at_;
    return value;
  }

  std::string_view text_;
  std::size_t offset_;
  bool python2_;
  Structured structured_;
  std::string_view python_;
  std::size_t at_ = 0;
  Fields fields_;
};

}  // namespace

std::string excerpt(std::string_view bytes) {
  constexpr std::size_t kLongest = 48;
  std::string shown;
  for (const char c : bytes.substr(0, kLongest)) {
    const bool plain = c >= ' ' && c <= '~' && c != '\\';
    shown += plain ? std::string(1, c) : fmt::format("\\x{:02x}", static_cast<unsigned char>(c));
  }
  return bytes.size() > kLongest ? shown + "..." : shown;
}

std::string_view as_text(std::span<const std::byte> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

void refuse(const Message& message) {
  throw Error(ErrorKind::input, message);
}

Fields read_dict(std::string_view text, std::size_t offset, Python2 python2, Structured structured,
                 std::string_view python) {
  return DictParser(text, offset, python2, structured, python).parse();
}

}  // namespace clipper::npy
