#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <optional>
#include <utility>

#include "error.hpp"
#include "files/replacement.hpp"
#include "formats/container.hpp"
#include "formats/format_functions.hpp"
#include "onnx/tensor_proto.hpp"
#include "os/os.hpp"
#include "raw/raw.hpp"

/// The functions of Format for files that are one tensor.
namespace clipper {
namespace {

/// What is held in memory of a stream, or of elements that have to be decoded. More goes to an unnamed file.
constexpr std::uint64_t kMaxHeldBytes = 1UL << 20;
constexpr std::uint64_t kMaxRawHeader = 16UL << 20;

/// Bytes that are written in order and read again.
class Held {
 public:
  explicit Held(std::string path) : path_(std::move(path)) {}

  void write(std::span<const std::byte> bytes) {
    size_ += bytes.size();
    if (size_ > kMaxHeldBytes && !file_) {
      file_.emplace(path_, size_);
      file_->write(held_);
      held_ = {};
    }
    if (file_)
      file_->write(bytes);
    else
      held_.insert(held_.end(), bytes.begin(), bytes.end());
  }

  [[nodiscard]] MemberContents contents() && {
    return file_ ? MemberContents(file_->release(), size_) : MemberContents(std::move(held_));
  }

 private:
  std::string path_;
  std::vector<std::byte> held_;
  std::optional<TemporaryFile> file_;
  std::uint64_t size_ = 0;
};

/// Elements in a file of their own.
void take_external(const InputFile& file, const onnx::Tensor& tensor, Source& source) {
  if (!file.is_regular())
    throw Error(ErrorKind::input, file.path() + ": has external data, which a stream cannot have");
  const onnx::External& from = *tensor.external;
  source.other = std::make_shared<InputFile>(InputFile::open_below(file.path(), from.location));
  const InputFile& other = *source.other;
  const std::uint64_t rest = other.size() - std::min(from.offset, other.size());
  const std::uint64_t needed = tensor.layout.data_size();
  const bool is_wrong_length = from.length.value_or(needed) != needed;
  if (is_wrong_length || (from.length ? rest < needed : rest != needed))
    throw Error(ErrorKind::input,
                fmt::format("{}: {} data bytes expected, {} {}", file.path(), needed,
                            is_wrong_length ? "the length of its external data is" : "its external data has",
                            is_wrong_length ? *from.length : rest));
  Descriptor copy(os::fcntl(other.descriptor().get(), F_DUPFD_CLOEXEC, 0));
  if (copy.get() < 0) throw_system_error(other.path(), "cannot be opened");
  source.contents = MemberContents(std::move(copy), other.size()).part(from.offset, needed);
}

}  // namespace

Source raw_source(const InputFile& file, const Reading& how, MemberContents own) {
  const raw::Layout& given = *how.raw;
  Source source{std::move(own)};
  source.layout = with_path(
      file.path(), [&] { return raw::tensor_in(given, source.contents.size(), file.ignores_trailing()); });
  if (given.offset > kMaxRawHeader)
    throw Error(ErrorKind::usage,
                Term{"raw", "raw"} + fmt::format(": an OFFSET of {} bytes exceeds the limit of {}",
                                                 given.offset, kMaxRawHeader));
  source.before.resize(given.offset);
  const std::size_t got = source.contents.read_at(
      file.descriptor(), std::as_writable_bytes(std::span(source.before)), 0, file.path());
  if (got < given.offset) throw_changed(file.path());
  const std::uint64_t size = source.contents.size() - given.offset;
  source.contents = std::move(source.contents).part(given.offset, size);
  return source;
}

Source pb_source(const InputFile& file, const Reading& /*how*/, MemberContents own) {
  Source source{std::move(own)};
  const std::uint64_t size = source.contents.size();
  const onnx::ReadAt read = [&](std::span<std::byte> bytes, std::uint64_t offset) {
    return source.contents.read_at(file.descriptor(), bytes, offset, file.path());
  };
  onnx::Tensor tensor = with_path(file.path(), [&] { return onnx::parse(read, size); });
  source.layout = tensor.layout;
  source.before = std::move(tensor.kept.name);
  source.after = std::move(tensor.kept.fields);
  if (tensor.external) {
    take_external(file, tensor, source);
  } else if (tensor.elements) {
    source.contents = std::move(source.contents).part(tensor.elements->begin, tensor.elements->size);
  } else {
    Held held("elements");
    with_path(file.path(), [&] {
      onnx::write_elements(tensor, read, size, [&](std::span<const std::byte> bytes) { held.write(bytes); });
    });
    source.contents = std::move(held).contents();
  }
  return source;
}

Frame npy_frame(const TensorLayout& result, const Source* /*kept*/) {
  return {.front = npy::format(result)};
}

Frame raw_frame(const TensorLayout& /*result*/, const Source* kept) {
  return {.front = kept != nullptr ? kept->before : ""};
}

Frame pb_frame(const TensorLayout& result, const Source* kept) {
  const onnx::Kept fields{kept != nullptr ? kept->before : "", kept != nullptr ? kept->after : ""};
  return {.front = onnx::front(result, fields), .back = fields.fields};
}

MemberContents contents_of_stream(InputFile& file) {
  Held held(file.path());
  std::vector<std::byte> bytes(1UL << 16);
  while (const std::size_t got = file.read(bytes)) held.write(std::span(bytes).first(got));
  return std::move(held).contents();
}

std::vector<std::string> external_file(const std::string& path) {
  const InputFile input = InputFile::open_regular(path);
  const onnx::ReadAt read = [&](std::span<std::byte> bytes, std::uint64_t offset) {
    return input.read_some_at(bytes, offset);
  };
  if (const auto external = onnx::parse(read, input.size()).external)
    return {beside(path, external->location)};
  return {};
}

}  // namespace clipper
