#include "statistics/rank_kernels.hpp"

#include <algorithm>

#include "element/element.hpp"
#include "memory/byte_table.hpp"

namespace clipper {
namespace {

template <class Bits>
[[gnu::always_inline]] inline Bits load(const std::byte* at) noexcept {
  Bits bits;
  std::memcpy(&bits, at, sizeof(bits));
  return bits;
}

/// Every kStep-th digit.
template <std::size_t kStep>
[[gnu::always_inline]] inline void count_digits(const std::byte* digits, std::size_t count,
                                                std::uint32_t* counters) noexcept {
  std::size_t i = 0;
  for (; i + kInterleaved <= count; i += kInterleaved)
    for (std::size_t lane = 0; lane < kInterleaved; ++lane)
      ++counters[lane * kDigits + load<std::uint16_t>(digits + (i + lane) * kStep)];
  for (; i < count; ++i) ++counters[load<std::uint16_t>(digits + i * kStep)];
}

/// Counts a block in which all digits are that of the first element or its complement, as those of small
/// integers and of equal elements are: otherwise each increment of such a counter would wait for the one
/// before it. Returns whether it has counted.
template <class Bits, std::size_t kBlock>
[[gnu::always_inline]] inline bool count_two_digits(const std::byte* elements,
                                                    std::uint32_t* counters) noexcept {
  constexpr Bits kDigit = kDigits - 1;
  constexpr int kShift = 8 * sizeof(Bits) - kDigitBits;
  const Bits first = load<Bits>(elements);
  const auto differing = [&](Bits x) { return static_cast<Bits>((x ^ first) >> kShift & kDigit); };
  for (const std::size_t i : {std::size_t{1}, kBlock / 2, kBlock - 1})
    if (const Bits bits = differing(load<Bits>(elements + i * sizeof(Bits))); bits != 0 && bits != kDigit)
      return false;
  std::array<Bits, kBlock> block;
  std::memcpy(block.data(), elements, sizeof(block));
  Bits complements = 0;
  Bits others = 0;
  for (const Bits x : block) {
    const Bits bits = differing(x);
    complements += bits & 1;
    others |= bits + (bits & 1);  // 0 or kDigit + 1
  }
  if ((others & kDigit) != 0) return false;
  const auto digit = static_cast<std::size_t>(first >> kShift & kDigit);
  counters[digit] += static_cast<std::uint32_t>(kBlock - complements);
  counters[digit ^ kDigit] += static_cast<std::uint32_t>(complements);
  return true;
}

/// Elements of 32 or 64 bits.
template <class Bits>
struct CountWide {
  [[gnu::always_inline]] static void run(std::span<const std::byte> elements,
                                         std::uint32_t* counters) noexcept {
    constexpr std::size_t kAt = kNativeOrder == ByteOrder::little ? sizeof(Bits) - 2 : 0;
    constexpr std::size_t kBlock = 1024 / sizeof(Bits);
    const std::byte* block = elements.data();
    const std::byte* const end = block + elements.size();
    for (; block + kBlock * sizeof(Bits) <= end; block += kBlock * sizeof(Bits))
      if (!count_two_digits<Bits, kBlock>(block, counters))
        count_digits<sizeof(Bits)>(block + kAt, kBlock, counters);
    count_digits<sizeof(Bits)>(block + kAt, static_cast<std::size_t>(end - block) / sizeof(Bits), counters);
  }
};

/// Looks at a block of elements at a time, which the compiler turns into vectors, and at the single elements
/// of a block only if the block has a candidate.
template <class Bits>
struct Find {
  [[gnu::always_inline]] static std::size_t run(const Candidates<Bits>& wanted, const std::byte* elements,
                                                std::size_t count, Bits* found) noexcept {
    constexpr std::size_t kBlock = 256 / sizeof(Bits);
    std::size_t size = 0;
    const auto matches = [&](Bits x) {
      bool any = false;
      for (std::size_t k = 0; k < wanted.count; ++k) any |= (x & wanted.mask) == wanted.prefixes[k];
      return any;
    };
    std::size_t i = 0;
    for (; i + kBlock <= count; i += kBlock) {
      std::array<Bits, kBlock> block;
      std::memcpy(block.data(), elements + i * sizeof(Bits), sizeof(block));
      std::array<Bits, kBlock> match{};
      Bits any = 0;
      for (std::size_t k = 0; k < wanted.count; ++k) {
        const Bits prefix = wanted.prefixes[k];
        for (std::size_t j = 0; j < kBlock; ++j)
          match[j] |= (block[j] & wanted.mask) == prefix ? Bits{1} : Bits{0};
      }
      for (std::size_t j = 0; j < kBlock; ++j) any |= match[j];
      if (any == 0) continue;
      for (std::size_t j = 0; j < kBlock; ++j) {
        found[size] = block[j];
        size += match[j];
      }
    }
    for (; i < count; ++i) {
      const Bits x = load<Bits>(elements + i * sizeof(Bits));
      found[size] = x;
      size += matches(x) ? 1 : 0;
    }
    return size;
  }
};

}  // namespace

void count_first_digits(std::size_t element_size, std::span<const std::byte> elements,
                        std::uint32_t* counters, SimdLevel level) noexcept {
  level = std::min(level, SimdLevel::v3);  // wider vectors gain little
  switch (element_size) {
    case 1: {
      const auto counts = count_bytes(elements);
      for (std::size_t byte = 0; byte < counts.size(); ++byte)
        counters[byte] += static_cast<std::uint32_t>(counts[byte]);
      return;
    }
    case 2: return count_digits<2>(elements.data(), elements.size() / 2, counters);
    case 4: return run_loop<CountWide<std::uint32_t>>(level, elements, counters);
    default: return run_loop<CountWide<std::uint64_t>>(level, elements, counters);
  }
}

std::uint64_t count_nan_beside_infinity(DType dtype, bool negative,
                                        std::span<const std::byte> elements) noexcept {
  const ElementBits infinity = negative ? lowest_element(dtype) : highest_element(dtype);
  const ElementBits end = infinity | ((ElementBits{1} << (8 * traits(dtype).size - kDigitBits)) - 1);
  return with_type(dtype, [&]<class T>() {
    std::uint64_t count = 0;
    for (std::size_t at = 0; at < elements.size(); at += sizeof(T)) {
      const ElementBits bits = to_bits(load_element<T>(elements.data() + at));
      count += infinity < bits && bits <= end ? 1 : 0;
    }
    return count;
  });
}

template <class Bits>
std::size_t find_candidates(const Candidates<Bits>& wanted, const std::byte* elements, std::size_t count,
                            Bits* found, SimdLevel level) noexcept {
  return run_loop<Find<Bits>>(level, wanted, elements, count, found);
}

template std::size_t find_candidates(const Candidates<std::uint32_t>&, const std::byte*, std::size_t,
                                     std::uint32_t*, SimdLevel) noexcept;
template std::size_t find_candidates(const Candidates<std::uint64_t>&, const std::byte*, std::size_t,
                                     std::uint64_t*, SimdLevel) noexcept;

}  // namespace clipper
