#include "contract/expression.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "element/number.hpp"
#include "element/text.hpp"

namespace clipper {
namespace {

constexpr std::string_view kDigits = "0123456789.";

constexpr bool is_letter(char c) {
  return c >= 'a' && c <= 'z';
}

/// Reads an expression from left to right; each member returns nothing, or false, where the text has not what
/// it names.
class Parser {
 public:
  explicit Parser(std::string_view text) : rest_(text) {}

  [[nodiscard]] std::optional<Expression> expression() {
    const auto has_figure = [](const Expression::Term& term) { return term.figure.has_value(); };
    Expression read;
    bool is_negative = take('-');
    do {
      if (!add_term(read, is_negative)) return std::nullopt;
      is_negative = false;
    } while (!is_at_end() && (take('+') || (is_negative = take('-'))));
    if (!is_at_end() || std::ranges::none_of(read.terms, has_figure)) return std::nullopt;
    return read;
  }

 private:
  void skip_spaces() { rest_.remove_prefix(std::min(rest_.find_first_not_of(' '), rest_.size())); }

  [[nodiscard]] bool is_at_end() {
    skip_spaces();
    return rest_.empty();
  }

  [[nodiscard]] bool take(char c) {
    skip_spaces();
    if (!rest_.starts_with(c)) return false;
    rest_.remove_prefix(1);
    return true;
  }

  /// A finite decimal number without a sign.
  [[nodiscard]] std::optional<Number> number() {
    skip_spaces();
    std::size_t end = std::min(rest_.find_first_not_of(kDigits), rest_.size());
    if (end != 0 && end + 1 < rest_.size() && (rest_[end] == 'e' || rest_[end] == 'E')) {
      const std::size_t sign = rest_[end + 1] == '+' || rest_[end + 1] == '-' ? 1 : 0;
      const std::size_t digits = rest_.find_first_not_of(kDigits.substr(0, 10), end + 1 + sign);
      if (const std::size_t last = std::min(digits, rest_.size()); last > end + 1 + sign) end = last;
    }
    std::optional<Number> read = parse_number(rest_.substr(0, end));
    if (!read || !std::isfinite(round_to<double>(*read))) return std::nullopt;
    rest_.remove_prefix(end);
    return read;
  }

  [[nodiscard]] std::optional<Expression::Figure> word() {
    skip_spaces();
    const auto end = std::ranges::find_if_not(rest_, is_letter) - rest_.begin();
    const auto* const found =
        std::ranges::find(kStatisticWords, rest_.substr(0, static_cast<std::size_t>(end)));
    if (found == kStatisticWords.end()) return std::nullopt;
    rest_.remove_prefix(static_cast<std::size_t>(end));
    return Expression::Figure{.statistic = static_cast<Statistic>(found - kStatisticWords.begin())};
  }

  [[nodiscard]] bool add_term(Expression& to, bool is_negative) {
    Expression::Term& term = to.terms.emplace_back();
    std::optional<Number> factor;
    for (bool is_first = true; !term.figure; is_first = false) {
      std::optional<Number> next = number();
      if (next && take('%')) {
        if (!is_percentage(*next)) return false;
        term.figure = Expression::Figure{.percentage = std::move(next)};
        break;
      }
      if (next) {
        term.factor *= round_to<double>(*next);
        factor = is_first ? std::move(next) : std::nullopt;
        if (take('*')) continue;
        term.figure = word();
        if (!term.figure && !is_first) return false;
        break;
      }
      term.figure = word();
      if (!term.figure) return false;
      if (is_first) factor = Number(1);
    }
    while (term.figure && take('/')) {
      const std::optional<Number> divisor = number();
      if (!divisor || !(round_to<double>(*divisor) > 0)) return false;
      term.divisors.push_back(round_to<double>(*divisor));
    }
    if (is_negative) term.factor = -term.factor;
    if (factor && is_negative) factor->negative = true;
    to.times = to.terms.size() == 2 && term.divisors.empty() ? std::move(factor) : std::nullopt;
    return true;
  }

  std::string_view rest_;
};

/// Whether a figure is a center, or a spread, of a rule.
bool is_one_of(const std::optional<Expression::Figure>& figure, std::initializer_list<Statistic> statistics) {
  return figure && !figure->percentage &&
         std::ranges::find(statistics, figure->statistic) != statistics.end();
}

/// Whether the text, which is this expression, is a rule: "mean-3std".
bool is_rule(const Expression& expression, std::string_view text) {
  constexpr int kLeastExponent = std::numeric_limits<double>::min_exponent10 - 16;  // of the least float64
  if (text.find_first_of(" *") != std::string_view::npos || !expression.times) return false;
  const Expression::Term& center = expression.terms[0];
  const Expression::Term& spread = expression.terms[1];
  const Number& times = *expression.times;
  const bool has_center = (center.figure && center.figure->percentage) ||
                          is_one_of(center.figure, {Statistic::mean, Statistic::median});
  return has_center && center.factor == 1 && center.divisors.empty() &&
         is_one_of(spread.figure, {Statistic::std, Statistic::mad, Statistic::iqr}) &&
         times.exponent <= kFactorDigits && times.exponent >= kLeastExponent &&
         std::ssize(times.digits) <= kFactorDigits;
}

constexpr std::array<std::pair<std::string_view, std::string_view>, 12> kSpellings{{
    {"\u2212", "-"},  // MINUS SIGN
    {"\u2013", "-"},  // EN DASH
    {"+-", "-"},
    {"σ", "std"},
    {"sigma", "std"},
    {"stddev", "std"},
    {"stdev", "std"},
    {"average", "mean"},
    {"avg", "mean"},
    {"q1", "25%"},
    {"q3", "75%"},
    {"_", ""},
}};

}  // namespace

std::optional<Expression> expression_in(std::string_view text) {
  std::optional<Expression> read = Parser(text).expression();
  if (read && !is_rule(*read, text)) read->times.reset();
  return read;
}

std::optional<std::string> expression_meant_by(std::string_view text) {
  std::string meant(text);
  for (char& c : meant)
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  for (const auto& [word, spelling] : kSpellings)
    for (std::size_t at = 0; (at = meant.find(word, at)) != std::string::npos; at += spelling.size())
      meant.replace(at, word.size(), spelling);
  if (meant.starts_with('p') && !expression_in(meant)) meant = meant.substr(1) + "%";
  return meant != text && expression_in(meant) ? std::optional(meant) : std::nullopt;
}

}  // namespace clipper
