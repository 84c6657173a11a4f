#include "formats/parameter_file.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <memory>
#include <span>
#include <utility>

#include "contract/arrays.hpp"
#include "element/element.hpp"
#include "error.hpp"
#include "files/descriptor.hpp"
#include "files/input_file.hpp"

namespace clipper {
namespace {

/// The largest array that is held in memory, in bytes. A run has at most four arrays.
constexpr std::size_t kMaxHeldArray = 2UL << 20;

class ParameterFile : public ParameterArray {
 public:
  ParameterFile(InputFile file, npy::Header header) : file_(std::move(file)), header_(std::move(header)) {
    if (header_.data_size() > kMaxHeldArray) return;
    held_.resize(header_.data_size());
    file_.read_at(held_, header_.data_offset);
    file_.expect_unwritten();
  }

  [[nodiscard]] const TensorLayout& layout() const override { return header_; }
  [[nodiscard]] std::span<const std::byte> held() const override { return held_; }

  void read(std::uint64_t position, std::span<std::byte> elements) const override {
    file_.read_at(elements, header_.data_offset + position * traits(header_.dtype).size);
  }

  /// Over the bytes that np.save would write.
  [[nodiscard]] std::uint64_t fingerprint() const override {
    const std::string header = npy::format(header_);
    std::uint64_t sum = placed_sum(std::as_bytes(std::span(header)), 0);
    if (!held_.empty()) return sum + placed_sum(held_, kSummedBlock * kDataBlock);
    std::vector<std::byte> bytes(kBuffer);
    for (std::uint64_t at = 0; at < header_.data_size(); at += kBuffer) {
      const std::span part =
          std::span(bytes).first(std::min<std::uint64_t>(kBuffer, header_.data_size() - at));
      file_.read_at(part, header_.data_offset + at);
      sum += placed_sum(part, kSummedBlock * kDataBlock + at);
    }
    file_.expect_unwritten();
    return sum;
  }

  /// A held array does not change with its file.
  void expect_unwritten() const override {
    if (header_.data_size() > kMaxHeldArray) file_.expect_unwritten();
  }

  [[nodiscard]] bool is(const os::Status& file) const override {
    return id_of(file_.status()) == id_of(file);
  }

 private:
  static constexpr std::size_t kBuffer = 1UL << 18;
  static constexpr std::uint64_t kDataBlock = 32;  ///< where data begins for the checksum: after any header

  InputFile file_;
  npy::Header header_;
  std::vector<std::byte> held_;
};

class ParameterMemory : public ParameterArray {
 public:
  ParameterMemory(TensorLayout layout, std::span<const std::byte> elements)
      : layout_(std::move(layout)), elements_(elements) {}
  ParameterMemory(TensorLayout layout, std::vector<std::byte> owned, std::vector<std::uint8_t> lost)
      : layout_(std::move(layout)), owned_(std::move(owned)), elements_(owned_), lost_(std::move(lost)) {}

  [[nodiscard]] const TensorLayout& layout() const override { return layout_; }
  [[nodiscard]] std::span<const std::byte> held() const override { return elements_; }
  void read(std::uint64_t position, std::span<std::byte> elements) const override {
    std::memcpy(elements.data(), elements_.data() + position * traits(layout_.dtype).size, elements.size());
  }
  [[nodiscard]] std::uint64_t fingerprint() const override {
    const std::string header = npy::format(layout_);
    return checksum(std::as_bytes(std::span(header))) ^ placed_sum(elements_, 0) ^
           (lost_.empty() ? 0 : checksum(std::as_bytes(std::span(lost_))));
  }
  void expect_unwritten() const override {}
  [[nodiscard]] bool is_found() const override { return !owned_.empty(); }
  [[nodiscard]] std::span<const std::uint8_t> lost() const override { return lost_; }
  [[nodiscard]] bool is(const os::Status& /*file*/) const override { return false; }

 private:
  TensorLayout layout_;
  std::vector<std::byte> owned_;
  std::span<const std::byte> elements_;
  std::vector<std::uint8_t> lost_;
};

/// Gives `given` the only element of an array.
void take_only_element(const TensorLayout& layout, std::span<const std::byte> element, Parameter& given) {
  ElementBits bits = 0;
  for (std::size_t i = 0; i < element.size(); ++i) {
    const std::size_t place = layout.order == ByteOrder::little ? i : element.size() - 1 - i;
    bits |= std::to_integer<ElementBits>(element[i]) << (8 * place);
  }
  given.element = bits;
  given.number = number_of(layout.dtype, bits);
}

void read_only_element(InputFile& file, const npy::Header& header, Parameter& given) {
  std::array<std::byte, sizeof(ElementBits)> bytes{};
  const std::span element = std::span(bytes).first(traits(header.dtype).size);
  file.read_exactly(element);
  file.expect_end();
  take_only_element(header, element, given);
}

}  // namespace

Parameter read_parameter(const std::string& path, Reading how, npy::Types types) {
  // A mask may be another file for each input, and is read twice.
  InputFile file = open_input(path, types == npy::Types::clipped ? Streams::refused : Streams::taken);
  how.raw_if_needed = true;
  how.ignore_trailing = false;
  if (how.raw && file.is_regular() && !raw::fits(*how.raw, file.size()))
    how.raw = std::make_shared<raw::Layout>(raw::Layout{.dtype = how.raw->dtype, .order = how.raw->order});
  read_as(file, how);
  npy::Header header =
      read_header(file, {}, nullptr, std::nullopt, npy::Opaque::taken, npy::Types::comparable);
  const bool takes_flags = types == npy::Types::clipped;
  if (header.meaning.kind != LogicalType::Kind::number &&
      !(takes_flags && header.meaning.kind == LogicalType::Kind::boolean))
    throw Error(ErrorKind::usage, fmt::format("{}: has {}, not numbers", path, type_name(header)));
  Parameter given{Number{}, "@" + path, header.dtype, !header.stored_as.empty()};
  given.shape = header.shape;
  if (header.count == 1) {
    read_only_element(file, header, given);
    return given;
  }
  if (!file.is_regular())
    throw Error(ErrorKind::usage,
                fmt::format("{}: has shape {}, but is a stream; an array must be in a regular file", path,
                            shape_text(header.shape)));
  given.array = std::make_shared<ParameterFile>(std::move(file), std::move(header));
  return given;
}

std::string parameter_path(const std::optional<Parameter>& given) {
  const std::size_t at = given && given->dtype ? given->text.find('@') : std::string::npos;
  return at == std::string::npos ? "" : given->text.substr(at + 1);
}

Parameter parameter_in_memory(const TensorLayout& layout, const std::byte* elements) {
  const std::span bytes(elements, layout.data_size());
  Parameter given{Number{}, "array", layout.dtype};
  given.shape = layout.shape;
  if (layout.count == 1)
    take_only_element(layout, bytes, given);
  else
    given.array = std::make_shared<ParameterMemory>(layout, bytes);
  return given;
}

Parameter parameter_found(std::string text, const TensorLayout& layout, std::vector<std::byte> elements,
                          std::vector<std::uint8_t> lost) {
  Parameter given{Number{}, std::move(text), layout.dtype};
  given.shape = layout.shape;
  given.array = std::make_shared<ParameterMemory>(layout, std::move(elements), std::move(lost));
  return given;
}

}  // namespace clipper
