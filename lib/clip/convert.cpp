#include "clip/convert.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <limits>
#include <optional>
#include <type_traits>

#pragma GCC diagnostic ignored "-Wpsabi"  // only inlined functions have vectors as parameters

#include "clip/convert_loops.hpp"
#include "clip/kernel.hpp"
#include "clip/scale_integers.hpp"
#include "clip/tile.hpp"
#include "element/element.hpp"
#include "element/small_floats.hpp"

namespace clipper {
namespace {

constexpr Cast kNoCast{};

/// How elements become others, as a list of loops over a tile: load, scale and clip, round, store. Results
/// that are not those of the clipped elements are mended. Working: the operation's dtype, or if it scales
/// without a cast that of its arithmetic.
template <class Working>
class CastProgram {
 public:
  /// `varies`: whether elements have numbers of their own. `losses` are counted, unless null.
  CastProgram(const Operation& operation, bool varies, Counting counting, SimdLevel level,
              const Losses* losses) noexcept
      : operation_(operation),
        cast_(operation.cast ? *operation.cast : kNoCast),
        from_(operation.cast ? operation.from : operation.dtype),
        to_(operation.cast ? operation.to : operation.dtype),
        level_(level),
        factor_(operation.arithmetic == Arithmetic::none ? Factor::none
                : operation.divides                      ? Factor::divides
                                                         : Factor::multiplies),
        losses_(losses) {
    if (cast_.saturates && (std::is_floating_point_v<Working> || !has_kernels(to_)))
      saturates_ = result_of(lowest_) != below_ || result_of(highest_) != above_;
    if (operation.nan) nan_ = within(number(*operation.nan));
    // What cannot be converted is refused by the caller, who learns its position.
    if (!operation.nan && !is_floating(to_)) nan_ = Working{};
    keeps_nan_ = from_ == to_ && !nan_ && factor_ == Factor::none;
    quiets_nan_ = std::is_same_v<Working, float> && to_ == DType::float32 && from_ != DType::float32 && !nan_;
    const bool may_be_nan = is_floating(from_) || (operation.divides && scale_ == 0);
    counted_ = losses != nullptr && may_lose() ? Counted::losses
               : counting == Counting::on || cast_.replaces() || (saturates_ && !are_within())
                   ? Counted::moves
               : (operation.cast || nan_) && may_be_nan ? Counted::nan
                                                        : Counted::nothing;
    in_registers_ = !operation.cast && !varies && from_ == DType::float16 && !nan_ &&
                    level != SimdLevel::baseline && std::fabs(scale_) >= 0x1p-64F &&
                    std::fabs(scale_) <= 0x1p64F;  // products neither overflow nor underflow
    if (counted_ >= Counted::moves && !varies && (!may_be_nan || in_registers_)) find_ranges();
    if (may_have_edges(operation)) {
      clip_ = clip_operation(kDTypeOf<Working>, to_bits(within(lo_)), to_bits(within(hi_)));
      clip_->zero_tie = operation.zero_tie;
      clip_->poisons = operation.poisons;
      if (nan_) clip_->nan = to_bits(*nan_);
    }
    const bool stores_at_once = is_floating(to_) ? has_kernels(to_) && !cast_.round : rounds_when_stored();
    only_clips_ = stores_at_once && counted_ == Counted::nan && !varies && factor_ == Factor::none &&
                  from_ == kDTypeOf<Working> && bits_of(cast_.zero_point) == 0 && !clip_;
  }

  /// `in` and `operands` are those of the tile. `finds_nan`: whether the first NaN is looked for.
  [[nodiscard]] Converted operator()(const Operands& operands, const std::byte* in, std::byte* out,
                                     std::size_t count, bool finds_nan) const noexcept {
    Tile copy;
    Tile loaded;
    Tile clipped;
    const bool is_stored = to_ != kDTypeOf<Working> || bits_of(cast_.zero_point) != 0;
    const std::size_t size = count * traits(from_).size;
    const bool overlaps = overlap(in, size, out, count * traits(to_).size);
    if (overlaps && (mends(operands) || losses_ != nullptr || clip_ || (!is_stored && in != out)))
      in = static_cast<const std::byte*>(std::memcpy(copy.data(), in, size));
    Converted done;
    if (only_clips_ && !overlaps && clip_and_store(level_, to_, in, out, within(lo_), within(hi_), count))
      return done;
    if (ranges_) done.counts = ranges_->count(in, count, level_);
    if (in_registers_ && ranges_) {
      run_loop<ScaleHalves>(level_, operation_, in, out, count);
      return done;
    }
    const Working* const x = load(from_, in, loaded, count);
    auto* const y = is_stored ? clipped.template as<Working>() : reinterpret_cast<Working*>(out);
    clip(operands, x, y, count, finds_nan, done);
    if constexpr (std::is_floating_point_v<Working>)
      if (cast_.round && !rounds_when_stored())
        with_round(*cast_.round,
                   [&]<Round kRound>() { run_loop<RoundElements<Working, kRound>>(level_, y, count); });
    if (!has_kernels(to_))
      done.first_beyond = store_narrowed(operands, x, y, reinterpret_cast<std::uint8_t*>(out), count);
    else if (is_stored)
      store(y, out, count);
    if (mends(operands)) mend(operands, x, in, out, count, done.counts);
    return done;
  }

  /// Elements as working elements, where they lie or in the tile.
  const Working* load(DType dtype, const std::byte* in, Tile& tile, std::size_t count) const noexcept {
    auto* const loaded = tile.as<Working>();
    if constexpr (std::is_same_v<Working, float>)
      if (!has_kernels(dtype)) {
        widen(dtype, in, loaded, count);
        return loaded;
      }
    return with_type(dtype, [&]<class From>() -> const Working* {
      if constexpr (std::is_same_v<From, Working>)
        return reinterpret_cast<const Working*>(in);
      else if constexpr (kLoads<From, Working>)
        run_loop<Load<From, Working>>(level_, reinterpret_cast<const From*>(in), loaded, count);
      return loaded;
    });
  }

 private:
  [[nodiscard]] Working number(ElementBits element) const noexcept {
    return from_bits<Working>(
        operation_.cast ? element : working_element(operation_.dtype, element, kDTypeOf<Working>));
  }

  [[nodiscard]] ClipNumbers<Working> numbers_for(const Operands& operands) const noexcept {
    ClipNumbers<Working> numbers{&lo_, &hi_, &scale_, &bias_, lowest_, highest_};
    if (operands.vary()) {
      numbers.lo = operands.as<Working>(Slot::lo);
      numbers.hi = operands.as<Working>(Slot::hi);
      numbers.scale = operands.as<Working>(Slot::scale);
      numbers.bias = operands.as<Working>(Slot::bias);
    }
    if (losses_ != nullptr) {
      numbers.zero_lowest = from_bits<Working>(losses_->zero_lowest);
      numbers.zero_highest = from_bits<Working>(losses_->zero_highest);
      numbers.finite_lowest = from_bits<Working>(losses_->lowest);
      numbers.finite_highest = from_bits<Working>(losses_->highest);
      numbers.underflow = losses_->underflow;
      numbers.crosses = cast_.min || cast_.max || operands[Slot::min].data != nullptr ||
                        operands[Slot::max].data != nullptr;
    }
    return numbers;
  }

  /// What ScaleAndClip would count.
  void find_ranges() noexcept {
    const ClipNumbers<Working> all = numbers_for(kNumbers);
    const Working hi = within(hi_);
    const Working first = all.crosses ? lo_ : std::min(lo_, hi_);
    const InputRanges::Limits<Working, Working> limits{std::min(within(lo_), hi),
                                                       hi,
                                                       std::max(first, all.zero_lowest),
                                                       std::min(hi_, all.zero_highest),
                                                       first,
                                                       hi_,
                                                       all.finite_lowest,
                                                       all.finite_highest};
    const auto scale = static_cast<double>(scale_);
    ranges_.emplace(from_, operation_.divides ? 1 / scale : scale, static_cast<double>(bias_));
    with_type(from_, [&]<class From>() {
      if constexpr ((std::is_integral_v<From> || std::is_same_v<From, Float16>)&&kLoads<From, Working>)
        ranges_->find<From>(limits, [this](From x) {
          return calculated(static_cast<Working>(comparable(x)), scale_, bias_);
        });
    });
  }

  /// Scales and clips, and replaces NaN by a number.
  void clip(const Operands& operands, const Working* x, Working* y, std::size_t count, bool finds_nan,
            Converted& done) const noexcept {
    const ClipNumbers<Working> numbers = numbers_for(operands);
    const ClipFound found =
        scale_and_clip(ranges_ ? Counted::nothing : counted_, operands.vary(), x, y, numbers, count);
    done.counts.raised += found.raised;
    done.counts.lowered += found.lowered;
    done.counts.became_zero += found.became_zero;
    if (found.has_rare) {
      const auto [nan, has_infinite] = run_loop<CountNan<Working>>(level_, y, numbers, count);
      done.counts.nan = nan;
      if (has_infinite && losses_ != nullptr)
        done.counts.became_infinite = count_infinite(operands, x, numbers, count);
    }
    if (done.counts.nan != 0 && finds_nan)
      done.first_nan = find_nan(kDTypeOf<Working>, reinterpret_cast<const std::byte*>(y), count);
    if (clip_)
      clip_with_edges(operands, x, y, count, done.counts);
    else if (done.counts.nan != 0)
      replace_nan(operands, y, count);
  }

  ClipFound scale_and_clip(Counted counted, bool vary, const Working* x, Working* y,
                           const ClipNumbers<Working>& numbers, std::size_t count) const noexcept {
    const auto run = [&]<Factor kFactor, bool kVaries, Counted kCounted>() {
      return run_loop<ScaleAndClip<Working, kFactor, kVaries, kCounted>>(level_, x, y, numbers, count);
    };
    const auto by = [&]<Factor kFactor>() {
      if (vary) return run.template operator()<kFactor, true, Counted::losses>();
      if constexpr (std::is_floating_point_v<Working>) switch (counted) {
          case Counted::nothing: break;
          case Counted::nan: return run.template operator()<kFactor, false, Counted::nan>();
          case Counted::moves: return run.template operator()<kFactor, false, Counted::moves>();
          case Counted::losses: return run.template operator()<kFactor, false, Counted::losses>();
        }
      return run.template operator()<kFactor, false, Counted::nothing>();  // of integers InputRanges counts
    };
    if constexpr (std::is_floating_point_v<Working>) {
      if (factor_ == Factor::multiplies) return by.template operator()<Factor::multiplies>();
      if (factor_ == Factor::divides) return by.template operator()<Factor::divides>();
    }
    return by.template operator()<Factor::none>();
  }

  /// Counts the finite elements that become infinite, which are few.
  std::uint64_t count_infinite(const Operands& operands, const Working* x,
                               const ClipNumbers<Working>& numbers, std::size_t count) const noexcept {
    std::uint64_t infinite = 0;
    for (std::size_t i = 0; i < count; ++i) {
      const Working g = before_clip(operands, x, i);
      const Working hi = numbers.hi[operands.vary() ? i : 0];
      const Working min = numbers.lo[operands.vary() ? i : 0];
      const Working lo = numbers.crosses ? min : std::min(min, hi);
      const bool is_infinite =
          g >= lo && g <= hi && (g > numbers.finite_highest || g < numbers.finite_lowest);
      infinite += is_infinite && std::isfinite(static_cast<double>(x[i])) ? 1 : 0;
    }
    return infinite;
  }

  /// x * scale + bias of one element.
  [[nodiscard]] Working calculated(Working x, Working scale, Working bias) const noexcept {
    if constexpr (std::is_floating_point_v<Working>) {
      if (factor_ == Factor::divides) return scaled<Factor::divides>(x, scale, bias);
      if (factor_ == Factor::multiplies) return scaled<Factor::multiplies>(x, scale, bias);
    }
    return x;
  }

  [[nodiscard]] Working before_clip(const Operands& operands, const Working* x,
                                    std::size_t i) const noexcept {
    if (factor_ == Factor::none) return x[i];
    return operands.vary()
               ? calculated(x[i], operands.as<Working>(Slot::scale)[i], operands.as<Working>(Slot::bias)[i])
               : calculated(x[i], scale_, bias_);
  }

  void replace_nan(const Operands& operands, Working* y, std::size_t count) const noexcept {
    const auto* const each = operands.as<Working>(Slot::nan);
    if (each == nullptr && nan_) run_loop<ReplaceNan<Working>>(level_, y, *nan_, count);
    for (std::size_t i = 0; i < count && each != nullptr; ++i)
      if (y[i] != y[i]) y[i] = within(each[i]);  // NOLINT(misc-redundant-expression): NaN
  }

  /// Another system's zeros, and bounds that are NaN: only elements that are not scaled have them.
  void clip_with_edges(const Operands& operands, const Working* x, Working* y, std::size_t count,
                       ElementCounts& counts) const noexcept {
    const auto* const in = reinterpret_cast<const std::byte*>(x);
    auto* const out = reinterpret_cast<std::byte*>(y);
    Operands limited = operands;
    std::array<Tile, 3> tiles;
    const Working of_nan = nan_.value_or(Working{});
    const auto limit = [&](Slot slot, Tile& tile) {
      const PerElement<Working> each(operands[slot], of_nan);
      for (std::size_t i = 0; i < count; ++i) tile.as<Working>()[i] = within(each[i]);
      limited.set(slot, tile.as<Working>());
    };
    if (operands.vary()) limit(Slot::lo, tiles[0]), limit(Slot::hi, tiles[1]);
    if (operands.vary() && (nan_ || operands[Slot::nan].data != nullptr)) limit(Slot::nan, tiles[2]);
    const ElementCounts found = clip_and_count(*clip_, limited, in, out, count, level_);
    counts.raised = found.raised;
    counts.lowered = found.lowered;
  }

  void store(const Working* y, std::byte* out, std::size_t count) const noexcept {
    with_type(to_, [&]<class To>() {
      auto* const to = reinterpret_cast<To*>(out);
      const std::uint64_t zero_point = bits_of(cast_.zero_point);
      if constexpr (std::is_integral_v<To> && std::is_floating_point_v<Working>)
        if (rounds_when_stored()) return run_loop<Store<Working, To, true>>(level_, y, to, count, zero_point);
      run_loop<Store<Working, To, false>>(level_, y, to, count, zero_point);
    });
  }

  /// Returns the first number beyond the range, if that is refused.
  std::optional<std::size_t> store_narrowed(const Operands& operands, const Working* x, const Working* y,
                                            std::uint8_t* to, std::size_t count) const noexcept {
    run_loop<StoreNarrowed<Working>>(level_, y, to, count, Narrowing(to_));
    if (cast_.saturates || traits(to_).has_infinity) return std::nullopt;
    const Results replaced(cast_, operands);
    const auto has = [&](const auto& replacement, const auto& by, std::size_t i) {
      return replacement || (by.data != nullptr && !std::isnan(widened(to_, by[i])));
    };
    for (std::size_t i = 0; i < count; ++i) {
      if (!std::isnan(widened(to_, to[i])) || y[i] != y[i])
        continue;  // NOLINT(misc-redundant-expression): NaN
      const Working g = before_clip(operands, x, i);
      if (!(g < PerElement(operands[Slot::lo], lo_)[i] && has(cast_.below, replaced.below, i)) &&
          !(g > PerElement(operands[Slot::hi], hi_)[i] && has(cast_.above, replaced.above, i)))
        return i;
    }
    return std::nullopt;
  }

  /// Whether results may be others than those of the clipped elements.
  [[nodiscard]] bool mends(const Operands& operands) const noexcept {
    const bool may_saturate = saturates_ && (operands.vary() || !are_within() || operation_.nan);
    return may_saturate || replaces(operands) || cast_.nan || operands[Slot::nan_result].data != nullptr ||
           keeps_nan_ || quiets_nan_;
  }

  [[nodiscard]] bool replaces(const Operands& operands) const noexcept {
    return cast_.replaces() || operands[Slot::min].data != nullptr || operands[Slot::max].data != nullptr;
  }

  /// Mends by numbers in one loop, if these are in order; otherwise looks at each element.
  void mend(const Operands& operands, const Working* x, const std::byte* in, std::byte* out,
            std::size_t count, ElementCounts& counts) const noexcept {
    const Results results(cast_, operands);
    const bool moves = (counts.raised | counts.lowered) != 0;
    const bool mends_nan = counts.nan != 0 && (results.nan.data != nullptr || quiets_nan_);
    const bool is_beyond = operation_.nan && *nan_ != from_bits<Working>(*operation_.nan);
    const bool mends_each_nan = counts.nan != 0 && (keeps_nan_ || operands.vary() ||
                                                    (saturates_ && is_beyond && results.nan.data == nullptr));
    const bool is_plain = !operands.vary() && lo_ <= hi_ && lo_ <= highest_ && hi_ >= lowest_ &&
                          (results.below.data == nullptr || lo_ >= lowest_) &&
                          (results.above.data == nullptr || hi_ <= highest_);
    if (!mends_nan && !mends_each_nan && !moves && (is_plain || (operands.vary() && !replaces(operands))))
      return;
    with_size(traits(to_).size, [&]<std::size_t kSize>() {
      using Bits = UnsignedOfSize<kSize>;
      auto* const to = reinterpret_cast<Bits*>(out);
      if (mends_each_nan || !is_plain)
        return mend_each(operands, results, x, reinterpret_cast<const Bits*>(in), to, count, counts);
      const bool mends_below = results.below.data != nullptr || (saturates_ && lo_ < lowest_);
      const bool mends_above = results.above.data != nullptr || (saturates_ && hi_ > highest_);
      if (!mends_below && !mends_above && !mends_nan) return;
      const Working lowest = from_bits<Working>(lowest_element(kDTypeOf<Working>));
      const Working highest = from_bits<Working>(highest_element(kDTypeOf<Working>));
      Tile tile;
      const Working* g = x;
      if (factor_ != Factor::none) {
        const ClipNumbers<Working> all{&lowest, &highest, &scale_, &bias_, lowest, highest};
        static_cast<void>(scale_and_clip(Counted::nothing, false, x, tile.as<Working>(), all, count));
        g = tile.as<Working>();
      }
      const auto result = [](const PerElement<ElementBits>& given, ElementBits otherwise) {
        return static_cast<Bits>(given.data != nullptr ? given[0] : otherwise);
      };
      const auto kept = static_cast<Bits>(results.nan.data != nullptr ? 0 : ~ElementBits{0});
      run_loop<Mend<Working, kSize>>(level_, g, to, mends_below ? within(lo_) : lowest,
                                     mends_above ? within(hi_) : highest, result(results.below, below_),
                                     result(results.above, above_), kept,
                                     result(results.nan, quiets_nan_ ? kQuiet : 0), count);
      counts.replaced += (cast_.below ? counts.raised : 0) + (cast_.above ? counts.lowered : 0);
    });
  }

  /// Mends where a limit of the output's dtype is no result of a working element, where bounds are replaced,
  /// or exact ones that working elements only stand for, and where NaN is. Counts the moves again if bounds
  /// are replaced: no element may lie between exact bounds, or a limit of the output between an exact bound
  /// and the working element that stands for it.
  template <class Bits>
  void mend_each(const Operands& operands, const Results& results, const Working* x, const Bits* in,
                 Bits* out, std::size_t count, ElementCounts& counts) const noexcept {
    const PerElement<Working> all_lo(operands[Slot::lo], lo_);
    const PerElement<Working> all_hi(operands[Slot::hi], hi_);
    const Working number =
        operation_.nan ? from_bits<Working>(*operation_.nan) : std::numeric_limits<Working>::quiet_NaN();
    const PerElement<Working> all_nan(operands[Slot::nan], number);  // a NaN that stays is beyond nothing
    const bool recounts = replaces(operands);
    if (recounts) counts.raised = counts.lowered = 0;
    for (std::size_t i = 0; i < count; ++i) {
      const Working g = before_clip(operands, x, i);
      const Working lo = all_lo[i];
      const Working hi = all_hi[i];
      const bool is_nan = g != g;  // NOLINT(misc-redundant-expression)
      if (saturates_) {
        const Working number_of_g = is_nan ? all_nan[i] : g;
        const Working y = clipped(number_of_g, lo, hi);
        if (y < lowest_) out[i] = static_cast<Bits>(below_);
        if (y > highest_) out[i] = static_cast<Bits>(above_);
      }
      if (g < lo && results.below.data != nullptr) {
        out[i] = static_cast<Bits>(results.below[i]);
        counts.replaced += cast_.below ? 1 : 0;
      }
      if (g > hi && results.above.data != nullptr) {
        out[i] = static_cast<Bits>(results.above[i]);
        counts.replaced += cast_.above ? 1 : 0;
      }
      if (is_nan && results.nan.data != nullptr)
        out[i] = static_cast<Bits>(results.nan[i]);
      else if (is_nan && keeps_nan_)
        out[i] = in[i];
      else if (is_nan && quiets_nan_)
        out[i] = static_cast<Bits>(out[i] | kQuiet);
      if (!recounts) continue;
      const bool crosses = lo > hi;
      const bool is_below = g < (crosses || lo > highest_ ? lo : within(lo));
      const bool is_above = !is_below && g > (crosses || hi < lowest_ ? hi : within(hi));
      counts.raised += is_below ? 1 : 0;
      counts.lowered += is_above ? 1 : 0;
    }
  }

  [[nodiscard]] bool rounds_when_stored() const noexcept {
    return cast_.round == Round::half_even && !is_floating(to_);
  }

  [[nodiscard]] ElementBits result_of(Working x) const noexcept {
    return stored_bits(to_, rounded_by(cast_.round, x), bits_of(cast_.zero_point));
  }

  /// Whether results of numbers may become infinite, or 0.
  [[nodiscard]] bool may_lose() const noexcept {
    const ClipNumbers<Working> all = numbers_for(kNumbers);
    return lo_ > hi_ || lo_ < all.finite_lowest || hi_ > all.finite_highest ||
           (all.underflow && bias_ == 0) ||
           (all.zero_lowest < all.zero_highest && lo_ <= all.zero_highest && hi_ >= all.zero_lowest);
  }

  /// Whether the numbers leave nothing beyond the limits of the output's dtype.
  [[nodiscard]] bool are_within() const noexcept { return lo_ >= lowest_ && hi_ <= highest_; }

  [[nodiscard]] Working within(Working x) const noexcept { return std::clamp(x, lowest_, highest_); }

  static constexpr std::uint32_t kQuiet = 0x400000;  // of float32

  const Operation& operation_;
  const Cast& cast_;
  DType from_;
  DType to_;
  SimdLevel level_;
  Factor factor_;
  const Losses* losses_;
  Working lo_ = number(operation_.lo);
  Working hi_ = number(operation_.hi);
  Working scale_ = static_cast<Working>(operation_.scale.head);
  Working bias_ = static_cast<Working>(operation_.bias.head);
  Working lowest_ = from_bits<Working>(cast_.saturates ? cast_.lowest : lowest_element(kDTypeOf<Working>));
  Working highest_ = from_bits<Working>(cast_.saturates ? cast_.highest : highest_element(kDTypeOf<Working>));
  ElementBits below_ = lowest_finite(to_);  ///< the limits as elements of the output's dtype
  ElementBits above_ = highest_finite(to_);
  std::optional<Working> nan_;  ///< what NaN becomes, unless each element has its own
  bool saturates_ = false;      ///< whether a limit of the output's dtype is no result of a working element
  bool keeps_nan_;              ///< whether NaN keeps its bits, which a conversion makes quiet
  bool quiets_nan_;             ///< whether those of 16 and 8 bits become quiet
  Counted counted_;
  bool only_clips_;                    ///< whether one loop does all, unless there is NaN
  std::optional<InputRanges> ranges_;  ///< which count then
  bool in_registers_;                  ///< whether one loop does all, unless it counts
  std::optional<Operation> clip_;      ///< if the kernels for edges clip
};

}  // namespace

Converted convert(const Operation& operation, const Operands& operands, const std::byte* in, std::byte* out,
                  std::size_t count, Counting counting, SimdLevel level, const Losses* losses) noexcept {
  if (operation.arithmetic == Arithmetic::integer)
    return convert_integers(operation, operands, in, out, count);
  if (!operands.vary() && losses == nullptr)
    if (const auto done = convert_native(operation, in, out, count, counting, level)) return *done;
  const ElementSizes sizes{traits(operation.from).size, traits(operation.to).size};
  return with_working_type(operation.dtype, [&]<class Working>() {
    const CastProgram<Working> program(operation, operands.vary(), counting, level, losses);
    bool has_nan = false;
    return for_each_tile(in, out, count, sizes, counting == Counting::on && operation.from == operation.to,
                         [&](std::size_t done, const std::byte* from, std::byte* to, std::size_t length) {
                           const Converted tile = program(operands.after(done), from, to, length, !has_nan);
                           has_nan = has_nan || tile.first_nan;
                           return tile;
                         });
  });
}

ElementCounts scale_floats(const Operation& operation, const Operands& operands, const std::byte* in,
                           std::byte* out, std::size_t count, Counting counting, SimdLevel level,
                           const Losses* losses) noexcept {
  const std::size_t size = traits(operation.dtype).size;
  const auto run = [&]<class Working>() {
    const CastProgram<Working> program(operation, operands.vary(), counting, level, losses);
    const auto run_tile = [&](std::size_t done, const std::byte* from, std::byte* to, std::size_t length) {
      Operands of_tile = operands.after(done);
      std::array<Tile, 3> tiles;
      std::size_t used = 0;
      for (const Slot slot : {Slot::lo, Slot::hi, Slot::nan})
        if (const std::byte* const bounds = of_tile[slot].data)
          of_tile.set(slot, program.load(operation.dtype, bounds, tiles[used++], length));
      return program(of_tile, from, to, length, false);
    };
    return for_each_tile(in, out, count, {size, size}, counting == Counting::on, run_tile).counts;
  };
  return operation.arithmetic == Arithmetic::float32 ? run.template operator()<float>()
                                                     : run.template operator()<double>();
}

}  // namespace clipper
