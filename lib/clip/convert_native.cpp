#include <algorithm>
#include <array>
#include <limits>
#include <optional>

#include "clip/convert.hpp"
#include "clip/convert_loops.hpp"
#include "clip/working_dtype.hpp"
#include "element/element.hpp"

namespace clipper {
namespace {

constexpr std::size_t kClippedBlock = 4096;  // bytes, which fit the first-level cache beside their results

/// Stores integers, which are in the range of To if that is an integer dtype. A zero point that g++ knows
/// costs nothing.
template <class From, class To>
struct StoreIntegers {
  template <SimdLevel kLevel>
  [[gnu::always_inline]] static void run(const From* __restrict in, To* __restrict out,
                                         std::size_t count) noexcept {
    Store<From, To, false>::template run<kLevel>(in, out, count, 0);
  }
};

/// The clip of the cast, of elements of `from`: with the bounds, and with the range of `to`.
template <class From, class Working>
std::optional<Operation> clip_of(const Operation& operation) noexcept {
  using Limits = std::numeric_limits<From>;
  auto lo = std::max(from_bits<Working>(operation.lo), static_cast<Working>(Limits::lowest()));
  auto hi = std::min(from_bits<Working>(operation.hi), static_cast<Working>(Limits::max()));
  if (operation.cast->saturates) {
    lo = std::max(lo, from_bits<Working>(operation.cast->lowest));
    hi = std::min(hi, from_bits<Working>(operation.cast->highest));
  }
  if (lo > hi) return std::nullopt;
  Operation clip;
  clip.from = clip.dtype = clip.to = operation.from;
  clip.lo = to_bits(static_cast<From>(lo));
  clip.hi = to_bits(static_cast<From>(hi));
  return clip;
}

std::optional<Operation> native_clip(const Operation& operation) noexcept {
  const Cast& cast = *operation.cast;
  if (is_floating(operation.from) || is_floating(operation.dtype) || is_float8(operation.to) ||
      operation.from == operation.to || operation.arithmetic != Arithmetic::none || operation.normalization ||
      operation.has_nat || cast.replaces() || cast.zero_point.magnitude != 0)
    return std::nullopt;
  return with_type(operation.from, [&]<class From>() {
    return with_working_type(operation.dtype, [&]<class Working>() -> std::optional<Operation> {
      if constexpr (std::is_integral_v<From> && std::is_integral_v<Working> && kLoads<From, Working>)
        return clip_of<From, Working>(operation);
      return std::nullopt;
    });
  });
}

}  // namespace

bool is_native(const Operation& operation) noexcept {
  return operation.cast && native_clip(operation).has_value();
}

std::optional<Converted> convert_native(const Operation& operation, const std::byte* in, std::byte* out,
                                        std::size_t count, Counting counting, SimdLevel level) noexcept {
  const std::optional<Operation> clipping = native_clip(operation);
  if (!clipping) return std::nullopt;
  const std::size_t in_size = traits(operation.from).size;
  const std::size_t length = kClippedBlock / in_size;
  alignas(64) std::array<std::byte, kClippedBlock> block;
  Converted result;
  for (std::size_t done = 0; done < count; done += length) {
    const std::size_t of_block = std::min(length, count - done);
    if (counting == Counting::on)
      result.counts += clip_and_count(*clipping, in + done * in_size, block.data(), of_block, level);
    else
      clip(*clipping, in + done * in_size, block.data(), of_block, level);
    if (out == nullptr) continue;
    with_type(operation.from, [&]<class From>() {
      with_type(operation.to, [&]<class To>() {
        if constexpr (std::is_integral_v<From> && !std::is_same_v<From, To>)
          run_loop<StoreIntegers<From, To>>(level, reinterpret_cast<const From*>(block.data()),
                                            reinterpret_cast<To*>(out) + done, of_block);
      });
    });
  }
  result.counts.changed = count != 0;
  return result;
}

}  // namespace clipper
