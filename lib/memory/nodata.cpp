#include "memory/nodata.hpp"

#include <algorithm>
#include <cstring>
#include <type_traits>

#include "element/element.hpp"

namespace clipper {
namespace {

template <std::size_t kSize>
struct FlagNodata {
  using Bits = UnsignedOfSize<kSize>;

  [[gnu::always_inline]] static void run(const Bits* __restrict elements, std::size_t count, Bits nodata,
                                         std::uint8_t* __restrict flags) noexcept {
    for (std::size_t i = 0; i < count; ++i) flags[i] |= elements[i] == nodata ? 1 : 0;
  }
};

template <std::size_t kSize>
struct FlagNan {
  using Bits = UnsignedOfSize<kSize>;

  [[gnu::always_inline]] static void run(const Bits* __restrict elements, std::size_t count, Bits infinity,
                                         std::uint8_t* __restrict flags) noexcept {
    constexpr auto kMagnitude = static_cast<Bits>(static_cast<Bits>(~Bits{0}) >> 1);
    for (std::size_t i = 0; i < count; ++i) flags[i] |= (elements[i] & kMagnitude) > infinity ? 1 : 0;
  }
};

struct SumFlags {
  [[gnu::always_inline]] static std::size_t run(const std::uint8_t* flags, std::size_t count) noexcept {
    std::size_t sum = 0;
    for (std::size_t i = 0; i < count; ++i) sum += flags[i];
    return sum;
  }
};

}  // namespace

bool Nodata::add(const Number& number) {
  if (number.kind == Number::Kind::nan && has_kernels(dtype)) {
    nan = is_floating(dtype);
    return nan;
  }
  const std::size_t before = elements.size();
  const auto equals = [&](ElementBits element) {
    const Number other = number_of(dtype, element);
    return other.kind == number.kind && (number.kind == Number::Kind::nan || other == number);
  };
  const std::size_t size = traits(dtype).size;
  if (size == 1) {
    for (ElementBits bits = 0; bits <= 0xff; ++bits)
      if (equals(bits)) elements.push_back(bits);
  } else if (!is_floating(dtype)) {
    if (const ElementBits element = integer_element(dtype, number); equals(element))
      elements.push_back(element);
  } else if (const ElementBits element = nearest_element(dtype, number); equals(element)) {
    elements.push_back(element);
    const ElementBits sign = ElementBits{1} << (8 * size - 1);
    if (number == Number()) elements.push_back(element ^ sign);
  }
  return elements.size() != before;
}

std::size_t find_nodata(const Nodata& nodata, const std::byte* elements, std::size_t count,
                        std::uint8_t* flags, SimdLevel level) noexcept {
  std::memset(flags, 0, count);
  with_size(traits(nodata.dtype).size, [&]<std::size_t kSize>() {
    using Bits = UnsignedOfSize<kSize>;
    const auto* const bits = reinterpret_cast<const Bits*>(elements);
    for (const ElementBits element : nodata.elements)
      run_loop<FlagNodata<kSize>>(level, bits, count, static_cast<Bits>(element), flags);
    if (nodata.nan)
      run_loop<FlagNan<kSize>>(level, bits, count, static_cast<Bits>(highest_element(nodata.dtype)), flags);
  });
  return run_loop<SumFlags>(level, flags, count);
}

std::span<std::byte> without_nodata(const Nodata& nodata, std::span<std::byte> elements,
                                    SimdLevel level) noexcept {
  const std::size_t size = traits(nodata.dtype).size;
  const std::size_t block = NodataPlaces::kMax * size;
  std::size_t kept = 0;
  for (std::size_t at = 0; at < elements.size(); at += block) {
    const std::span part = elements.subspan(at, std::min(block, elements.size() - at));
    const NodataPlaces places(nodata, part.data(), part.size() / size, level);
    std::size_t begin = 0;
    const auto keep_until = [&](std::size_t end) {
      std::memmove(elements.data() + kept, part.data() + begin, end - begin);
      kept += end - begin;
    };
    for (const std::size_t place : places.all()) {
      keep_until(place * size);
      begin = (place + 1) * size;
    }
    keep_until(part.size());
  }
  return elements.first(kept);
}

NodataPlaces::NodataPlaces(const Nodata& nodata, const std::byte* elements, std::size_t count,
                           SimdLevel level) noexcept {
  std::array<std::uint8_t, kMax> flags;
  if (find_nodata(nodata, elements, count, flags.data(), level) != 0) take(flags, count);
}

NodataPlaces::NodataPlaces(std::span<const std::uint8_t> flags) noexcept {
  std::array<std::uint8_t, kMax> own;
  std::ranges::copy(flags, own.begin());
  take(own, flags.size());
}

void NodataPlaces::take(std::span<std::uint8_t, kMax> flags, std::size_t count) noexcept {
  constexpr std::size_t kWord = sizeof(std::uint64_t);
  std::fill_n(flags.begin() + static_cast<std::ptrdiff_t>(count), (kMax - count) % kWord, std::uint8_t{0});
  for (std::size_t at = 0; at < count; at += kWord) {
    std::uint64_t any = 0;
    std::memcpy(&any, &flags[at], kWord);
    for (std::size_t i = at; any != 0 && i < at + kWord; ++i) {  // without a branch that depends on a flag
      places_[size_] = static_cast<std::uint16_t>(i);
      size_ += flags[i];
    }
  }
}

std::size_t NodataPlaces::first_data() const noexcept {
  std::size_t first = 0;
  while (first < size_ && places_[first] == first) ++first;
  return first;
}

void NodataPlaces::gather(const std::byte* elements, std::size_t size, std::byte* together) const noexcept {
  with_size(size, [&]<std::size_t kSize>() {
    for (std::size_t i = 0; i < size_; ++i)
      std::memcpy(together + i * kSize, elements + places_[i] * kSize, kSize);
  });
}

void NodataPlaces::scatter(const std::byte* together, std::size_t size, std::byte* elements) const noexcept {
  with_size(size, [&]<std::size_t kSize>() {
    for (std::size_t i = 0; i < size_; ++i)
      std::memcpy(elements + places_[i] * kSize, together + i * kSize, kSize);
  });
}

void NodataPlaces::fill(const std::byte* element, std::size_t size, std::byte* elements) const noexcept {
  with_size(size, [&]<std::size_t kSize>() {
    for (std::size_t i = 0; i < size_; ++i) std::memcpy(elements + places_[i] * kSize, element, kSize);
  });
}

}  // namespace clipper
