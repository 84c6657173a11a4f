#include "raw/raw.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "element/text.hpp"
#include "error.hpp"

namespace clipper::raw {
namespace {

[[noreturn]] void refuse(std::string_view text, std::string_view why) {
  throw Error(ErrorKind::usage, Term{"raw", "raw"} + fmt::format(": '{}' {}", text, why));
}

std::vector<std::int64_t> parse_shape(std::string_view all, std::string_view text) {
  std::vector<std::int64_t> shape;
  std::uint64_t size = 1;
  for (const std::string_view part : split(text, ',')) {
    const auto extent = integer_in<std::int64_t>(part);
    if (!extent || *extent < -1) refuse(all, "has a SHAPE that is not like 1,3,224,224 or 3,-1");
    constexpr std::uint64_t kMax = std::numeric_limits<std::int64_t>::max();
    const auto factor = static_cast<std::uint64_t>(std::max<std::int64_t>(*extent, 1));
    if (__builtin_mul_overflow(size, factor, &size) || size > kMax / 8) refuse(all, "has a SHAPE too large");
    shape.push_back(*extent);
  }
  if (shape.size() > kMaxRank) refuse(all, fmt::format("has more than {} axes", kMaxRank));
  if (std::ranges::count(shape, -1) > 1) refuse(all, "has more than one -1 in its SHAPE");
  return shape;
}

void parse_dtype(std::string_view all, std::string_view text, Layout& layout) {
  const DTypeWord word = dtype_word(text);
  if (!word.dtype && !word.objection.empty()) refuse(text, word.objection);
  if (!word.dtype)
    refuse(all, "does not begin with a dtype; write DTYPE:SHAPE@OFFSET, as in float32:3,224,224");
  layout.dtype = *word.dtype;
  layout.order = word.dtype->order.value_or(kNativeOrder);
}

std::string typed(const std::vector<std::int64_t>& shape) {
  return fmt::format("{}", fmt::join(shape, ","));
}

/// Elements of all axes but one, whose extents are not 0.
std::uint64_t count_without(const std::vector<std::int64_t>& shape, std::size_t axis) {
  std::uint64_t count = 1;
  for (std::size_t i = 0; i < shape.size(); ++i)
    if (i != axis) count *= static_cast<std::uint64_t>(shape[i]);
  return count;
}

/// The shape with another extent of one axis that fits `count` elements or, if no axis makes that possible,
/// with an extent of the first axis for which it comes nearest.
std::vector<std::int64_t> nearest(std::vector<std::int64_t> shape, std::uint64_t count) {
  if (shape.empty()) return {static_cast<std::int64_t>(count)};
  for (std::size_t axis = 0; axis < shape.size(); ++axis) {
    const std::uint64_t others = count_without(shape, axis);
    if (others == 0 || count % others != 0) continue;
    shape[axis] = static_cast<std::int64_t>(count / others);
    return shape;
  }
  const std::uint64_t others = count_without(shape, 0);
  if (others == 0) return {static_cast<std::int64_t>(count)};
  shape[0] = static_cast<std::int64_t>(count / others + (count % others > others / 2 ? 1 : 0));
  return shape;
}

}  // namespace

Layout parse(std::string_view text) {
  constexpr std::string_view kForce = "force:";
  Layout layout;
  layout.text = text;
  layout.forced = text.starts_with(kForce);
  std::string_view rest = text.substr(layout.forced ? kForce.size() : 0);
  if (const std::size_t at = rest.find('@'); at != rest.npos) {
    const auto offset = integer_in<std::uint64_t>(rest.substr(at + 1));
    if (!offset || *offset > std::numeric_limits<std::int64_t>::max())
      refuse(text, "has an OFFSET that is not a number of bytes");
    layout.offset = *offset;
    rest = rest.substr(0, at);
  }
  if (const std::size_t colon = rest.find(':'); colon != rest.npos) {
    layout.shape = parse_shape(text, rest.substr(colon + 1));
    rest = rest.substr(0, colon);
  }
  parse_dtype(text, rest, layout);
  return layout;
}

TensorLayout tensor_in(const Layout& layout, std::uint64_t size, bool may_be_longer) {
  const DTypeTraits& dtype = traits(layout.dtype);
  if (layout.offset > size)
    throw Error(ErrorKind::input,
                fmt::format("has {} bytes, fewer than the {} before the first element", size, layout.offset));
  const std::uint64_t bytes = size - layout.offset;
  const std::uint64_t present = bytes / dtype.size;
  TensorLayout tensor;
  tensor.dtype = layout.dtype;
  tensor.order = layout.order;
  tensor.shape = layout.shape.value_or(std::vector<std::int64_t>{-1});
  const auto free = std::ranges::find(tensor.shape, -1);
  if (free != tensor.shape.end()) {
    const std::uint64_t others =
        count_without(tensor.shape, static_cast<std::size_t>(free - tensor.shape.begin()));
    *free = static_cast<std::int64_t>(others == 0 ? 0 : present / others);
  }
  tensor.count = count_without(tensor.shape, tensor.shape.size());
  const std::uint64_t needed = tensor.count * dtype.size;
  if (needed != bytes && !(may_be_longer && needed < bytes)) {
    if (const std::uint64_t rest = bytes % dtype.size; rest != 0)
      throw Error(
          ErrorKind::input,
          fmt::format("has {} bytes for elements, no multiple of {}, the size of {}; {}@{} leaves out "
                      "the first {}",
                      bytes, dtype.size, dtype.name, dtype.name, layout.offset + rest, rest) +
              Term{"trailing", "", Says::advice});
    const std::vector<std::int64_t> near = nearest(tensor.shape, present);
    throw Error(
        ErrorKind::input,
        fmt::format("has {} bytes for elements, but {}:{} takes {}; the nearest is {}:{}, which takes {}",
                    bytes, dtype.name, typed(tensor.shape), needed, dtype.name, typed(near),
                    count_without(near, kMaxRank) * dtype.size));
  }
  return tensor;
}

bool fits(const Layout& layout, std::uint64_t size) try {
  return tensor_in(layout, size, false).count * traits(layout.dtype).size == size - layout.offset;
} catch (const Error&) {
  return false;
}

}  // namespace clipper::raw
