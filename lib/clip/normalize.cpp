#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <limits>
#include <optional>
#include <utility>

#include "clip/convert.hpp"
#include "clip/convert_loops.hpp"
#include "clip/normalize_loops.hpp"
#include "element/element.hpp"
#include "element/number.hpp"

namespace clipper {
namespace {

/// Whether a float has all elements of T.
template <class T>
constexpr bool kIsFloat = HalfType<T> || std::is_same_v<T, float> ||
                          (std::is_integral_v<T> && sizeof(T) < sizeof(float));

template <class T>
constexpr bool kIsLong = std::is_integral_v<T> && sizeof(T) == sizeof(double);

constexpr std::size_t kNormalizedBlock = 1024;  // elements, whose doubles fit the first-level cache twice

struct alignas(64) DoubleBlock {
  std::array<double, kNormalizedBlock> of;

  [[nodiscard]] std::byte* bytes() noexcept { return reinterpret_cast<std::byte*>(of.data()); }
};

void run_normalization(const Normalization& step, const Operands& operands, double* y, std::size_t count,
                       SimdLevel level) noexcept {
  if (operands[Slot::factor].data != nullptr)
    run_loop<MultiplyElements<true>>(level, y, operands.as<double>(Slot::factor), count);
  else if (step.factor != 1)
    run_loop<MultiplyElements<false>>(level, y, &step.factor, count);
  const auto run = [&]<bool kVaries>(const double* a, const double* b) {
    if (step.stretches)
      run_loop<StretchElements<kVaries>>(level, y, a, b, step.low, step.high, count);
    else
      run_loop<SubtractDivide<kVaries>>(level, y, a, b, count);
    if (maps(step)) run_loop<MapRange>(level, y, step.low, step.high, count);
  };
  if (operands.vary())
    run.template operator()<true>(operands.as<double>(Slot::a), operands.as<double>(Slot::b));
  else
    run.template operator()<false>(&step.a, &step.b);
}

/// The first step, whose results are doubles, and the normalization.
Converted convert_and_normalize(const Operation& operation, const Operands& operands, const std::byte* in,
                                DoubleBlock& y, std::size_t count, Counting counting,
                                SimdLevel level) noexcept {
  const Normalization& step = *operation.normalization;
  const bool is_long = !is_floating(operation.from) && traits(operation.from).size == sizeof(double);
  const bool varies = operands[Slot::a_rest].data != nullptr || operands[Slot::b_rest].data != nullptr;
  DoubleBlock rests;
  const Converted converted =
      operation.arithmetic == Arithmetic::integer
          ? convert_integers(operation, operands, in, y.bytes(), count, rests.of.data())
          : convert(operation, operands, in, y.bytes(), count, counting, level);
  const bool has_long = is_long && operation.arithmetic != Arithmetic::float64 &&
                        run_loop<FindLong>(level, static_cast<const double*>(y.of.data()), count);
  if (!has_long && !varies && step.a_rest == 0 && step.b_rest == 0) {
    run_normalization(step, operands, y.of.data(), count, level);
    return converted;
  }
  normalize_carefully(operation, operands, in, has_long, rests.of.data(), y.of.data(), count);
  return converted;
}

/// More than all numbers that a cast makes 0.
double small_number(const Cast& cast, DType to) noexcept {
  const DTypeTraits& row = traits(to);
  if (row.kind != NumberKind::floating || cast.round || row.exponent_bits < 4) return 2;
  return std::ldexp(1, std::max(8 - (1 << (row.exponent_bits - 1)) - row.fraction_bits, -1074));
}

/// Counts normalized elements that the cast changes: of those whose g is not NaN and within the bounds.
class NormalizedCounter {
 public:
  /// `losses`: those of the operation.
  NormalizedCounter(const Operation& operation, const Operation& last, const Losses& losses,
                    SimdLevel level) noexcept
      : operation_(operation),
        level_(level),
        limits_{from_bits<double>(losses.lowest),
                from_bits<double>(losses.highest),
                from_bits<double>(losses.zero_lowest),
                from_bits<double>(losses.zero_highest),
                last.cast->saturates,
                !last.cast->saturates && traits(last.to).has_infinity},
        small_(small_number(*last.cast, last.to)) {}

  /// All counts of elements that are doubles, with numbers as bounds.
  [[nodiscard]] ElementCounts count(const double* x, double lo, double hi, const double* z,
                                    std::size_t count) const noexcept {
    return run_loop<CountNormalized<false>>(level_, x, x, &lo, &hi, z, limits_, count);
  }

  /// The same with bounds for each element, unless none clips.
  [[nodiscard]] ElementCounts count(const double* x, bool clips, const DoubleBlock& lo, const DoubleBlock& hi,
                                    const double* z, std::size_t count) const noexcept {
    constexpr double kInfinity = std::numeric_limits<double>::infinity();
    if (!clips) return this->count(x, -kInfinity, kInfinity, z, count);
    return run_loop<CountNormalized<true>>(level_, x, x, lo.of.data(), hi.of.data(), z, limits_, count);
  }

  /// `in` and `operands` are those of the operation.
  void count(const Operands& operands, const std::byte* in, const double* z, std::size_t count,
             ElementCounts& counts) const noexcept {
    if (!run_loop<FindChanging>(level_, z, limits_.lowest, limits_.highest, small_, count)) return;
    DoubleBlock x;
    DoubleBlock within;  // NaN where g is NaN or beyond a bound
    Operation other = operation_;
    other.nan.reset();
    other.cast->nan.reset();
    other.cast->below = other.cast->above = canonical_nan(DType::float64);
    Operands bounds = operands;
    bounds[Slot::nan] = bounds[Slot::nan_result] = {};
    static_cast<void>(convert(other, bounds, in, within.bytes(), count, Counting::off, level_));
    Operation plain;
    plain.from = other.from;
    plain.dtype = working_dtype(other.from);
    plain.to = DType::float64;
    plain.lo = lowest_element(plain.dtype);
    plain.hi = highest_element(plain.dtype);
    plain.cast.emplace();
    set_limits(plain);
    static_cast<void>(convert(plain, kNumbers, in, x.bytes(), count, Counting::off, level_));
    const std::array all{-std::numeric_limits<double>::infinity(), std::numeric_limits<double>::infinity()};
    ElementCounts changing = run_loop<CountNormalized<false>>(level_, x.of.data(), within.of.data(),
                                                              all.data(), all.data() + 1, z, limits_, count);
    changing.nan = 0;
    counts += changing;
  }

 private:
  const Operation& operation_;
  SimdLevel level_;
  NormalizedLimits limits_;
  double small_;
};

/// normalize() of elements that float64 has exactly, with numbers and without replacements: in three loops,
/// between which the doubles stay in the first-level cache. If nothing is counted, elements that float32 has
/// are loaded as floats, and are floats or small integers after the second loop.
class ThreeLoops {
 public:
  ThreeLoops(const Operation& operation, const Operation& last, SimdLevel level) noexcept
      : stretches_(operation.normalization->stretches),
        from_(operation.from),
        to_(last.to),
        zero_point_(bits_of(last.cast->zero_point)),
        level_(level) {
    const DType working = operation.dtype;
    const Cast& cast = *operation.cast;
    is_long_ = from_ == DType::int64 || from_ == DType::uint64;
    const bool is_exact =
        is_long_ || from_ == DType::uint32 || (working != DType::int64 && working != DType::uint64);
    const bool is_cast_once = is_floating(to_) ? !last.cast->round : last.cast->round == Round::half_even;
    const Normalization& step = *operation.normalization;
    const bool only_scales = !step.stretches && step.a == 0 && step.b == 1;
    takes_ = is_exact && is_cast_once && !maps(step) && (step.factor == 1 || only_scales) && !cast.below &&
             !cast.above && !cast.nan && !operation.nan && operation.arithmetic == Arithmetic::none &&
             has_kernels(from_) && has_kernels(to_) && to_ != DType::int64 && to_ != DType::uint64 &&
             step.a_rest == 0 && step.b_rest == 0;
    takes_floats_ = !cast.min && !cast.max && (is_floating(from_) || traits(from_).size < sizeof(float)) &&
                    from_ != DType::float64 &&
                    (to_ == DType::float32 || (!is_floating(to_) && traits(to_).size < sizeof(float)));
    if (takes_) choose_step(operation, *last.cast);
    takes_ = takes_ && step_.lo <= step_.hi && has_exact_bounds(operation) &&
             (!is_long_ || (step_.lo < kIntegersEnd && step_.hi > -kIntegersEnd));
    runs_at_once_ = to_ == DType::float32 && (is_long_ || from_ == DType::float64);
  }

  /// Returns false, and has written nothing, if it does not take the operation, a NaN that becomes an
  /// integer, or an integer that exact_double() does not take. Counts if there is a counter.
  bool run(const std::byte* in, DoubleBlock& y, std::byte* out, std::size_t count,
           const NormalizedCounter* counter, Converted& done) const noexcept {
    if (!takes_ || (is_long_ && !are_exact(in, count))) return false;
    if (counter == nullptr && runs_at_once_ && in != out) return run_at_once(in, out, count, done);
    if (counter == nullptr && divides_integers_) return divide_integers(in, out, count);
    if (counter == nullptr && takes_floats_) return run_on_floats(in, y, out, count, done);
    double* const loaded = y.of.data();
    DoubleBlock normalized;
    double* const x = normalized.of.data();
    with_type(from_, [&]<class From>() {
      if constexpr (kIsLong<From>)
        run_loop<LoadExact<From>>(level_, reinterpret_cast<const From*>(in), loaded, count);
      else
        run_loop<Load<From, double>>(level_, reinterpret_cast<const From*>(in), loaded, count);
    });
    NumberStep step = step_;
    step.multiplies &= from_ != DType::float64;
    if (counter != nullptr) {
      step.lowest = stretches_ ? step.lowest : -std::numeric_limits<double>::infinity();
      step.highest = stretches_ ? step.highest : std::numeric_limits<double>::infinity();
      step.holds &= stretches_;
    }
    const bool has_nan = normalize_elements(static_cast<const double*>(loaded), x, step, count);
    if (has_nan && !is_floating(to_)) return false;
    if (has_nan) done.first_nan = find_nan(from_, in, count);
    if (counter != nullptr) {
      done.counts = counter->count(loaded, step.lo, step.hi, x, count);
      run_loop<HoldWithin>(level_, x, step_.lowest, step_.highest, count);
    }
    with_type(to_, [&]<class To>() {
      run_loop<Store<double, To, std::is_integral_v<To>>>(level_, x, reinterpret_cast<To*>(out), count,
                                                          zero_point_);
    });
    return true;
  }

 private:
  template <class In, class Out>
  [[nodiscard]] bool normalize_elements(const In* y, Out* out, NumberStep step,
                                        std::size_t count) const noexcept {
    const auto run = [&] {
      return stretches_ ? run_loop<NormalizeElements<In, Out, true>>(level_, y, out, step, count)
                        : run_loop<NormalizeElements<In, Out, false>>(level_, y, out, step, count);
    };
    const Normalized done = run();
    if (!done.has_lost) return done.has_nan;
    step.multiplies = false;
    return run().has_nan;
  }

  [[nodiscard]] bool are_exact(const std::byte* in, std::size_t count) const noexcept {
    return with_type(from_, [&]<class From>() {
      if constexpr (kIsLong<From>)
        return run_loop<AreExact<From>>(level_, reinterpret_cast<const From*>(in), count);
      return true;
    });
  }

  bool run_at_once(const std::byte* in, std::byte* out, std::size_t count, Converted& done) const noexcept {
    with_type(from_, [&]<class From>() {
      if constexpr (kIsLong<From> || std::is_same_v<From, double>)
        if (normalize_elements(reinterpret_cast<const From*>(in), reinterpret_cast<float*>(out), step_,
                               count))
          done.first_nan = find_nan(from_, in, count);
    });
    return true;
  }

  bool divide_integers(const std::byte* in, std::byte* out, std::size_t count) const noexcept {
    with_type(from_, [&]<class From>() {
      if constexpr (std::is_integral_v<From> && kIsFloat<From>) {
        using Limits = std::numeric_limits<From>;
        std::array<From, kNormalizedBlock> x;  // `out` may overlap `in`
        std::memcpy(x.data(), in, count * sizeof(From));
        run_loop<DivideIntegers<From>>(level_, static_cast<const From*>(x.data()),
                                       reinterpret_cast<float*>(out),
                                       static_cast<float>(std::max<double>(step_.lo, Limits::lowest())),
                                       static_cast<float>(std::min<double>(step_.hi, Limits::max())),
                                       static_cast<float>(step_.a), static_cast<float>(step_.divisor), count);
      }
    });
    return true;
  }

  bool run_on_floats(const std::byte* in, DoubleBlock& y, std::byte* out, std::size_t count,
                     Converted& done) const noexcept {
    auto* const loaded = reinterpret_cast<float*>(y.of.data());
    const auto* x = reinterpret_cast<const float*>(in);
    if (from_ != DType::float32 || in == out) {  // no loop is vectorized that writes where it reads
      x = loaded;
      with_type(from_, [&]<class From>() {
        if constexpr (kIsFloat<From>)
          run_loop<Load<From, float>>(level_, reinterpret_cast<const From*>(in), loaded, count);
      });
    }
    auto* const integers = reinterpret_cast<std::int32_t*>(loaded + kNormalizedBlock);
    NumberStep step = step_;
    step.is_ordinary = step.is_ordinary || (step.a != 0 && run_loop<FindFinite>(level_, x, count));
    const bool has_nan = to_ == DType::float32
                             ? normalize_elements(x, reinterpret_cast<float*>(out), step, count)
                             : normalize_elements(x, integers, step, count);
    if (has_nan && !is_floating(to_)) return false;
    if (has_nan) done.first_nan = find_nan(from_, in, count);
    with_type(to_, [&]<class To>() {
      if constexpr (std::is_integral_v<To> && sizeof(To) < sizeof(float))
        run_loop<Store<std::int32_t, To, false>>(level_, static_cast<const std::int32_t*>(integers),
                                                 reinterpret_cast<To*>(out), count, zero_point_);
    });
    return true;
  }

  static bool is_moderate(double x) noexcept { return std::fabs(x) >= 0x1p-100 && std::fabs(x) <= 0x1p100; }

  /// Whether quotient() may multiply by a reciprocal: see NumberStep.
  [[nodiscard]] bool may_multiply(const Normalization& given) const noexcept {
    const auto is_zero_or_moderate = [](double x) { return x == 0 || is_moderate(x); };
    const bool adds_nothing =
        !given.stretches || (step_.range > 0 && is_moderate(step_.range) && is_zero_or_moderate(given.low));
    const bool may_underflow = from_ == DType::float64 && (to_ != DType::float32 || !adds_nothing);
    return is_moderate(step_.divisor) && is_zero_or_moderate(given.a) && !may_underflow;
  }

  void choose_step(const Operation& operation, const Cast& cast) noexcept {
    const Normalization& given = *operation.normalization;
    with_working_type(operation.dtype, [&]<class Working>() {
      step_.lo = static_cast<double>(from_bits<Working>(operation.lo));
      step_.hi = static_cast<double>(from_bits<Working>(operation.hi));
    });
    if (operation.cast->min) step_.lo = from_bits<double>(*operation.cast->min);
    if (operation.cast->max) step_.hi = from_bits<double>(*operation.cast->max);
    step_.a = given.a;
    step_.scales = given.factor != 1;
    step_.divisor = step_.scales ? given.factor : given.stretches ? given.b - given.a : given.b;
    step_.low = given.low;
    step_.high = given.high;
    step_.range = given.high - given.low;
    constexpr double kInfinity = std::numeric_limits<double>::infinity();
    step_.lowest = given.stretches  ? std::min(given.low, given.high)
                   : cast.saturates ? from_bits<double>(cast.lowest)
                                    : -kInfinity;
    step_.highest = given.stretches  ? std::max(given.low, given.high)
                    : cast.saturates ? from_bits<double>(cast.highest)
                                     : kInfinity;
    step_.holds = given.stretches ? !reaches_ends(given) : cast.saturates;
    step_.multiplies = may_multiply(given);
    const bool is_bounded = std::isfinite(step_.lo) && std::isfinite(step_.hi);
    step_.is_ordinary =
        given.stretches || !is_floating(from_) || (given.a != 0 && (is_bounded || from_ == DType::float64));
    const auto [least, most] = with_type(from_, [&]<class From>() {
      const auto number = [&](ElementBits element) { return as_double(from_bits<From>(element)); };
      return std::pair{number(lowest_element(from_)), number(highest_element(from_))};
    });
    step_.clips = step_.lo > least || step_.hi < most;
    const bool is_quotient = !given.stretches || (!step_.holds && step_.low == 0 && step_.high == 1);
    const auto is_float = [](double x) { return static_cast<double>(static_cast<float>(x)) == x; };
    divides_integers_ = !step_.scales && takes_floats_ && !is_floating(from_) &&
                        traits(from_).size < sizeof(float) && to_ == DType::float32 && is_quotient &&
                        step_.lo <= most && step_.hi >= least && std::fabs(step_.a) <= 0x1p22 &&
                        step_.a == std::trunc(step_.a) && is_float(step_.divisor) &&
                        is_moderate(step_.divisor);
  }

  /// Whether the same elements are beyond exact bounds as doubles: not if they are rounded to integers.
  [[nodiscard]] bool has_exact_bounds(const Operation& operation) const noexcept {
    if (!operation.cast->min && !operation.cast->max) return true;
    return with_working_type(operation.dtype, [&]<class Working>() {
      return std::ceil(step_.lo) == static_cast<double>(from_bits<Working>(operation.lo)) &&
             std::floor(step_.hi) == static_cast<double>(from_bits<Working>(operation.hi));
    });
  }

  /// Whether the plain formula gives low for lo and high for hi. Then all results are between them: each of
  /// its steps rounds the greater of two numbers to no smaller one.
  [[nodiscard]] bool reaches_ends(const Normalization& given) const noexcept {
    const bool is_between = given.a == step_.lo && given.b == step_.hi && given.a < given.b;
    const bool has_low = given.low != 0 || !std::signbit(given.low);  // a sum is never -0
    return is_between && std::isfinite(step_.divisor) && has_low && step_.range + given.low == given.high;
  }

  bool stretches_;
  DType from_;
  DType to_;
  std::uint64_t zero_point_;
  SimdLevel level_;
  bool takes_ = false;
  bool takes_floats_ = false;
  bool is_long_ = false;       ///< whether elements are integers of 64 bits
  bool runs_at_once_ = false;  ///< whether one loop makes floats of elements of 64 bits
  bool divides_integers_ = false;
  NumberStep step_{};
};

/// normalize() of elements with numbers of their own, all of which float64 has exactly: one loop for each
/// step.
class StepsOfEach {
 public:
  StepsOfEach(const Operation& operation, const Operation& last, const Operands& operands,
              SimdLevel level) noexcept
      : operation_(operation), last_(last), level_(level) {
    const Cast& cast = *operation.cast;
    const bool is_exact = operation.from == DType::uint32 ||
                          (operation.dtype != DType::int64 && operation.dtype != DType::uint64);
    const bool is_cast_once = is_floating(last.to) ? !last.cast->round : last.cast->round == Round::half_even;
    const bool is_plain = operation.arithmetic == Arithmetic::none && !cast.replaces() && !cast.nan &&
                          !operation.nan && operation.zero_tie == ZeroTie::element && !operation.poisons;
    takes_ = is_exact && is_cast_once && is_plain && has_kernels(operation.from) && has_kernels(last.to) &&
             last.to != DType::int64 && last.to != DType::uint64 && operation.normalization->a_rest == 0 &&
             operation.normalization->b_rest == 0;
    for (const Slot slot : {Slot::a_rest, Slot::b_rest, Slot::min, Slot::max})
      takes_ = takes_ && operands[slot].data == nullptr;
  }

  /// Returns false, and has written nothing, if it does not take the operation or a NaN that becomes an
  /// integer. `operands` are those of the block.
  bool run(const Operands& operands, const std::byte* in, DoubleBlock& x, std::byte* out, std::size_t count,
           const NormalizedCounter* counter, Converted& done) const noexcept {
    if (!takes_) return false;
    DoubleBlock lo;
    DoubleBlock hi;
    DoubleBlock z;
    load(operation_.from, in, x, count);
    const bool clips = load_bounds(operands, lo, hi, count);
    if (clips)
      run_loop<ClipEach>(level_, static_cast<const double*>(x.of.data()), z.of.data(),
                         static_cast<const double*>(lo.of.data()), static_cast<const double*>(hi.of.data()),
                         count);
    else
      std::copy_n(x.of.data(), count, z.of.data());
    run_normalization(*operation_.normalization, operands, z.of.data(), count, level_);
    if (run_loop<FindNan<double>>(level_, static_cast<const double*>(z.of.data()), count)) {
      if (!is_floating(last_.to)) return false;
      done.first_nan = find_nan(operation_.from, in, count);
    }
    if (counter != nullptr) done.counts = counter->count(x.of.data(), clips, lo, hi, z.of.data(), count);
    if (last_.cast->saturates)
      run_loop<HoldWithin>(level_, z.of.data(), from_bits<double>(last_.cast->lowest),
                           from_bits<double>(last_.cast->highest), count);
    with_type(last_.to, [&]<class To>() {
      run_loop<Store<double, To, std::is_integral_v<To>>>(level_, z.of.data(), reinterpret_cast<To*>(out),
                                                          count, bits_of(last_.cast->zero_point));
    });
    return true;
  }

 private:
  void load(DType dtype, const std::byte* in, DoubleBlock& to, std::size_t count) const noexcept {
    with_type(dtype, [&]<class From>() {
      run_loop<Load<From, double>>(level_, reinterpret_cast<const From*>(in), to.of.data(), count);
    });
  }

  /// Returns false if no element of the dtype is beyond them.
  bool load_bounds(const Operands& operands, DoubleBlock& lo, DoubleBlock& hi,
                   std::size_t count) const noexcept {
    const bool clips = with_working_type(operation_.dtype, [&]<class Working>() {
      const auto end = [&](ElementBits element) {
        return from_bits<Working>(working_element(operation_.from, element, operation_.dtype));
      };
      return run_loop<FindBounds<Working>>(
          level_, operands.as<Working>(Slot::lo), operands.as<Working>(Slot::hi),
          end(lowest_element(operation_.from)), end(highest_element(operation_.from)), count);
    });
    if (!clips) return false;
    load(operation_.dtype, operands[Slot::lo].data, lo, count);
    load(operation_.dtype, operands[Slot::hi].data, hi, count);
    return true;
  }

  const Operation& operation_;
  const Operation& last_;
  SimdLevel level_;
  bool takes_ = false;
};

}  // namespace

Converted normalize(const Operation& operation, const Operands& operands, const std::byte* in, std::byte* out,
                    std::size_t count, Counting counting, SimdLevel level, const Losses* losses) noexcept {
  const Operation last = last_step(*operation.normalization);
  const std::size_t in_size = traits(operation.from).size;
  const std::size_t out_size = traits(last.to).size;
  std::optional<NormalizedCounter> counter;
  if (counting == Counting::on)
    counter.emplace(operation, last, losses != nullptr ? *losses : *losses_of(operation), level);
  std::optional<ThreeLoops> three_loops;
  std::optional<StepsOfEach> of_each;
  if (operands.vary())
    of_each.emplace(operation, last, operands, level);
  else
    three_loops.emplace(operation, last, level);
  DoubleBlock y;
  DoubleBlock results;
  Converted total;
  const std::size_t blocks = (count + kNormalizedBlock - 1) / kNormalizedBlock;
  const std::size_t most = blocks == 0 ? 1 : (count + blocks - 1) / blocks;  // no short block is the last
  for (std::size_t done = 0; done < count; done += most) {
    const std::size_t length = std::min(most, count - done);
    const std::byte* const from = in + done * in_size;
    const bool compares = counter && operation.from == last.to;
    std::byte* const to = out == nullptr || compares ? results.bytes() : out + done * out_size;
    Converted part;
    const Operands of_block = operands.after(done);
    const NormalizedCounter* const counts = counter ? &*counter : nullptr;
    if (!(of_each ? of_each->run(of_block, from, y, to, length, counts, part)
                  : three_loops->run(from, y, to, length, counts, part))) {
      part = convert_and_normalize(operation, of_block, from, y, length, counting, level);
      if (counter) counter->count(of_block, from, y.of.data(), length, part.counts);
      const Converted stored = convert(last, kNumbers, y.bytes(), to, length, Counting::off, level);
      part.first_beyond = stored.first_beyond;
      part.first_nan = stored.first_nan;  // an infinite quotient may have become one
    }
    if (counter) part.counts.changed = !compares || std::memcmp(to, from, length * out_size) != 0;
    if (out != nullptr && compares) std::memcpy(out + done * out_size, to, length * out_size);
    total.add(part, done);
  }
  return total;
}

}  // namespace clipper
