#include <fmt/format.h>

#include <algorithm>
#include <string>

#include "contract/arrays.hpp"
#include "contract/bounds.hpp"
#include "contract/steps.hpp"
#include "element/element.hpp"
#include "element/number.hpp"
#include "error.hpp"

/// Elements that are no data, and those outside of a mask.
namespace clipper {
namespace {

void choose_nodata(const Request& /*request*/, Plan& /*plan*/) {}

/// A number as it is looked for: rounded to a float, unless that is infinite.
Number looked_for(const Parameter& given, DType dtype) {
  if (!is_floating(dtype) || given.number.kind != Number::Kind::finite) return given.number;
  const Number nearest = number_of(dtype, nearest_element(dtype, given.number));
  return nearest.kind == Number::Kind::finite ? nearest : given.number;
}

/// What nodata elements become. Error{usage} for a number that the dtype does not have.
ElementBits nodata_result(std::string_view field, const Parameter& given, DType dtype) {
  if (!is_floating(dtype)) return integer_element(field, given, dtype);
  const ElementBits element = nearest_element(dtype, given.number);
  if (number_of(dtype, element).kind != given.number.kind)
    refuse_request(label(field, given) + fmt::format(" cannot become {}", traits(dtype).name));
  return element;
}

void plan_mask(const Request& request, Plan& plan) {
  const auto result = [&](const Parameter& given) {
    return nodata_result("mask_to", given, plan.output.dtype);
  };
  const Parameter& to = *request.mask_to;
  plan.mask = {*request.mask};
  if (!to.array) {
    plan.mask->to = result(to);
    return;
  }
  check_shape("mask_to", to, plan.input.shape);
  Broadcast& each = plan.mask->each.emplace();
  each.arrays.push_back({ParameterId::min, to.text, with_elements(to, DType::uint64, result), {}, to.array});
  const auto is_found = [](const Parameter&) { return ElementBits{1}; };
  each.arrays.push_back({ParameterId::max, to.text, with_elements(to, DType::uint8, is_found), {}});
  lay_out(each, plan.input.shape, plan.input.fortran_order);
}

void convert_nodata(const Request& request, Plan& plan) {
  if (request.mask_to) {
    check_shape("mask", *request.mask, plan.input.shape);
    plan_mask(request, plan);
  }
  if (request.nodata.empty()) return;
  const DType from = plan.input.dtype;
  const DType to = plan.output.dtype;
  NodataPlan& nodata = plan.nodata.emplace();
  nodata.read = nodata_of(request, from);
  nodata.written.dtype = to;
  for (const Parameter& given : request.nodata) {
    nodata.text += (nodata.text.empty() ? "" : ", ") + given.text;
    Nodata found{from};
    if (request.nodata_to || !found.add(looked_for(given, from)) ||
        nodata.written.add(looked_for(given, from)))
      continue;
    refuse_request(label("nodata", given) +
                   fmt::format(" cannot become {}; what nodata elements become, says ", traits(to).name) +
                   parameter("nodata_to"));
  }
  if (request.nodata_to) {
    nodata.to =
        convert_numbers(plan.arrays, ParameterId::nodata_to, *request.nodata_to,
                        [&](const Parameter& given) { return nodata_result("nodata_to", given, to); });
    nodata.written.add(number_of(to, *nodata.to));
  } else if (from != to) {
    nodata.keeping = conversion(from, to);
  }
}

void identify_nodata(const Plan& plan, std::string& text) {
  if (const auto& mask = plan.mask)
    text += fmt::format(" mask={:x}:{:x}",
                        mask->mask.array ? mask->mask.array->fingerprint() : mask->mask.number != Number(0),
                        mask->each ? mask->each->arrays.front().array->fingerprint() : mask->to);
  if (!plan.has_nodata()) return;
  text += plan.nodata->read.nan ? " nodata=nan" : " nodata=";
  for (const ElementBits element : plan.nodata->read.elements) text += fmt::format(",{:x}", element);
  if (plan.nodata->to) text += fmt::format(":{:x}", *plan.nodata->to);
}

void describe_nodata(const Plan& plan, std::string& text) {
  if (plan.mask)
    text += fmt::format(", what is outside of {} becomes {}", plan.mask->mask.text,
                        plan.mask->each ? text_of(plan.mask->each->arrays.front())
                                        : element_text(plan.output.dtype, plan.mask->to));
  if (!plan.nodata) return;
  text += ", nodata " + plan.nodata->text;
  if (plan.nodata->to) text += " becomes " + text_of(plan, ParameterId::nodata_to);
}

}  // namespace

constexpr Step kNodata{choose_nodata, convert_nodata, identify_nodata, describe_nodata};

Nodata nodata_of(const Request& request, DType dtype) {
  Nodata nodata{dtype};
  for (const Parameter& given : request.nodata) {
    check_number(*field_named("nodata"), given);
    nodata.add(looked_for(given, dtype));
  }
  std::ranges::sort(nodata.elements);  // whatever the order in which they are given
  nodata.elements.erase(std::unique(nodata.elements.begin(), nodata.elements.end()), nodata.elements.end());
  return nodata;
}

}  // namespace clipper
