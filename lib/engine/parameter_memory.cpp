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

namespace clipper {
namespace {

class ParameterMemory : public ParameterArray {
 public:
  ParameterMemory(npy::Header header, std::span<const std::byte> elements)
      : header_(std::move(header)), elements_(elements) {}

  [[nodiscard]] const npy::Header& header() const override { return header_; }
  [[nodiscard]] std::span<const std::byte> held() const override { return elements_; }
  void read(std::uint64_t position, std::span<std::byte> elements) const override {
    std::memcpy(elements.data(), elements_.data() + position * traits(header_.dtype).size, elements.size());
  }
  [[nodiscard]] std::uint64_t fingerprint() const override {
    const std::string header = npy::format(header_);
    return checksum(std::as_bytes(std::span(header))) ^ placed_sum(elements_, 0);
  }
  void expect_unwritten() const override {}
  [[nodiscard]] bool is(const struct stat& /*file*/) const override { return false; }

 private:
  npy::Header header_;
  std::span<const std::byte> elements_;
};

}  // namespace

Given parameter_in_memory(const npy::Header& header, const std::byte* elements) {
  const std::span bytes(elements, header.data_size());
  Given given{Number{}, "array", header.dtype};
  given.shape = header.shape;
  if (header.count == 1)
    given.number = only_element(header, bytes);
  else
    given.array = std::make_shared<ParameterMemory>(header, bytes);
  return given;
}

}  // namespace clipper
