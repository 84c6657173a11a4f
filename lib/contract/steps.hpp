#pragma once

#include <span>
#include <string>

#include "contract/plan.hpp"
#include "contract/profile.hpp"

/// The steps that an operation takes with each element. A step is a row in steps(), and a block of functions.
namespace clipper {

struct Step {
  /// Error{usage} for parameters that no tensor allows.
  void (*check)(const Request& request);

  /// Chooses the arithmetic and dtypes of the step, from those of the steps before it.
  void (*choose)(const Request& request, Plan& plan);

  /// Makes the step's numbers elements, after all steps have chosen. Error{usage} for numbers that cannot be.
  void (*convert)(const Request& request, Plan& plan);

  /// Appends what Plan::fingerprint() and describe() say of the step.
  void (*identify)(const Plan& plan, std::string& text);
  void (*describe)(const Plan& plan, std::string& text);
};

/// In the order in which they happen to an element.
[[nodiscard]] std::span<const Step* const> steps() noexcept;

/// The last step: replacements, rounding, zero point, the output's dtype.
extern const Step kCast;

/// Whether bounds beside a scale or bias are numbers of the arithmetic, not elements of the tensor's dtype.
[[nodiscard]] bool has_arithmetic_bounds(const Request& request);

[[nodiscard]] std::string text_of(const Operation::Integer& integer);

}  // namespace clipper
