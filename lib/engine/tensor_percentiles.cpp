#include "engine/tensor_percentiles.hpp"

#include <array>
#include <utility>

#include "contract/bounds.hpp"
#include "element/element.hpp"
#include "element/number.hpp"
#include "error.hpp"

namespace clipper {
namespace {

struct Bound {
  std::string_view field;
  std::optional<Given> Request::*given;
};

constexpr std::array kBounds{Bound{"min", &Request::min}, Bound{"max", &Request::max}};

/// The bounds of the request that are percentiles.
std::vector<Bound> percentiles_in(const Request& request) {
  std::vector<Bound> bounds;
  for (const Bound& bound : kBounds)
    if ((request.*bound.given) && (request.*bound.given)->percentage) bounds.push_back(bound);
  return bounds;
}

[[noreturn]] void refuse(ErrorKind kind, const Request& request, const Bound& bound, const Message& why) {
  throw Error(kind, label(bound.field, *(request.*bound.given)) + ": " + why);
}

/// The bound as typed, with the element's exact value.
void set_number(std::optional<Given>& bound, DType dtype, ElementBits element) {
  bound->number = number_of(dtype, element);
  bound->percentage.reset();
}

ElementSource source_of(Engine& engine, InputFile& input, const npy::Header& header) {
  return {header.dtype, header.order, header.count, [&](const ElementSource::Look& look) {
            engine.read(header, input, look);
            engine.take_back_done(header.data_size());  // the tensor is read again
          }};
}

}  // namespace

std::vector<std::optional<ElementBits>> read_percentiles(Engine& engine, InputFile& input,
                                                         const npy::Header& header,
                                                         std::span<const Number> percentages) {
  for (const Number& percentage : percentages)
    if (!is_percentile(percentage))
      throw Error(
          ErrorKind::usage,
          decimal_text(percentage) + ": a percentile is a number from 0 to 100 with max 16 decimal places");
  if (!input.is_regular())
    throw Error(ErrorKind::usage, input.path() + ": is a stream, but percentiles need the elements twice");
  return percentiles_of(source_of(engine, input, header), percentages, engine.level());
}

bool has_percentiles(const Request& request) {
  return !percentiles_in(request).empty();
}

void check_percentiles(const Request& request) {
  for (const Bound& bound : percentiles_in(request)) {
    if (!is_percentile(*(request.*bound.given)->percentage))
      refuse(ErrorKind::usage, request, bound, "a percentile has max 16 decimal places");
    for (const auto& [field, given] : {std::pair("scale", &request.scale), std::pair("bias", &request.bias)})
      if (*given)
        refuse(ErrorKind::usage, request, bound,
               "a percentile cannot be combined with " + label(field, **given));
  }
}

void refuse_percentiles_of_stream(const Request& request) {
  refuse(ErrorKind::usage, request, percentiles_in(request).front(),
         Term{"input", "the input"} + Message(" must be a file, not a stream: it needs to be read twice"));
}

Request with_percentiles_of(const ElementSource& source, Request request, SimdLevel level) {
  check_percentiles(request);
  const std::vector<Bound> bounds = percentiles_in(request);
  std::vector<Number> percentages;
  for (const Bound& bound : bounds) percentages.push_back(*(request.*bound.given)->percentage);
  const auto found = percentiles_of(source, percentages, level);
  for (std::size_t i = 0; i < bounds.size(); ++i) {
    if (!found[i])
      refuse(ErrorKind::input, request, bounds[i],
             source.count == 0 ? "the tensor has no elements" : "all elements are NaN");
    if (number_of(source.dtype, *found[i]).kind == Number::Kind::nan)
      refuse(ErrorKind::input, request, bounds[i], "the percentile lies between -inf and inf");
    set_number(request.*bounds[i].given, source.dtype, *found[i]);
  }
  return request;
}

Request with_percentiles_of(Engine& engine, InputFile& input, const npy::Header& header,
                            const Request& request) {
  if (!has_percentiles(request)) return request;
  if (!input.is_regular()) refuse_percentiles_of_stream(request);
  return with_percentiles_of(source_of(engine, input, header), request, engine.level());
}

Request with_widest_percentiles(Request request, DType dtype) {
  check_percentiles(request);
  for (const Bound& bound : percentiles_in(request))
    set_number(request.*bound.given, dtype,
               bound.given == &Request::min ? lowest_element(dtype) : highest_element(dtype));
  return request;
}

}  // namespace clipper
