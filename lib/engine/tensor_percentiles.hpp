#pragma once

#include <optional>
#include <span>
#include <vector>

#include "contract/profile.hpp"
#include "engine/engine.hpp"
#include "files/input_file.hpp"
#include "npy/header.hpp"
#include "statistics/percentiles.hpp"

namespace clipper {

/// For each percentage, a number from 0 to 100, the element below which this share of the tensor's elements
/// lies: see percentiles_of(). Reads the file two or more times; the header has been read. Error{usage} for a
/// number that is not a percentage or has more than 16 decimal places, and for a stream; Error{io} if the
/// file changes while it is read.
[[nodiscard]] std::vector<std::optional<ElementBits>> read_percentiles(Engine& engine, InputFile& input,
                                                                       const npy::Header& header,
                                                                       std::span<const Number> percentages);

/// Whether a bound of the request is a percentile.
[[nodiscard]] bool has_percentiles(const Request& request);

/// Error{usage} for percentiles together with scale or bias, and with more than 16 decimal places.
void check_percentiles(const Request& request);

/// Error{usage} that names the bound: the elements of a stream cannot be read twice.
[[noreturn]] void refuse_percentiles_of_stream(const Request& request);

/// The request with every bound that is a percentile replaced by the value found in the elements, whose exact
/// value becomes the bound's number. Error{input} that names the bound if all elements are NaN, or if the
/// percentile lies between -inf and inf. Calls check_percentiles().
[[nodiscard]] Request with_percentiles_of(const ElementSource& source, Request request, SimdLevel level);

/// The same for the elements of a file whose header has been read. Error{usage} for a stream.
[[nodiscard]] Request with_percentiles_of(Engine& engine, InputFile& input, const npy::Header& header,
                                          const Request& request);

/// The request with every bound that is a percentile replaced by the dtype's lowest or highest element: for
/// checking everything else before the elements are read.
[[nodiscard]] Request with_widest_percentiles(Request request, DType dtype);

}  // namespace clipper
