#include "statistics/rank_kernels.hpp"

#include "element/element.hpp"

namespace clipper {
namespace {

template <class Bits>
[[gnu::always_inline]] inline Bits load(const std::byte* at) noexcept {
  Bits bits;
  std::memcpy(&bits, at, sizeof(bits));
  return bits;
}

template <std::size_t kElementSize>
void count_digits(const std::byte* digits, std::size_t count, std::uint32_t* counters) noexcept {
  using Digit = UnsignedOfSize<kElementSize == 1 ? 1 : 2>;
  std::size_t i = 0;
  for (; i + kInterleaved <= count; i += kInterleaved)
    for (std::size_t lane = 0; lane < kInterleaved; ++lane)
      ++counters[lane * kDigits + load<Digit>(digits + (i + lane) * kElementSize)];
  for (; i < count; ++i) ++counters[load<Digit>(digits + i * kElementSize)];
}

/// Looks at a block of elements at a time, which the compiler turns into vectors, and at the single elements
/// of a block only if the block has a candidate.
template <class Bits>
[[gnu::always_inline]] inline std::size_t find(const Candidates<Bits>& wanted, const std::byte* elements,
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

#if defined(__x86_64__)
template <class Bits>
[[gnu::target("arch=x86-64-v3"), gnu::flatten]] std::size_t find_v3(const Candidates<Bits>& wanted,
                                                                    const std::byte* elements,
                                                                    std::size_t count, Bits* found) noexcept {
  return find(wanted, elements, count, found);
}

template <class Bits>
[[gnu::target("arch=x86-64-v4"), gnu::flatten]] std::size_t find_v4(const Candidates<Bits>& wanted,
                                                                    const std::byte* elements,
                                                                    std::size_t count, Bits* found) noexcept {
  return find(wanted, elements, count, found);
}
#endif

}  // namespace

void count_first_digits(std::size_t element_size, ByteOrder order, std::span<const std::byte> elements,
                        std::uint32_t* counters) noexcept {
  const std::size_t count = elements.size() / element_size;
  const std::byte* const digits =
      elements.data() + (order == ByteOrder::little && element_size > 1 ? element_size - 2 : 0);
  switch (element_size) {
    case 1: return count_digits<1>(digits, count, counters);
    case 2: return count_digits<2>(digits, count, counters);
    case 4: return count_digits<4>(digits, count, counters);
    default: return count_digits<8>(digits, count, counters);
  }
}

std::uint64_t count_nan_beside_infinity(DType dtype, ByteOrder order, bool negative,
                                        std::span<const std::byte> elements) noexcept {
  const ElementBits infinity = negative ? lowest_element(dtype) : highest_element(dtype);
  const ElementBits end = infinity | ((ElementBits{1} << (8 * traits(dtype).size - kDigitBits)) - 1);
  return with_type(dtype, [&]<class T>() {
    std::uint64_t count = 0;
    for (std::size_t at = 0; at < elements.size(); at += sizeof(T)) {
      const ElementBits bits = to_bits(load_element<T>(elements.data() + at, order));
      count += infinity < bits && bits <= end ? 1 : 0;
    }
    return count;
  });
}

template <class Bits>
std::size_t find_candidates(const Candidates<Bits>& wanted, const std::byte* elements, std::size_t count,
                            Bits* found, SimdLevel level) noexcept {
  switch (level) {
    case SimdLevel::baseline: break;
#if defined(__x86_64__)
    case SimdLevel::v3: return find_v3(wanted, elements, count, found);
    case SimdLevel::v4: return find_v4(wanted, elements, count, found);
#else
    case SimdLevel::v3: break;
    case SimdLevel::v4: break;
#endif
  }
  return find(wanted, elements, count, found);
}

template std::size_t find_candidates(const Candidates<std::uint32_t>&, const std::byte*, std::size_t,
                                     std::uint32_t*, SimdLevel) noexcept;
template std::size_t find_candidates(const Candidates<std::uint64_t>&, const std::byte*, std::size_t,
                                     std::uint64_t*, SimdLevel) noexcept;

}  // namespace clipper
