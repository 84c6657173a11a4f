#include "clip/convert.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <limits>
#include <numeric>
#include <tuple>
#include <type_traits>
#include <utility>

#include "clip/convert_loops.hpp"
#include "element/element.hpp"
#include "element/small_floats.hpp"

namespace clipper {
namespace {

/// Bytes of a block's working elements, which must fit the first-level cache several times. With 2 KiB, calls
/// of loops take as long as the loops.
constexpr std::size_t kConvertedBlock = 8192;

template <class Working>
constexpr std::size_t kBlock = kConvertedBlock / sizeof(Working);

/// Memory for a block of working elements.
struct alignas(64) Block {
  std::array<std::byte, kConvertedBlock> bytes;

  template <class T>
  [[nodiscard]] T* as() noexcept {
    return reinterpret_cast<T*>(bytes.data());
  }
};

/// What convert() does with one block after the other. Working: the operation's dtype.
template <class Working>
class BlockConversion {
 public:
  BlockConversion(const Operation& operation, Counting counting, SimdLevel level,
                  const Losses* losses) noexcept
      : operation_(operation),
        cast_(*operation.cast),
        losses_(losses),
        clipping_(operation),
        level_(level),
        lo_(from_bits<Working>(operation.lo)),
        hi_(from_bits<Working>(operation.hi)) {
    clipping_.arithmetic = Arithmetic::none;
    if (!cast_.saturates) {
      lowest_ = from_bits<Working>(lowest_element(operation.dtype));
      highest_ = from_bits<Working>(highest_element(operation.dtype));
    }
    clipping_.lo = to_bits(within(lo_));
    clipping_.hi = to_bits(within(hi_));
    if (clipping_.nan) clipping_.nan = to_bits(within(from_bits<Working>(*clipping_.nan)));
    // What cannot be converted is refused by the caller, who learns its position.
    if (!is_floating(operation.to) && !clipping_.nan) clipping_.nan = to_bits(Working{});
    below_ = lowest_finite(operation.to);
    above_ = highest_finite(operation.to);
    if (std::is_floating_point_v<Working> || is_float8(operation.to))
      saturates_ = cast_.saturates && (result_of(lowest_) != below_ || result_of(highest_) != above_);
    may_be_nan_ = is_floating(operation.from) || (operation.divides && operation.scale == 0);
    counts_ = counting == Counting::on || (saturates_ && !are_within());
    const bool is_stored_at_once =
        is_floating(operation.to) ? !cast_.round && !clipping_.nan && !cast_.nan : rounds_when_stored();
    clips_and_stores_ = !counts_ && is_stored_at_once && operation.from == operation.dtype &&
                        operation.to != operation.from && has_kernels(operation.to) &&
                        operation.arithmetic == Arithmetic::none && !replaces(kNumbers) &&
                        clipping_.zero_tie == ZeroTie::element && !clipping_.poisons &&
                        bits_of(cast_.zero_point) == 0;
  }

  /// `operands`: those of the block. `out` may be null.
  ElementCounts operator()(const std::byte* in, const Operands& operands, std::byte* out,
                           std::size_t count) noexcept {
    if constexpr (std::is_floating_point_v<Working>)
      if (clips_and_stores_ && !operands.vary() && out != nullptr && clip_and_store(in, out, count))
        return {};
    load(in, operands, count);
    const auto* const x = reinterpret_cast<const std::byte*>(g_);
    scale(operands, count);
    ElementCounts counts;
    if (losses_ != nullptr)
      count_losses(*losses_, operation_, operands, x, reinterpret_cast<const std::byte*>(g_), count, level_,
                   counts);
    counts += clip(operands, count);
    first_nan_ = counts.nan == 0 ? std::nullopt
                                 : find_nan(clipping_.dtype, reinterpret_cast<const std::byte*>(g_), count);
    if constexpr (std::is_floating_point_v<Working>)
      if (cast_.round && !rounds_when_stored())
        with_round(*cast_.round, [&]<Round kRound>() {
          run_loop<RoundElements<Working, kRound>>(level_, result_.as<Working>(), count);
        });
    return store(in, operands, counts, out, count);
  }

  /// The first element of the last block that is beyond the range of the output's dtype.
  [[nodiscard]] std::optional<std::size_t> first_beyond() const noexcept { return first_beyond_; }

  /// The first NaN of the last block, before the clip.
  [[nodiscard]] std::optional<std::size_t> first_nan() const noexcept { return first_nan_; }

 private:
  /// Returns false for a NaN that becomes an integer, and if the results would overwrite elements.
  bool clip_and_store(const std::byte* in, std::byte* out, std::size_t count) noexcept {
    const std::byte* const in_end = in + count * sizeof(Working);
    const std::byte* const out_end = out + count * traits(operation_.to).size;
    if (in < out_end && out < in_end) return false;
    const bool has_nan = with_type(operation_.to, [&]<class To>() {
      return run_loop<ClipAndStore<Working, To>>(level_, reinterpret_cast<const Working*>(in),
                                                 reinterpret_cast<To*>(out), from_bits<Working>(clipping_.lo),
                                                 from_bits<Working>(clipping_.hi), count);
    });
    first_nan_ = has_nan ? find_nan(operation_.from, in, count) : std::nullopt;
    return !has_nan || is_floating(operation_.to);
  }

  /// What scale() reads must not lie where it writes: compilers vectorize no such loop.
  void load(const std::byte* in, const Operands& operands, std::size_t count) noexcept {
    const bool scales = operation_.arithmetic != Arithmetic::none;
    auto* const loaded = (scales ? result_ : loaded_).template as<Working>();
    g_ = loaded;
    if constexpr (std::is_same_v<Working, float>)
      if (is_float8(operation_.from)) return widen(operation_.from, in, loaded, count);
    with_type(operation_.from, [&]<class From>() {
      // Not if results are written over `in` before g is used again.
      if constexpr (std::is_same_v<From, Working>)
        if (scales || (!saturates_ && !replaces(operands))) {
          g_ = reinterpret_cast<const Working*>(in);
          return;
        }
      if constexpr (kLoads<From, Working>)
        run_loop<Load<From, Working>>(level_, reinterpret_cast<const From*>(in), loaded, count);
    });
  }

  void scale(const Operands& operands, std::size_t count) noexcept {
    if constexpr (std::is_floating_point_v<Working>) {
      if (operation_.arithmetic == Arithmetic::none) return;
      if (operation_.divides)
        scale_by<Factor::divides>(operands, count);
      else
        scale_by<Factor::multiplies>(operands, count);
    }
  }

  template <Factor kFactor>
  void scale_by(const Operands& operands, std::size_t count) noexcept {
    auto* const scaled = loaded_.as<Working>();
    if (operands.vary())
      run_loop<ScaleVectors<Working, kFactor>>(level_, g_, scaled, operands.as<Working>(Slot::scale),
                                               operands.as<Working>(Slot::bias), count);
    else
      run_loop<Scale<Working, kFactor>>(level_, g_, scaled, static_cast<Working>(operation_.scale),
                                        static_cast<Working>(operation_.bias), count);
    g_ = scaled;
  }

  ElementCounts clip(const Operands& operands, std::size_t count) noexcept {
    const auto* const g = reinterpret_cast<const std::byte*>(g_);
    std::byte* const y = result_.bytes.data();
    if (!operands.vary() && !counts_) {
      clipper::clip(clipping_, g, y, count, level_);
      ElementCounts counts;
      if constexpr (std::is_floating_point_v<Working>)
        if (may_be_nan_) counts.nan = run_loop<FindNan<Working>>(level_, g_, count) ? 1 : 0;
      return counts;
    }
    if (!operands.vary()) return clip_and_count(clipping_, g, y, count, level_);
    Operands within_range = operands;
    if (operands[Slot::nan].data == nullptr && clipping_.nan) {
      std::fill_n(nan_vector_.as<Working>(), count, from_bits<Working>(*clipping_.nan));
      within_range.set(Slot::nan, nan_vector_.as<Working>());
    }
    if (lowest_ > from_bits<Working>(lowest_element(clipping_.dtype)) ||
        highest_ < from_bits<Working>(highest_element(clipping_.dtype))) {
      // NaN never is a parameter, so the order of the operands does not matter.
      const auto limit = [&](Slot slot, Block& block) {
        const Working* const from = within_range.as<Working>(slot);
        if (from == nullptr) return;
        std::transform(from, from + count, block.as<Working>(), [this](Working x) { return within(x); });
        within_range.set(slot, block.as<Working>());
      };
      limit(Slot::lo, lo_vector_);
      limit(Slot::hi, hi_vector_);
      limit(Slot::nan, nan_vector_);
    }
    return clip_and_count(clipping_, within_range, g, y, count, level_);
  }

  ElementCounts store(const std::byte* in, const Operands& operands, ElementCounts counts, std::byte* out,
                      std::size_t count) noexcept {
    const std::size_t size = traits(operation_.to).size;
    const bool is_same = operation_.from == operation_.to;
    const PerElement<ElementBits> nan = results(std::nullopt, cast_.nan, operands[Slot::nan_result]);
    if (nan.data != nullptr && counts.nan != 0) own_g(count);
    const bool is_direct = out != nullptr && !is_same;
    std::byte* const to = is_direct ? out : stored_.data();
    if (is_float8(operation_.to))
      store_float8(operands, reinterpret_cast<std::uint8_t*>(to), count);
    else
      store_elements(to, count);
    saturate(operands, counts, to, count);
    replace(operands, to, count, counts);
    if (counts.nan != 0) finish_nan(nan, to, count);
    if (is_same && counts.nan != 0 && nan.data == nullptr && !clipping_.nan &&
        operation_.arithmetic == Arithmetic::none)
      keep_nan(in, to, count);
    counts.changed = count != 0 && (!is_same || std::memcmp(to, in, count * size) != 0);
    if (out != nullptr && !is_direct) std::memcpy(out, to, count * size);
    return counts;
  }

  void store_elements(std::byte* to, std::size_t count) noexcept {
    with_type(operation_.to, [&]<class To>() {
      const Working* const y = result_.as<Working>();
      const std::uint64_t zero_point = bits_of(cast_.zero_point);
      if constexpr (std::is_integral_v<To> && std::is_floating_point_v<Working>)
        if (rounds_when_stored())
          return run_loop<Store<Working, To, true>>(level_, y, reinterpret_cast<To*>(to), count, zero_point);
      run_loop<Store<Working, To, false>>(level_, y, reinterpret_cast<To*>(to), count, zero_point);
    });
  }

  void store_float8(const Operands& operands, std::uint8_t* to, std::size_t count) noexcept {
    const Float8& format = float8_of(operation_.to);
    const Working* const y = result_.as<Working>();
    run_loop<StoreFloat8<Working>>(level_, y, to, count, NarrowFloat8(format));
    first_beyond_.reset();
    if (cast_.saturates || format.has_infinity()) return;
    const auto [lo, hi] = bounds(operands);
    const auto below = results(cast_.below, cast_.min, operands[Slot::min]);
    const auto above = results(cast_.above, cast_.max, operands[Slot::max]);
    const auto has = [&](const auto& replacement, const auto& by, std::size_t i) {
      return replacement || (by.data != nullptr && !format.is_nan(static_cast<std::uint8_t>(by[i])));
    };
    for (std::size_t i = 0; i < count && !first_beyond_; ++i) {
      const bool is_replaced =
          (g_[i] < lo[i] && has(cast_.below, below, i)) || (g_[i] > hi[i] && has(cast_.above, above, i));
      const bool is_number = y[i] == y[i];  // NOLINT(misc-redundant-expression): false for NaN
      if (format.is_nan(to[i]) && is_number && !is_replaced) first_beyond_ = i;
    }
  }

  [[nodiscard]] bool rounds_when_stored() const noexcept {
    return cast_.round == Round::half_even && !is_floating(operation_.to);
  }

  /// Copies g, which may be the elements that results overwrite.
  void own_g(std::size_t count) noexcept {
    if (g_ == loaded_.as<Working>()) return;
    std::copy_n(g_, count, loaded_.as<Working>());
    g_ = loaded_.as<Working>();
  }

  /// Writes the number that replaces NaN, or makes those quiet that float16, bfloat16 and float8 give
  /// float32. Their g is loaded; of float64, whose NaN become quiet by themselves, results may have
  /// overwritten g.
  void finish_nan(PerElement<ElementBits> nan, std::byte* out, std::size_t count) const noexcept {
    const bool is_widened = std::is_same_v<Working, float> && operation_.to == DType::float32 &&
                            operation_.from != DType::float32;
    if (nan.data == nullptr && (clipping_.nan || !is_widened)) return;
    constexpr std::uint32_t kQuiet = 0x400000;
    with_size(traits(operation_.to).size, [&]<std::size_t kSize>() {
      using Bits = UnsignedOfSize<kSize>;
      auto* const results = reinterpret_cast<Bits*>(out);
      for (std::size_t i = 0; i < count; ++i)
        if (is_nan(g_[i])) results[i] = static_cast<Bits>(nan.data != nullptr ? nan[i] : results[i] | kQuiet);
    });
  }

  /// Writes the bits of NaN elements as they were: a conversion makes a signalling NaN of 16 bits quiet.
  void keep_nan(const std::byte* in, std::byte* out, std::size_t count) const noexcept {
    const std::size_t size = traits(operation_.to).size;
    for (std::size_t i = 0; i < count; ++i)
      if (is_nan(g_[i])) std::memcpy(out + i * size, in + i * size, size);
  }

  [[nodiscard]] static bool is_nan([[maybe_unused]] Working x) noexcept {
    if constexpr (std::is_floating_point_v<Working>) return std::isnan(x);
    return false;
  }

  [[nodiscard]] ElementBits result_of(Working x) const noexcept {
    if constexpr (std::is_floating_point_v<Working>)
      if (cast_.round) x = with_round(*cast_.round, [&]<Round kRound>() { return rounded<kRound>(x); });
    if (is_float8(operation_.to)) return stored_float8(operation_.to, x).first;
    return with_type(operation_.to,
                     [&]<class To>() { return to_bits(stored<To>(x, bits_of(cast_.zero_point))); });
  }

  /// The user's bounds.
  [[nodiscard]] std::pair<PerElement<Working>, PerElement<Working>> bounds(
      const Operands& operands) const noexcept {
    return {{operands[Slot::lo], lo_}, {operands[Slot::hi], hi_}};
  }

  void saturate(const Operands& operands, const ElementCounts& counts, std::byte* out,
                std::size_t count) const noexcept {
    const bool varies = operands.vary();
    const bool moves = (varies || !are_within()) && (counts.raised != 0 || counts.lowered != 0);
    if (!saturates_ || (!moves && counts.nan == 0)) return;
    // A NaN that stays is beyond nothing.
    const Working number =
        from_bits<Working>(operation_.nan.value_or(to_bits(std::numeric_limits<Working>::quiet_NaN())));
    // Without a vector of its own, NaN is replaced by the number for all elements.
    std::array<Working, kBlock<Working>> nan;
    const bool has_nan = operands[Slot::nan].data != nullptr;
    if (varies && !has_nan) nan.fill(number);
    const Working* const lo = varies ? operands.as<Working>(Slot::lo) : &lo_;
    const Working* const hi = varies ? operands.as<Working>(Slot::hi) : &hi_;
    const Working* const of_nan = has_nan ? operands.as<Working>(Slot::nan) : varies ? nan.data() : &number;
    with_size(traits(operation_.to).size, [&]<std::size_t kSize>() {
      using Bits = UnsignedOfSize<kSize>;
      const auto run = [&]<bool kVaries>() {
        run_loop<Saturate<Working, kSize, kVaries>>(level_, g_, lo, hi, of_nan, lowest_, highest_,
                                                    static_cast<Bits>(below_), static_cast<Bits>(above_),
                                                    reinterpret_cast<Bits*>(out), count);
      };
      if (varies)
        run.template operator()<true>();
      else
        run.template operator()<false>();
    });
  }

  /// Whether the numbers leave nothing beyond the limits of the output's dtype.
  [[nodiscard]] bool are_within() const noexcept { return lo_ >= lowest_ && hi_ <= highest_; }

  [[nodiscard]] bool replaces(const Operands& operands) const noexcept {
    return cast_.replaces() || operands[Slot::min].data != nullptr || operands[Slot::max].data != nullptr;
  }

  /// What the elements below lo become, if that is not what lo becomes; the same for those above hi, and NaN.
  [[nodiscard]] static PerElement<ElementBits> results(const std::optional<ElementBits>& replacement,
                                                       const std::optional<ElementBits>& bound,
                                                       const Operand& varying) noexcept {
    if (replacement) return PerElement(&*replacement);
    if (varying.data != nullptr) return {varying, {}};
    return bound ? PerElement(&*bound) : PerElement<ElementBits>();
  }

  /// Writes replacements, and exact bounds.
  void replace(const Operands& operands, std::byte* out, std::size_t count,
               ElementCounts& counts) const noexcept {
    if (!replaces(operands)) return;
    const auto both = bounds(operands);  // clang 14 captures no structured bindings
    const PerElement<Working> lo = both.first;
    const PerElement<Working> hi = both.second;
    const auto below = results(cast_.below, cast_.min, operands[Slot::min]);
    const auto above = results(cast_.above, cast_.max, operands[Slot::max]);
    with_size(traits(operation_.to).size, [&]<std::size_t kSize>() {
      auto* const to = reinterpret_cast<UnsignedOfSize<kSize>*>(out);
      if (below.data != nullptr) {
        const std::uint64_t replaced = Replace<Working, kSize, true>::run(g_, lo, below, to, count);
        counts.replaced += cast_.below ? replaced : 0;
      }
      if (above.data != nullptr) {
        const std::uint64_t replaced = Replace<Working, kSize, false>::run(g_, hi, above, to, count);
        counts.replaced += cast_.above ? replaced : 0;
      }
    });
    count_between(lo, hi, operands.vary() ? count : std::min<std::size_t>(count, 1), count, counts);
  }

  /// Counts again if any lo exceeds its hi, because no element lies between the exact bounds, or a limit of
  /// the output lies between an exact bound and the working element that stands for it.
  void count_between(PerElement<Working> lo, PerElement<Working> hi, std::size_t bounds, std::size_t count,
                     ElementCounts& counts) const noexcept {
    bool any = false;
    for (std::size_t i = 0; i < bounds; ++i) {
      any |= lo[i] > hi[i];
      any |= lo[i] > highest_;
      any |= hi[i] < lowest_;
    }
    if (!any) return;
    counts.raised = counts.lowered = 0;
    for (std::size_t i = 0; i < count; ++i) {
      const bool crosses = lo[i] > hi[i];
      const bool is_below = g_[i] < (crosses || lo[i] > highest_ ? lo[i] : within(lo[i]));
      const bool is_above = !is_below && g_[i] > (crosses || hi[i] < lowest_ ? hi[i] : within(hi[i]));
      counts.raised += is_below ? 1 : 0;
      counts.lowered += is_above ? 1 : 0;
    }
  }

  [[nodiscard]] Working within(Working x) const noexcept { return std::clamp(x, lowest_, highest_); }

  const Operation& operation_;
  const Cast& cast_;
  const Losses* losses_;  ///< what is counted besides; or null
  Operation clipping_;    ///< the bounds of the operation, and those of the dtype
  SimdLevel level_;
  Working lo_;
  Working hi_;
  Working lowest_ = from_bits<Working>(cast_.lowest);
  Working highest_ = from_bits<Working>(cast_.highest);
  bool may_be_nan_;
  bool counts_;             ///< whether counts make a difference, except that of NaN
  bool clips_and_stores_;   ///< whether one loop does all, but for a NaN that becomes an integer
  bool saturates_ = false;  ///< whether a limit of the output's dtype is no result of a working element
  ElementBits below_ = 0;   ///< the limits as elements of the output's dtype
  ElementBits above_ = 0;
  const Working* g_ = nullptr;
  std::optional<std::size_t> first_nan_;
  std::optional<std::size_t> first_beyond_;
  Block loaded_;
  Block result_;
  alignas(64) std::array<std::byte, kBlock<float> * sizeof(double)> stored_;
  Block lo_vector_;
  Block hi_vector_;
  Block nan_vector_;
};

}  // namespace

Converted convert(const Operation& operation, const Operands& operands, const std::byte* in, std::byte* out,
                  std::size_t count, Counting counting, SimdLevel level, const Losses* losses) noexcept {
  if (operation.arithmetic == Arithmetic::integer)
    return convert_integers(operation, operands, in, out, count);
  if (!operands.vary() && losses == nullptr)
    if (const auto done = convert_native(operation, in, out, count, counting, level)) return *done;
  Converted result;
  const std::size_t in_size = traits(operation.from).size;
  const std::size_t out_size = traits(operation.to).size;
  with_working_type(operation.dtype, [&]<class Working>() {
    BlockConversion<Working> convert_block(operation, counting, level, losses);
    for (std::size_t done = 0; done < count; done += kBlock<Working>) {
      const std::size_t length = std::min(kBlock<Working>, count - done);
      const ElementCounts counts = convert_block(in + done * in_size, operands.after(done),
                                                 out == nullptr ? nullptr : out + done * out_size, length);
      result.add({counts, convert_block.first_nan(), convert_block.first_beyond()}, done);
    }
  });
  return result;
}

Converted apply(const Operation& operation, const Operands& operands, const std::byte* in, std::byte* out,
                std::size_t count, Counting counting, SimdLevel level, const Losses* losses) noexcept {
  if (operation.normalization) return normalize(operation, operands, in, out, count, counting, level, losses);
  if (operation.cast) return convert(operation, operands, in, out, count, counting, level, losses);
  Converted result;
  if (losses != nullptr)
    result.counts = clip_and_count(*losses, operation, operands, in, out, count, level);
  else if (counting == Counting::on)
    result.counts = clip_and_count(operation, operands, in, out, count, level);
  else
    clip(operation, operands, in, out, count, level);
  return result;
}

}  // namespace clipper
