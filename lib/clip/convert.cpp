#include "clip/convert.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <limits>
#include <optional>
#include <type_traits>

#include "clip/convert_loops.hpp"
#include "clip/kernel.hpp"
#include "clip/tile.hpp"
#include "element/element.hpp"
#include "element/small_floats.hpp"

namespace clipper {
namespace {

/// How elements become others, as a list of loops over a tile: load, scale and clip, round, store. Results
/// that are not those of the clipped elements are mended. Working: the operation's dtype.
template <class Working>
class CastProgram {
 public:
  /// `losses` are counted, unless null. `finds_nan`: whether the first NaN is looked for.
  CastProgram(const Operation& operation, bool finds_nan, Counting counting, SimdLevel level,
              const Losses* losses) noexcept
      : operation_(operation),
        cast_(*operation.cast),
        level_(level),
        factor_(operation.arithmetic == Arithmetic::none ? Factor::none
                : operation.divides                      ? Factor::divides
                                                         : Factor::multiplies),
        losses_(losses) {
    if (cast_.saturates && (std::is_floating_point_v<Working> || !has_kernels(operation.to)))
      saturates_ = result_of(lowest_) != below_ || result_of(highest_) != above_;
    if (operation.nan) nan_ = within(from_bits<Working>(*operation.nan));
    // What cannot be converted is refused by the caller, who learns its position.
    if (!operation.nan && !is_floating(operation.to)) nan_ = Working{};
    keeps_nan_ = operation.from == operation.to && !nan_ && factor_ == Factor::none;
    quiets_nan_ = std::is_same_v<Working, float> && operation.to == DType::float32 &&
                  operation.from != DType::float32 && !nan_;
    counted_ = losses != nullptr && may_lose() ? Counted::losses
               : counting == Counting::on || cast_.replaces() || (saturates_ && !are_within())
                   ? Counted::moves
               : (finds_nan || nan_) && (is_floating(operation.from) || (operation.divides && scale_ == 0))
                   ? Counted::nan
                   : Counted::nothing;
    if (may_have_edges(operation)) {
      clip_.emplace(operation);
      clip_->lo = to_bits(within(lo_));
      clip_->hi = to_bits(within(hi_));
      if (nan_) clip_->nan = to_bits(*nan_);
    }
  }

  /// `in` and `operands` are those of the tile.
  [[nodiscard]] Converted operator()(const Operands& operands, const std::byte* in, std::byte* out,
                                     std::size_t count) const noexcept {
    Tile copy;
    Tile loaded;
    Tile clipped;
    const bool is_stored = operation_.to != operation_.dtype || bits_of(cast_.zero_point) != 0;
    const std::size_t size = count * traits(operation_.from).size;
    if (overlap(in, size, out, count * traits(operation_.to).size) &&
        (mends(operands) || losses_ != nullptr || clip_ || (!is_stored && in != out)))
      in = static_cast<const std::byte*>(std::memcpy(copy.data(), in, size));
    const Working* const x = load(operation_.from, in, loaded, count);
    auto* const y = is_stored ? clipped.template as<Working>() : reinterpret_cast<Working*>(out);
    Converted done = clip(operands, x, y, count);
    if constexpr (std::is_floating_point_v<Working>)
      if (cast_.round && !rounds_when_stored())
        with_round(*cast_.round,
                   [&]<Round kRound>() { run_loop<RoundElements<Working, kRound>>(level_, y, count); });
    if (!has_kernels(operation_.to))
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
  /// Scales and clips, and replaces NaN by a number.
  Converted clip(const Operands& operands, const Working* x, Working* y, std::size_t count) const noexcept {
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
    const ClipFound found = scale_and_clip(counted_, operands.vary(), x, y, numbers, count);
    Converted done;
    done.counts.raised = found.raised;
    done.counts.lowered = found.lowered;
    done.counts.became_zero = found.became_zero;
    if (found.has_rare) {
      const auto [nan, has_infinite] = run_loop<CountNan<Working>>(level_, y, numbers, count);
      done.counts.nan = nan;
      if (has_infinite && losses_ != nullptr)
        done.counts.became_infinite = count_infinite(operands, x, numbers, count);
    }
    if (done.counts.nan != 0)
      done.first_nan = static_cast<std::size_t>(
          std::find_if(y, y + count, [](Working each) { return each != each; }) - y);  // NOLINT: NaN
    if (clip_)
      clip_with_edges(operands, x, y, count, done.counts);
    else if (done.first_nan)
      replace_nan(operands, y, count);
    return done;
  }

  ClipFound scale_and_clip(Counted counted, bool vary, const Working* x, Working* y,
                           const ClipNumbers<Working>& numbers, std::size_t count) const noexcept {
    const auto run = [&]<Factor kFactor, bool kVaries, Counted kCounted>() {
      return run_loop<ScaleAndClip<Working, kFactor, kVaries, kCounted>>(level_, x, y, numbers, count);
    };
    const auto by = [&]<Factor kFactor>() {
      if (vary) return run.template operator()<kFactor, true, Counted::losses>();
      switch (counted) {
        case Counted::nothing: return run.template operator()<kFactor, false, Counted::nothing>();
        case Counted::nan: return run.template operator()<kFactor, false, Counted::nan>();
        case Counted::moves: return run.template operator()<kFactor, false, Counted::moves>();
        case Counted::losses: break;
      }
      return run.template operator()<kFactor, false, Counted::losses>();
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
  [[nodiscard]] Working before_clip(const Operands& operands, const Working* x,
                                    std::size_t i) const noexcept {
    if constexpr (std::is_floating_point_v<Working>) {
      if (factor_ == Factor::none) return x[i];
      const auto scale = operands.vary() ? operands.as<Working>(Slot::scale)[i] : scale_;
      const auto bias = operands.vary() ? operands.as<Working>(Slot::bias)[i] : bias_;
      return factor_ == Factor::divides ? scaled<Factor::divides>(x[i], scale, bias)
                                        : scaled<Factor::multiplies>(x[i], scale, bias);
    }
    return x[i];
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
    if (operands.vary() && operands[Slot::nan].data == nullptr && nan_) {
      std::fill_n(tiles[2].as<Working>(), count, *nan_);
      limited.set(Slot::nan, tiles[2].as<Working>());
    }
    for (const Slot slot : {Slot::lo, Slot::hi, Slot::nan})
      if (const auto* const each = limited.as<Working>(slot)) {
        auto* const tile =
            tiles[slot == Slot::nan ? 2 : static_cast<std::size_t>(slot)].template as<Working>();
        std::transform(each, each + count, tile, [this](Working number) { return within(number); });
        limited.set(slot, tile);
      }
    const ElementCounts found = clip_and_count(*clip_, limited, in, out, count, level_);
    counts.raised = found.raised;
    counts.lowered = found.lowered;
  }

  void store(const Working* y, std::byte* out, std::size_t count) const noexcept {
    with_type(operation_.to, [&]<class To>() {
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
    const DType dtype = operation_.to;
    run_loop<StoreNarrowed<Working>>(level_, y, to, count, Narrowing(dtype));
    if (cast_.saturates || traits(dtype).has_infinity) return std::nullopt;
    const Results replaced(cast_, operands);
    const auto has = [&](const auto& replacement, const auto& by, std::size_t i) {
      return replacement || (by.data != nullptr && !std::isnan(widened(dtype, by[i])));
    };
    for (std::size_t i = 0; i < count; ++i) {
      if (!std::isnan(widened(dtype, to[i])) || y[i] != y[i])
        continue;  // NOLINT(misc-redundant-expression): NaN
      const Working g = before_clip(operands, x, i);
      if (!(g < PerElement(operands[Slot::lo], lo_)[i] && has(cast_.below, replaced.below, i)) &&
          !(g > PerElement(operands[Slot::hi], hi_)[i] && has(cast_.above, replaced.above, i)))
        return i;
    }
    return std::nullopt;
  }

  /// What elements below lo, above hi and NaN become, if that is not what the clipped element does.
  struct Results {
    PerElement<ElementBits> below;
    PerElement<ElementBits> above;
    PerElement<ElementBits> nan;

    Results(const Cast& cast, const Operands& operands) noexcept
        : below(
              of(cast.below ? operands[Slot::below] : Operand(), cast.below, cast.min, operands[Slot::min])),
          above(
              of(cast.above ? operands[Slot::above] : Operand(), cast.above, cast.max, operands[Slot::max])),
          nan(of({}, std::nullopt, cast.nan, operands[Slot::nan_result])) {}

    static PerElement<ElementBits> of(const Operand& replacements,
                                      const std::optional<ElementBits>& replacement,
                                      const std::optional<ElementBits>& bound, const Operand& each) noexcept {
      if (replacements.data != nullptr) return {replacements, {}};
      if (replacement) return PerElement(&*replacement);
      if (each.data != nullptr) return {each, {}};
      return bound ? PerElement(&*bound) : PerElement<ElementBits>();
    }
  };

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
    with_size(traits(operation_.to).size, [&]<std::size_t kSize>() {
      using Bits = UnsignedOfSize<kSize>;
      auto* const to = reinterpret_cast<Bits*>(out);
      if (mends_each_nan || !is_plain)
        return mend_each(operands, results, x, reinterpret_cast<const Bits*>(in), to, count, counts);
      const bool mends_below = results.below.data != nullptr || (saturates_ && lo_ < lowest_);
      const bool mends_above = results.above.data != nullptr || (saturates_ && hi_ > highest_);
      if (!mends_below && !mends_above && !mends_nan) return;
      const Working lowest = from_bits<Working>(lowest_element(operation_.dtype));
      const Working highest = from_bits<Working>(highest_element(operation_.dtype));
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
        const Working raised = number_of_g < lo ? lo : number_of_g;
        const Working y = raised > hi ? hi : raised;
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
    return cast_.round == Round::half_even && !is_floating(operation_.to);
  }

  [[nodiscard]] ElementBits result_of(Working x) const noexcept {
    if constexpr (std::is_floating_point_v<Working>)
      if (cast_.round) x = with_round(*cast_.round, [&]<Round kRound>() { return rounded<kRound>(x); });
    if (!has_kernels(operation_.to)) return stored_narrowed(operation_.to, x).first;
    return with_type(operation_.to,
                     [&]<class To>() { return to_bits(stored<To>(x, bits_of(cast_.zero_point))); });
  }

  /// Whether results of numbers may become infinite, or 0.
  [[nodiscard]] bool may_lose() const noexcept {
    const Working zero_lowest = from_bits<Working>(losses_->zero_lowest);
    const Working zero_highest = from_bits<Working>(losses_->zero_highest);
    return lo_ > hi_ || lo_ < from_bits<Working>(losses_->lowest) ||
           hi_ > from_bits<Working>(losses_->highest) || (losses_->underflow && bias_ == 0) ||
           (zero_lowest < zero_highest && lo_ <= zero_highest && hi_ >= zero_lowest);
  }

  /// Whether the numbers leave nothing beyond the limits of the output's dtype.
  [[nodiscard]] bool are_within() const noexcept { return lo_ >= lowest_ && hi_ <= highest_; }

  [[nodiscard]] Working within(Working x) const noexcept { return std::clamp(x, lowest_, highest_); }

  static constexpr std::uint32_t kQuiet = 0x400000;  // of float32

  const Operation& operation_;
  const Cast& cast_;
  SimdLevel level_;
  Factor factor_;
  const Losses* losses_;
  Working lo_ = from_bits<Working>(operation_.lo);
  Working hi_ = from_bits<Working>(operation_.hi);
  Working scale_ = static_cast<Working>(operation_.scale);
  Working bias_ = static_cast<Working>(operation_.bias);
  Working lowest_ = from_bits<Working>(cast_.saturates ? cast_.lowest : lowest_element(operation_.dtype));
  Working highest_ = from_bits<Working>(cast_.saturates ? cast_.highest : highest_element(operation_.dtype));
  ElementBits below_ = lowest_finite(operation_.to);  ///< the limits as elements of the output's dtype
  ElementBits above_ = highest_finite(operation_.to);
  std::optional<Working> nan_;  ///< what NaN becomes, unless each element has its own
  bool saturates_ = false;      ///< whether a limit of the output's dtype is no result of a working element
  bool keeps_nan_;              ///< whether NaN keeps its bits, which a conversion makes quiet
  bool quiets_nan_;             ///< whether those of 16 and 8 bits become quiet
  Counted counted_;
  std::optional<Operation> clip_;  ///< if the kernels for edges clip
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
    const CastProgram<Working> program(operation, true, counting, level, losses);
    return for_each_tile(in, out, count, sizes, counting == Counting::on && operation.from == operation.to,
                         [&](std::size_t done, const std::byte* from, std::byte* to, std::size_t length) {
                           return program(operands.after(done), from, to, length);
                         });
  });
}

namespace {

/// A scaling of elements that keep their dtype as a cast; integers become float64.
Operation scaling_cast(const Operation& operation) noexcept {
  Operation cast = operation;
  cast.from = operation.dtype;
  cast.dtype = operation.arithmetic == Arithmetic::float32 ? DType::float32 : DType::float64;
  cast.to = is_floating(operation.dtype) ? operation.dtype : DType::float64;
  const auto number = [&](ElementBits bits) { return working_element(operation.dtype, bits, cast.dtype); };
  cast.lo = number(operation.lo);
  cast.hi = number(operation.hi);
  if (operation.nan) cast.nan = number(*operation.nan);
  cast.cast.emplace();
  return cast;
}

}  // namespace

ElementCounts scale_in_floats(const Operation& operation, const Operands& operands, const std::byte* in,
                              std::byte* out, std::size_t count, Counting counting, SimdLevel level,
                              const Losses* losses) noexcept {
  const Operation cast = scaling_cast(operation);
  const ElementSizes sizes{traits(cast.from).size, traits(cast.to).size};
  const bool compares = counting == Counting::on && cast.from == cast.to;
  const auto run = [&]<class Working>() {
    const CastProgram<Working> program(cast, false, counting, level, losses);
    const auto run_tile = [&](std::size_t done, const std::byte* from, std::byte* to, std::size_t length) {
      Operands of_tile = operands.after(done);
      std::array<Tile, 3> tiles;
      std::size_t used = 0;
      for (const Slot slot : {Slot::lo, Slot::hi, Slot::nan})
        if (const std::byte* const bounds = of_tile[slot].data)
          of_tile.set(slot, program.load(operation.dtype, bounds, tiles[used++], length));
      return program(of_tile, from, to, length);
    };
    return for_each_tile(in, out, count, sizes, compares, run_tile).counts;
  };
  return cast.dtype == DType::float32 ? run.template operator()<float>() : run.template operator()<double>();
}

Converted apply(const Operation& operation, const Operands& operands, const std::byte* in, std::byte* out,
                std::size_t count, Counting counting, SimdLevel level, const Losses* losses) noexcept {
  if (operation.normalization) return normalize(operation, operands, in, out, count, counting, level, losses);
  if (operation.cast) return convert(operation, operands, in, out, count, counting, level, losses);
  Converted result;
  if (counting == Counting::on && scales_floats(operation)) {
    result.counts = scale_in_floats(operation, operands, in, out, count, counting, level, losses);
  } else if (counting == Counting::on) {
    const std::uint64_t zeros =
        losses == nullptr
            ? 0
            : scale_in_floats(operation, operands, in, nullptr, count, counting, level, losses).became_zero;
    result.counts = clip_and_count(operation, operands, in, out, count, level);
    result.counts.became_zero = zeros;
  } else {
    clip(operation, operands, in, out, count, level);
  }
  return result;
}

}  // namespace clipper
