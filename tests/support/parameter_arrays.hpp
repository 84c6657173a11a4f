#pragma once

#include <memory>
#include <span>

#include "contract/arrays.hpp"
#include "contract/profile.hpp"
#include "support/tensors.hpp"

namespace clipper::testing {

/// Whether an array of a test counts as held in memory, or must be read.
enum class Held : bool { no, yes };

/// An array without a file.
class ArrayInMemory : public ParameterArray {
 public:
  ArrayInMemory(TensorLayout header, std::string bytes, Held held)
      : header_(std::move(header)), bytes_(std::move(bytes)), held_(held) {}

  [[nodiscard]] const TensorLayout& layout() const override { return header_; }
  [[nodiscard]] std::span<const std::byte> held() const override {
    return held_ == Held::yes ? all() : std::span<const std::byte>();
  }
  void read(std::uint64_t position, std::span<std::byte> elements) const override {
    const auto from = all().subspan(position * traits(header_.dtype).size, elements.size());
    std::copy(from.begin(), from.end(), elements.begin());
  }
  [[nodiscard]] std::uint64_t fingerprint() const override { return header_.count; }
  void expect_unwritten() const override {}
  [[nodiscard]] bool is(const os::Status& /*file*/) const override { return false; }

 private:
  [[nodiscard]] std::span<const std::byte> all() const { return std::as_bytes(std::span(bytes_)); }

  TensorLayout header_;
  std::string bytes_;
  Held held_;
};

/// A parameter of a request; `elements` are in the order of the header's file.
template <class T>
Parameter array_of(TensorLayout header, const std::vector<T>& elements, Held held) {
  std::string bytes = bytes_of(elements);
  if (header.order != kNativeOrder) bytes = byte_swapped(std::move(bytes), sizeof(T));
  Parameter given{Number{}, "@array.npy", header.dtype};
  given.shape = header.shape;
  given.array = std::make_shared<ArrayInMemory>(std::move(header), std::move(bytes), held);
  return given;
}

}  // namespace clipper::testing
