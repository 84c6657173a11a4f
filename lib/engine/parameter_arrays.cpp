#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <span>
#include <type_traits>

#include "clip/convert.hpp"
#include "contract/exact_bounds.hpp"
#include "element/element.hpp"
#include "element/number.hpp"
#include "element/small_floats.hpp"
#include "engine/parameter_tile.hpp"
#include "memory/elements.hpp"
#include "simd/levels.hpp"

namespace clipper {
namespace {

constexpr std::size_t kWindow = 32UL << 10;  // bytes

/// An element this far from the one before is read alone: the window would hold no other element of the row.
constexpr std::uint64_t kFar = 512;  // elements

constexpr std::uint64_t kShortestRun = 8;  // elements of a band
constexpr std::uint64_t kNear = 32;        // elements from one element of a run to the next

}  // namespace

ArrayReader::ArrayReader(const Broadcast& broadcast, const ArrayParameter& parameter, std::size_t band_size)
    : broadcast_(broadcast),
      parameter_(parameter),
      layout_(parameter.array->layout()),
      window_(parameter.array->held().data()),
      window_end_(parameter.array->held().size() / traits(layout_.dtype).size) {
  if (window_end_ == layout_.count) return;
  memory_ = std::make_unique_for_overwrite<std::byte[]>(kWindow);
  window_ = memory_.get();
  choose_band(band_size);
}

/// A band is worth its memory if the array is not contiguous along the tensor's last axis, if a run has many
/// elements of the band, and if these are not far from each other in the run.
void ArrayReader::choose_band(std::size_t band_size) {
  const std::vector<std::uint64_t>& strides = parameter_.strides;
  const std::size_t size = traits(layout_.dtype).size;
  if (strides.empty() || strides.back() <= 1) return;
  std::uint64_t inner = 1;
  for (std::size_t axis = strides.size() - 1; axis-- > 0;) {
    inner *= broadcast_.axes[axis + 1];
    const std::uint64_t steps = std::min<std::uint64_t>(band_size / size / inner, broadcast_.axes[axis]);
    const bool is_near = strides[axis] != 0 && strides[axis] <= kNear;
    if (!is_near || steps < kShortestRun || (band_.steps != 0 && strides[axis] >= strides[band_.axis]))
      continue;
    band_.axis = axis;
    band_.inner = inner;
    band_.steps = steps;
  }
  if (band_.steps != 0)
    band_.memory = std::make_unique_for_overwrite<std::byte[]>(band_.steps * band_.inner * size);
}

const std::byte* ArrayReader::in_order(std::uint64_t position) const noexcept {
  const std::size_t size = traits(layout_.dtype).size;
  const bool is_held = !memory_ && reinterpret_cast<std::uintptr_t>(window_) % size == 0;
  const bool is_whole = parameter_.strides.size() == 1 && parameter_.strides[0] == 1;
  return is_held && is_whole && is_decoded(layout_) ? window_ + position * size : nullptr;
}

/// The offset of the array's element for the tensor's element at `position`, whose index it calculates.
std::uint64_t ArrayReader::locate(std::uint64_t position, Index& index) const {
  std::uint64_t offset = 0;
  for (std::size_t axis = broadcast_.axes.size(); axis-- > 0;) {
    index[axis] = position % broadcast_.axes[axis];
    position /= broadcast_.axes[axis];
    offset += index[axis] * parameter_.strides[axis];
  }
  return offset;
}

/// The offset after `steps` along the last axis, up to its end. Carries to the axes from `outermost` on.
std::uint64_t ArrayReader::advanced(Index& index, std::uint64_t offset, std::uint64_t steps,
                                    std::size_t outermost) const {
  const std::vector<std::uint64_t>& axes = broadcast_.axes;
  const std::vector<std::uint64_t>& strides = parameter_.strides;
  std::size_t axis = axes.size() - 1;
  index[axis] += steps;
  offset += steps * strides[axis];
  for (; axis > outermost && index[axis] == axes[axis]; --axis) {
    index[axis] = 0;
    ++index[axis - 1];
    offset += strides[axis - 1] - axes[axis] * strides[axis];
  }
  return offset;
}

std::uint64_t ArrayReader::offset_of(std::uint64_t position) const {
  Index index;
  return locate(position, index);
}

void ArrayReader::read(std::uint64_t position, std::size_t count, std::byte* to) {
  with_size(traits(layout_.dtype).size, [&]<std::size_t kSize>() {
    using Bits = UnsignedOfSize<kSize>;
    read_rows(position, count, reinterpret_cast<Bits*>(to));
    decode(layout_, {to, count * kSize});
  });
}

/// A row is a range of the innermost axis.
template <class Bits>
void ArrayReader::read_rows(std::uint64_t position, std::size_t count, Bits* to) {
  while (band_.steps != 0 && count != 0) {
    if (position < band_.begin || position >= band_.end) read_band<Bits>(position);
    const std::size_t length = std::min<std::uint64_t>(count, band_.end - position);
    std::memcpy(to, reinterpret_cast<const Bits*>(band_.memory.get()) + (position - band_.begin),
                length * sizeof(Bits));
    position += length;
    to += length;
    count -= length;
  }
  if (count == 0) return;
  const std::vector<std::uint64_t>& axes = broadcast_.axes;
  const std::vector<std::uint64_t>& strides = parameter_.strides;
  if (axes.empty()) return read_row(0, 0, count, to);
  Index index;
  std::uint64_t offset = locate(position, index);
  const std::size_t last = axes.size() - 1;
  for (;;) {
    if (last > 0 && strides[last] == 0 && index[last] == 0 && count >= 2 * axes[last]) {
      std::uint64_t rows = std::min(count / axes[last], axes[last - 1] - index[last - 1]);
      rows = repeat(offset, strides[last - 1], rows, axes[last], to);
      to += rows * axes[last];
      count -= rows * axes[last];
      if (count == 0) return;
      index[last - 1] += rows - 1;
      offset = advanced(index, offset + (rows - 1) * strides[last - 1], axes[last], 0);
      continue;
    }
    const std::size_t length = std::min<std::uint64_t>(count, axes[last] - index[last]);
    read_row(offset, strides[last], length, to);
    to += length;
    count -= length;
    if (count == 0) return;
    offset = advanced(index, offset, length, 0);
  }
}

/// Fills the band with the elements at `position` and after it.
template <class Bits>
void ArrayReader::read_band(std::uint64_t position) {
  Index index;
  const std::uint64_t begin = position - position % band_.inner;
  const std::uint64_t first = locate(begin, index);
  const std::uint64_t steps = std::min(band_.steps, broadcast_.axes[band_.axis] - index[band_.axis]);
  Bits* const band = reinterpret_cast<Bits*>(band_.memory.get());
  const std::uint64_t stride = parameter_.strides[band_.axis];
  std::vector<Bits> run((steps - 1) * stride + 1);
  band_.end = band_.begin;  // empty, if reading fails
  std::uint64_t offset = first;
  for (std::uint64_t i = 0; i < band_.inner; ++i) {
    parameter_.array->read(offset, std::as_writable_bytes(std::span(run)));
    for (std::uint64_t step = 0; step < steps; ++step) band[step * band_.inner + i] = run[step * stride];
    offset = advanced(index, offset, 1, band_.axis + 1);
  }
  band_.begin = begin;
  band_.end = begin + steps * band_.inner;
}

template <class Bits>
void ArrayReader::read_row(std::uint64_t offset, std::uint64_t stride, std::size_t count, Bits* to) {
  if (stride == 0) {
    std::fill_n(to, count, element<Bits>(offset));
  } else if (stride == 1) {
    read_contiguous(offset, count, to);
  } else if (!memory_) {
    const Bits* const from = reinterpret_cast<const Bits*>(window_) + offset;
    for (std::size_t i = 0; i < count; ++i) to[i] = from[i * stride];
  } else {
    for (std::size_t i = 0; i < count; ++i, offset += stride) {
      if (stride >= kFar)
        parameter_.array->read(offset, std::as_writable_bytes(std::span(to + i, 1)));
      else
        to[i] = element<Bits>(offset);
    }
  }
}

/// Copies elements `stride` apart, each `times` times: `count` of them, or as many as are in the window,
/// which is moved to the first. Returns their number.
template <class Bits>
std::uint64_t ArrayReader::repeat(std::uint64_t offset, std::uint64_t stride, std::uint64_t count,
                                  std::uint64_t times, Bits* to) {
  element<Bits>(offset);
  if (stride != 0) count = std::min(count, (window_end_ - 1 - offset) / stride + 1);
  const Bits* const from = reinterpret_cast<const Bits*>(window_) + (offset - window_begin_);
  for (std::uint64_t i = 0; i < count; ++i) to = std::fill_n(to, times, from[i * stride]);
  return count;
}

template <class Bits>
void ArrayReader::read_contiguous(std::uint64_t offset, std::size_t count, Bits* to) {
  while (count != 0) {
    if (memory_ && count * sizeof(Bits) >= kWindow)
      return parameter_.array->read(offset, std::as_writable_bytes(std::span(to, count)));
    *to = element<Bits>(offset);
    const std::size_t length = std::min<std::uint64_t>(count, window_end_ - offset);
    std::memcpy(to, window_ + (offset - window_begin_) * sizeof(Bits), length * sizeof(Bits));
    to += length;
    offset += length;
    count -= length;
  }
}

/// Moves the window if the element is not in it.
template <class Bits>
Bits ArrayReader::element(std::uint64_t offset) {
  if (offset < window_begin_ || offset >= window_end_) {
    const std::size_t length = std::min<std::uint64_t>(kWindow / sizeof(Bits), layout_.count - offset);
    window_end_ = window_begin_;  // empty, if reading fails
    parameter_.array->read(offset, {memory_.get(), length * sizeof(Bits)});
    window_begin_ = offset;
    window_end_ = offset + length;
  }
  return reinterpret_cast<const Bits*>(window_)[offset - window_begin_];
}

namespace {

/// Whether every number of `from`, an integer dtype, is an element of an integer dtype.
bool has_all(DType dtype, DType from) {
  return number_of(from, lowest_element(from)) >= number_of(dtype, lowest_element(dtype)) &&
         number_of(from, highest_element(from)) <= number_of(dtype, highest_element(dtype));
}

/// Whether numbers of the array may be beyond the dtype of bounds of floats, and are no infinities of it:
/// because it has none, or because results may lie there.
bool may_be_far(const Plan& plan, DType array) {
  const DType to = plan.operation.to;
  const auto lowest = [](DType dtype) { return number_of(dtype, lowest_finite(dtype)); };
  const auto highest = [](DType dtype) { return number_of(dtype, highest_finite(dtype)); };
  const bool has_all =
      lowest(array) >= lowest(plan.bound_dtype) && highest(array) <= highest(plan.bound_dtype);
  if (!plan.operation.cast || has_all) return false;
  if (!traits(plan.bound_dtype).has_infinity) return true;
  return highest(to) > highest(plan.bound_dtype);
}

/// Elements of a dtype as those of another one, without counts.
void convert_elements(const Operation& operation, const std::byte* in, std::byte* out, std::size_t count) {
  static_cast<void>(convert(operation, kNumbers, in, out, count, Counting::off, simd_levels().back()));
}

double rounded(double number, Round round) {
  switch (round) {
    case Round::half_even: return std::nearbyint(number);
    case Round::half_away: return std::round(number);
    case Round::trunc: return std::trunc(number);
    case Round::floor: return std::floor(number);
    case Round::ceil: return std::ceil(number);
  }
  __builtin_unreachable();
}

Wide wide_of(double integer, double rest) {
  if (!(std::fabs(integer) < 0x1p126)) return integer < 0 ? Wide::lowest() : Wide::highest();
  return Wide::of(static_cast<Int128>(integer) + static_cast<Int128>(rest));
}

/// The greatest element of a working dtype up to the number, or the least from it on.
template <class T>
T within(double value, double rest, bool is_min) {
  constexpr auto kLowest = std::numeric_limits<T>::lowest();
  constexpr auto kHighest = std::numeric_limits<T>::max();
  if constexpr (std::is_integral_v<T>) {
    const double integer = is_min ? std::ceil(value) : std::floor(value);
    if (!(std::fabs(integer) < 0x1p126)) return integer < 0 ? kLowest : kHighest;
    const Int128 exact = static_cast<Int128>(integer) + static_cast<Int128>(rest);
    return static_cast<T>(std::clamp(exact, Int128{kLowest}, Int128{kHighest}));
  } else {
    constexpr T kInfinity = std::numeric_limits<T>::infinity();
    const T nearest = static_cast<T>(value);
    const double beyond =
        static_cast<double>(nearest) - value - rest;  // has the sign of the exact difference
    if (std::isinf(value) || (is_min ? beyond >= 0 : beyond <= 0)) return nearest;
    return std::nextafter(nearest, is_min ? kInfinity : -kInfinity);
  }
}

/// The last double that does not become more than, or less than, all finite elements of the output.
double float_end(const Operation& operation, bool is_highest) {
  Operation of_doubles = conversion(DType::float64, operation.to);
  of_doubles.cast->round = operation.cast->round;
  set_limits(of_doubles);
  return from_bits<double>(is_highest ? of_doubles.cast->highest : of_doubles.cast->lowest);
}

}  // namespace

bool exchanges_exactly(const Plan& plan) {
  return plan.operation.cast && plan.operation.arithmetic != Arithmetic::integer && plan.arrays &&
         plan.arrays->min_above_max != MinAboveMax::error;
}

bool is_other_bound(const Plan& plan, DType array) {
  const Operation& operation = plan.operation;
  const DType from = plan.input.dtype;
  if (is_floating(from)) return may_be_far(plan, array);
  // Numbers are compared with arrays before their fractions are cut off.
  const auto is_cut = [](const std::optional<Number>& bound) { return bound && !is_integer(*bound); };
  if (!operation.cast) return array != from || is_cut(plan.exact_min) || is_cut(plan.exact_max);
  if (operation.arithmetic == Arithmetic::integer) {
    const auto is_far = [=](const std::optional<Number>& bound) { return bound && is_beyond(*bound, from); };
    return array != from || operation.uses_bounds() || is_far(plan.exact_min) || is_far(plan.exact_max);
  }
  if (exchanges_exactly(plan)) return true;
  const bool is_long = is_long_integer(array);
  if (is_long && operation.uses_bounds()) return true;
  if (operation.arithmetic == Arithmetic::float64) return is_long;
  // A step that calculates with bounds takes those beyond the input, which are refused otherwise.
  const bool checks_input = operation.arithmetic == Arithmetic::none && !operation.uses_bounds();
  return is_floating(array) || !has_all(checks_input ? from : operation.dtype, array);
}

BoundArray::BoundArray(const Plan& plan, ParameterId bound, std::size_t capacity)
    : plan_(plan), is_min_(bound == ParameterId::min), numbers_(capacity) {
  const Operation& operation = plan.operation;
  const ArrayParameter* const array = plan.array(bound);
  is_other_ = array != nullptr && is_other_bound(plan, array->array->layout().dtype);
  const bool is_wide = operation.cast && operation.arithmetic == Arithmetic::integer;
  if (operation.cast && (is_other_ || exchanges_exactly(plan))) results_.resize(capacity);
  if (is_other_ && is_wide) wide_.resize(capacity);
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  const std::optional<Number>& exact = is_min_ ? plan.exact_min : plan.exact_max;
  is_given_ = array != nullptr || exact || is_floating(plan.input.dtype);
  const Number number = exact ? *exact : number_of(operation.dtype, is_min_ ? operation.lo : operation.hi);
  number_ = is_wide && !exact  ? (is_min_ ? -kInfinity : kInfinity)
            : array == nullptr ? double_double(number)
                               : round_to<double>(number);
  if (is_floating(plan.input.dtype) && number_.rest != 0) {  // as integers of arrays are: see round_floats()
    number_ = operation.to != DType::float64 ? sum_to_odd(number_.head, number_.rest) : number_.head;
  } else if (array == nullptr && exact && std::isfinite(number_.head)) {
    const Number taken = sum(number_.head, number_.rest);
    number_side_ = number > taken ? 1 : number < taken ? -1 : 0;
  }
  if (array == nullptr && !results_.empty()) number_result_ = result_of(operation, number).element;
  restore(capacity);
  set_ends();
}

/// Sets the numbers beyond which a bound leaves nothing to do.
void BoundArray::set_ends() {
  const Operation& operation = plan_.operation;
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  input_end_ = output_end_ = is_min_ ? kInfinity : -kInfinity;
  const auto end_of = [&](DType dtype) {
    return double_double(number_of(dtype, is_min_ ? highest_finite(dtype) : lowest_finite(dtype)));
  };
  const bool is_float = is_floating(plan_.input.dtype);
  input_ = is_float ? plan_.bound_dtype : plan_.input.dtype;
  const bool is_wider = round_to<double>(number_of(operation.to, highest_finite(operation.to))) >
                        round_to<double>(number_of(input_, highest_finite(input_)));
  if (is_float ? !is_wider : operation.arithmetic == Arithmetic::none && !operation.uses_bounds())
    input_end_ = end_of(input_);
  else if (is_float && !traits(input_).has_infinity)  // of which no infinity is a bound, typed or not
    input_end_ = (is_min_ ? 1 : -1) * std::numeric_limits<double>::max();
  takes_infinity_ = is_float && traits(plan_.bound_dtype).has_infinity && traits(operation.to).has_infinity;
  if (!operation.cast) return;
  if (is_floating(operation.to)) {
    output_end_ = float_end(operation, is_min_);
    return;
  }
  output_end_ = end_of(operation.to).head - static_cast<double>(operation.cast->zero_point.value());
}

void BoundArray::restore(std::size_t count) {
  std::fill_n(numbers_.begin(), count, number_);
  if (!results_.empty()) std::fill_n(results_.begin(), count, number_result_);
}

void BoundArray::take_values(DType dtype, const std::byte* elements, std::size_t count) {
  with_reader(dtype, [&](auto at) {
    for (std::size_t i = 0; i < count; ++i) {
      const auto x = at(elements, i);
      if constexpr (std::is_integral_v<decltype(at(elements, i))>)
        numbers_[i] = DoubleDouble::of(x);
      else
        numbers_[i] = static_cast<double>(comparable(x));
    }
  });
}

void BoundArray::take(DType dtype, const std::byte* elements, std::size_t count, std::byte* compared) {
  const Operation& operation = plan_.operation;
  const bool is_float = is_floating(plan_.input.dtype);
  take_values(dtype, elements, count);
  if (is_float) round_floats(dtype, elements, count);
  if (!is_other_ && results_.empty()) return;
  if (!operation.cast)
    return convert_elements(conversion(dtype, operation.dtype, Round::trunc), elements, compared, count);
  if (wide_.empty())
    compare(0, count, compared);
  else
    for (std::size_t i = 0; i < count; ++i)
      wide_[i] = {wide_of(std::ceil(numbers_[i].head), numbers_[i].rest),
                  wide_of(std::floor(numbers_[i].head), numbers_[i].rest)};
  if (!is_float) return set_results(dtype, elements, count);
  std::vector<double> heads(count);
  for (std::size_t i = 0; i < count; ++i) heads[i] = numbers_[i].head;
  set_results(DType::float64, reinterpret_cast<const std::byte*>(heads.data()), count);
  if (is_long_integer(dtype) && is_long_integer(operation.to)) set_far_results(dtype, elements, count);
}

/// Sets what integers beyond the dtype of bounds of floats become, of which float64 does not have all.
void BoundArray::set_far_results(DType dtype, const std::byte* elements, std::size_t count) {
  const auto end = round_to<double>(number_of(plan_.bound_dtype, highest_finite(plan_.bound_dtype)));
  const auto* const bits = reinterpret_cast<const ElementBits*>(elements);
  for (std::size_t i = 0; i < count; ++i)
    if (std::fabs(numbers_[i].head) > end)
      results_[i] = result_of(plan_.operation, number_of(dtype, bits[i])).element;
}

/// Rounds bounds of floats to their dtype, unless that makes a number infinite.
void BoundArray::round_floats(DType dtype, const std::byte* elements, std::size_t count) {
  if (dtype == plan_.bound_dtype) return;
  const std::vector<DoubleDouble> given = numbers_;
  std::vector<std::byte> rounded(count * sizeof(ElementBits));
  convert_elements(conversion(dtype, plan_.bound_dtype), elements, rounded.data(), count);
  take_values(plan_.bound_dtype, rounded.data(), count);
  for (std::size_t i = 0; i < count; ++i)
    if (!std::isfinite(numbers_[i].head) && !std::isnan(given[i].head))
      numbers_[i] = plan_.operation.to == DType::float64 || std::isinf(given[i].head)
                        ? given[i].head
                        : sum_to_odd(given[i].head, given[i].rest);
}

/// Sets what the numbers become after the clip.
void BoundArray::set_results(DType dtype, const std::byte* elements, std::size_t count) {
  Operation to = conversion(dtype, plan_.operation.to);
  const Cast& cast = *plan_.operation.cast;
  to.cast->round = cast.round;
  to.cast->zero_point = cast.zero_point;
  to.cast->saturates = cast.saturates;
  set_limits(to);
  std::vector<std::byte> results(count * sizeof(ElementBits));
  convert_elements(to, elements, results.data(), count);
  with_size(traits(to.to).size, [&]<std::size_t kSize>() {
    std::copy_n(reinterpret_cast<const UnsignedOfSize<kSize>*>(results.data()), count, results_.begin());
  });
  for (std::size_t i = 0; i < count && !wide_.empty(); ++i) wide_[i].result = results_[i];
}

/// Writes the nearest working elements within the bounds.
void BoundArray::compare(std::size_t first, std::size_t count, std::byte* compared) const {
  with_type(plan_.operation.dtype, [&]<class T>() {
    T* const to = reinterpret_cast<T*>(compared);
    for (std::size_t i = first; i < first + count; ++i)
      if constexpr (!HalfType<T>) to[i] = within<T>(numbers_[i].head, numbers_[i].rest, is_min_);
  });
}

void BoundArray::become(const BoundArray& other, std::size_t i, std::byte* compared) {
  numbers_[i] = other.numbers_[i];
  results_[i] = other.results_[i];
  compare(i, 1, compared);
}

std::optional<DType> BoundArray::beyond(std::size_t i) const {
  const auto [head, rest] = numbers_[i];
  const double cut = is_min_ ? std::floor(head) : std::ceil(head);
  if (takes_infinity_ && std::isinf(cut)) return std::nullopt;
  const auto is_beyond = [is_min = is_min_, own = rest](double number, const DoubleDouble& end) {
    if (number == end.head) return is_min ? own > end.rest : own < end.rest;
    return is_min ? number > end.head : number < end.head;
  };
  const bool is_cut = !plan_.operation.cast;  // by a plain clip
  if (is_beyond(is_cut ? cut : head, input_end_)) return input_;
  const DType to = plan_.operation.to;
  if (is_floating(to)) {
    if (std::isinf(cut) && traits(to).has_infinity) return std::nullopt;
    return (is_min_ ? head > output_end_ : head < output_end_) ? std::optional(to) : std::nullopt;
  }
  const double stored = is_cut ? cut : rounded(head, *plan_.operation.cast->round);
  return (is_min_ ? stored > output_end_ : stored < output_end_) ? std::optional(to) : std::nullopt;
}

std::string BoundArray::text(std::size_t i) const {
  const double head = numbers_[i].head;
  if (std::isnan(head)) return "nan";
  if (std::fabs(head) < kIntegersEnd || std::fabs(head) >= 0x1p64)
    return element_text(DType::float64, to_bits(head));
  const auto integer = SignedInteger::of(numbers_[i]);
  return (integer.negative ? "-" : "") + std::to_string(integer.magnitude);
}

}  // namespace clipper
