#include "safetensors/json.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <limits>
#include <nlohmann/json.hpp>
#include <tuple>
#include <utility>
#include <vector>

#include "npy/dict.hpp"
#include "npz/refuse.hpp"

namespace clipper::safetensors {
namespace {

using npz::refuse;

/// Receives what nlohmann-json reads, and refuses all that does not belong into a header. A header has three
/// levels, so nothing deeper is read.
class Reader {
 public:
  explicit Reader(Header& header) : header_(header) {}

  // The names and types are nlohmann-json's.
  using string_t = std::string;
  using binary_t = nlohmann::json::binary_t;

  bool null() { return refuse_value(); }
  bool boolean(bool /*value*/) { return refuse_value(); }
  bool number_integer(std::int64_t /*value*/) { return refuse_value(); }
  bool number_float(double /*value*/, const std::string& /*text*/) { return refuse_value(); }
  bool binary(binary_t& /*value*/) { return refuse_value(); }

  bool number_unsigned(std::uint64_t value) {
    if (place_ != Place::numbers || value > std::numeric_limits<std::int64_t>::max()) refuse_value();
    numbers_.push_back(value);
    return true;
  }

  bool string(std::string& value) {
    if (place_ == Place::metadata) {
      header_.metadata->back().second = std::move(value);
    } else if (place_ == Place::tensor && field_ == "dtype") {
      tensor().type = type_named(value);
      if (tensor().type == nullptr)
        refuse_tensor(tensor().name, fmt::format("unknown dtype '{}'", npy::excerpt(value)));
    } else {
      refuse_value();
    }
    return true;
  }

  bool start_object(std::size_t /*size*/) {
    if (place_ == Place::outside) {
      place_ = Place::header;
    } else if (place_ == Place::header && is_metadata_) {
      place_ = Place::metadata;
      header_.metadata.emplace();
    } else if (place_ == Place::header) {
      place_ = Place::tensor;
      seen_.clear();
    } else {
      refuse_value();
    }
    return true;
  }

  bool key(std::string& key) {
    if (place_ == Place::metadata) {
      header_.metadata->emplace_back(std::move(key), "");
    } else if (place_ == Place::tensor) {
      if (std::ranges::find(kFields, key) == kFields.end())
        refuse_tensor(tensor().name, fmt::format("unknown field '{}'", npy::excerpt(key)));
      if (std::ranges::find(seen_, key) != seen_.end())
        refuse_tensor(tensor().name, fmt::format("two fields '{}'", key));
      seen_.push_back(field_ = std::move(key));
    } else {
      is_metadata_ = key == kMetadata;
      if (is_metadata_ && header_.metadata) refuse(fmt::format("two fields '{}'", kMetadata));
      if (!is_metadata_) header_.tensors.emplace_back().name = std::move(key);
    }
    return true;
  }

  bool end_object() {
    if (place_ == Place::tensor && seen_.size() < kFields.size())
      refuse_tensor(tensor().name, "dtype, shape or data_offsets is missing");
    place_ = place_ == Place::header ? Place::outside : Place::header;
    return true;
  }

  bool start_array(std::size_t /*size*/) {
    if (place_ != Place::tensor || field_ == "dtype") refuse_value();
    place_ = Place::numbers;
    numbers_.clear();
    return true;
  }

  bool end_array() {
    place_ = Place::tensor;
    if (field_ == "shape") {
      tensor().shape.assign(numbers_.begin(), numbers_.end());
    } else {
      if (numbers_.size() != 2) refuse_tensor(tensor().name, "data_offsets are not two numbers");
      std::tie(tensor().begin, tensor().end) = std::tie(numbers_[0], numbers_[1]);
    }
    return true;
  }

  [[noreturn]] static bool parse_error(std::size_t position, const std::string& /*token*/,
                                       const nlohmann::json::exception& /*error*/) {
    refuse(fmt::format("the header is not JSON in UTF-8, at byte {}", kLengthSize + position));
  }

 private:
  enum class Place : std::uint8_t { outside, header, metadata, tensor, numbers };

  static constexpr std::array<std::string_view, 3> kFields{"dtype", "shape", "data_offsets"};

  [[nodiscard]] Tensor& tensor() { return header_.tensors.back(); }

  bool refuse_value() {
    if (place_ == Place::outside || place_ == Place::header || place_ == Place::metadata)
      refuse("the header is not an object of tensors, with texts as __metadata__");
    refuse_tensor(tensor().name, fmt::format("malformed {}", field_));
  }

  Header& header_;
  Place place_ = Place::outside;
  bool is_metadata_ = false;  ///< the key that was read last in Place::header
  std::string field_;
  std::vector<std::string> seen_;  ///< fields of the tensor
  std::vector<std::uint64_t> numbers_;
};

}  // namespace

bool is_supported() {
  return true;
}

void read_json(std::string_view text, Header& header) {
  Reader reader(header);
  nlohmann::json::sax_parse(text, &reader);
}

std::string quoted(const std::string& text) {
  return nlohmann::json(text).dump();
}

}  // namespace clipper::safetensors
