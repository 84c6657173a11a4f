#include "clip/convert.hpp"

#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <numeric>
#include <random>
#include <string>
#include <vector>

#include "clip/clip_cases.hpp"
#include "clip/convert_loops.hpp"
#include "element/element.hpp"
#include "element/number.hpp"
#include "element/small_floats.hpp"
#include "support/catch.hpp"
#include "support/skip.hpp"

namespace clipper {
namespace {

using testing::skip_without;

using Bytes = std::vector<std::byte>;
using Elements = std::vector<ElementBits>;

Bytes bytes_of(DType dtype, const Elements& elements) {
  const std::size_t size = traits(dtype).size;
  Bytes bytes(elements.size() * size);
  for (std::size_t i = 0; i < elements.size(); ++i)
    with_type(dtype, [&]<class T>() {
      const T value = from_bits<T>(elements[i]);
      std::memcpy(&bytes[i * size], &value, size);
    });
  return bytes;
}

/// The integer nearest to an exact double, by the functions of libm.
double rounded_by_libm(double x, Round round) {
  switch (round) {
    case Round::half_even: return std::nearbyint(x);
    case Round::half_away: return std::round(x);
    case Round::trunc: return std::trunc(x);
    case Round::floor: return std::floor(x);
    case Round::ceil: return std::ceil(x);
  }
  __builtin_unreachable();
}

/// What an element becomes, from its exact Number. 64-bit integers have no fractions, all others are doubles.
ElementBits expected(const Operation& operation, ElementBits element) {
  const Cast& cast = *operation.cast;
  Number number = number_of(operation.from, element);
  if (number.kind != Number::Kind::nan && is_floating(operation.from) && cast.round)
    number = rounded_by_libm(round_to<double>(number), *cast.round);
  return with_type(operation.to, [&]<class To>() -> ElementBits {
    if constexpr (std::is_integral_v<To>) {
      if (number.kind == Number::Kind::nan) return 0;
      const Int128 zero = cast.zero_point.value();
      const Int128 value = to_integer(number, Rounding::toward_zero) + zero;
      return to_bits(static_cast<To>(
          std::clamp<Int128>(value, std::numeric_limits<To>::lowest(), std::numeric_limits<To>::max())));
    } else {
      return to_bits(round_to<To>(number));
    }
  });
}

Operation unbounded(DType from) {
  Operation operation;
  operation.dtype = working_dtype(from);
  operation.lo = lowest_element(operation.dtype);
  operation.hi = highest_element(operation.dtype);
  return operation;
}

Operation cast_of(DType from, DType to, std::optional<Round> round) {
  Operation operation = unbounded(from);
  operation.from = from;
  operation.to = to;
  Cast& cast = operation.cast.emplace();
  cast.round = round;
  if (!round && !is_floating(to)) cast.round = Round::half_even;
  cast.saturates = !is_floating(to);
  set_limits(operation);
  return operation;
}

std::size_t difference_at(DType dtype, const Bytes& actual, const Bytes& wanted) {
  const std::size_t size = traits(dtype).size;
  const auto at = std::mismatch(actual.begin(), actual.end(), wanted.begin(), wanted.end()).first;
  return static_cast<std::size_t>(at - actual.begin()) / size;
}

/// Checks that every level gives the expected elements, also where a
/// chunk's elements are read into the memory of its result. NaN is expected as the quiet NaN without sign.
void check(const Operation& operation, const Elements& elements) {
  Elements wanted;
  for (const ElementBits element : elements) wanted.push_back(expected(operation, element));
  const std::size_t from = traits(operation.from).size;
  const std::size_t to = traits(operation.to).size;
  for (const SimdLevel level : simd_levels())
    for (const std::size_t shift : {std::size_t{0}, sizeof(double)}) {
      const Bytes in = bytes_of(operation.from, elements);
      const Bytes out = bytes_of(operation.to, wanted);
      Bytes memory(shift + elements.size() * std::max(from, to));
      std::byte* const read =
          memory.data() + memory.size() - in.size() - (to >= from ? 0 : memory.size() - shift - in.size());
      std::memcpy(read, in.data(), in.size());
      const Converted converted =
          convert(operation, kNumbers, read, memory.data() + shift, elements.size(), Counting::on, level);
      const Bytes actual(memory.begin() + static_cast<std::ptrdiff_t>(shift),
                         memory.begin() + static_cast<std::ptrdiff_t>(shift + out.size()));
      INFO(traits(operation.from).name << " to " << traits(operation.to).name << ", " << to_string(level)
                                       << ", shift " << shift);
      if (actual != out) {
        const std::size_t at = difference_at(operation.to, actual, out);
        FAIL("element " << at << ", " << element_text(operation.from, elements[at]));
      }
      CHECK(converted.counts.changed == (operation.from != operation.to || actual != in));
    }
}

/// Elements of the dtype at its limits, at ties and at the limits of all other dtypes. No NaN.
Elements edges(DType dtype) {
  std::vector<double> numbers{0, 0.25, 0.5, 0.75, 1, 1.5, 2.5, 3.5, 1 + 0x1p-8, 1 + 0x1p-8 + 0x1p-30};
  for (int exponent = -150; exponent < 130; exponent += exponent < -20 || exponent > 66 ? 13 : 4)
    for (const double factor : {1.0, 1 - 0x1p-53, 1 + 0x1p-52, 1 + 0x1p-11, 1 + 0x1p-24, 1 - 0x1p-12,
                                1 + 0x3p-9, 1 + 0x1p-8 + 0x1p-28})
      numbers.push_back(std::ldexp(factor, exponent));
  for (const double limit : {127.0, 255.0, 32767.0, 65535.0, 2147483647.0, 4294967295.0, 65504.0, 65520.0})
    for (const double beside : {-0.75, -0.5, -0.25, 0.25, 0.5, 0.75, 1.0}) numbers.push_back(limit + beside);
  Elements elements;
  for (const double number : numbers)
    for (const double x : {number, -number})
      with_type(dtype, [&]<class T>() {
        if constexpr (std::is_integral_v<T>) {
          const Int128 value = to_integer(x, Rounding::toward_zero);
          for (const int beside : {-1, 0, 1})
            elements.push_back(to_bits(static_cast<T>(std::clamp<Int128>(
                value + beside, std::numeric_limits<T>::lowest(), std::numeric_limits<T>::max()))));
        } else {
          elements.push_back(to_bits(round_to<T>(Number(x))));
        }
      });
  elements.push_back(lowest_element(dtype));
  elements.push_back(highest_element(dtype));
  return elements;
}

constexpr std::array<std::optional<Round>, 6> kRounds{std::nullopt, Round::half_even, Round::half_away,
                                                      Round::trunc, Round::floor,     Round::ceil};

/// False with qemu 7.2 for ppc64le, which rounds to double before float where the processor rounds once.
bool rounds_integers_once() {
  const volatile std::int64_t above_a_tie = (std::int64_t{1} << 56) + (std::int64_t{1} << 32) + 1;
  return static_cast<float>(above_a_tie) > 0x1p56F;
}

}  // namespace

TEST_CASE("each dtype becomes each other dtype, rounded once and saturated") {
  const bool rounds_once = rounds_integers_once();
  if (!rounds_once) skip_without("conversion of 64-bit integers to float32 that rounds once");
  for (const DTypeTraits& from : kKernelDTypes)
    for (const DTypeTraits& to : kKernelDTypes)
      for (const std::optional<Round> round : kRounds)
        if (rounds_once || is_floating(from.dtype) || from.size < 8 || to.dtype != DType::float32)
          check(cast_of(from.dtype, to.dtype, round), edges(from.dtype));
}

TEST_CASE(
    "floats become the same integers of 64 bits in vectors, which need all within 2^51, and one by one") {
  for (const DType from : {DType::float32, DType::float64})
    for (const double end : {0x1p51, 0x1p52})
      for (const DType to : {DType::int64, DType::uint64}) {
        Elements elements = edges(from);
        std::erase_if(elements, [&](ElementBits element) {
          return std::fabs(round_to<double>(number_of(from, element))) >= end;
        });
        for (const std::optional<Round> round : kRounds) check(cast_of(from, to, round), elements);
      }
}

TEST_CASE("additions make the nearest float64 of an integer of 64 bits") {
  std::mt19937_64 random(79);
  Elements elements = edges(DType::int64);
  for (int i = 0; i < 100'000; ++i) elements.push_back(random() >> (random() % 64));
  for (const ElementBits element : elements)
    for (const ElementBits bits : {element, ElementBits{0} - element}) {
      REQUIRE(nearest_double(bits) == static_cast<double>(bits));
      const auto signed_bits = static_cast<std::int64_t>(bits);
      REQUIRE(nearest_double(signed_bits) == static_cast<double>(signed_bits));
    }
}

TEST_CASE("all elements of 16 bits become each dtype in each rounding") {
  for (const DType from : cases::halves())
    for (const DTypeTraits& to : kKernelDTypes)
      for (const std::optional<Round> round : kRounds) {
        Elements elements;
        std::vector<double> numbers;
        for (ElementBits bits = 0; bits < 65536; ++bits) {
          const double x = with_type(from, [&]<class T>() { return as_double(from_bits<T>(bits)); });
          if (std::isnan(x)) continue;
          elements.push_back(bits);
          numbers.push_back(round                   ? rounded_by_libm(x, *round)
                            : is_floating(to.dtype) ? x
                                                    : std::nearbyint(x));
        }
        Elements wanted;
        with_type(to.dtype, [&]<class To>() {
          for (const double x : numbers)
            if constexpr (std::is_integral_v<To>)
              wanted.push_back(to_bits(static_cast<To>(
                  std::clamp<Int128>(static_cast<Int128>(std::clamp(x, -0x1p100, 0x1p100)),
                                     std::numeric_limits<To>::lowest(), std::numeric_limits<To>::max()))));
            else if constexpr (std::is_same_v<To, double>)
              wanted.push_back(to_bits(x));
            else
              wanted.push_back(to_bits(narrow<To>(x)));
        });
        const Operation operation = cast_of(from, to.dtype, round);
        const Bytes in = bytes_of(from, elements);
        for (const SimdLevel level : simd_levels()) {
          Bytes out(elements.size() * to.size);
          static_cast<void>(
              convert(operation, kNumbers, in.data(), out.data(), elements.size(), Counting::on, level));
          const std::size_t at = difference_at(to.dtype, out, bytes_of(to.dtype, wanted));
          INFO(traits(from).name << " to " << to.name << ", " << to_string(level));
          CHECK((at == elements.size() ? "none" : element_text(from, elements[at])) == "none");
        }
      }
}

TEST_CASE("all integers of up to 16 bits are clipped, become each other dtype and are counted") {
  using Bounds = std::pair<std::int32_t, std::int32_t>;
  constexpr std::array kBounds{
      Bounds{-100'000, 100'000}, Bounds{-7, 90},   Bounds{10, 99'999},    Bounds{5, 5},
      Bounds{-30'000, -20'000},  Bounds{300, 301}, Bounds{70'000, 80'000}};
  for (const DTypeTraits& from : kKernelDTypes)
    for (const DTypeTraits& to : kKernelDTypes) {
      if (is_floating(from.dtype) || from.size > 2 || from.dtype == to.dtype) continue;
      Elements elements(std::size_t{1} << 8 * from.size);
      std::iota(elements.begin(), elements.end(), ElementBits{0});
      const Bytes in = bytes_of(from.dtype, elements);
      for (const auto& [lo, hi] : kBounds) {
        Operation operation = cast_of(from.dtype, to.dtype, std::nullopt);
        const bool saturates = operation.cast->saturates;
        const auto lowest = from_bits<std::int32_t>(saturates ? operation.cast->lowest : operation.lo);
        const auto highest = from_bits<std::int32_t>(saturates ? operation.cast->highest : operation.hi);
        ElementCounts counts{.changed = true};
        Elements wanted;
        for (const ElementBits element : elements) {
          const std::int32_t x = with_type(from.dtype, [&]<class From>() {
            return static_cast<std::int32_t>(as_double(from_bits<From>(element)));
          });
          const std::int32_t raised = std::max(x, std::clamp(lo, lowest, highest));
          const std::int32_t y = std::min(raised, std::clamp(hi, lowest, highest));
          counts.raised += y > x ? 1 : 0;
          counts.lowered += y < x ? 1 : 0;
          wanted.push_back(with_type(to.dtype, [&]<class To>() { return to_bits(stored<To>(y, 0)); }));
        }
        operation.lo = to_bits(lo);
        operation.hi = to_bits(hi);
        for (const SimdLevel level : simd_levels())
          for (const Counting counting : {Counting::off, Counting::on}) {
            Bytes out(elements.size() * to.size);
            const Converted done =
                convert(operation, kNumbers, in.data(), out.data(), elements.size(), counting, level);
            INFO(from.name << " to " << to.name << ", " << lo << " to " << hi << ", " << to_string(level));
            CHECK(difference_at(to.dtype, out, bytes_of(to.dtype, wanted)) == elements.size());
            if (counting == Counting::on) CHECK(done.counts == counts);
          }
      }
    }
}

TEST_CASE("all integers of up to 16 bits that are scaled become the same whether they are counted or not") {
  for (const DType from : {DType::int8, DType::uint8, DType::int16, DType::uint16}) {
    const std::size_t count = std::size_t{1} << (8 * traits(from).size);
    Elements elements(count);
    std::iota(elements.begin(), elements.end(), 0);
    const Bytes in = bytes_of(from, elements);
    for (const DTypeTraits& to : kDTypes)
      for (const auto& [scale, bias] :
           {std::pair{0.5, 1.0}, {-3.0, 1e6}, {1e308, -1e308}, {0.0, -0.0}, {0.1, 0.0}}) {
        Operation operation = cast_of(from, to.dtype, std::nullopt);
        operation.dtype = DType::float64;
        operation.arithmetic = Arithmetic::float64;
        operation.scale = scale;
        operation.bias = bias;
        operation.lo = nearest_element(DType::float64, -50);
        operation.hi = nearest_element(DType::float64, 9000);
        set_limits(operation);
        for (const SimdLevel level : simd_levels()) {
          Bytes out(count * to.size);
          Bytes counted(count * to.size);
          static_cast<void>(convert(operation, kNumbers, in.data(), out.data(), count, Counting::off, level));
          static_cast<void>(
              convert(operation, kNumbers, in.data(), counted.data(), count, Counting::on, level));
          CAPTURE(traits(from).name, to.name, scale, bias, to_string(level));
          CHECK((out == counted));
        }
      }
  }
}

TEST_CASE("a NaN becomes a quiet NaN of each other float dtype, with its sign and what fits of its payload") {
#if !defined(__riscv)  // all NaNs become the same there
  const auto fraction_of = [](DType dtype) {
    return std::pair{traits(dtype).exponent_bits, traits(dtype).fraction_bits};
  };
  for (const DTypeTraits& from : kKernelDTypes)
    for (const DTypeTraits& to : kKernelDTypes) {
      if (!is_floating(from.dtype) || !is_floating(to.dtype) || from.dtype == to.dtype) continue;
      const auto [exponent, fraction] = fraction_of(from.dtype);
      const auto [to_exponent, to_fraction] = fraction_of(to.dtype);
      Elements elements;
      Elements wanted;
      for (const ElementBits sign : {ElementBits{0}, ElementBits{1}})
        for (int place = 0; place < fraction; ++place)
          for (const ElementBits payload : {ElementBits{1} << place, (ElementBits{2} << place) - 1}) {
            const ElementBits nan =
                ((sign << exponent | ((ElementBits{1} << exponent) - 1)) << fraction) | payload;
            const int shift = to_fraction - fraction;
            elements.push_back(nan);
            wanted.push_back(((sign << to_exponent | ((ElementBits{1} << to_exponent) - 1)) << to_fraction) |
                             ElementBits{1} << (to_fraction - 1) |
                             (shift > 0 ? payload << shift : payload >> -shift));
          }
      const Operation operation = cast_of(from.dtype, to.dtype, std::nullopt);
      const Bytes in = bytes_of(from.dtype, elements);
      for (const SimdLevel level : simd_levels()) {
        Bytes out(elements.size() * to.size);
        static_cast<void>(
            convert(operation, kNumbers, in.data(), out.data(), elements.size(), Counting::on, level));
        INFO(from.name << " to " << to.name << ", " << to_string(level));
        CHECK(difference_at(to.dtype, out, bytes_of(to.dtype, wanted)) == elements.size());
      }
    }
#endif
}

TEST_CASE("a NaN that nothing replaces stays one where results saturate, in each rounding") {
  const std::vector<float> elements{std::numeric_limits<float>::quiet_NaN(), 0.25F, 2};
  const std::vector<std::uint8_t> wanted{0xff, 0x7d, 0x80};
  for (const std::optional<Round> round : kRounds) {
    Operation operation = cast_of(DType::float32, DType::float8_e8m0fnu, round);
    operation.cast->saturates = true;
    std::vector<std::uint8_t> out(elements.size());
    const Converted converted = convert(
        operation, kNumbers, reinterpret_cast<const std::byte*>(elements.data()),
        reinterpret_cast<std::byte*>(out.data()), elements.size(), Counting::on, simd_levels().back());
    CHECK(out[0] == wanted[0]);
    CHECK(out[2] == wanted[2]);
    CHECK(converted.counts.nan == 1);
    if (!round) CHECK(out == wanted);
  }
}

TEST_CASE("a zero point moves the range of the integers that a cast saturates to") {
  for (const DTypeTraits& to : kKernelDTypes)
    if (!is_floating(to.dtype))
      for (const DType from : {DType::float32, DType::float64, DType::int16, DType::int64, DType::uint64})
        for (const ElementBits zero : {lowest_element(to.dtype), highest_element(to.dtype), ElementBits{1}}) {
          Operation operation = cast_of(from, to.dtype, Round::half_even);
          const Int128 value = to_integer(number_of(to.dtype, zero), Rounding::toward_zero);
          operation.cast->zero_point = SignedInteger::of(value);
          set_limits(operation);
          check(operation, edges(from));
        }
}

TEST_CASE("the results of integer arithmetic of 128 bits are rounded once") {
  struct Row {
    DType from;
    ElementBits x;
    SignedInteger scale;
    SignedInteger bias;
    DType to;
    ElementBits result;
  };
  constexpr std::uint64_t kMax = std::numeric_limits<std::uint64_t>::max();
  const Row row = GENERATE_COPY(values<Row>({
      {DType::uint64, kMax, {false, kMax}, {false, kMax}, DType::float64, to_bits(0x1p128)},
      {DType::uint64,
       kMax,
       {false, kMax},
       {false, 0},
       DType::float32,
       to_bits(std::numeric_limits<float>::infinity())},
      {DType::uint64, kMax, {true, kMax}, {true, kMax}, DType::bfloat16, 0xff80},
      {DType::int64, ElementBits{1} << 63, {false, 2}, {}, DType::float64, to_bits(-0x1p64)},
      {DType::int64, (ElementBits{1} << 53) + 1, {false, 1}, {}, DType::float64, to_bits(0x1p53)},
      {DType::int64, (ElementBits{1} << 53) + 1, {false, 1}, {false, 2}, DType::float64, to_bits(0x1p53 + 4)},
      {DType::int64, 257, {false, std::uint64_t{1} << 60}, {false, 1}, DType::bfloat16, 0x6181},
      {DType::int64, 257, {false, std::uint64_t{1} << 60}, {true, 1}, DType::bfloat16, 0x6180},
      {DType::int64, 65519, {false, 1}, {}, DType::float16, 0x7bff},
      {DType::int64, 65519, {false, 1}, {false, 1}, DType::float16, 0x7c00},
      {DType::int64, 61439, {false, 1}, {}, DType::float8_e5m2, 0x7b},
      {DType::int64, 61439, {true, 1}, {true, 1}, DType::float8_e5m2, 0xfc},
      {DType::int64, 5, {true, 3}, {false, 14}, DType::uint8, 0},
      {DType::int64, 5, {true, 3}, {false, 16}, DType::uint8, 1},
      {DType::uint64, kMax, {false, kMax}, {}, DType::int64, kMax >> 1},
  }));
  Operation operation;
  operation.dtype = row.from;
  operation.lo = lowest_element(row.from);
  operation.hi = highest_element(row.from);
  operation.arithmetic = Arithmetic::integer;
  operation.scale = DoubleDouble::of(row.scale.value());
  operation.bias = DoubleDouble::of(row.bias.value());
  operation.from = row.from;
  operation.to = row.to;
  operation.cast.emplace().saturates = !is_floating(row.to);
  set_limits(operation);
  const Bytes in = bytes_of(row.from, {row.x});
  Bytes out(traits(row.to).size);
  const Converted converted =
      convert(operation, kNumbers, in.data(), out.data(), 1, Counting::on, simd_levels().front());
  CHECK(out == bytes_of(has_kernels(row.to) ? row.to : DType::uint8, {row.result}));
  const bool is_infinite = number_of(row.to, row.result).kind == Number::Kind::infinite;
  CHECK(converted.counts.became_infinite == (is_infinite ? 1 : 0));
}

TEST_CASE("a NaN beside replaced elements keeps its bits, or becomes quiet if the dtype is another") {
  Operation kept = cast_of(DType::float32, DType::float32, Round::floor);
  kept.cast->below = to_bits(9.0F);
  kept.lo = to_bits(-5.0F);
  Operation widened = cast_of(DType::float16, DType::float32, Round::floor);
  widened.lo = to_bits(2.0F);
  widened.hi = to_bits(1.0F);  // which wins
  const std::array<Elements, 2> in{Elements{0x7f80'0001, to_bits(1.5F), to_bits(-7.0F)},
                                   Elements{0x7c01, 0x3e00, 0xc700}};
  const std::array<Elements, 2> wanted{Elements{0x7f80'0001, to_bits(1.0F), to_bits(9.0F)},
                                       Elements{0x7fc0'2000, to_bits(1.0F), to_bits(1.0F)}};
  for (const SimdLevel level : simd_levels())
    for (const bool is_kept : {true, false}) {
      const Operation& operation = is_kept ? kept : widened;
      const Bytes elements = bytes_of(operation.from, in.at(is_kept ? 0 : 1));
      Bytes out(3 * sizeof(float));
      const Converted converted =
          convert(operation, kNumbers, elements.data(), out.data(), 3, Counting::on, level);
      CHECK(out == bytes_of(DType::float32, wanted.at(is_kept ? 0 : 1)));
      CHECK(converted.counts.nan == 1);
    }
}

TEST_CASE("a cast finds the first NaN, and needs no output") {
  Operation operation = cast_of(DType::float32, DType::uint8, Round::half_even);
  std::vector<float> elements(3000, 300.0F);
  elements[2900] = elements[1700] = std::numeric_limits<float>::quiet_NaN();
  const auto* const in = reinterpret_cast<const std::byte*>(elements.data());
  for (const SimdLevel level : simd_levels()) {
    const Converted converted =
        convert(operation, kNumbers, in, nullptr, elements.size(), Counting::on, level);
    CHECK(converted.first_nan == std::size_t{1700});
    CHECK(converted.counts == ElementCounts{0, 2998, 2, true});
  }
}

TEST_CASE("floats become the same elements in one loop, which counts nothing, as in several") {
  for (const DType from : {DType::float32, DType::float64})
    for (const DTypeTraits& to : kKernelDTypes) {
      if (to.dtype == from) continue;
      Elements elements = edges(from);
      while (elements.size() < 3000) elements.insert(elements.end(), elements.begin(), elements.end());
      for (const bool has_nan : {false, true}) {
        if (has_nan) elements[1700] = canonical_nan(from);
        const Bytes in = bytes_of(from, elements);
        for (const auto& [lo, hi] : {std::pair{-1e300, 1e300}, {-7.25, 90.5}, {3e9, 3e9}, {-0.0, 0.0}}) {
          Operation operation = cast_of(from, to.dtype, std::nullopt);
          operation.lo = nearest_element(from, lo);
          operation.hi = nearest_element(from, hi);
          if (lo < -1e9) operation.cast->nan = nearest_element(to.dtype, 2);
          for (const SimdLevel level : simd_levels()) {
            const auto run = [&](std::size_t before,
                                 Counting counting) {  // the elements lie after the results
              Bytes memory(before);
              memory.insert(memory.end(), in.begin(), in.end());
              memory.resize(std::max(memory.size(), elements.size() * to.size));
              const Converted done = convert(operation, kNumbers, memory.data() + before, memory.data(),
                                             elements.size(), counting, level);
              memory.resize(elements.size() * to.size);
              return std::pair{memory, done.first_nan};
            };
            const std::size_t apart = elements.size() * to.size;
            const std::size_t near = to.size > traits(from).size ? apart - in.size() : 0;
            CAPTURE(traits(from).name, to.name, has_nan, lo, hi, to_string(level));
            const auto several = run(apart, Counting::on);
            CHECK((run(apart, Counting::off) == several));
            CHECK((run(near, Counting::off) == several));
            CHECK(several.second.has_value() == has_nan);
          }
        }
      }
    }
}

TEST_CASE("replacements are chosen by the bounds, not by the limits of the dtype") {
  Operation operation = cast_of(DType::float32, DType::uint8, Round::half_even);
  operation.cast->below = 7;
  operation.cast->above = 9;
  operation.lo = to_bits(-10.0F);
  operation.hi = to_bits(1000.0F);
  const std::vector<float> elements{-11, -10, -0.5F, 254.5F, 300, 1000, 1001};
  const std::vector<float> lo(elements.size(), -10.0F);
  const std::vector<float> hi(elements.size(), 1000.0F);
  Operands operands;
  operands.set(Slot::lo, lo.data());
  operands.set(Slot::hi, hi.data());
  const std::vector<std::uint8_t> wanted{7, 0, 0, 254, 255, 255, 9};
  for (const SimdLevel level : simd_levels())
    for (const Operands& given : {kNumbers, operands}) {
      std::vector<std::uint8_t> out(elements.size());
      const Converted converted =
          convert(operation, given, reinterpret_cast<const std::byte*>(elements.data()),
                  reinterpret_cast<std::byte*>(out.data()), elements.size(), Counting::on, level);
      CHECK(out == wanted);
      CHECK(converted.counts == ElementCounts{2, 3, 0, true, 2});
    }
}

}  // namespace clipper
