#include "contract/exact_parameter.hpp"

#include <algorithm>
#include <cstddef>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "contract/parameter_array.hpp"
#include "element/element.hpp"

namespace clipper {
namespace {

/// The element of a float dtype with this value; nothing if it has none.
std::optional<ElementBits> exact_element(DType dtype, const Number& number) {
  const ElementBits nearest = nearest_element(dtype, number);
  const bool is_exact = number.kind == Number::Kind::nan || number_of(dtype, nearest) == number;
  return is_exact ? std::optional(nearest) : std::nullopt;
}

/// The bits of an element in a byte order.
ElementBits bits_in(std::span<const std::byte> bytes, ByteOrder order) {
  ElementBits bits = 0;
  for (std::size_t i = 0; i < bytes.size(); ++i)
    bits |= std::to_integer<ElementBits>(bytes[order == ByteOrder::little ? i : bytes.size() - 1 - i])
            << 8 * i;
  return bits;
}

/// The elements of a held array in another dtype.
class ExactArray : public ParameterArray {
 public:
  ExactArray(std::shared_ptr<const ParameterArray> array, TensorLayout layout, std::vector<std::byte> held)
      : array_(std::move(array)), layout_(std::move(layout)), held_(std::move(held)) {}

  [[nodiscard]] const TensorLayout& layout() const override { return layout_; }
  [[nodiscard]] std::span<const std::byte> held() const override { return held_; }
  void read(std::uint64_t position, std::span<std::byte> elements) const override {
    std::ranges::copy(std::span(held_).subspan(position * traits(layout_.dtype).size, elements.size()),
                      elements.begin());
  }
  [[nodiscard]] std::uint64_t fingerprint() const override {
    return array_->fingerprint() + 1 + static_cast<std::uint64_t>(layout_.dtype);
  }
  void expect_unwritten() const override { array_->expect_unwritten(); }
  [[nodiscard]] bool is(const struct stat& file) const override { return array_->is(file); }

 private:
  std::shared_ptr<const ParameterArray> array_;
  TensorLayout layout_;
  std::vector<std::byte> held_;
};

std::shared_ptr<const ParameterArray> exact_array(const std::shared_ptr<const ParameterArray>& array,
                                                  DType dtype) {
  TensorLayout layout = array->layout();
  const std::size_t from = traits(layout.dtype).size;
  const std::size_t to = traits(dtype).size;
  if (array->held().size() != layout.count * from) return nullptr;
  std::vector<std::byte> held(layout.count * to);
  for (std::size_t i = 0; i < layout.count; ++i) {
    const ElementBits bits = bits_in(array->held().subspan(i * from, from), layout.order);
    const std::optional<ElementBits> element = exact_element(dtype, number_of(layout.dtype, bits));
    if (!element) return nullptr;
    for (std::size_t byte = 0; byte < to; ++byte)
      held[i * to + byte] = static_cast<std::byte>(*element >> 8 * byte & 0xff);
  }
  layout.dtype = dtype;
  layout.order = ByteOrder::little;
  return std::make_shared<ExactArray>(array, std::move(layout), std::move(held));
}

}  // namespace

bool give_dtype_if_exact(std::optional<Given>& given, DType dtype) {
  if (!given || !given->dtype || given->dtype == dtype || given->opaque || !is_floating(dtype)) return false;
  if (!given->array) {
    const std::optional<ElementBits> element = exact_element(dtype, given->number);
    if (!element) return false;
    given->element = *element;
  } else if (auto array = exact_array(given->array, dtype)) {
    given->array = std::move(array);
  } else {
    return false;
  }
  given->dtype = dtype;
  return true;
}

}  // namespace clipper
