#include "engine/parameter_memory.hpp"

#include <cstdint>
#include <cstring>
#include <memory>
#include <span>
#include <string>
#include <utility>

#include "contract/parameter_array.hpp"
#include "element/element.hpp"
#include "files/checksum.hpp"
#include "files/parameter_file.hpp"
#include "npy/header.hpp"

namespace clipper {
namespace {

class ParameterMemory : public ParameterArray {
 public:
  ParameterMemory(TensorLayout layout, std::span<const std::byte> elements)
      : layout_(std::move(layout)), elements_(elements) {}

  [[nodiscard]] const TensorLayout& layout() const override { return layout_; }
  [[nodiscard]] std::span<const std::byte> held() const override { return elements_; }
  void read(std::uint64_t position, std::span<std::byte> elements) const override {
    std::memcpy(elements.data(), elements_.data() + position * traits(layout_.dtype).size, elements.size());
  }
  [[nodiscard]] std::uint64_t fingerprint() const override {
    const std::string header = npy::format(layout_);
    return checksum(std::as_bytes(std::span(header))) ^ placed_sum(elements_, 0);
  }
  void expect_unwritten() const override {}
  [[nodiscard]] bool is(const struct stat& /*file*/) const override { return false; }

 private:
  TensorLayout layout_;
  std::span<const std::byte> elements_;
};

}  // namespace

Given parameter_in_memory(const TensorLayout& layout, const std::byte* elements) {
  const std::span bytes(elements, layout.data_size());
  Given given{Number{}, "array", layout.dtype};
  given.shape = layout.shape;
  if (layout.count == 1)
    given.number = only_element(layout, bytes);
  else
    given.array = std::make_shared<ParameterMemory>(layout, bytes);
  return given;
}

}  // namespace clipper
