#include "profiles/profile_check.hpp"

#include <algorithm>
#include <array>
#include <cstddef>

#include "clip/clip.hpp"
#include "contract/plan.hpp"
#include "element/element.hpp"
#include "error.hpp"
#include "simd/levels.hpp"

namespace clipper {
namespace {

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

bool is_nan(const std::optional<Given>& bound) {
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

/// Why native refuses bounds that another profile takes.
std::string_view refused_by_native(const Request& bounds) {
  if (is_nan(bounds.min) || is_nan(bounds.max)) return "NaN as a bound";
  return bounds.min && bounds.max && bounds.min->number > bounds.max->number ? "min > max" : "bounds";
}

std::vector<std::string_view> differences(const Plan& plan, const Plan& native) {
  const DType dtype = plan.operation.dtype;
  const std::vector<ElementBits> samples =
      samples_of(dtype, {plan.min, plan.max, native.min, native.max, plan.operation.lo, plan.operation.hi});
  const std::vector<ElementBits> ours = clipped(native, samples);
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

}  // namespace

std::vector<ProfileCheck> check_profiles(const Request& bounds, const TensorLayout& tensor) {
  TensorLayout layout = tensor;
  layout.order = kNativeOrder;
  std::optional<Failure> unused;
  const std::optional<Plan> native = plan_for(*profile_named("native"), bounds, layout, unused);
  std::vector<ProfileCheck> result;
  for (const Profile& profile : profiles()) {
    ProfileCheck check{&profile, std::nullopt, "", "", {}, {}};
    if (const std::optional<Plan> plan = plan_for(profile, bounds, layout, check.refusal)) {
      check.min = bound_text(*plan, Parameter::min);
      check.max = bound_text(*plan, Parameter::max);
      check.differs = native ? differences(*plan, *native) : std::vector{refused_by_native(bounds)};
      check.unspecified = unspecified(profile, bounds, *plan);
    }
    result.push_back(std::move(check));
  }
  return result;
}

}  // namespace clipper
