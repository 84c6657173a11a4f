#include "clip/losses.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <limits>
#include <tuple>
#include <type_traits>

#include "clip/convert_loops.hpp"
#include "element/element.hpp"
#include "element/float8.hpp"

namespace clipper {
namespace {

constexpr std::size_t kLossBlock = 512;  // elements, whose working elements fit the first-level cache

/// Counts in lanes as wide as the elements. lo and hi have a value for each element if kVaries, otherwise one
/// for all.
template <class Working, bool kVaries>
struct CountLosses {
  using Lane = UnsignedOfSize<sizeof(Working)>;
  [[gnu::always_inline]] static void run(const Working* __restrict x, const Working* __restrict g,
                                         const Working* __restrict lo, const Working* __restrict hi,
                                         Working lowest, Working highest, Working zero_lowest,
                                         Working zero_highest, ElementCounts* counts,
                                         std::size_t count) noexcept {
    const Working first[] = {lo[0], hi[0]};
    Lane infinite = 0;
    Lane zeros = 0;
    for (std::size_t i = 0; i < count; ++i) {
      const Working min = kVaries ? lo[i] : first[0];
      const Working max = kVaries ? hi[i] : first[1];
      const Lane within = Lane{g[i] >= min} & Lane{g[i] <= max};
      const Lane beyond = Lane{g[i] > highest} | Lane{g[i] < lowest};
      Lane finite = 1;
      if constexpr (std::is_floating_point_v<Working>)
        finite = Lane{std::fabs(x[i]) <= std::numeric_limits<Working>::max()};
      infinite += within & beyond & finite;
      zeros += within & Lane{g[i] != 0} & Lane{g[i] >= zero_lowest} & Lane{g[i] <= zero_highest};
    }
    counts->became_infinite += infinite;
    counts->became_zero += zeros;
  }
};

/// Counts products that are 0 although no factor is; a bias would make the sum another number. scale and bias
/// have a value for each element if kVaries, otherwise one for all.
template <class Working, bool kVaries>
struct CountUnderflows {
  using Lane = UnsignedOfSize<sizeof(Working)>;
  [[gnu::always_inline]] static void run(const Working* __restrict x, const Working* __restrict g,
                                         const Working* __restrict scale, const Working* __restrict bias,
                                         const Working* __restrict lo, const Working* __restrict hi,
                                         std::size_t step, std::uint64_t* total, std::size_t count) noexcept {
    const Working first[] = {scale[0], bias[0]};
    Lane zeros = 0;
    for (std::size_t i = 0; i < count; ++i) {
      const Working by = kVaries ? scale[i] : first[0];
      const Working plus = kVaries ? bias[i] : first[1];
      const Lane within = Lane{lo[i * step] <= 0} & Lane{hi[i * step] >= 0};
      zeros += within & Lane{g[i] == 0} & Lane{x[i] != 0} & Lane{by != 0} & Lane{plus == 0};
    }
    *total += zeros;
  }
};

}  // namespace

/// One block of working elements after the other.
template <class Working>
class LossCounter::Block {
 public:
  Block(const LossCounter& counter, const Operation& operation, SimdLevel level) noexcept
      : counter_(counter),
        operation_(operation),
        level_(level),
        scale_(static_cast<Working>(operation.scale)),
        bias_(static_cast<Working>(operation.bias)),
        lo_number_(
            from_bits<Working>(working_element(counter.bounds_, operation.lo, counter.casting_.dtype))),
        hi_number_(
            from_bits<Working>(working_element(counter.bounds_, operation.hi, counter.casting_.dtype))) {
    if (!has_exact_bounds(kNumbers)) lo_number_ = std::min(lo_number_, hi_number_);
  }

  void count(const std::byte* in, const Operands& operands, std::size_t count,
             ElementCounts& counts) noexcept {
    load(counter_.casting_.from, in, x_, count);
    const Working* g = x_.data();
    const bool scales = operation_.arithmetic != Arithmetic::none;
    if constexpr (std::is_floating_point_v<Working>)
      if (scales) {
        counter_.casting_.divides ? scale<Factor::divides>(operands, count)
                                  : scale<Factor::multiplies>(operands, count);
        g = g_.data();
      }
    const bool varies = operands.vary();
    if (varies) {
      load(counter_.bounds_, operands[Slot::lo].data, lo_, count);
      load(counter_.bounds_, operands[Slot::hi].data, hi_, count);
      if (!has_exact_bounds(operands))
        std::transform(lo_.begin(), lo_.begin() + static_cast<std::ptrdiff_t>(count), hi_.begin(),
                       lo_.begin(), [](Working lo, Working hi) { return std::min(lo, hi); });
      count_losses<true>(g, lo_.data(), hi_.data(), counts, count);
    } else {
      count_losses<false>(g, &lo_number_, &hi_number_, counts, count);
    }
    if constexpr (std::is_floating_point_v<Working>)
      if (scales && counter_.casting_.to != DType::float8_e8m0fnu)
        count_underflows(operands, varies, counts, count);
  }

 private:
  using Elements = std::array<Working, kLossBlock>;

  /// Whether an exact bound may lie between lo and hi where lo exceeds hi, and then no element. Otherwise
  /// elements move to hi there, as if both bounds were hi.
  [[nodiscard]] bool has_exact_bounds(const Operands& operands) const noexcept {
    return (counter_.casting_.cast->min || counter_.casting_.cast->max) ||
           operands[Slot::min].data != nullptr || operands[Slot::max].data != nullptr;
  }

  /// Elements of a dtype as working elements.
  void load(DType dtype, const std::byte* in, Elements& out, std::size_t count) noexcept {
    if constexpr (std::is_same_v<Working, float>)
      if (is_float8(dtype)) return widen(dtype, in, out.data(), count);
    with_type(dtype, [&]<class From>() {
      if constexpr (kLoads<From, Working>) {
        std::array<From, kLossBlock> elements;
        std::memcpy(elements.data(), in, count * sizeof(From));
        run_loop<Load<From, Working>>(level_, static_cast<const From*>(elements.data()), out.data(), count);
      }
    });
  }

  template <Factor kFactor>
  void scale(const Operands& operands, std::size_t count) noexcept {
    const Working* const x = x_.data();
    if (operands[Slot::scale].data != nullptr)
      run_loop<ScaleVectors<Working, kFactor>>(level_, x, g_.data(), operands.as<Working>(Slot::scale),
                                               operands.as<Working>(Slot::bias), count);
    else
      run_loop<Scale<Working, kFactor>>(level_, x, g_.data(), scale_, bias_, count);
  }

  template <bool kVaries>
  void count_losses(const Working* g, const Working* lo, const Working* hi, ElementCounts& counts,
                    std::size_t count) const noexcept {
    Working lowest = from_bits<Working>(counter_.casting_.cast->lowest);
    Working highest = from_bits<Working>(counter_.casting_.cast->highest);
    if (!counter_.may_be_infinite_) {
      lowest = from_bits<Working>(lowest_element(counter_.casting_.dtype));
      highest = from_bits<Working>(highest_element(counter_.casting_.dtype));
    }
    run_loop<CountLosses<Working, kVaries>>(level_, static_cast<const Working*>(x_.data()), g, lo, hi, lowest,
                                            highest, from_bits<Working>(counter_.zero_lowest_),
                                            from_bits<Working>(counter_.zero_highest_), &counts, count);
  }

  void count_underflows(const Operands& operands, bool varies, ElementCounts& counts,
                        std::size_t count) const noexcept {
    const auto run = [&]<bool kVaries>(const Working* scale, const Working* bias) {
      run_loop<CountUnderflows<Working, kVaries>>(
          level_, static_cast<const Working*>(x_.data()), static_cast<const Working*>(g_.data()), scale, bias,
          varies ? lo_.data() : &lo_number_, varies ? hi_.data() : &hi_number_, std::size_t{varies},
          &counts.became_zero, count);
    };
    if (operands[Slot::scale].data != nullptr)
      run.template operator()<true>(operands.as<Working>(Slot::scale), operands.as<Working>(Slot::bias));
    else if (scale_ != 0 && bias_ == 0)
      run.template operator()<false>(&scale_, &bias_);
  }

  const LossCounter& counter_;
  const Operation& operation_;
  SimdLevel level_;
  Working scale_;
  Working bias_;
  Working lo_number_;
  Working hi_number_;
  Elements x_;
  Elements g_;
  Elements lo_;
  Elements hi_;
};

LossCounter::LossCounter(const Operation& operation) noexcept
    : casting_(operation), bounds_(operation.dtype) {
  const bool scales = operation.arithmetic != Arithmetic::none;
  if (operation.normalization) return;
  if (!operation.cast) {
    if (!scales || operation.arithmetic == Arithmetic::integer) return;
    casting_.dtype = operation.arithmetic == Arithmetic::float32 ? DType::float32 : DType::float64;
    casting_.from = casting_.to = operation.dtype;
    Cast& cast = casting_.cast.emplace();
    if (!is_floating(operation.dtype)) cast.round = Round::trunc;
    cast.saturates = !is_floating(operation.dtype);
    set_limits(casting_);
  }
  if (operation.arithmetic == Arithmetic::integer) return;
  may_be_infinite_ = traits(casting_.to).has_infinity && !casting_.cast->saturates;
  // Of numbers that are not scaled only a smaller range makes infinities.
  may_be_infinite_ = may_be_infinite_ && (scales || casting_.cast->lowest != lowest_finite(casting_.dtype) ||
                                          casting_.cast->highest != highest_finite(casting_.dtype));
  std::tie(zero_lowest_, zero_highest_) = zero_limits(casting_);
  may_be_zero_ = with_working_type(casting_.dtype, [&]<class Working>() {
    const bool underflows = scales && std::is_floating_point_v<Working>;
    return underflows || from_bits<Working>(zero_lowest_) != 0 || from_bits<Working>(zero_highest_) != 0;
  });
}

void LossCounter::count(const Operation& operation, const Operands& operands, const std::byte* in,
                        std::size_t count, SimdLevel level, ElementCounts& counts) const noexcept {
  if (!may_be_infinite_ && !may_be_zero_) return;
  const std::size_t size = traits(casting_.from).size;
  with_working_type(casting_.dtype, [&]<class Working>() {
    Block<Working> block(*this, operation, level);
    for (std::size_t done = 0; done < count; done += kLossBlock)
      block.count(in + done * size, operands.after(done), std::min(kLossBlock, count - done), counts);
  });
}

}  // namespace clipper
