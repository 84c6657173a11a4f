#include <algorithm>
#include <cstring>
#include <span>

#include "element/element.hpp"
#include "engine/parameter_tile.hpp"
#include "memory/codec.hpp"

namespace clipper {
namespace {

constexpr std::size_t kWindow = 32UL << 10;  // bytes

/// An element this far from the one before is read alone: the window would hold no other element of the row.
constexpr std::uint64_t kFar = 512;  // elements

constexpr std::uint64_t kShortestRun = 8;  // elements of a band
constexpr std::uint64_t kNear = 32;        // elements from one element of a run to the next

}  // namespace

ArrayReader::ArrayReader(const Broadcast& broadcast, const ArrayParameter& parameter, std::size_t band_size)
    : broadcast_(broadcast),
      parameter_(parameter),
      layout_(parameter.array->layout()),
      window_(parameter.array->held().data()),
      window_end_(parameter.array->held().size() / traits(layout_.dtype).size) {
  if (window_end_ == layout_.count) return;
  memory_ = std::make_unique_for_overwrite<std::byte[]>(kWindow);
  window_ = memory_.get();
  choose_band(band_size);
}

/// A band is worth its memory if the array is not contiguous along the tensor's last axis, if a run has many
/// elements of the band, and if these are not far from each other in the run.
void ArrayReader::choose_band(std::size_t band_size) {
  const std::vector<std::uint64_t>& strides = parameter_.strides;
  const std::size_t size = traits(layout_.dtype).size;
  if (strides.empty() || strides.back() <= 1) return;
  std::uint64_t inner = 1;
  for (std::size_t axis = strides.size() - 1; axis-- > 0;) {
    inner *= broadcast_.axes[axis + 1];
    const std::uint64_t steps = std::min<std::uint64_t>(band_size / size / inner, broadcast_.axes[axis]);
    const bool is_near = strides[axis] != 0 && strides[axis] <= kNear;
    if (!is_near || steps < kShortestRun || (band_.steps != 0 && strides[axis] >= strides[band_.axis]))
      continue;
    band_.axis = axis;
    band_.inner = inner;
    band_.steps = steps;
  }
  if (band_.steps != 0)
    band_.memory = std::make_unique_for_overwrite<std::byte[]>(band_.steps * band_.inner * size);
}

const std::byte* ArrayReader::in_order(std::uint64_t position) const noexcept {
  const std::size_t size = traits(layout_.dtype).size;
  const bool is_held = !memory_ && reinterpret_cast<std::uintptr_t>(window_) % size == 0;
  const bool is_whole = parameter_.strides.size() == 1 && parameter_.strides[0] == 1;
  return is_held && is_whole && is_decoded(layout_) ? window_ + position * size : nullptr;
}

/// The offset of the array's element for the tensor's element at `position`, whose index it calculates.
std::uint64_t ArrayReader::locate(std::uint64_t position, Index& index) const {
  std::uint64_t offset = 0;
  for (std::size_t axis = broadcast_.axes.size(); axis-- > 0;) {
    index[axis] = position % broadcast_.axes[axis];
    position /= broadcast_.axes[axis];
    offset += index[axis] * parameter_.strides[axis];
  }
  return offset;
}

/// The offset after `steps` along the last axis, up to its end. Carries to the axes from `outermost` on.
std::uint64_t ArrayReader::advanced(Index& index, std::uint64_t offset, std::uint64_t steps,
                                    std::size_t outermost) const {
  const std::vector<std::uint64_t>& axes = broadcast_.axes;
  const std::vector<std::uint64_t>& strides = parameter_.strides;
  std::size_t axis = axes.size() - 1;
  index[axis] += steps;
  offset += steps * strides[axis];
  for (; axis > outermost && index[axis] == axes[axis]; --axis) {
    index[axis] = 0;
    ++index[axis - 1];
    offset += strides[axis - 1] - axes[axis] * strides[axis];
  }
  return offset;
}

std::uint64_t ArrayReader::offset_of(std::uint64_t position) const {
  Index index;
  return locate(position, index);
}

void ArrayReader::read(std::uint64_t position, std::size_t count, std::byte* to) {
  with_size(traits(layout_.dtype).size, [&]<std::size_t kSize>() {
    using Bits = UnsignedOfSize<kSize>;
    read_rows(position, count, reinterpret_cast<Bits*>(to));
    decode(layout_, {to, count * kSize});
  });
}

/// A row is a range of the innermost axis.
template <class Bits>
void ArrayReader::read_rows(std::uint64_t position, std::size_t count, Bits* to) {
  while (band_.steps != 0 && count != 0) {
    if (position < band_.begin || position >= band_.end) read_band<Bits>(position);
    const std::size_t length = std::min<std::uint64_t>(count, band_.end - position);
    std::memcpy(to, reinterpret_cast<const Bits*>(band_.memory.get()) + (position - band_.begin),
                length * sizeof(Bits));
    position += length;
    to += length;
    count -= length;
  }
  if (count == 0) return;
  const std::vector<std::uint64_t>& axes = broadcast_.axes;
  const std::vector<std::uint64_t>& strides = parameter_.strides;
  if (axes.empty()) return read_row(0, 0, count, to);
  Index index;
  std::uint64_t offset = locate(position, index);
  const std::size_t last = axes.size() - 1;
  for (;;) {
    if (last > 0 && strides[last] == 0 && index[last] == 0 && count >= 2 * axes[last]) {
      std::uint64_t rows = std::min(count / axes[last], axes[last - 1] - index[last - 1]);
      rows = repeat(offset, strides[last - 1], rows, axes[last], to);
      to += rows * axes[last];
      count -= rows * axes[last];
      if (count == 0) return;
      index[last - 1] += rows - 1;
      offset = advanced(index, offset + (rows - 1) * strides[last - 1], axes[last], 0);
      continue;
    }
    const std::size_t length = std::min<std::uint64_t>(count, axes[last] - index[last]);
    read_row(offset, strides[last], length, to);
    to += length;
    count -= length;
    if (count == 0) return;
    offset = advanced(index, offset, length, 0);
  }
}

/// Fills the band with the elements at `position` and after it.
template <class Bits>
void ArrayReader::read_band(std::uint64_t position) {
  Index index;
  const std::uint64_t begin = position - position % band_.inner;
  const std::uint64_t first = locate(begin, index);
  const std::uint64_t steps = std::min(band_.steps, broadcast_.axes[band_.axis] - index[band_.axis]);
  Bits* const band = reinterpret_cast<Bits*>(band_.memory.get());
  const std::uint64_t stride = parameter_.strides[band_.axis];
  std::vector<Bits> run((steps - 1) * stride + 1);
  band_.end = band_.begin;  // empty, if reading fails
  std::uint64_t offset = first;
  for (std::uint64_t i = 0; i < band_.inner; ++i) {
    parameter_.array->read(offset, std::as_writable_bytes(std::span(run)));
    for (std::uint64_t step = 0; step < steps; ++step) band[step * band_.inner + i] = run[step * stride];
    offset = advanced(index, offset, 1, band_.axis + 1);
  }
  band_.begin = begin;
  band_.end = begin + steps * band_.inner;
}

template <class Bits>
void ArrayReader::read_row(std::uint64_t offset, std::uint64_t stride, std::size_t count, Bits* to) {
  if (stride == 0) {
    std::fill_n(to, count, element<Bits>(offset));
  } else if (stride == 1) {
    read_contiguous(offset, count, to);
  } else if (!memory_) {
    const Bits* const from = reinterpret_cast<const Bits*>(window_) + offset;
    for (std::size_t i = 0; i < count; ++i) to[i] = from[i * stride];
  } else {
    for (std::size_t i = 0; i < count; ++i, offset += stride) {
      if (stride >= kFar)
        parameter_.array->read(offset, std::as_writable_bytes(std::span(to + i, 1)));
      else
        to[i] = element<Bits>(offset);
    }
  }
}

/// Copies elements `stride` apart, each `times` times: `count` of them, or as many as are in the window,
/// which is moved to the first. Returns their number.
template <class Bits>
std::uint64_t ArrayReader::repeat(std::uint64_t offset, std::uint64_t stride, std::uint64_t count,
                                  std::uint64_t times, Bits* to) {
  element<Bits>(offset);
  if (stride != 0) count = std::min(count, (window_end_ - 1 - offset) / stride + 1);
  const Bits* const from = reinterpret_cast<const Bits*>(window_) + (offset - window_begin_);
  for (std::uint64_t i = 0; i < count; ++i) to = std::fill_n(to, times, from[i * stride]);
  return count;
}

template <class Bits>
void ArrayReader::read_contiguous(std::uint64_t offset, std::size_t count, Bits* to) {
  while (count != 0) {
    if (memory_ && count * sizeof(Bits) >= kWindow)
      return parameter_.array->read(offset, std::as_writable_bytes(std::span(to, count)));
    *to = element<Bits>(offset);
    const std::size_t length = std::min<std::uint64_t>(count, window_end_ - offset);
    std::memcpy(to, window_ + (offset - window_begin_) * sizeof(Bits), length * sizeof(Bits));
    to += length;
    offset += length;
    count -= length;
  }
}

/// Moves the window if the element is not in it.
template <class Bits>
Bits ArrayReader::element(std::uint64_t offset) {
  if (offset < window_begin_ || offset >= window_end_) {
    const std::size_t length = std::min<std::uint64_t>(kWindow / sizeof(Bits), layout_.count - offset);
    window_end_ = window_begin_;  // empty, if reading fails
    parameter_.array->read(offset, {memory_.get(), length * sizeof(Bits)});
    window_begin_ = offset;
    window_end_ = offset + length;
  }
  return reinterpret_cast<const Bits*>(window_)[offset - window_begin_];
}

MaskFlags flags_of(const Parameter& mask, const TensorLayout& layout) {
  if (!mask.array) {
    const std::byte flag{mask.number != Number(0)};
    return [flag](std::uint64_t /*position*/, std::span<std::byte> flags) { std::ranges::fill(flags, flag); };
  }
  const auto broadcast = std::make_shared<Broadcast>();
  broadcast->arrays.push_back({ParameterId::min, mask.text, mask.array, {}});
  lay_out(*broadcast, layout.shape, layout.fortran_order);
  return [broadcast](std::uint64_t position, std::span<std::byte> flags) {
    const ArrayParameter& row = broadcast->arrays.front();
    const DType dtype = row.array->layout().dtype;
    const std::size_t size = traits(dtype).size;
    const auto elements = std::make_unique_for_overwrite<std::byte[]>(flags.size() * size);
    ArrayReader(*broadcast, row, 0).read(position, flags.size(), elements.get());
    with_reader(dtype, [&](auto at) {
      for (std::size_t i = 0; i < flags.size(); ++i)
        flags[i] = std::byte{comparable(at(elements.get(), i)) != 0};
    });
  };
}

}  // namespace clipper
