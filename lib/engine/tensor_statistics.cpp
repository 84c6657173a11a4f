#include "engine/tensor_statistics.hpp"

#include <mutex>
#include <span>

#include "element/element.hpp"

namespace clipper {
namespace {

ElementBits element_or(const std::optional<Limit>& limit, ElementBits otherwise) {
  return limit ? limit->element.value_or(otherwise) : otherwise;
}

}  // namespace

ElementStatistics read_statistics(Engine& engine, InputFile& input, const npy::Header& header,
                                  const std::optional<Limit>& min, const std::optional<Limit>& max) {
  const Bounds bounds{element_or(min, lowest_element(header.dtype)),
                      element_or(max, highest_element(header.dtype))};
  ElementStatistics total;
  total.dtype = header.dtype;
  std::mutex mutex;
  engine.read(header, input, [&](std::span<std::byte> elements) {
    const ElementStatistics part = statistics_of(header.dtype, header.order, bounds, elements.data(),
                                                 elements.size() / traits(header.dtype).size, engine.level());
    const std::lock_guard lock(mutex);
    total += part;
  });
  // A limit that all elements are beyond exists only for integers, which are never NaN.
  if (min && !min->element) total.below = total.count;
  if (max && !max->element) total.above = total.count;
  return total;
}

}  // namespace clipper
