#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstring>

#include "clip/convert.hpp"

/// The elements that a list of loops takes at once.
namespace clipper {

/// Elements of a tile, whose working elements fit the first-level cache several times. With fewer, calls of
/// loops take as long as the loops.
constexpr std::size_t kTile = 1024;

/// Memory for the elements of a tile.
struct alignas(64) Tile : std::array<std::byte, kTile * sizeof(double)> {
  template <class T>
  [[nodiscard]] T* as() noexcept {
    return reinterpret_cast<T*>(data());
  }
};

struct ElementSizes {
  std::size_t in;
  std::size_t out;
};

[[nodiscard]] inline bool overlap(const std::byte* in, std::size_t in_size, const std::byte* out,
                                  std::size_t out_size) noexcept {
  return in < out + out_size && out < in + in_size;
}

/// Calls run(done, from, to, length) for each tile, after `done` elements, and sums up what it returns. `to`
/// is other memory if `out` is null, or where it is, if `compares` and results would overwrite elements.
template <class Run>
Converted for_each_tile(const std::byte* in, std::byte* out, std::size_t count, ElementSizes sizes,
                        bool compares, const Run& run) noexcept {
  Tile results;
  Converted total;
  const std::size_t tiles = (count + kTile - 1) / kTile;
  const std::size_t most = tiles == 0 ? 1 : (count + tiles - 1) / tiles;  // no short tile is the last
  for (std::size_t done = 0; done < count; done += most) {
    const std::size_t length = std::min(most, count - done);
    const std::byte* const from = in + done * sizes.in;
    std::byte* const direct = out == nullptr ? nullptr : out + done * sizes.out;
    const bool is_direct =
        out != nullptr && !(compares && overlap(from, length * sizes.in, direct, length * sizes.out));
    std::byte* const to = is_direct ? direct : results.data();
    Converted part = run(done, from, to, length);
    part.counts.changed = !compares || std::memcmp(to, from, length * sizes.out) != 0;
    if (out != nullptr && !is_direct) std::memcpy(direct, to, length * sizes.out);
    total.add(part, done);
  }
  return total;
}

}  // namespace clipper
