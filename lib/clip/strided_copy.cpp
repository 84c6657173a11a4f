#include "clip/strided_copy.hpp"

#include <algorithm>
#include <cstring>

#include "element/dtype.hpp"

namespace clipper {
namespace {

/// Each kStep-th element, which compilers do with vectors, of bytes only with a signed index. Elements may
/// lie anywhere.
template <std::size_t kSize, std::ptrdiff_t kStep>
struct TakeEach {
  typedef UnsignedOfSize<kSize> Element __attribute__((aligned(1), may_alias));  // NOLINT: no alias has it

  [[gnu::always_inline]] static void run(const std::byte* from, std::byte* to,
                                         std::ptrdiff_t count) noexcept {
    take(reinterpret_cast<const Element*>(from), reinterpret_cast<Element*>(to), count);
  }

 private:
  [[gnu::always_inline]] static void take(const Element* __restrict in, Element* __restrict out,
                                          std::ptrdiff_t count) noexcept {
    for (std::ptrdiff_t i = 0; i < count; ++i) out[i] = in[i * kStep];
  }
};

template <std::size_t kSize>
void copy_run(const std::byte* from, std::ptrdiff_t from_step, std::byte* to, std::ptrdiff_t to_step,
              std::size_t count, SimdLevel level) noexcept {
  constexpr auto kPacked = static_cast<std::ptrdiff_t>(kSize);
  const auto length = static_cast<std::ptrdiff_t>(count);
  if (to_step == kPacked) {
    if (from_step == kPacked) return static_cast<void>(std::memcpy(to, from, count * kSize));
    if (from_step == -kPacked) return run_loop<TakeEach<kSize, -1>>(level, from, to, length);
    if (from_step == 2 * kPacked) return run_loop<TakeEach<kSize, 2>>(level, from, to, length);
    if (from_step == 3 * kPacked) return run_loop<TakeEach<kSize, 3>>(level, from, to, length);
    if (from_step == 4 * kPacked) return run_loop<TakeEach<kSize, 4>>(level, from, to, length);
  }
  for (std::size_t i = 0; i < count; ++i, from += from_step, to += to_step) std::memcpy(to, from, kSize);
}

}  // namespace

StridedCopy::StridedCopy(std::span<const std::int64_t> shape, std::size_t size,
                         std::span<const std::int64_t> from, std::span<const std::int64_t> to,
                         SimdLevel level)
    : size_(std::min(size, sizeof(std::uint64_t))), level_(level), parts_(size / size_) {
  const auto add = [this](const Axis& axis) {
    if (axis.extent == 1) return;
    if (!axes_.empty() && axes_.back().from == axis.extent * axis.from &&
        axes_.back().to == axis.extent * axis.to)
      axes_.back() = {axes_.back().extent * axis.extent, axis.from, axis.to};
    else
      axes_.push_back(axis);
  };
  if (std::ranges::find(shape, 0) == shape.end())
    for (std::size_t i = 0; i < shape.size(); ++i) add({shape[i], from[i], to[i]});
  const auto part = static_cast<std::int64_t>(size_);
  add({static_cast<std::int64_t>(parts_), part, part});
  if (axes_.empty()) axes_.push_back({1, part, part});
}

/// A row of the inner axis at a time, or a column of the plane of the two inner axes, if rows are short.
void StridedCopy::operator()(const std::byte* from, std::byte* to, std::uint64_t begin,
                             std::uint64_t count) const {
  constexpr std::int64_t kShort = 16;
  if (count == 0) return;
  const Axis& inner = axes_.back();
  const Axis& middle = axes_[axes_.size() - std::min<std::size_t>(axes_.size(), 2)];
  const auto extent = static_cast<std::uint64_t>(inner.extent);
  const auto rows = axes_.size() == 1 ? 1 : static_cast<std::uint64_t>(middle.extent);
  const bool by_columns = inner.extent < kShort;
  std::uint64_t position = begin * parts_;
  const std::uint64_t end = position + count * parts_;
  const std::int64_t first = place_of(position).to;
  const auto copy = [&](Axis place, const Axis& across, std::uint64_t runs, const Axis& along,
                        std::uint64_t length) {
    with_size(size_, [&]<std::size_t kSize>() {
      for (std::uint64_t i = 0; i < runs; ++i, place.from += across.from, place.to += across.to)
        copy_run<kSize>(from + place.from, along.from, to + place.to - first, along.to, length, level_);
    });
  };
  while (position < end) {
    const Axis place = place_of(position);
    const std::uint64_t at = position % extent;
    const std::uint64_t whole = std::min((end - position) / extent, rows - position / extent % rows);
    if (at != 0 || whole == 0) {
      const std::uint64_t length = std::min(end - position, extent - at);
      copy(place, inner, 1, inner, length);
      position += length;
      continue;
    }
    by_columns ? copy(place, inner, extent, middle, whole) : copy(place, middle, whole, inner, extent);
    position += whole * extent;
  }
}

StridedCopy::Axis StridedCopy::place_of(std::uint64_t position) const {
  Axis place{};
  for (std::size_t i = axes_.size(); i-- > 0; position /= static_cast<std::uint64_t>(axes_[i].extent)) {
    const auto index = static_cast<std::int64_t>(position % static_cast<std::uint64_t>(axes_[i].extent));
    place.from += index * axes_[i].from;
    place.to += index * axes_[i].to;
  }
  return place;
}

}  // namespace clipper
