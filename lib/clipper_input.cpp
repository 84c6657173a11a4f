#include "clipper_input.hpp"

#include <algorithm>
#include <cerrno>
#include <string_view>
#include <utility>

#include "error.hpp"
#include "formats/formats.hpp"
#include "memory/codec.hpp"
#include "os/os.hpp"

namespace clipper {
namespace {

[[noreturn]] void refuse_shape(const Tensor& tensor, std::string_view why) {
  throw Error(ErrorKind::usage, "shape " + shape_text(tensor.shape) + " " + std::string(why));
}

}  // namespace

TensorLayout layout_of_any(const Tensor& tensor) {
  if (tensor.shape.size() > kMaxRank) throw Error(ErrorKind::usage, "a tensor has max 64 dimensions");
  TensorLayout layout;
  layout.meaning = tensor.meaning;
  layout.dtype = tensor.dtype;
  layout.order = tensor.order;
  layout.fortran_order = tensor.fortran_order;
  layout.shape = tensor.shape;
  auto bytes = static_cast<std::int64_t>(layout.element_size());
  for (const std::int64_t size : tensor.shape) {
    if (size < 0) refuse_shape(tensor, "has a negative size");
    // An axis of size 0 makes none of the others small: copies of elements calculate with all of them.
    if (__builtin_mul_overflow(bytes, std::max<std::int64_t>(size, 1), &bytes))
      refuse_shape(tensor, "exceeds the address space");
    layout.count *= static_cast<std::uint64_t>(size);
  }
  return layout;
}

TensorLayout layout_of_numbers(const Tensor& tensor) {
  if (tensor.meaning.kind == LogicalType::Kind::number) return layout_of_any(tensor);
  throw Error(ErrorKind::usage,
              "elements in memory are numbers, not " + type_name(tensor.dtype, tensor.meaning));
}

std::vector<std::int64_t> strides_of(const Tensor& tensor, const TensorLayout& layout) {
  if (tensor.strides.empty())
    return strides_without_gaps(tensor.shape, layout.element_size(), tensor.fortran_order);
  if (tensor.strides.size() != tensor.shape.size()) refuse_shape(tensor, "needs a stride for each axis");
  return tensor.strides;
}

Packed::Packed(const TensorView& view, TensorLayout layout)
    : layout_(std::move(layout)), elements_(static_cast<const std::byte*>(view.elements)) {
  if (layout_.count != 0 && elements_ == nullptr) throw Error(ErrorKind::usage, "the elements are null");
  if (view.tensor.strides.empty()) return;
  const std::size_t size = layout_.element_size();
  const std::vector<std::int64_t> strides = strides_of(view.tensor, layout_);
  for (const bool fortran_order : {false, true}) {
    layout_.fortran_order = fortran_order;
    if (lie_alike(layout_.shape, strides, strides_without_gaps(layout_.shape, size, fortran_order))) return;
  }
  layout_.fortran_order = false;
  copy_.resize(layout_.data_size());
  StridedCopy(layout_.shape, size, strides, strides_without_gaps(layout_.shape, size, false))(
      elements_, copy_.data(), 0, layout_.count);
  elements_ = copy_.data();
}

Opened::Opened(const std::string& path, const Reading& how, npy::Types types)
    : input(open_as(how, path)),
      header(read_header(input, how, nullptr, std::nullopt, npy::Opaque::refused, types)) {}

std::string input_named(const std::filesystem::path& file, const FileOptions& options) {
  std::string path = os::text_of(file);
  if (options.special_paths) return path;
  if (path == "-") return "./-";
  if (member_path(path))
    throw Error(ErrorKind::io,
                path + ": cannot be opened: " + os::error_text(ENOENT) +
                    "; to read a member of an archive, set special_paths",
                ENOENT);
  return path;
}

Engine::Options engine_options(const FileOptions& options) {
  return {.threads = options.threads, .stop = options.stop};
}

}  // namespace clipper
