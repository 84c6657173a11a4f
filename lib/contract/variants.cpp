#include "contract/variants.hpp"

#include <algorithm>
#include <bit>
#include <functional>
#include <limits>
#include <utility>

#include "contract/bounds.hpp"
#include "element/element.hpp"
#include "element/number.hpp"
#include "error.hpp"

namespace clipper {
namespace {

/// The number of each element of an array of zero points.
std::vector<Number> zero_points(const Parameter& given, const TensorLayout& layout) {
  check_shape("zero_point", given, layout.shape);
  const TensorLayout& own = given.array->layout();
  const std::size_t size = traits(own.dtype).size;
  std::vector<Number> numbers;
  for (std::size_t at = 0; at < given.array->held().size(); at += size)
    numbers.push_back(number_of(own.dtype, bits_in(given.array->held().subspan(at, size), own.order)));
  return numbers;
}

/// The parameters that each group lacks, of which `one` becomes an array; nothing if no group lacks any.
std::vector<ParameterSet> missing_sets(const Request& request, const TensorLayout& layout,
                                       std::shared_ptr<const ParameterArray>& one) {
  std::vector<ParameterSet> missing;
  const auto note = [&](ParameterId parameter, const std::shared_ptr<const ParameterArray>& array,
                        const auto& is_missing) {
    one = array;
    missing.resize(array->layout().count);
    for (std::size_t i = 0; i < missing.size(); ++i)
      if (is_missing(i)) missing[i] |= bit_of(parameter);
  };
  for (const Field* const field : fields::kParameters)
    if (const auto& given = field->number_in(request); given && given->array && !given->array->lost().empty())
      note(*field->parameter, given->array,
           [lost = given->array->lost()](std::size_t group) { return lost[group] != 0; });
  if (const auto& norm = request.max_norm;
      is_long_integer(layout.dtype) && norm && norm->array && norm->array->layout().count > 1) {
    const auto factors = norm_factors(*norm);
    note(ParameterId::max_norm, norm->array,
         [&](std::size_t group) { return from_bits<double>(found_element(*factors, group)) == 1; });
  }
  if (std::ranges::all_of(missing, [](ParameterSet set) { return set == 0; })) missing.clear();
  return missing;
}

}  // namespace

std::optional<Variants> variants_of(const Request& request, const TensorLayout& layout) {
  std::shared_ptr<const ParameterArray> one;
  std::vector<ParameterSet> missing = missing_sets(request, layout, one);
  const auto& zero_point = request.zero_point;
  const bool has_zero_points = zero_point && zero_point->array;
  std::vector<Number> numbers;
  if (has_zero_points) {
    numbers = zero_points(*zero_point, layout);
    one = zero_point->array;
    if (missing.empty()) missing.resize(numbers.size());
    if (numbers.empty() || missing.size() != numbers.size())
      refuse_request(label("zero_point", *zero_point) + " must have one number for each index");
  }
  if (missing.empty()) return std::nullopt;
  const auto variant = [&](std::size_t i) {
    return Variant{missing[i], has_zero_points ? std::optional(numbers[i]) : std::nullopt};
  };
  Variants variants;  // few, of groups of which there may be millions
  for (std::size_t i = 0; i < missing.size(); ++i) {
    if (std::ranges::find(variants.all, variant(i)) != variants.all.end()) continue;
    if (variants.all.size() == 256)
      refuse_request(label("zero_point", *zero_point) + " has more than 256 different numbers");
    variants.all.push_back(variant(i));
  }
  std::ranges::sort(variants.all, [](const Variant& a, const Variant& b) {
    const auto missing = [](const Variant& v) { return std::pair(std::popcount(v.missing), v.missing); };
    return missing(a) != missing(b) ? missing(a) < missing(b) : a.zero_point && *a.zero_point < *b.zero_point;
  });
  // As many sets as indexes.
  const bool are_numbered = has_zero_points || std::ranges::any_of(variants.all, [](const Variant& each) {
                              return each.missing > std::numeric_limits<std::uint8_t>::max();
                            });
  for (std::size_t i = 0; i < variants.all.size(); ++i)
    variants.keys.push_back(static_cast<std::uint8_t>(are_numbered ? i : variants.all[i].missing));
  std::vector<std::byte> keys;
  for (std::size_t i = 0; i < missing.size(); ++i) {
    const auto place = std::ranges::find(variants.all, variant(i)) - variants.all.begin();
    keys.push_back(std::byte{variants.keys[static_cast<std::size_t>(place)]});
  }
  TensorLayout own = one->layout();
  own.dtype = DType::uint8;
  variants.places.arrays.push_back(
      {ParameterId::min, "", with_elements(one, std::move(own), std::move(keys)), {}});
  lay_out(variants.places, layout.shape, layout.fortran_order);
  return variants;
}

}  // namespace clipper
