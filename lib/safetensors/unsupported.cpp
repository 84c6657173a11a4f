#include "npz/refuse.hpp"
#include "safetensors/json.hpp"

/// What is compiled instead of json.cpp if nlohmann-json is missing. No file is a safetensors file then, so
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

void read_json(std::string_view /*text*/, Header& /*header*/) {
  refuse_safetensors();
}

std::string quoted(const std::string& /*text*/) {
  refuse_safetensors();
}

}  // namespace clipper::safetensors
