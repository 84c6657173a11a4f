#include "clip/convert.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <limits>
#include <numeric>
#include <tuple>
#include <type_traits>
#include <utility>

#include "clip/convert_loops.hpp"
#include "clip/parameters.hpp"
#include "element/element.hpp"
#include "element/element_key.hpp"
#include "element/float8.hpp"

namespace clipper {
namespace {

/// Elements of a block, whose working elements must fit the first-level cache several times.
constexpr std::size_t kBlock = 512;

/// From the parameter of an element to that of the next one.
constexpr std::size_t kStep = 1;
constexpr std::size_t kNoStep = 0;

/// Memory for a block of elements of any dtype.
struct alignas(64) Block {
  std::array<std::byte, kBlock * sizeof(double)> bytes;

  template <class T>
  [[nodiscard]] T* as() noexcept {
    return reinterpret_cast<T*>(bytes.data());
  }
};

/// with_type() for working dtypes.
template <class F>
decltype(auto) with_working_type(DType dtype, F&& f) {
  switch (dtype) {
    case DType::int32: return f.template operator()<std::int32_t>();
    case DType::int64: return f.template operator()<std::int64_t>();
    case DType::uint64: return f.template operator()<std::uint64_t>();
    case DType::float32: return f.template operator()<float>();
    default: return f.template operator()<double>();
  }
}

/// Whether elements of From can be converted to Working: those of each dtype to at most two working dtypes.
template <class From, class Working>
constexpr bool kLoads = HalfType<From> || std::is_same_v<From, float> ? std::is_same_v<Working, float>
                        : std::is_same_v<Working, double> || std::is_same_v<From, Working> ? true
                        : std::is_same_v<Working, std::int32_t>
                            ? std::is_integral_v<From> && sizeof(From) < sizeof(std::int32_t)
                            : std::is_same_v<Working, std::int64_t>&& std::is_same_v<From, std::uint32_t>;

template <class F>
decltype(auto) with_round(Round round, F&& f) {
  switch (round) {
    case Round::half_even: return f.template operator()<Round::half_even>();
    case Round::half_away: return f.template operator()<Round::half_away>();
    case Round::trunc: return f.template operator()<Round::trunc>();
    case Round::floor: return f.template operator()<Round::floor>();
    case Round::ceil: return f.template operator()<Round::ceil>();
  }
  __builtin_unreachable();
}

void swap_bytes(std::size_t size, const std::byte* in, std::byte* out, std::size_t count,
                SimdLevel level) noexcept {
  with_size(size, [&]<std::size_t kSize>() {
    using Bits = UnsignedOfSize<kSize>;
    if constexpr (kSize > 1)
      run_loop<SwapBytes<kSize>>(level, reinterpret_cast<const Bits*>(in), reinterpret_cast<Bits*>(out),
                                 count);
  });
}

std::uint64_t bits_of(Operation::Integer integer) noexcept {
  return integer.negative ? 0 - integer.magnitude : integer.magnitude;
}

Int128 value_of(Operation::Integer integer) noexcept {
  return integer.negative ? -Int128{integer.magnitude} : Int128{integer.magnitude};
}

/// The working element, which is not NaN, as it is stored, and whether that is finite.
template <class Working>
std::pair<ElementBits, bool> stored_float8(DType to, Working x) noexcept {
  const std::uint8_t element = NarrowFloat8(float8_of(to))(float_to_odd(x));
  return {element, std::isfinite(widened(to, element))};
}

/// -1, 0 or 1: where the working element is stored as one below, within or above the finite elements of To.
template <class To, class Working>
int beyond(const Conversion& conversion, Working x) noexcept {
  if constexpr (!std::is_integral_v<To>) {
    const double result = as_double(stored<To>(x, 0));
    return !std::isinf(result) ? 0 : result < 0 ? -1 : 1;
  } else {
    constexpr auto kFar = static_cast<Working>(std::is_integral_v<Working> ? 0 : 0x1p66);
    if constexpr (std::is_floating_point_v<Working>)
      if (std::fabs(x) > kFar) return x < 0 ? -1 : 1;
    const Int128 sum = static_cast<Int128>(x) + value_of(conversion.zero_point);
    return sum < std::numeric_limits<To>::lowest() ? -1 : sum > std::numeric_limits<To>::max() ? 1 : 0;
  }
}

/// The element farthest from `first`, at most `end`, that is not beyond the range.
template <class Working, class IsBeyond>
ElementBits last_within(Working first, ElementBits end, const IsBeyond& is_beyond) noexcept {
  Key<Working> within = key_of(first);
  Key<Working> out = key_of(from_bits<Working>(end));
  if (!is_beyond(element_of<Working>(out))) return end;
  for (;;) {
    const Key<Working> middle = std::midpoint(within, out);
    if (middle == within) return to_bits(element_of<Working>(within));
    (is_beyond(element_of<Working>(middle)) ? out : within) = middle;
  }
}

/// The greatest integer that a float dtype rounds to a finite number.
Wide highest_finite_integer(const Conversion& conversion) noexcept {
  const DType dtype = conversion.to;
  if (is_float8(dtype)) {
    const auto is_beyond = [&](double x) { return beyond_range(conversion, DType::float64, to_bits(x)) > 0; };
    const auto highest = from_bits<double>(last_within(1.0, highest_element(DType::float64), is_beyond));
    return Wide::of(false, static_cast<UInt128>(highest));
  }
  const int exponent = (1 << (traits(dtype).exponent_bits - 1)) - 1;
  if (exponent > 127) return Wide::highest();
  const int half_unit = exponent - traits(dtype).fraction_bits - 1;
  return {false, (UInt128{1} << exponent) - (UInt128{1} << half_unit) + (UInt128{1} << exponent) - 1};
}

/// What convert() does with one block after the other. Working: the operation's dtype.
template <class Working>
class BlockConversion {
 public:
  BlockConversion(const Conversion& conversion, const Operation& operation, SimdLevel level) noexcept
      : conversion_(conversion),
        scaling_(operation),
        clipping_(operation),
        level_(level),
        lo_(from_bits<Working>(operation.lo)),
        hi_(from_bits<Working>(operation.hi)) {
    clipping_.order = kNativeOrder;
    clipping_.arithmetic = Arithmetic::none;
    if (!conversion.saturates) {
      lowest_ = from_bits<Working>(lowest_element(operation.dtype));
      highest_ = from_bits<Working>(highest_element(operation.dtype));
    }
    clipping_.lo = to_bits(std::max(lo_, lowest_));
    clipping_.hi = to_bits(std::min(hi_, highest_));
    if (clipping_.nan) clipping_.nan = to_bits(within(from_bits<Working>(*clipping_.nan)));
    // What cannot be converted is refused by the caller, who learns its position.
    if (!is_floating(conversion.to) && !clipping_.nan) clipping_.nan = to_bits(Working{});
    below_ = lowest_finite(conversion.to);
    above_ = highest_finite(conversion.to);
    if (std::is_floating_point_v<Working> || is_float8(conversion.to))
      saturates_ = conversion.saturates && (result_of(lowest_) != below_ || result_of(highest_) != above_);
  }

  /// `vectors`: those of the block; null for numbers. `out` may be null.
  ElementCounts operator()(const std::byte* in, const ParameterVectors* vectors, std::byte* out,
                           std::size_t count) noexcept {
    load(in, count);
    scale(vectors, count);
    const ElementCounts counts = clip(vectors, count);
    first_nan_ = counts.nan == 0
                     ? std::nullopt
                     : find_nan(clipping_.dtype, kNativeOrder, reinterpret_cast<const std::byte*>(g_), count);
    if constexpr (std::is_floating_point_v<Working>)
      if (conversion_.round && !rounds_when_stored())
        with_round(*conversion_.round, [&]<Round kRound>() {
          run_loop<RoundElements<Working, kRound>>(level_, result_.as<Working>(), count);
        });
    return store(in, vectors, counts, out, count);
  }

  /// The first element of the last block that is beyond the range of the output's dtype.
  [[nodiscard]] std::optional<std::size_t> first_beyond() const noexcept { return first_beyond_; }

  /// The first NaN of the last block, before the clip.
  [[nodiscard]] std::optional<std::size_t> first_nan() const noexcept { return first_nan_; }

 private:
  void load(const std::byte* in, std::size_t count) noexcept {
    if constexpr (std::is_same_v<Working, float>)
      if (is_float8(conversion_.from)) {
        widen(conversion_.from, in, loaded_.as<float>(), count);
        g_ = loaded_.as<float>();
        return;
      }
    const std::size_t size = traits(conversion_.from).size;
    const bool swaps = size > 1 && conversion_.order != kNativeOrder;
    if (swaps || reinterpret_cast<std::uintptr_t>(in) % size != 0) {
      std::memcpy(raw_.bytes.data(), in, count * size);
      in = raw_.bytes.data();
    }
    if (swaps) {
      swap_bytes(size, in, stored_.bytes.data(), count, level_);
      in = stored_.bytes.data();
    }
    with_type(conversion_.from, [&]<class From>() {
      // Not if results are written over `in` before g is used again.
      if constexpr (std::is_same_v<From, Working>)
        if (!swaps && scaling_.arithmetic == Arithmetic::none && !saturates_ && !conversion_.below &&
            !conversion_.above) {
          g_ = reinterpret_cast<const Working*>(in);
          return;
        }
      g_ = loaded_.as<Working>();
      if constexpr (kLoads<From, Working>)
        run_loop<Load<From, Working>>(level_, reinterpret_cast<const From*>(in), loaded_.as<Working>(),
                                      count);
    });
  }

  void scale(const ParameterVectors* vectors, std::size_t count) noexcept {
    if constexpr (std::is_floating_point_v<Working>) {
      if (scaling_.arithmetic == Arithmetic::none) return;
      if (conversion_.divides)
        scale_by<Factor::divides>(vectors, count);
      else
        scale_by<Factor::multiplies>(vectors, count);
    }
  }

  template <Factor kFactor>
  void scale_by(const ParameterVectors* vectors, std::size_t count) noexcept {
    if (vectors != nullptr)
      run_loop<ScaleVectors<Working, kFactor>>(level_, loaded_.as<Working>(),
                                               reinterpret_cast<const Working*>(vectors->scale),
                                               reinterpret_cast<const Working*>(vectors->bias), count);
    else
      run_loop<Scale<Working, kFactor>>(level_, loaded_.as<Working>(), static_cast<Working>(scaling_.scale),
                                        static_cast<Working>(scaling_.bias), count);
  }

  ElementCounts clip(const ParameterVectors* vectors, std::size_t count) noexcept {
    const auto* const g = reinterpret_cast<const std::byte*>(g_);
    std::byte* const y = result_.bytes.data();
    if (vectors == nullptr) return clip_and_count(clipping_, g, y, count, level_);
    ParameterVectors within_range{vectors->lo, vectors->hi, vectors->nan};
    if (lowest_ > from_bits<Working>(lowest_element(clipping_.dtype)) ||
        highest_ < from_bits<Working>(highest_element(clipping_.dtype))) {
      // NaN never is a parameter, so the order of the operands does not matter.
      const auto limit = [&](const std::byte* values, Block& block) -> const std::byte* {
        const auto* const from = reinterpret_cast<const Working*>(values);
        std::transform(from, from + count, block.as<Working>(), [this](Working x) { return within(x); });
        return block.bytes.data();
      };
      within_range = {limit(vectors->lo, lo_vector_), limit(vectors->hi, hi_vector_),
                      vectors->nan == nullptr ? nullptr : limit(vectors->nan, nan_vector_)};
    } else if (vectors->nan == nullptr && clipping_.nan) {
      std::fill_n(nan_vector_.as<Working>(), count, from_bits<Working>(*clipping_.nan));
      within_range.nan = nan_vector_.bytes.data();
    }
    return clip_and_count(clipping_, within_range, g, y, count, level_);
  }

  ElementCounts store(const std::byte* in, const ParameterVectors* vectors, ElementCounts counts,
                      std::byte* out, std::size_t count) noexcept {
    const std::size_t size = traits(conversion_.to).size;
    const bool is_same = conversion_.from == conversion_.to;
    const bool swaps = size > 1 && conversion_.order != kNativeOrder;
    const bool is_direct =
        out != nullptr && !is_same && !swaps && reinterpret_cast<std::uintptr_t>(out) % size == 0;
    std::byte* to = is_direct ? out : stored_.bytes.data();
    if (is_float8(conversion_.to))
      store_float8(vectors, reinterpret_cast<std::uint8_t*>(to), count);
    else
      store_elements(to, count);
    saturate(vectors, to, count);
    counts.replaced = replace(vectors, to, count);
    if (swaps) {
      swap_bytes(size, to, raw_.bytes.data(), count, level_);
      to = raw_.bytes.data();
    }
    if (is_same && counts.nan != 0 && !clipping_.nan && scaling_.arithmetic == Arithmetic::none)
      keep_nan(in, to, count);
    counts.changed = count != 0 && (!is_same || std::memcmp(to, in, count * size) != 0);
    if (out != nullptr && !is_direct) std::memcpy(out, to, count * size);
    return counts;
  }

  void store_elements(std::byte* to, std::size_t count) noexcept {
    with_type(conversion_.to, [&]<class To>() {
      const Working* const y = result_.as<Working>();
      const std::uint64_t zero_point = bits_of(conversion_.zero_point);
      if constexpr (std::is_integral_v<To> && std::is_floating_point_v<Working>)
        if (rounds_when_stored())
          return run_loop<Store<Working, To, true>>(level_, y, reinterpret_cast<To*>(to), count, zero_point);
      run_loop<Store<Working, To, false>>(level_, y, reinterpret_cast<To*>(to), count, zero_point);
    });
  }

  void store_float8(const ParameterVectors* vectors, std::uint8_t* to, std::size_t count) noexcept {
    const Float8& format = float8_of(conversion_.to);
    const Working* const y = result_.as<Working>();
    run_loop<StoreFloat8<Working>>(level_, y, to, count, NarrowFloat8(format));
    first_beyond_.reset();
    if (conversion_.saturates || format.has_infinity()) return;
    const auto [lo, hi, step] = bounds(vectors);
    for (std::size_t i = 0; i < count && !first_beyond_; ++i) {
      const bool is_replaced =
          (conversion_.below && g_[i] < lo[i * step]) || (conversion_.above && g_[i] > hi[i * step]);
      const bool is_number = y[i] == y[i];  // NOLINT(misc-redundant-expression): false for NaN
      if (format.is_nan(to[i]) && is_number && !is_replaced) first_beyond_ = i;
    }
  }

  [[nodiscard]] bool rounds_when_stored() const noexcept {
    return conversion_.round == Round::half_even && !is_floating(conversion_.to);
  }

  /// Writes the bits of NaN elements as they were: a conversion makes a signalling NaN of 16 bits quiet.
  void keep_nan(const std::byte* in, std::byte* out, std::size_t count) const noexcept {
    const std::size_t size = traits(conversion_.to).size;
    for (std::size_t i = 0; i < count; ++i)
      if (g_[i] != g_[i]) std::memcpy(out + i * size, in + i * size, size);  // NOLINT: true for NaN
  }

  [[nodiscard]] ElementBits result_of(Working x) const noexcept {
    if constexpr (std::is_floating_point_v<Working>)
      if (conversion_.round)
        x = with_round(*conversion_.round, [&]<Round kRound>() { return rounded<kRound>(x); });
    if (is_float8(conversion_.to)) return stored_float8(conversion_.to, x).first;
    return with_type(conversion_.to,
                     [&]<class To>() { return to_bits(stored<To>(x, bits_of(conversion_.zero_point))); });
  }

  /// The user's bounds, and the step from that of an element to the next one's.
  [[nodiscard]] std::tuple<const Working*, const Working*, std::size_t> bounds(
      const ParameterVectors* vectors) const noexcept {
    if (vectors == nullptr) return {&lo_, &hi_, kNoStep};
    return {reinterpret_cast<const Working*>(vectors->lo), reinterpret_cast<const Working*>(vectors->hi),
            kStep};
  }

  void saturate(const ParameterVectors* vectors, std::byte* out, std::size_t count) const noexcept {
    if (!saturates_) return;
    const Working number = from_bits<Working>(scaling_.nan.value_or(to_bits(Working{})));
    const bool varies = vectors != nullptr;
    // Without a vector of its own, NaN is replaced by the number for all elements.
    std::array<Working, kBlock> nan;
    if (varies && vectors->nan == nullptr) nan.fill(number);
    const auto values = [&](const std::byte* given, const Working* otherwise) {
      return given != nullptr ? reinterpret_cast<const Working*>(given) : otherwise;
    };
    const Working* const lo = varies ? values(vectors->lo, nullptr) : &lo_;
    const Working* const hi = varies ? values(vectors->hi, nullptr) : &hi_;
    const Working* const of_nan = varies ? values(vectors->nan, nan.data()) : &number;
    with_size(traits(conversion_.to).size, [&]<std::size_t kSize>() {
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

  std::uint64_t replace(const ParameterVectors* vectors, std::byte* out, std::size_t count) const noexcept {
    const auto pointer = [](const auto& given) { return given ? &*given : nullptr; };
    if (!conversion_.below && !conversion_.above) return 0;
    const Working* lo = nullptr;
    const Working* hi = nullptr;
    std::size_t step = kNoStep;
    std::tie(lo, hi, step) = bounds(vectors);
    return with_size(traits(conversion_.to).size, [&]<std::size_t kSize>() {
      return Replace<Working, kSize>::run(g_, lo, hi, step, pointer(conversion_.below),
                                          pointer(conversion_.above),
                                          reinterpret_cast<UnsignedOfSize<kSize>*>(out), count);
    });
  }

  [[nodiscard]] Working within(Working x) const noexcept { return std::clamp(x, lowest_, highest_); }

  const Conversion& conversion_;
  const Operation& scaling_;
  Operation clipping_;  ///< the bounds of the operation, and those of the dtype
  SimdLevel level_;
  Working lo_;
  Working hi_;
  Working lowest_ = from_bits<Working>(conversion_.lowest);
  Working highest_ = from_bits<Working>(conversion_.highest);
  bool saturates_ = false;  ///< whether a limit of the output's dtype is no result of a working element
  ElementBits below_ = 0;   ///< the limits as elements of the output's dtype
  ElementBits above_ = 0;
  const Working* g_ = nullptr;
  std::optional<std::size_t> first_nan_;
  std::optional<std::size_t> first_beyond_;
  Block raw_;
  Block loaded_;
  Block result_;
  Block stored_;
  Block lo_vector_;
  Block hi_vector_;
  Block nan_vector_;
};

/// The result of integer arithmetic as it is stored, and whether a dtype without infinity does not have it.
/// `is_low`: saturation makes it the lowest element.
template <class To>
std::pair<To, bool> stored_integer(const Conversion& conversion, Wide y, bool is_low) noexcept {
  if (!is_float8(conversion.to)) return {stored<To>(y, bits_of(conversion.zero_point)), false};
  const auto [element, is_finite] = stored_float8(conversion.to, y);
  return {from_bits<To>(is_low ? lowest_finite(conversion.to) : element),
          !is_finite && !traits(conversion.to).has_infinity};
}

/// The conversion of Arithmetic::integer, one element after the other. To: std::uint8_t for float8.
template <class From, class To>
Converted convert_integers(const Conversion& conversion, const Operation& operation,
                           const ParameterVectors* vectors, const std::byte* in, std::byte* out,
                           std::size_t count) noexcept {
  const Conversion::WideBounds& bounds = conversion.wide;
  const bool swaps = conversion.order != kNativeOrder;
  const auto bound = [](const std::byte* varying, std::size_t i, const Wide& number) {
    return varying == nullptr ? number : Wide::of(Int128{reinterpret_cast<const From*>(varying)[i]});
  };
  const auto factor = [](const std::byte* varying, std::size_t i, Operation::Integer number) {
    return varying == nullptr ? number : reinterpret_cast<const Operation::Integer*>(varying)[i];
  };
  const ParameterVectors given = vectors == nullptr ? ParameterVectors{} : *vectors;
  Converted converted;
  ElementCounts& counts = converted.counts;
  for (std::size_t i = 0; i < count; ++i) {
    From x;
    std::memcpy(&x, in + i * sizeof(x), sizeof(x));
    const From native = swaps ? byteswap_if<Byteswap::yes>(x) : x;
    const Wide g = wide_scaled(native, factor(given.scale, i, operation.integer_scale),
                               factor(given.bias, i, operation.integer_bias));
    const Wide lo = bound(bounds.lo_varies ? given.lo : nullptr, i, bounds.lo);
    const Wide hi = bound(bounds.hi_varies ? given.hi : nullptr, i, bounds.hi);
    const Wide above_lo = std::max(g, conversion.saturates ? std::max(lo, bounds.lowest) : lo);
    const Wide y = std::min(above_lo, conversion.saturates ? std::min(hi, bounds.highest) : hi);
    counts.raised += y > g ? 1 : 0;
    counts.lowered += y < g ? 1 : 0;
    const bool is_below = conversion.below && g < lo;
    const bool is_above = conversion.above && g > hi;
    const bool is_low = conversion.saturates && std::max(g, lo) < bounds.lowest;
    auto [result, is_beyond] = stored_integer<To>(conversion, y, is_low);
    if (is_beyond && !is_below && !is_above && !converted.first_beyond) converted.first_beyond = i;
    if (is_below) result = from_bits<To>(*conversion.below);
    if (is_above) result = from_bits<To>(*conversion.above);
    counts.replaced += is_below || is_above ? 1 : 0;
    if (swaps) result = byteswap_if<Byteswap::yes>(result);
    if constexpr (sizeof(From) == sizeof(To))
      counts.changed |= conversion.from != conversion.to || to_bits(result) != to_bits(x);
    else
      counts.changed = true;
    if (out != nullptr) std::memcpy(out + i * sizeof(result), &result, sizeof(result));
  }
  return converted;
}

}  // namespace

std::size_t Conversion::size() const noexcept {
  return std::max(traits(from).size, traits(to).size);
}

DType working_dtype(DType from) noexcept {
  const DTypeTraits& row = traits(from);
  if (row.kind == NumberKind::floating) return row.carrier;
  if (row.kind == NumberKind::unsigned_integer)
    return row.size == 8 ? DType::uint64 : row.size == 4 ? DType::int64 : DType::int32;
  return row.size == 8 ? DType::int64 : DType::int32;
}

ElementBits working_element(DType from, ElementBits element, DType working) noexcept {
  if (is_float8(from)) return to_bits(widened(from, element));
  return with_type(from, [&]<class From>() {
    return with_working_type(working, [&]<class Working>() -> ElementBits {
      if constexpr (kLoads<From, Working>) {
        const From x = from_bits<From>(element);
        Working result;
        Load<From, Working>::run(&x, &result, 1);
        return to_bits(result);
      }
      __builtin_unreachable();
    });
  });
}

int beyond_range(const Conversion& conversion, DType working, ElementBits element) noexcept {
  return with_working_type(working, [&]<class Working>() {
    auto x = from_bits<Working>(element);
    if constexpr (std::is_floating_point_v<Working>)
      if (conversion.round)
        x = with_round(*conversion.round, [&]<Round kRound>() { return rounded<kRound>(x); });
    if (is_float8(conversion.to)) return stored_float8(conversion.to, x).second ? 0 : x > Working{} ? 1 : -1;
    return with_type(conversion.to, [&]<class To>() { return beyond<To>(conversion, x); });
  });
}

ElementBits rounded_element(DType dtype, ElementBits element, Round round) noexcept {
  if (is_float8(dtype)) {
    const float x = widened(dtype, element);
    return stored_float8(dtype, with_round(round, [&]<Round kRound>() { return rounded<kRound>(x); })).first;
  }
  return with_type(dtype, [&]<class T>() -> ElementBits {
    if constexpr (std::is_integral_v<T>) {
      return element;
    } else {
      const double x = as_double(from_bits<T>(element));
      return to_bits(stored<T>(with_round(round, [&]<Round kRound>() { return rounded<kRound>(x); }), 0));
    }
  });
}

void set_limits(Conversion& conversion, DType working) noexcept {
  const ElementBits lowest = lowest_element(working);
  const ElementBits highest = highest_element(working);
  with_working_type(working, [&]<class Working>() {
    const auto side = [&](Working x) { return beyond_range(conversion, working, to_bits(x)); };
    // 0 + zero_point is an element of every integer dtype, and 1 of every float dtype.
    const auto first = static_cast<Working>(is_floating(conversion.to) ? 1 : 0);
    conversion.lowest = last_within(first, lowest, [&](Working x) { return side(x) < 0; });
    conversion.highest = last_within(first, highest, [&](Working x) { return side(x) > 0; });
  });
  if (is_floating(conversion.to)) {
    conversion.wide.highest = highest_finite_integer(conversion);
    const bool has_sign = lowest_finite(conversion.to) != 0;
    conversion.wide.lowest =
        has_sign ? Wide::of(true, conversion.wide.highest.magnitude) : Wide::of(false, 1);
    return;
  }
  with_type(conversion.to, [&]<class To>() {
    if constexpr (std::is_integral_v<To>) {
      const Int128 zero = value_of(conversion.zero_point);
      conversion.wide.lowest = Wide::of(std::numeric_limits<To>::lowest() - zero);
      conversion.wide.highest = Wide::of(std::numeric_limits<To>::max() - zero);
    }
  });
}

Converted convert(const Conversion& conversion, const Operation& operation, const ParameterVectors* vectors,
                  const std::byte* in, std::byte* out, std::size_t count, SimdLevel level) noexcept {
  Converted result;
  const std::size_t in_size = traits(conversion.from).size;
  const std::size_t out_size = traits(conversion.to).size;
  if (operation.arithmetic == Arithmetic::integer) {
    const DType to = is_float8(conversion.to) ? DType::uint8 : conversion.to;
    return with_type(to, [&]<class To>() {
      return conversion.from == DType::int64
                 ? convert_integers<std::int64_t, To>(conversion, operation, vectors, in, out, count)
                 : convert_integers<std::uint64_t, To>(conversion, operation, vectors, in, out, count);
    });
  }
  with_working_type(operation.dtype, [&]<class Working>() {
    BlockConversion<Working> convert_block(conversion, operation, level);
    for (std::size_t done = 0; done < count; done += kBlock) {
      const std::size_t length = std::min(kBlock, count - done);
      std::optional<ParameterVectors> of_block;
      if (vectors != nullptr)
        of_block = after(done, *vectors, sizeof(Working), factor_size(operation.arithmetic));
      const ElementCounts counts = convert_block(in + done * in_size, of_block ? &*of_block : nullptr,
                                                 out == nullptr ? nullptr : out + done * out_size, length);
      result.counts += counts;
      if (counts.nan != 0 && !result.first_nan) result.first_nan = done + convert_block.first_nan().value();
      if (const auto beyond = convert_block.first_beyond(); beyond && !result.first_beyond)
        result.first_beyond = done + *beyond;
    }
  });
  return result;
}

}  // namespace clipper
