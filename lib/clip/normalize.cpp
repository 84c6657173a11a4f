#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <optional>
#include <utility>

#include "clip/convert.hpp"
#include "element/element.hpp"

namespace clipper {
namespace {

constexpr std::size_t kNormalizedBlock = 1024;  // elements, whose doubles fit the first-level cache twice

struct alignas(64) DoubleBlock {
  std::array<double, kNormalizedBlock> of;

  [[nodiscard]] std::byte* bytes() noexcept { return reinterpret_cast<std::byte*>(of.data()); }
};

/// (y - a) / b, where a and b have a value for each element if kVaries, otherwise one for all.
template <bool kVaries>
struct SubtractDivide {
  [[gnu::always_inline]] static void run(double* __restrict y, const double* __restrict a,
                                         const double* __restrict b, std::size_t count) noexcept {
    const double first[] = {a[0], b[0]};
    for (std::size_t i = 0; i < count; ++i)
      y[i] = (y[i] - (kVaries ? a[i] : first[0])) / (kVaries ? b[i] : first[1]);
  }
};

/// From a, which becomes low, to b, which becomes high. NaN stays.
template <bool kVaries>
struct StretchElements {
  [[gnu::always_inline]] static void run(double* __restrict y, const double* __restrict a,
                                         const double* __restrict b, double low, double high,
                                         std::size_t count) noexcept {
    const double first[] = {a[0], b[0]};
    const double least = low < high ? low : high;
    const double most = low < high ? high : low;
    for (std::size_t i = 0; i < count; ++i) {
      const double min = kVaries ? a[i] : first[0];
      const double max = kVaries ? b[i] : first[1];
      const double z = (y[i] - min) / (max - min) * (high - low) + low;
      const double raised = z < least ? least : z;
      const double held = raised > most ? most : raised;
      const double upper = y[i] >= max ? high : held;
      y[i] = y[i] <= min ? low : upper;
    }
  }
};

void run_normalization(const Normalization& step, const ParameterVectors* vectors, double* y,
                       std::size_t count, SimdLevel level) noexcept {
  const auto run = [&]<bool kVaries>(const double* a, const double* b) {
    if (step.stretches)
      run_loop<StretchElements<kVaries>>(level, y, a, b, step.low, step.high, count);
    else
      run_loop<SubtractDivide<kVaries>>(level, y, a, b, count);
  };
  if (vectors != nullptr)
    run.template operator()<true>(reinterpret_cast<const double*>(vectors->a),
                                  reinterpret_cast<const double*>(vectors->b));
  else
    run.template operator()<false>(&step.a, &step.b);
}

/// Counts normalized elements that the cast changes: of those whose g is not NaN and within the bounds.
class NormalizedCounter {
 public:
  NormalizedCounter(const Operation& operation, const Operation& last, SimdLevel level) noexcept
      : operation_(operation), cast_(*last.cast), level_(level) {
    const auto [zero_lowest, zero_highest] = zero_limits(last);
    zero_lowest_ = from_bits<double>(zero_lowest);
    zero_highest_ = from_bits<double>(zero_highest);
    makes_infinite_ = !cast_.saturates && traits(last.to).has_infinity;
  }

  /// `in` and `vectors` are those of the operation.
  void count(const ParameterVectors* vectors, const std::byte* in, const double* z, std::size_t count,
             ElementCounts& counts) const noexcept {
    unsigned any = 0;  // without a branch the loop is vectorized
    for (std::size_t i = 0; i < count; ++i)
      any |= static_cast<unsigned>(is_beyond(z[i])) | static_cast<unsigned>(is_lost(z[i]));
    if (any != 0) count_each(vectors, in, z, count, counts);
  }

 private:
  [[nodiscard]] bool is_beyond(double z) const noexcept { return (z < lowest_) | (z > highest_); }
  [[nodiscard]] bool is_lost(double z) const noexcept {
    return (z != 0) & (z >= zero_lowest_) & (z <= zero_highest_);
  }

  void count_each(const ParameterVectors* vectors, const std::byte* in, const double* z, std::size_t count,
                  ElementCounts& counts) const noexcept {
    DoubleBlock x;
    DoubleBlock within;  // NaN where g is NaN or beyond a bound
    Operation other = operation_;
    other.nan.reset();
    other.cast->nan.reset();
    other.cast->below = other.cast->above = canonical_nan(DType::float64);
    std::optional<ParameterVectors> bounds;
    if (vectors != nullptr) (bounds = *vectors)->nan = nullptr;
    static_cast<void>(convert(other, bounds ? &*bounds : nullptr, in, within.bytes(), count, level_));
    Operation plain;
    plain.from = other.from;
    plain.dtype = working_dtype(other.from);
    plain.to = DType::float64;
    plain.lo = lowest_element(plain.dtype);
    plain.hi = highest_element(plain.dtype);
    plain.cast.emplace();
    set_limits(plain);
    static_cast<void>(convert(plain, nullptr, in, x.bytes(), count, level_));
    for (std::size_t i = 0; i < count; ++i) {
      if (std::isnan(within.of[i])) continue;
      counts.raised += cast_.saturates && z[i] < lowest_ ? 1 : 0;
      counts.lowered += cast_.saturates && z[i] > highest_ ? 1 : 0;
      counts.became_infinite += makes_infinite_ && is_beyond(z[i]) && std::isfinite(x.of[i]) ? 1 : 0;
      counts.became_zero += is_lost(z[i]) ? 1 : 0;
    }
  }

  const Operation& operation_;
  const Cast& cast_;
  SimdLevel level_;
  double lowest_ = from_bits<double>(cast_.lowest);
  double highest_ = from_bits<double>(cast_.highest);
  double zero_lowest_;
  double zero_highest_;
  bool makes_infinite_;
};

}  // namespace

Converted normalize(const Operation& operation, const ParameterVectors* vectors, const std::byte* in,
                    std::byte* out, std::size_t count, Counting counting, SimdLevel level) noexcept {
  const Operation last = last_step(*operation.normalization);
  const std::size_t in_size = traits(operation.from).size;
  const std::size_t out_size = traits(last.to).size;
  std::optional<NormalizedCounter> counter;
  if (counting == Counting::on) counter.emplace(operation, last, level);
  DoubleBlock y;
  DoubleBlock results;
  Converted total;
  for (std::size_t done = 0; done < count; done += kNormalizedBlock) {
    const std::size_t length = std::min(kNormalizedBlock, count - done);
    const std::byte* const from = in + done * in_size;
    std::optional<ParameterVectors> given;
    if (vectors != nullptr)
      given = after(done, *vectors, traits(operation.dtype).size, factor_size(operation.arithmetic));
    const ParameterVectors* const of_block = given ? &*given : nullptr;
    Converted part = convert(operation, of_block, from, y.bytes(), length, level);
    run_normalization(*operation.normalization, of_block, y.of.data(), length, level);
    if (counter) counter->count(of_block, from, y.of.data(), length, part.counts);
    const bool compares = counter && operation.from == last.to;
    std::byte* const to = out == nullptr || compares ? results.bytes() : out + done * out_size;
    part.first_beyond = convert(last, nullptr, y.bytes(), to, length, level).first_beyond;
    if (counter) part.counts.changed = !compares || std::memcmp(to, from, length * out_size) != 0;
    if (out != nullptr && compares) std::memcpy(out + done * out_size, to, length * out_size);
    total.add(part, done);
  }
  return total;
}

}  // namespace clipper
