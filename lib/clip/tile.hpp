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

/// Calls run(done, from, to, length) for each tile of up to `most` elements, after `done` elements, and sums
/// up what it returns. `to` is in `results` if `out` is null, or, if `compares`, where results would
/// overwrite elements.
template <class Results, class Run>
Converted for_each_tile(const std::byte* in, std::byte* out, std::size_t count, ElementSizes sizes,
                        bool compares, std::size_t most, Results& results, const Run& run) noexcept {
  Converted total;
  const std::size_t tiles = (count + most - 1) / most;
  most = tiles == 0 ? 1 : (count + tiles - 1) / tiles;  // no short tile is the last
  for (std::size_t done = 0; done < count; done += most) {
    const std::size_t length = std::min(most, count - done);
    const std::byte* const from = in + done * sizes.in;
    std::byte* const direct = out == nullptr ? nullptr : out + done * sizes.out;
    const bool is_direct =
        out != nullptr && !(compares && overlap(from, length * sizes.in, direct, length * sizes.out));
    std::byte* const to = is_direct ? direct : results.data();
    Converted part = run(done, from, to, length);
    part.counts.changed = !compares || total.counts.changed || std::memcmp(to, from, length * sizes.out) != 0;
    if (out != nullptr && !is_direct) std::memcpy(direct, to, length * sizes.out);
    total.add(part, done);
  }
  return total;
}

/// The same for tiles of kTile elements.
template <class Run>
Converted for_each_tile(const std::byte* in, std::byte* out, std::size_t count, ElementSizes sizes,
                        bool compares, const Run& run) noexcept {
  Tile results;
  return for_each_tile(in, out, count, sizes, compares, kTile, results, run);
}

/// Elements that keep their dtype, as a kernel takes them before something else does: larger tiles, of which
/// `run` gives the counts.
struct alignas(64) Block : std::array<std::byte, 16384> {};

template <class Run>
ElementCounts for_each_block(DType dtype, const std::byte* in, std::byte* out, std::size_t count,
                             const Run& run) noexcept {
  Block results;
  const std::size_t size = traits(dtype).size;
  return for_each_tile(in, out, count, {size, size}, true, results.size() / size, results,
                       [&](std::size_t done, const std::byte* from, std::byte* to, std::size_t length) {
                         return Converted{run(done, from, to, length), {}, {}};
                       })
      .counts;
}

}  // namespace clipper
