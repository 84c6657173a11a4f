#include <algorithm>
#include <array>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <optional>
#include <utility>

#include "clip/convert.hpp"
#include "clip/normalize_loops.hpp"
#include "element/element.hpp"
#include "element/number.hpp"

namespace clipper {
namespace {

/// What follows the clip of an operation, as a list of loops over a tile. The quick list takes elements that
/// float64 has exactly: it loads them, does the steps and stores. The careful one takes all: it converts to
/// doubles, does the same steps, or those of numbers with rests, and converts. Both give the same bytes.
class NormalizingProgram {
 public:
  /// `varies`: whether elements have numbers of their own. Counts `losses`, unless null.
  NormalizingProgram(const Operation& operation, bool varies, const Losses* losses, SimdLevel level,
                     Composing composing) noexcept
      : operation_(operation),
        given_(*operation.normalization),
        last_(given_.cast),
        from_(operation.from),
        to_(given_.to),
        varies_(varies),
        composes_(composing == Composing::on),
        is_long_(!is_floating(from_) && traits(from_).size == sizeof(double)),
        level_(level),
        zero_point_(bits_of(last_.zero_point)) {
    if (losses != nullptr)
      limits_ = {from_bits<double>(losses->lowest),
                 from_bits<double>(losses->highest),
                 from_bits<double>(losses->zero_lowest),
                 from_bits<double>(losses->zero_highest),
                 last_.saturates,
                 !last_.saturates && traits(to_).has_infinity};
    steps_ = {only_scales() ? Quotient::scales : Quotient::divides,
              (varies ? kVaries : 0U) | (given_.maps() ? kMaps : 0U)};
    if (only_scales()) divisor_ = given_.factor;
    if (given_.stretches) {
      divisor_ = given_.b.head - given_.a.head;
      steps_.also |= kMaps | kHolds | kEnds;
      numbers_.lowest = std::min(given_.low, given_.high);
      numbers_.highest = std::max(given_.low, given_.high);
    } else if (last_.saturates && losses == nullptr) {
      steps_.also |= kHolds;
      numbers_.lowest = from_bits<double>(last_.lowest);
      numbers_.highest = from_bits<double>(last_.highest);
    }
    if (is_quick()) choose_numbers();
    if (is_quick_ && composes_) choose_lanes();
    if (counts() && lanes_ != Lanes::none) choose_clip();
    if (is_quick_ && composes_ && !varies) choose_quotient();
  }
  NormalizingProgram(const NormalizingProgram&) = delete;
  NormalizingProgram& operator=(const NormalizingProgram&) = delete;
  ~NormalizingProgram() = default;

  /// `in` and `operands` are those of the tile.
  [[nodiscard]] Converted operator()(const Operands& operands, const std::byte* in, std::byte* out,
                                     std::size_t count) const noexcept {
    Converted done;
    Doubles copy;  // no loop is vectorized that writes where it reads
    const std::size_t size = count * traits(from_).size;
    if (overlap(in, size, out, count * traits(to_).size))
      in = static_cast<const std::byte*>(std::memcpy(copy.data(), in, size));
    if (!run_quickly(operands, in, out, count, done)) run_carefully(operands, in, out, count, done);
    return done;
  }

 private:
  /// What the loop of all steps loads, and stores.
  enum class Lanes : std::uint8_t {
    none,      ///< doubles are loaded, and stored
    integers,  ///< integers become floats: see DivideIntegers
    wide,      ///< float64 and integers of 32 and 64 bits become floats, or integers that are stored
    floats,    ///< floats become floats, or integers or halves that are stored
  };

  [[nodiscard]] bool counts() const noexcept { return limits_.has_value(); }

  [[nodiscard]] bool only_scales() const noexcept {
    return !varies_ && !given_.stretches && !given_.maps() && given_.a.head == 0 && given_.b.head == 1 &&
           given_.factor != 1;
  }

  /// Whether the quick list takes elements, but for some.
  [[nodiscard]] bool is_quick() const noexcept {
    const Cast& cast = *operation_.cast;
    const bool is_plain = operation_.arithmetic == Arithmetic::none && !cast.below && !cast.above &&
                          !cast.nan && !operation_.nan;
    const bool is_cast_once = is_floating(to_) ? !last_.round : last_.round == Round::half_even;
    const bool has_numbers = given_.a.rest == 0 && given_.b.rest == 0;
    const bool is_clipped =
        varies_ ? !cast.replaces() && operation_.zero_tie == ZeroTie::element && !operation_.poisons
                : given_.factor == 1 || only_scales();
    return is_plain && is_cast_once && has_numbers && is_clipped && has_kernels(from_) && has_kernels(to_) &&
           !is_long_integer(to_);
  }

  /// The bounds, and what is divided by; the quick list does not take bounds that float64 lacks.
  void choose_numbers() noexcept {
    const Cast& cast = *operation_.cast;
    const auto [lo, hi] = with_working_type(operation_.dtype, [&]<class Working>() {
      return std::pair{static_cast<double>(from_bits<Working>(operation_.lo)),
                       static_cast<double>(from_bits<Working>(operation_.hi))};
    });
    with_type(from_, [&]<class From>() {
      least_ = as_double(from_bits<From>(lowest_element(from_)));
      most_ = as_double(from_bits<From>(highest_element(from_)));
    });
    lo_ = cast.min ? from_bits<double>(*cast.min) : lo;
    hi_ = cast.max ? from_bits<double>(*cast.max) : hi;
    if (lo_ > least_ || hi_ < most_) steps_.also |= kClips;
    // The same elements must be beyond exact bounds as doubles: not if they are rounded to integers.
    const bool is_exact = (!cast.min && !cast.max) || (std::ceil(lo_) == lo && std::floor(hi_) == hi);
    const bool has_bounds = lo_ <= hi_ && (!is_long_ || (lo_ < kIntegersEnd && hi_ > -kIntegersEnd));
    is_quick_ = varies_ || (is_exact && has_bounds);
  }

  /// Elements that float32 has are loaded as floats. If something is counted, a kernel counts the elements
  /// that are beyond the bounds, and floats must show whether anything is lost.
  void choose_lanes() noexcept {
    const bool is_short = traits(from_).size < sizeof(float);
    const bool is_half = is_short && is_floating(from_);
    if (counts() && (to_ != DType::float32 || last_.saturates || is_half || (varies_ && given_.stretches) ||
                     !is_within_range()))
      return;
    const bool stores_short = traits(to_).size < sizeof(float);
    const bool takes_floats = !operation_.cast->min && !operation_.cast->max &&
                              (is_short || from_ == DType::float32) &&
                              (to_ == DType::float32 || stores_short);
    if (takes_floats && (varies_ || clips_elements())) lanes_ = Lanes::floats;
    if (varies_ || !clips_elements()) return;
    const bool is_wide = from_ == DType::float64 || (!is_floating(from_) && !is_short);
    if (is_wide && (to_ == DType::float32 || (stores_short && !is_floating(to_)))) lanes_ = Lanes::wide;
    const bool is_quotient = steps_.quotient == Quotient::divides && !given_.maps() &&
                             (!given_.stretches || (reaches_ends() && given_.low == 0 && given_.high == 1));
    const bool is_near = std::fabs(given_.a.head) <= 0x1p22 && given_.a.head == std::trunc(given_.a.head);
    if (takes_floats && !is_floating(from_) && to_ == DType::float32 && is_quotient && is_near &&
        static_cast<float>(divisor_) == divisor_ && is_moderate(divisor_) && is_within_range())
      lanes_ = Lanes::integers;
  }

  /// Whether loops may clip elements before they become doubles: see RunSteps.
  [[nodiscard]] bool clips_elements() const noexcept {
    if (!steps_.has(kClips) || traits(from_).size == sizeof(double)) return true;
    const bool is_wide = !is_floating(from_) && traits(from_).size == sizeof(float);
    const auto is_element = [&](double bound) {
      return bound == (is_wide ? std::trunc(bound) : static_cast<float>(bound));
    };
    return (!is_wide || is_within_range()) && (is_element(lo_) || lo_ <= least_) &&
           (is_element(hi_) || hi_ >= most_);
  }

  /// Whether any element is beyond neither bound.
  [[nodiscard]] bool is_within_range() const noexcept { return lo_ <= most_ && hi_ >= least_; }

  /// By this clip a kernel counts the elements that are beyond the bounds.
  void choose_clip() noexcept {
    with_type(from_, [&]<class From>() {
      if constexpr (!HalfType<From>) {
        constexpr bool kIntegers = std::is_integral_v<From>;
        const From least = from_bits<From>(lowest_element(from_));
        const From most = from_bits<From>(highest_element(from_));
        const From lo = lo_ > as_double(least) ? static_cast<From>(kIntegers ? std::ceil(lo_) : lo_) : least;
        const From hi = hi_ < as_double(most) ? static_cast<From>(kIntegers ? std::floor(hi_) : hi_) : most;
        clip_ = clip_operation(from_, to_bits(lo), to_bits(hi));
      }
    });
  }

  /// Chooses the loops that multiply by a reciprocal, if no step of quotient() underflows, or the result is a
  /// float; if possible one that never has a dividend of -0 or, but for float64, infinity.
  void choose_quotient() noexcept {
    const double range = given_.high - given_.low;
    const bool adds_nothing =
        !given_.stretches || (range > 0 && is_moderate(range) && is_zero_or_moderate(given_.low));
    const bool may_underflow =
        from_ == DType::float64 && ((is_floating(to_) && to_ != DType::float32) || !adds_nothing);
    if (level_ == SimdLevel::baseline || steps_.quotient == Quotient::scales || given_.maps() ||
        !is_moderate(divisor_) || !is_zero_or_moderate(given_.a.head) || may_underflow)
      return;
    const bool is_bounded = std::isfinite(lo_) && std::isfinite(hi_);
    const bool is_ordinary = given_.stretches || !is_floating(from_) ||
                             (given_.a.head != 0 && (is_bounded || from_ == DType::float64));
    if (given_.stretches && reaches_ends()) {
      steps_.also &= ~(kHolds | kEnds);
      if (given_.low == 0 && given_.high == 1) steps_.also &= ~kMaps;
    }
    steps_.quotient = is_ordinary && !steps_.has(kHolds) ? Quotient::multiplies_plain : Quotient::multiplies;
  }

  /// Whether the plain formula gives low for lo and high for hi. Then all results are between them: each of
  /// its steps rounds the greater of two numbers to no smaller one.
  [[nodiscard]] bool reaches_ends() const noexcept {
    const bool is_between = given_.a.head == lo_ && given_.b.head == hi_ && given_.a.head < given_.b.head;
    const bool has_low = given_.low != 0 || !std::signbit(given_.low);  // a sum is never -0
    return is_between && std::isfinite(divisor_) && has_low &&
           given_.high - given_.low + given_.low == given_.high;
  }

  /// Returns false if these elements need the careful list, and has written nothing that it does not write.
  bool run_quickly(const Operands& operands, const std::byte* in, std::byte* out, std::size_t count,
                   Converted& done) const noexcept {
    if (!is_quick_ || (is_long_ && !are_exact(in, count))) return false;
    StepNumbers numbers = numbers_;
    Steps steps = steps_;
    if (varies_) {
      if (have_rests(operands) || operands[Slot::min].data != nullptr || operands[Slot::max].data != nullptr)
        return false;
      give_each(operands, numbers);
      if (operands[Slot::lo].stride != 0 || given_.stretches) steps.also |= kClips;
      if (is_long_ && steps.has(kClips)) return false;
    }
    std::optional<Normalized> found;
    const bool clips_first = steps.has(kClips) && !given_.stretches;
    if (lanes_ != Lanes::none && (!varies_ || (!clips_first && !scales_first(operands))))
      found = run_composed(numbers, steps, in, out, count);
    const auto may_be_lost = [](float z) {
      using Limits = std::numeric_limits<float>;
      return (int{std::fabs(z) < Limits::min()} | int{std::fabs(z) > Limits::max()}) != 0;
    };
    if (!found || (counts() && lanes_ != Lanes::integers &&
                   any_of(level_, reinterpret_cast<const float*>(out), count, may_be_lost)))
      return run_on_doubles(operands, numbers, steps, in, out, count, done);
    Doubles unwanted;
    if (counts()) done.counts = clip_and_count(*clip_, in, unwanted.bytes(), count, level_);
    if (found->has_nan) done.first_nan = find_nan(from_, in, count);
    return !found->has_nan || is_floating(to_);
  }

  std::optional<Normalized> run_composed(const StepNumbers& numbers, Steps steps, const std::byte* in,
                                         std::byte* out, std::size_t count) const noexcept {
    std::optional<Normalized> found;
    if (lanes_ == Lanes::floats) return load_and_run(numbers, steps, in, out, count);
    with_type(from_, [&]<class From>() {
      const auto* const x = reinterpret_cast<const From*>(in);
      auto* const floats = reinterpret_cast<float*>(out);
      if constexpr (std::is_same_v<From, double> || (std::is_integral_v<From> && !kIsFloat<From>))
        found = to_ == DType::float32
                    ? run_steps<kComposedSteps<From, float>>(level_, steps, x, floats, numbers, count)
                    : run_to_integers(numbers, steps, x, out, count);
      else if constexpr (std::is_integral_v<From> && kIsFloat<From>) {
        using Limits = std::numeric_limits<From>;
        run_loop<DivideIntegers<From>>(
            level_, x, floats, static_cast<float>(std::max<double>(lo_, Limits::lowest())),
            static_cast<float>(std::min<double>(hi_, Limits::max())), static_cast<float>(given_.a.head),
            static_cast<float>(divisor_), count);
        found.emplace();
      }
    });
    return found && found->has_lost ? std::nullopt : found;
  }

  /// Elements that a float has. A plain loop, which makes NaN of infinite ones, is tried first.
  std::optional<Normalized> load_and_run(const StepNumbers& numbers, Steps steps, const std::byte* in,
                                         std::byte* out, std::size_t count) const noexcept {
    alignas(64) std::array<float, kTile> loaded;
    const auto* x = reinterpret_cast<const float*>(in);
    if (from_ != DType::float32) {
      x = loaded.data();
      with_type(from_, [&]<class From>() {
        if constexpr (kIsFloat<From>)
          run_loop<Load<From, float>>(level_, reinterpret_cast<const From*>(in), loaded.data(), count);
      });
    }
    if (steps.quotient == Quotient::multiplies && !steps.has(kHolds) && given_.a.head != 0 &&
        is_floating(to_)) {
      const auto found = run_on_floats(numbers, {Quotient::multiplies_plain, steps.also}, x, out, count);
      if (!found || !found->has_nan || !any_of(level_, x, count, [](float each) { return std::isinf(each); }))
        return found;
    }
    return run_on_floats(numbers, steps, x, out, count);
  }

  std::optional<Normalized> run_on_floats(const StepNumbers& numbers, Steps steps, const float* x,
                                          std::byte* out, std::size_t count) const noexcept {
    if (to_ == DType::float32)
      return run_steps<kComposedSteps<float, float>>(level_, steps, x, reinterpret_cast<float*>(out), numbers,
                                                     count);
    if (is_floating(to_)) {
      alignas(64) std::array<OddFloat, kTile> odd;
      auto found = run_steps<kComposedSteps<float, OddFloat>>(level_, steps, x, odd.data(), numbers, count);
      if (!found || (found->has_lost && to_ == DType::bfloat16)) return std::nullopt;
      with_type(to_, [&]<class To>() {
        if constexpr (HalfType<To>)
          run_loop<Store<float, To, false>>(level_, static_cast<const float*>(&odd.data()->value),
                                            reinterpret_cast<To*>(out), count, zero_point_);
      });
      return found;
    }
    return run_to_integers(numbers, steps, x, out, count);
  }

  template <class In>
  std::optional<Normalized> run_to_integers(const StepNumbers& numbers, Steps steps, const In* x,
                                            std::byte* out, std::size_t count) const noexcept {
    alignas(64) std::array<std::int32_t, kTile> integers;
    constexpr const auto& kTable = kComposedSteps<In, std::int32_t>;
    const auto found = run_steps<kTable>(level_, steps, x, integers.data(), numbers, count);
    if (found && !found->has_nan)
      with_type(to_, [&]<class To>() {
        if constexpr (std::is_integral_v<To> && sizeof(To) < sizeof(float))
          run_loop<Store<std::int32_t, To, false>>(level_, static_cast<const std::int32_t*>(integers.data()),
                                                   reinterpret_cast<To*>(out), count, zero_point_);
      });
    return found;
  }

  bool run_on_doubles(const Operands& operands, StepNumbers numbers, Steps steps, const std::byte* in,
                      std::byte* out, std::size_t count, Converted& done) const noexcept {
    Doubles x;
    Doubles lo;
    Doubles hi;
    Doubles clipped;
    Doubles z;
    load(from_, in, x, count);
    const double* y = x.data();
    if (from_ == DType::float64 && steps.multiplies()) steps.quotient = Quotient::divides;  // nothing is lost
    if (counts() || (varies_ && steps.has(kClips))) {
      Operands bounds;
      if (varies_ && given_.stretches) {
        bounds.set(Slot::lo, numbers.a);
        bounds.set(Slot::hi, numbers.b);
      } else if (varies_ && operands[Slot::lo].stride != 0) {
        load(operation_.dtype, operands[Slot::lo].data, lo, count);
        load(operation_.dtype, operands[Slot::hi].data, hi, count);
        bounds.set(Slot::lo, lo.data());
        bounds.set(Slot::hi, hi.data());
      }
      done.counts = clip_and_count(clip_operation(DType::float64, to_bits(lo_), to_bits(hi_)), bounds,
                                   x.bytes(), clipped.bytes(), count, level_);
      y = clipped.data();
      if (varies_) steps.also &= ~kClips;
    }
    if (calculate(operands, numbers, steps, y, z, count)) {
      if (!is_floating(to_)) return false;
      done.first_nan = find_nan(DType::float64, z.bytes(), count);
    }
    if (counts())
      done.counts += run_loop<CountChanges>(level_, x.data(), x.data(), y, z.data(), *limits_, count);
    const double* results = z.data();
    if (counts() && limits_->saturates) {
      clip(clip_operation(DType::float64, to_bits(limits_->lowest), to_bits(limits_->highest)), z.bytes(),
           x.bytes(), count, level_);
      results = x.data();
    }
    with_type(to_, [&]<class To>() {
      run_loop<Store<double, To, std::is_integral_v<To>>>(level_, results, reinterpret_cast<To*>(out), count,
                                                          zero_point_);
    });
    return true;
  }

  void run_carefully(const Operands& operands, const std::byte* in, std::byte* out, std::size_t count,
                     Converted& done) const noexcept {
    Doubles y;
    Doubles z;
    Doubles rests;
    done = operation_.arithmetic == Arithmetic::integer
               ? convert_integers(operation_, operands, in, y.bytes(), count, rests.data())
               : convert(operation_, operands, in, y.bytes(), count, counts() ? Counting::on : Counting::off,
                         level_);
    const bool has_rests = given_.a.rest != 0 || given_.b.rest != 0 || have_rests(operands);
    const bool has_long =
        is_long_ && operation_.arithmetic != Arithmetic::float64 &&
        any_of(level_, y.data(), count, [](double x) { return std::fabs(x) >= kIntegersEnd; });
    if (has_long || has_rests) {
      z = y;
      normalize_carefully(operation_, operands, in, has_long, rests.data(), z.data(), count);
    } else {
      StepNumbers numbers = numbers_;
      Steps steps{steps_.multiplies() ? Quotient::divides : steps_.quotient, steps_.also & (kMaps | kVaries)};
      if (varies_) give_each(operands, numbers);
      if (given_.stretches)
        steps.also |= kMaps | kHolds | kEnds;
      else
        numbers.lowest = kMinusInfinity, numbers.highest = kInfinity;
      if (!varies_) numbers.lo = given_.stretches ? &given_.a.head : &kMinusInfinity;
      if (!varies_) numbers.hi = given_.stretches ? &given_.b.head : &kInfinity;
      static_cast<void>(calculate(operands, numbers, steps, y.data(), z, count));
    }
    if (counts())
      done.counts += changes_of(operation_, operands, *limits_, in, y, z.data(), count, done.counts, level_);
    const Converted stored =
        convert(last_step(given_), kNumbers, z.bytes(), out, count, Counting::off, level_);
    done.first_beyond = stored.first_beyond;
    done.first_nan = stored.first_nan;  // an infinite quotient may have become one
  }

  /// The steps of doubles: a product, and one loop for the others. Returns whether any result is NaN.
  [[nodiscard]] bool calculate(const Operands& operands, const StepNumbers& numbers, const Steps& steps,
                               const double* y, Doubles& z, std::size_t count) const noexcept {
    Doubles product;
    if (scales_first(operands)) {
      const Operand& factor = operands[Slot::factor];
      StepNumbers factors{&kMinusInfinity, &kInfinity, nullptr, &given_.factor, 0, 1,
                          kMinusInfinity,  kInfinity};
      if (factor.data != nullptr) factors.b = operands.as<double>(Slot::factor);
      static_cast<void>(run_steps<kAnySteps>(level_,
                                             {Quotient::scales, factor.data != nullptr ? kVaries : 0U}, y,
                                             product.data(), factors, count));
      y = product.data();
    }
    auto found = run_steps<kComposedSteps<double, double>>(level_, steps, y, z.data(), numbers, count);
    const Steps any{steps.multiplies() ? Quotient::divides : steps.quotient, steps.also};
    if (!found) found = run_steps<kAnySteps>(level_, any, y, z.data(), numbers, count);
    if (!found) std::abort();  // rather than give what no loop wrote
    return found->has_nan;
  }

  [[nodiscard]] bool scales_first(const Operands& operands) const noexcept {
    return operands[Slot::factor].data != nullptr ||
           (given_.factor != 1 && steps_.quotient != Quotient::scales);
  }

  [[nodiscard]] static bool have_rests(const Operands& operands) noexcept {
    return operands[Slot::a].stride == sizeof(DoubleDouble) ||
           operands[Slot::b].stride == sizeof(DoubleDouble);
  }

  /// The numbers of each element. Without bounds there are infinite ones.
  void give_each(const Operands& operands, StepNumbers& numbers) const noexcept {
    numbers.a = operands.as<double>(Slot::a);
    numbers.b = operands.as<double>(Slot::b);
    numbers.lo = given_.stretches ? numbers.a : &kMinusInfinity;
    numbers.hi = given_.stretches ? numbers.b : &kInfinity;
  }

  [[nodiscard]] bool are_exact(const std::byte* in, std::size_t count) const noexcept {
    return with_type(from_, [&]<class From>() {
      if constexpr (kIsLong<From>)
        return !any_of(level_, reinterpret_cast<const From*>(in), count, [](From x) { return !is_exact(x); });
      return true;
    });
  }

  void load(DType dtype, const std::byte* in, Doubles& to, std::size_t count) const noexcept {
    with_type(dtype, [&]<class From>() {
      using Loop = std::conditional_t<kIsLong<From>, LoadExact<From>, Load<From, double>>;
      run_loop<Loop>(level_, reinterpret_cast<const From*>(in), to.data(), count);
    });
  }

  const Operation& operation_;
  const Normalization& given_;
  const Cast& last_;
  DType from_;
  DType to_;
  bool varies_;
  bool composes_;
  bool is_long_;  ///< whether elements are integers of 64 bits
  SimdLevel level_;
  std::uint64_t zero_point_;
  std::optional<NormalizedLimits> limits_;  ///< if losses are counted
  bool is_quick_ = false;
  Lanes lanes_ = Lanes::none;
  std::optional<Operation> clip_;
  Steps steps_;
  double least_ = 0;  ///< of all elements
  double most_ = 0;
  double lo_ = 0;
  double hi_ = 0;
  double divisor_ = given_.b.head;
  StepNumbers numbers_{.lo = &lo_,  ///< those above, unless they vary
                       .hi = &hi_,
                       .a = &given_.a.head,
                       .b = &divisor_,
                       .low = given_.low,
                       .high = given_.high,
                       .lowest = kMinusInfinity,
                       .highest = kInfinity};
};

}  // namespace

Converted normalize(const Operation& operation, const Operands& operands, const std::byte* in, std::byte* out,
                    std::size_t count, Counting counting, SimdLevel level, const Losses* losses,
                    Composing composing) noexcept {
  const bool counts = counting == Counting::on;
  std::optional<Losses> own;
  if (counts && losses == nullptr) own = losses_of(operation);
  if (own) losses = &*own;
  const NormalizingProgram program(operation, operands.vary(), counts ? losses : nullptr, level, composing);
  const ElementSizes sizes{traits(operation.from).size, traits(operation.normalization->to).size};
  const bool compares = counts && operation.from == operation.normalization->to;
  return for_each_tile(in, out, count, sizes, compares,
                       [&](std::size_t done, const std::byte* from, std::byte* to, std::size_t length) {
                         return program(operands.after(done), from, to, length);
                       });
}

}  // namespace clipper
