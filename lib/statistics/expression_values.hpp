#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <vector>

#include "contract/expression.hpp"
#include "statistics/element_figures.hpp"
#include "statistics/figure.hpp"

namespace clipper {

inline constexpr std::size_t kNoFigure = static_cast<std::size_t>(-1);

/// The figures of expressions, each once.
struct Needed {
  std::vector<Expression::Figure> names;
  std::vector<std::vector<std::size_t>> places;  ///< of the figure of each term, or kNoFigure
  bool are_alone = true;                         ///< whether each name is one expression
  bool has_spread = false;                       ///< whether a std, mad or iqr is among them

  explicit Needed(std::span<const Expression> expressions);
};

using Found = std::optional<Figure>;

/// Sets the values of all expressions from those of their figures, which it may take.
void evaluate(std::span<const Expression> expressions, const Needed& needed, std::vector<Found>& found,
              GroupNumbers& numbers);

}  // namespace clipper
