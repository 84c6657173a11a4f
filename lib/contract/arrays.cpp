#include "contract/arrays.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cstring>
#include <functional>
#include <limits>
#include <numeric>
#include <utility>

#include "contract/bounds.hpp"
#include "element/element.hpp"
#include "error.hpp"

namespace clipper {
namespace {

/// How many elements of the array's file one step along each axis of a tensor of this rank is. 0 where the
/// array has size 1 or no axis.
std::vector<std::uint64_t> strides_of(const TensorLayout& array, std::size_t rank) {
  std::vector<std::uint64_t> strides(rank, 0);
  const std::size_t missing = rank - array.shape.size();
  std::uint64_t stride = 1;
  for (std::size_t i = 0; i < array.shape.size(); ++i) {
    const std::size_t axis = array.fortran_order ? i : array.shape.size() - 1 - i;
    const auto size = static_cast<std::uint64_t>(array.shape[axis]);
    if (size != 1) strides[missing + axis] = stride;
    stride *= size;
  }
  return strides;
}

/// Whether one step along the outer axis is as far, in every array, as all steps along the inner one.
bool can_be_merged(const Broadcast& broadcast, std::size_t outer) {
  return std::ranges::all_of(broadcast.arrays, [&](const ArrayParameter& row) {
    return row.strides[outer] == row.strides[outer + 1] * broadcast.axes[outer + 1];
  });
}

void remove_axis(Broadcast& broadcast, std::size_t axis) {
  const auto at = static_cast<std::ptrdiff_t>(axis);
  broadcast.axes.erase(broadcast.axes.begin() + at);
  for (ArrayParameter& row : broadcast.arrays) row.strides.erase(row.strides.begin() + at);
}

/// Error{usage} or Error{input} if the profile does not take this array for a tensor of this shape.
void check_array(const Request& request, std::string_view field, const Parameter& given,
                 const std::vector<std::int64_t>& shape) {
  const Profile& profile = *request.profile;
  const auto refuse = [&](ErrorKind kind, std::string_view why) {
    throw Error(kind, label(field, given) +
                          fmt::format(" has shape {}; {} {}", shape_text(given.shape), profile.system, why));
  };
  const auto is_typed = [](const std::optional<Parameter>& bound) { return bound && !bound->dtype; };
  switch (profile.arrays) {
    case Profile::Arrays::broadcast: return;
    case Profile::Arrays::none:
      return refuse(ErrorKind::usage, "takes one number, profile clipper takes arrays");
    case Profile::Arrays::both:
      if (is_typed(request.min) || is_typed(request.max))
        refuse(ErrorKind::usage, "takes no array beside a number");
      return;
    case Profile::Arrays::same_shape:
      if (given.shape != shape)
        refuse(ErrorKind::input,
               fmt::format("needs one number or the tensor's shape, {}", shape_text(shape)));
      return;
  }
}

/// An array with another dtype than its file has, or than its file says.
class RetypedArray : public ParameterArray {
 public:
  /// The file leaves open which of the dtypes with its descriptor its elements have.
  RetypedArray(std::shared_ptr<const ParameterArray> array, DType dtype)
      : array_(std::move(array)), layout_(array_->layout()) {
    layout_.dtype = dtype;
  }

  /// The same elements in another shape.
  RetypedArray(std::shared_ptr<const ParameterArray> array, TensorLayout layout)
      : array_(std::move(array)), layout_(std::move(layout)) {}

  /// The same numbers as elements of another dtype.
  RetypedArray(std::shared_ptr<const ParameterArray> array, TensorLayout layout,
               std::vector<std::byte> converted)
      : array_(std::move(array)), layout_(std::move(layout)), converted_(std::move(converted)) {}

  [[nodiscard]] const TensorLayout& layout() const override { return layout_; }
  [[nodiscard]] std::span<const std::byte> held() const override {
    return converted_ ? *converted_ : array_->held();
  }
  void read(std::uint64_t position, std::span<std::byte> elements) const override {
    if (!converted_) return array_->read(position, elements);
    const std::span<const std::byte> all(*converted_);
    std::ranges::copy(all.subspan(position * traits(layout_.dtype).size, elements.size()), elements.begin());
  }
  [[nodiscard]] std::uint64_t fingerprint() const override {
    return array_->fingerprint() + (converted_ ? 1 + static_cast<std::uint64_t>(layout_.dtype) : 0);
  }
  void expect_unwritten() const override { array_->expect_unwritten(); }
  [[nodiscard]] std::span<const std::uint8_t> lost() const override { return array_->lost(); }
  [[nodiscard]] bool is(const os::Status& file) const override { return array_->is(file); }

 private:
  std::shared_ptr<const ParameterArray> array_;
  TensorLayout layout_;
  std::optional<std::vector<std::byte>> converted_;
};

/// An array without the numbers of some groups.
class PartArray : public RetypedArray {
 public:
  PartArray(const std::shared_ptr<const ParameterArray>& array, std::vector<std::uint8_t> lost)
      : RetypedArray(array, array->layout()), lost_(std::move(lost)) {}

  [[nodiscard]] bool is_found() const override { return true; }
  [[nodiscard]] std::span<const std::uint8_t> lost() const override { return lost_; }

 private:
  std::vector<std::uint8_t> lost_;
};

/// Numbers that were calculated from norms and their limit.
class FactorArray : public RetypedArray {
 public:
  FactorArray(const std::shared_ptr<const ParameterArray>& norms, double limit,
              std::vector<std::byte> factors)
      : RetypedArray(norms, norms->layout(), std::move(factors)), limit_(limit) {}

  [[nodiscard]] std::uint64_t fingerprint() const override {
    return RetypedArray::fingerprint() ^ to_bits(limit_);
  }
  [[nodiscard]] bool is_found() const override { return true; }

 private:
  double limit_;
};

/// Whether the parameter's file leaves open whether its dtype is that of the tensor.
bool is_untyped(const std::optional<Parameter>& given, DType dtype) {
  return given && given->opaque && given->dtype && given->dtype != dtype &&
         traits(*given->dtype).descr == traits(dtype).descr;
}

/// The parameter, which is_untyped(), with the tensor's dtype.
void give_type(std::optional<Parameter>& given, DType dtype) {
  if (!is_untyped(given, dtype)) return;
  given->dtype = dtype;
  if (given->array)
    given->array = std::make_shared<RetypedArray>(given->array, dtype);
  else
    given->number = number_of(dtype, given->element);
}

/// The element of a dtype with this value; nothing if it has none.
std::optional<ElementBits> exact_element(DType dtype, const Number& number) {
  if (!is_floating(dtype))
    return has_integer(dtype, number) ? std::optional(integer_element(dtype, number)) : std::nullopt;
  const ElementBits nearest = nearest_element(dtype, number);
  const bool is_exact = number.kind == Number::Kind::nan || number_of(dtype, nearest) == number;
  return is_exact ? std::optional(nearest) : std::nullopt;
}

/// The array, if it is held in memory, with this dtype; null if that lacks one of the numbers.
std::shared_ptr<const ParameterArray> exact_array(const std::shared_ptr<const ParameterArray>& array,
                                                  DType dtype) {
  TensorLayout layout = array->layout();
  const std::size_t from = traits(layout.dtype).size;
  const std::size_t to = traits(dtype).size;
  if (array->held().size() != layout.count * from) return nullptr;
  std::vector<std::byte> held(layout.count * to);
  for (std::size_t i = 0; i < layout.count; ++i) {
    const ElementBits bits = bits_in(array->held().subspan(i * from, from), layout.order);
    const std::optional<ElementBits> element = exact_element(dtype, number_of(layout.dtype, bits));
    if (!element) return nullptr;
    for (std::size_t byte = 0; byte < to; ++byte)
      held[i * to + byte] = static_cast<std::byte>(*element >> 8 * byte & 0xff);
  }
  layout.dtype = dtype;
  layout.order = ByteOrder::little;
  return std::make_shared<RetypedArray>(array, std::move(layout), std::move(held));
}

/// Gives a number or an array from a file of another dtype this dtype, if that has each of the numbers
/// exactly. Otherwise, and for an array that is not held in memory, leaves it as it is and returns false.
bool give_dtype_if_exact(std::optional<Parameter>& given, DType dtype) {
  if (!given || !given->dtype || given->dtype == dtype || given->opaque) return false;
  if (!given->array) {
    const std::optional<ElementBits> element = exact_element(dtype, given->number);
    if (!element) return false;
    given->element = *element;
  } else if (auto array = exact_array(given->array, dtype)) {
    given->array = std::move(array);
  } else {
    return false;
  }
  given->dtype = dtype;
  return true;
}

}  // namespace

const ArrayParameter* Broadcast::find(ParameterId parameter) const {
  const auto row = std::ranges::find(arrays, parameter, &ArrayParameter::parameter);
  return row == arrays.end() ? nullptr : &*row;
}

std::uint64_t Broadcast::period() const {
  std::size_t first = 0;  // the outermost axis along which a parameter changes
  const auto changes = [&](const ArrayParameter& row) { return row.strides[first] != 0; };
  while (first < axes.size() && std::ranges::none_of(arrays, changes)) ++first;
  return count_from(first);
}

std::uint64_t Broadcast::count_from(std::size_t axis) const {
  return std::accumulate(axes.begin() + static_cast<std::ptrdiff_t>(axis), axes.end(), std::uint64_t{1},
                         std::multiplies<>());
}

std::string Broadcast::fingerprint() const {
  std::string text = fmt::format(" min_above_max={}", static_cast<int>(min_above_max));
  if (nan) text += fmt::format(" nan={}", name_of(*nan));
  for (const ArrayParameter& row : arrays)
    text += fmt::format(" {}={:016x}", name_of(row.parameter), row.array->fingerprint());
  return text;
}

ElementBits bits_in(std::span<const std::byte> bytes, ByteOrder order) noexcept {
  ElementBits bits = 0;
  for (std::size_t i = 0; i < bytes.size(); ++i)
    bits |= std::to_integer<ElementBits>(bytes[order == ByteOrder::little ? i : bytes.size() - 1 - i])
            << 8 * i;
  return bits;
}

ElementBits found_element(const ParameterArray& array, std::size_t i) noexcept {
  const std::size_t size = traits(array.layout().dtype).size;
  return bits_in(array.held().subspan(i * size, size), kNativeOrder);
}

void lay_out(Broadcast& broadcast, const std::vector<std::int64_t>& shape, bool fortran_order) {
  broadcast.axes.assign(shape.begin(), shape.end());
  if (fortran_order) std::ranges::reverse(broadcast.axes);
  for (ArrayParameter& row : broadcast.arrays) {
    row.strides = strides_of(row.array->layout(), shape.size());
    if (fortran_order) std::ranges::reverse(row.strides);
  }
  for (std::size_t axis = broadcast.axes.size(); axis-- > 0;)
    if (broadcast.axes[axis] == 1) remove_axis(broadcast, axis);
  for (std::size_t axis = broadcast.axes.size(); axis-- > 1;)
    if (can_be_merged(broadcast, axis - 1)) {
      broadcast.axes[axis] *= broadcast.axes[axis - 1];
      remove_axis(broadcast, axis - 1);
    }
}

namespace {

/// The shape of an array that has a number for each index along the only axis of its length.
std::string advice_on_axis(const std::vector<std::int64_t>& own, const std::vector<std::int64_t>& shape) {
  if (own.size() != 1 || std::ranges::count(shape, own.front()) != 1) return "";
  const auto axis = std::ranges::find(shape, own.front()) - shape.begin();
  std::vector<std::int64_t> advised(shape.size() - static_cast<std::size_t>(axis), 1);
  advised.front() = own.front();
  return fmt::format(": with shape {} its numbers are those of axis {}", shape_text(advised), axis);
}

}  // namespace

void check_shape(std::string_view field, const Parameter& given, const std::vector<std::int64_t>& shape) {
  const std::vector<std::int64_t>& own = given.shape;
  const bool broadcasts = own.size() <= shape.size() && std::equal(own.rbegin(), own.rend(), shape.rbegin(),
                                                                   [](std::int64_t size, std::int64_t to) {
                                                                     return size == to || size == 1;
                                                                   });
  if (broadcasts) return;
  throw Error(ErrorKind::input,
              label(field, given) + fmt::format(" has shape {}; it must broadcast to {}{}", shape_text(own),
                                                shape_text(shape), advice_on_axis(own, shape)));
}

void check_dtype(std::string_view field, const std::optional<Parameter>& given, DType dtype, DType other) {
  if (!given || !given->dtype || given->dtype == dtype || given->dtype == other) return;
  const std::string file = given->text.substr(given->text.starts_with('@') ? 1 : 0);
  if (given->opaque)
    throw Error(ErrorKind::input,
                file + ": " + opaque_dtype(fmt::format("|{}", traits(*given->dtype).descr)));
  refuse_request(label(field, *given) +
                 fmt::format(" is {}, but the tensor is {}{}", traits(*given->dtype).name, traits(dtype).name,
                             is_floating(dtype) ? ", which does not have all its numbers exactly"
                                                : "; both must have the same dtype"));
}

std::shared_ptr<const ParameterArray> norm_factors(const Parameter& max_norm) {
  const auto limit = round_to<double>(max_norm.number);
  const std::span<const std::byte> norms = max_norm.array->held();
  std::vector<std::byte> factors(norms.size());
  for (std::size_t at = 0; at < norms.size(); at += sizeof(double)) {
    double norm = 0;
    std::memcpy(&norm, &norms[at], sizeof(norm));
    const double factor = norm > limit ? limit / norm : 1;
    std::memcpy(&factors[at], &factor, sizeof(factor));
  }
  return std::make_shared<FactorArray>(max_norm.array, limit, std::move(factors));
}

std::shared_ptr<const ParameterArray> with_elements(const Parameter& given, DType dtype,
                                                    const MakeElement& element) {
  const ParameterArray& array = *given.array;
  TensorLayout layout = array.layout();
  const std::size_t from = traits(layout.dtype).size;
  const std::size_t to = traits(dtype).size;
  std::vector<std::byte> numbers(layout.count * from);
  array.read(0, numbers);
  std::vector<std::byte> elements(layout.count * to);
  for (std::size_t i = 0; i < layout.count; ++i) {
    if (array.is_lost(i)) continue;
    const ElementBits bits = bits_in(std::span(numbers).subspan(i * from, from), layout.order);
    const std::string text =
        fmt::format("{} ({}) at {}", given.text, element_text(layout.dtype, bits), index_text(layout, i));
    const ElementBits made = element(Parameter(number_of(layout.dtype, bits), text));
    for (std::size_t byte = 0; byte < to; ++byte)
      elements[i * to + byte] = static_cast<std::byte>(made >> 8 * byte & 0xff);
  }
  layout.dtype = dtype;
  layout.order = ByteOrder::little;
  layout.stored_as = {};
  return std::make_shared<RetypedArray>(given.array, std::move(layout), std::move(elements));
}

ElementBits convert_numbers(std::optional<Broadcast>& arrays, ParameterId parameter, const Parameter& given,
                            const MakeElement& element) {
  if (!given.array) return element(given);
  const auto row = std::ranges::find(arrays->arrays, parameter, &ArrayParameter::parameter);
  row->given = given.array;
  row->array = with_elements(given, DType::uint64, element);
  std::size_t first = 0;
  while (first + 1 < row->array->layout().count && row->array->is_lost(first)) ++first;
  return bits_in(row->array->held().subspan(first * sizeof(ElementBits), sizeof(ElementBits)),
                 ByteOrder::little);
}

void lose_others(Parameter& given, const std::function<bool(std::size_t)>& is_own) {
  std::vector<std::uint8_t> lost(given.array->layout().count);
  for (std::size_t i = 0; i < lost.size(); ++i) lost[i] = given.array->is_lost(i) || !is_own(i) ? 1 : 0;
  given.array = std::make_shared<PartArray>(given.array, std::move(lost));
}

std::optional<Broadcast> plan_arrays(const Request& request, const TensorLayout& layout) {
  Broadcast result;
  const Profile& profile = *request.profile;
  const bool has_nan = is_floating(layout.dtype) || layout.meaning.is_time();
  const bool checks_files =
      profile.arrays == Profile::Arrays::broadcast || profile.arrays == Profile::Arrays::both;
  for (const Field* const field : fields::kParameters) {
    const std::optional<Parameter>& given = field->number_in(request);
    if (!given) continue;
    const ParameterId parameter = *field->parameter;
    const bool is_norm = parameter == ParameterId::max_norm;
    const bool varies = given->array && !(is_norm && given->array->layout().count == 1) &&
                        (parameter != ParameterId::nan || has_nan);
    if (field->broadcasts && varies) check_array(request, field->name, *given, layout.shape);
    if (varies || (field->broadcasts && checks_files)) check_shape(field->name, *given, layout.shape);
    if (varies)
      result.arrays.push_back({parameter, given->text, is_norm ? norm_factors(*given) : given->array, {}});
  }
  if (result.arrays.empty()) return std::nullopt;
  lay_out(result, layout.shape, layout.fortran_order);
  result.min_above_max = request.min_above_max.value_or(profile.min_above_max);
  if (request.divide_zero) result.zero_divisor = round_to<double>(request.divide_zero->number);
  result.takes_nan = profile.nan_bound == Profile::NanBound::poisons;
  if (is_floating(layout.dtype) && request.action_on_nan() == OnNan::min) result.nan = ParameterId::min;
  if (is_floating(layout.dtype) && request.action_on_nan() == OnNan::max) result.nan = ParameterId::max;
  return result;
}

bool has_dtype(const Request& request, DType dtype) {
  return std::ranges::none_of(fields::kBroadcasting, [&](const Field* field) {
    const std::optional<Parameter>& given = request.*field->number();
    return given && given->dtype && given->dtype != dtype;
  });
}

bool takes_factor(DType dtype, DType factor) {
  return factor == dtype || factor == DType::float32 || factor == DType::float64 ||
         (is_long_integer(dtype) && is_long_integer(factor));
}

std::shared_ptr<const ParameterArray> with_elements(std::shared_ptr<const ParameterArray> array,
                                                    TensorLayout layout, std::vector<std::byte> elements) {
  return std::make_shared<RetypedArray>(std::move(array), std::move(layout), std::move(elements));
}

std::shared_ptr<const ParameterArray> with_shape(std::shared_ptr<const ParameterArray> array,
                                                 std::vector<std::int64_t> shape) {
  TensorLayout layout = array->layout();
  layout.shape = std::move(shape);
  return std::make_shared<RetypedArray>(std::move(array), std::move(layout));
}

void set_dtype(Request& request, DType dtype) {
  for (const Field* const field : fields::kBroadcasting) {
    std::optional<Parameter>& given = request.*field->number();
    give_type(given, dtype);
    if (field->grammar == fields::Grammar::bound || !given || !given->dtype ||
        takes_factor(dtype, *given->dtype))
      continue;
    for (const DType wide : {DType::int64, DType::uint64, DType::float64})
      if ((is_long_integer(dtype) && !is_floating(*given->dtype)) || is_floating(wide))
        if (give_dtype_if_exact(given, wide)) break;
  }
  if (request.scale || request.bias) return;
  if (!is_floating(dtype)) return;
  for (const Field* const bound : fields::kBounds) give_dtype_if_exact(request.*bound->number(), dtype);
}

void give_dtype(std::optional<Parameter>& given, DType dtype) {
  give_type(given, dtype);
  if (is_floating(dtype)) static_cast<void>(give_dtype_if_exact(given, dtype));
}

}  // namespace clipper
