#include "flows/tensor_percentiles.hpp"

#include "element/number.hpp"
#include "error.hpp"

namespace clipper {

std::vector<std::optional<Number>> read_percentiles(Engine& engine, InputFile& input,
                                                    const TensorLayout& layout,
                                                    std::span<const Number> percentages) {
  for (const Number& percentage : percentages)
    if (!is_percentile(percentage))
      throw Error(
          ErrorKind::usage,
          decimal_text(percentage) + ": a percentile is a number from 0 to 100 with max 16 decimal places");
  if (!input.is_regular())
    throw Error(ErrorKind::usage,
                input.path() + ": percentiles need a file, not a stream: its elements are read twice");
  const auto read = [&](const ElementSource::Look& look) {
    engine.read(layout, input,
                [&](std::uint64_t /*position*/, std::span<std::byte> elements) { look(elements); });
    engine.take_back_done(layout.data_size());  // done() counts each tensor once
  };
  return percentiles_of({layout.dtype, layout.order, layout.count, read, input.path()}, percentages,
                        engine.level());
}

}  // namespace clipper
