#include "npz/refuse.hpp"
#include "safetensors/header.hpp"

/// What is compiled instead of header.cpp if nlohmann-json is missing. No file is a safetensors file then, so
/// that nobody calls the other functions.
namespace clipper::safetensors {
namespace {

[[noreturn]] void refuse_safetensors() {
  npz::refuse("built without nlohmann-json, which safetensors files need");
}

}  // namespace

bool is_supported() {
  return false;
}

bool can_be_safetensors(std::span<const std::byte> /*start*/) {
  return false;
}

const Type* type_of(DType /*dtype*/) {
  return nullptr;
}

const Type* type_named(std::string_view /*name*/) {
  return nullptr;
}

std::uint64_t header_size(std::span<const std::byte> /*start*/, std::uint64_t /*size*/) {
  refuse_safetensors();
}

Header parse(std::string_view /*text*/, std::uint64_t /*data_size*/) {
  refuse_safetensors();
}

void arrange(std::vector<Tensor>& /*tensors*/) {
  refuse_safetensors();
}

std::string format(const Header& /*header*/) {
  refuse_safetensors();
}

WeightMap parse_index(std::string_view /*text*/) {
  refuse_safetensors();
}

std::string changed_index(std::string_view /*text*/, const std::vector<std::string>& /*dropped*/,
                          std::uint64_t /*total_size*/) {
  refuse_safetensors();
}

}  // namespace clipper::safetensors
