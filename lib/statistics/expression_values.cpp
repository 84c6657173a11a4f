#include "statistics/expression_values.hpp"

#include <algorithm>
#include <string_view>

namespace clipper {
namespace {

/// What is said of a bound whose spread is 0.
std::string_view flat_text(const Expression::Figure& figure) {
  if (figure.percentage) return "";
  switch (figure.statistic) {
    case Statistic::std: return "the std is 0";
    case Statistic::mad: return "the mad is 0";
    case Statistic::iqr: return "the iqr is 0";
    default: return "";
  }
}

/// The value of an expression whose figures are found.
Found value_of(const Expression& expression, std::span<const std::size_t> places,
               std::span<const Found> found) {
  if (expression.alone() != nullptr) return found[places[0]];
  for (std::size_t i = 0; i < places.size(); ++i)
    if (expression.terms[i].figure && !found[places[i]]) return std::nullopt;
  if (expression.times) return sum(*found[places[0]], product(*found[places[1]], *expression.times));
  double total = 0;
  for (std::size_t i = 0; i < places.size(); ++i) {
    const Expression::Term& term = expression.terms[i];
    double value = term.figure ? term.factor * found[places[i]]->nearest() : term.factor;
    for (const double divisor : term.divisors) value /= divisor;
    total = i == 0 ? value : total + value;
  }
  return total;
}

}  // namespace

Needed::Needed(std::span<const Expression> expressions) {
  for (const Expression& expression : expressions) {
    std::vector<std::size_t>& its = places.emplace_back();
    for (const Expression::Term& term : expression.terms) {
      std::size_t& place = its.emplace_back(kNoFigure);
      if (!term.figure) continue;
      place = static_cast<std::size_t>(std::ranges::find(names, *term.figure) - names.begin());
      if (place == names.size()) names.push_back(*term.figure);
      has_spread = has_spread || !flat_text(*term.figure).empty();
    }
    are_alone = are_alone && expression.alone() != nullptr;
  }
  are_alone = are_alone && names.size() == expressions.size();
}

void evaluate(std::span<const Expression> expressions, const Needed& needed, std::vector<Found>& found,
              GroupNumbers& numbers) {
  numbers.flat.resize(expressions.size());
  for (std::size_t i = 0; i < expressions.size() && needed.has_spread; ++i) {
    numbers.flat[i] = "";
    for (const std::size_t place : needed.places[i])
      if (place != kNoFigure && found[place] && found[place]->is_zero())
        numbers.flat[i] = flat_text(needed.names[place]);
  }
  if (&found == &numbers.figures) return;
  if (needed.are_alone) return numbers.figures.swap(found);
  numbers.figures.clear();
  for (std::size_t i = 0; i < expressions.size(); ++i)
    numbers.figures.push_back(value_of(expressions[i], needed.places[i], found));
}

}  // namespace clipper
