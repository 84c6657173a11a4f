#include "engine/array_reader.hpp"

#include <algorithm>
#include <cstring>
#include <span>

namespace clipper {
namespace {

constexpr std::size_t kWindow = 32UL << 10;  // bytes

/// An element this far from the one before is read alone: the window would hold no other element of the row.
constexpr std::uint64_t kFar = 512;  // elements

}  // namespace

ArrayReader::ArrayReader(const Broadcast& broadcast, const ArrayParameter& parameter)
    : broadcast_(broadcast),
      parameter_(parameter),
      header_(parameter.array->header()),
      window_(parameter.array->held().data()),
      window_end_(parameter.array->held().size() / traits(header_.dtype).size) {
  if (window_end_ == header_.count) return;
  memory_ = std::make_unique_for_overwrite<std::byte[]>(kWindow);
  window_ = memory_.get();
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

std::uint64_t ArrayReader::offset_of(std::uint64_t position) const {
  Index index;
  return locate(position, index);
}

void ArrayReader::read(std::uint64_t position, std::size_t count, std::byte* to) {
  with_type(header_.dtype, [&]<class T>() {
    using Bits = UnsignedOfSize<sizeof(T)>;
    read_rows(position, count, reinterpret_cast<Bits*>(to));
  });
}

/// A row is a range of the innermost axis.
template <class Bits>
void ArrayReader::read_rows(std::uint64_t position, std::size_t count, Bits* to) {
  const std::vector<std::uint64_t>& axes = broadcast_.axes;
  const std::vector<std::uint64_t>& strides = parameter_.strides;
  if (axes.empty()) return read_row(0, 0, count, to);
  Index index;
  std::uint64_t offset = locate(position, index);
  const std::size_t last = axes.size() - 1;
  for (;;) {
    const std::size_t length = std::min<std::uint64_t>(count, axes[last] - index[last]);
    read_row(offset, strides[last], length, to);
    to += length;
    count -= length;
    if (count == 0) return;
    index[last] += length;
    offset += length * strides[last];
    for (std::size_t axis = last; axis > 0 && index[axis] == axes[axis]; --axis) {
      index[axis] = 0;
      offset -= axes[axis] * strides[axis];
      ++index[axis - 1];
      offset += strides[axis - 1];
    }
  }
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
    const std::size_t length = std::min<std::uint64_t>(kWindow / sizeof(Bits), header_.count - offset);
    window_end_ = window_begin_;  // empty, if reading fails
    parameter_.array->read(offset, {memory_.get(), length * sizeof(Bits)});
    window_begin_ = offset;
    window_end_ = offset + length;
  }
  return reinterpret_cast<const Bits*>(window_)[offset - window_begin_];
}

}  // namespace clipper
