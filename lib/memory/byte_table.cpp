#include "memory/byte_table.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <optional>
#include <span>
#include <utility>

// Only inlined functions have vectors as parameters or results.
#pragma GCC diagnostic ignored "-Wpsabi"

#include "element/dtype.hpp"
#include "simd/vector.hpp"

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace clipper {
namespace {

constexpr std::array kLookups{ByteLookup::memory, ByteLookup::avx2, ByteLookup::avx512bw,
                              ByteLookup::avx512vbmi};

/// Eight bytes at a time, because a load and a store of a byte cost as much as those of a word.
void look_up_in_memory(const ByteTable& table, const std::byte* in, std::byte* out,
                       std::size_t count) noexcept {
  std::size_t i = 0;
  for (; i + sizeof(std::uint64_t) <= count; i += sizeof(std::uint64_t)) {
    std::uint64_t x = 0;
    std::memcpy(&x, in + i, sizeof x);
    std::uint64_t y = 0;
    for (std::size_t bit = 0; bit < 64; bit += 8)
      y |= std::to_integer<std::uint64_t>(table[x >> bit & 0xff]) << bit;
    std::memcpy(out + i, &y, sizeof y);
  }
  for (; i < count; ++i) out[i] = table[std::to_integer<std::size_t>(in[i])];
}

#if defined(__x86_64__)
template <std::size_t kBytes>
using Bytes = Vector<std::int8_t, kBytes>;

[[gnu::target("avx2")]] inline void shuffle(const Bytes<32>& entries, const Bytes<32>& at,
                                            Bytes<32>& result) noexcept {
  result = __builtin_bit_cast(
      Bytes<32>, _mm256_shuffle_epi8(__builtin_bit_cast(__m256i, entries), __builtin_bit_cast(__m256i, at)));
}

[[gnu::target("avx512bw")]] inline void shuffle(const Bytes<64>& entries, const Bytes<64>& at,
                                                Bytes<64>& result) noexcept {
  result = __builtin_bit_cast(
      Bytes<64>, _mm512_shuffle_epi8(__builtin_bit_cast(__m512i, entries), __builtin_bit_cast(__m512i, at)));
}

/// A shuffle looks up 4 bits in 16 entries, and gives 0 if bit 7 is set. Table k of a half is the difference
/// (xor) of the entries from 16 * k on to those before, so that the sum of the tables 0 to x / 16 is the
/// entry of x; after subtracting 16 * k the other tables give 0. The second half is kept as its difference to
/// the first.
template <std::size_t kBytes>
class ShuffledTable {
 public:
  using V = Bytes<kBytes>;

  [[gnu::always_inline]] explicit ShuffledTable(const ByteTable& table) noexcept {
    for (std::size_t k = 0; k < kTables; ++k) {
      first_[k] = entries(table, k);
      second_[k] = entries(table, kTables + k) ^ first_[k];
    }
    for (std::size_t k = kTables - 1; k > 0; --k) {
      first_[k] ^= first_[k - 1];
      second_[k] ^= second_[k - 1];
    }
  }

  [[gnu::always_inline]] V operator[](const V& x) const noexcept {
    V at = x & 0x7f;
    V first{};
    V second{};
    for (std::size_t k = 0; k < kTables; ++k) {
      V entry;
      shuffle(first_[k], at, entry);
      first ^= entry;
      shuffle(second_[k], at, entry);
      second ^= entry;
      at -= 16;
    }
    return first ^ (second & (x < 0));
  }

 private:
  static constexpr std::size_t kTables = 8;

  [[gnu::always_inline]] static V entries(const ByteTable& table, std::size_t k) noexcept {
    std::array<std::byte, kBytes> repeated;
    for (std::size_t i = 0; i < kBytes; i += 16) std::memcpy(repeated.data() + i, table.data() + 16 * k, 16);
    return __builtin_bit_cast(V, repeated);
  }

  std::array<V, kTables> first_;
  std::array<V, kTables> second_;
};

struct LookUpByShuffles {
  template <SimdLevel kLevel>
  [[gnu::always_inline]] static void run(const ByteTable& table, const std::byte* in, std::byte* out,
                                         std::size_t count) noexcept {
    constexpr std::size_t kBytes = vector_bytes(kLevel);
    const std::size_t whole = count - count % kBytes;
    const ShuffledTable<kBytes> shuffled(table);
    for (std::size_t i = 0; i < whole; i += kBytes) {
      Bytes<kBytes> x;
      std::memcpy(&x, in + i, kBytes);
      x = shuffled[x];
      std::memcpy(out + i, &x, kBytes);
    }
    look_up_in_memory(table, in + whole, out + whole, count - whole);
  }
};

/// The first vectors of 128 entries for bytes without bit 7, the second for the others.
[[gnu::target("avx512bw,avx512vbmi")]] void look_up_avx512vbmi(const ByteTable& table, const std::byte* in,
                                                               std::byte* out, std::size_t count) noexcept {
  std::array<Bytes<64>, 4> entries;
  std::memcpy(entries.data(), table.data(), table.size());
  const auto first = __builtin_bit_cast(__m512i, entries[0]);
  const auto second = __builtin_bit_cast(__m512i, entries[1]);
  const auto third = __builtin_bit_cast(__m512i, entries[2]);
  const auto fourth = __builtin_bit_cast(__m512i, entries[3]);
  for (std::size_t i = 0; i < count; i += 64) {
    const __mmask64 some = count - i < 64 ? (std::uint64_t{1} << (count - i)) - 1 : ~std::uint64_t{0};
    const __m512i x = _mm512_maskz_loadu_epi8(some, in + i);
    const __m512i low = _mm512_permutex2var_epi8(first, x, second);
    const __m512i high = _mm512_permutex2var_epi8(third, x, fourth);
    _mm512_mask_storeu_epi8(out + i, some, _mm512_mask_blend_epi8(_mm512_movepi8_mask(x), low, high));
  }
}
#endif

/// Bytes that are counted at once: at most 255 vectors of the baseline, so that a byte holds a counter.
constexpr std::size_t kCounted = std::size_t{63} * 64;

/// How many of kCounted bytes have the bit.
struct CountBit {
  template <SimdLevel kLevel>
  [[gnu::always_inline]] static std::uint64_t run(const std::byte* bytes, std::uint8_t bit) noexcept {
    constexpr std::size_t kBytes = vector_bytes(kLevel);
    Vector<std::uint8_t, kBytes> counters{};
    for (std::size_t i = 0; i < kCounted; i += kBytes) {
      Vector<std::uint8_t, kBytes> x;
      std::memcpy(&x, bytes + i, kBytes);
      counters -= static_cast<Vector<std::uint8_t, kBytes>>((x & bit) != 0);
    }
    std::uint64_t count = 0;
    for (std::size_t i = 0; i < kBytes; ++i) count += counters[i];
    return count;
  }
};

}  // namespace

std::span<const ByteLookup> byte_lookups(SimdLevel level) noexcept {
  const std::span all(kLookups);
  switch (level) {
    case SimdLevel::baseline: return all.first(1);
    case SimdLevel::v3: return all.first(2);
    case SimdLevel::v4: return all.first(has_vbmi() ? 4 : 3);
  }
  __builtin_unreachable();
}

void look_up(const ByteTable& table, const std::byte* in, std::byte* out, std::size_t count,
             ByteLookup lookup) noexcept {
  switch (lookup) {
    case ByteLookup::memory: break;
#if defined(__x86_64__)
    case ByteLookup::avx2: return run_loop<LookUpByShuffles, SimdLevel::v3>(table, in, out, count);
    case ByteLookup::avx512bw: return run_loop<LookUpByShuffles, SimdLevel::v4>(table, in, out, count);
    case ByteLookup::avx512vbmi: return look_up_avx512vbmi(table, in, out, count);
#else
    default: break;
#endif
  }
  look_up_in_memory(table, in, out, count);
}

void look_up(std::span<const std::byte> entries, std::size_t size, const std::byte* in, std::byte* out,
             std::size_t count) noexcept {
  with_size(size, [&]<std::size_t kSize>() {
    std::array<UnsignedOfSize<kSize>, 256> table;
    std::memcpy(table.data(), entries.data(), sizeof table);
    for (std::size_t i = 0; i < count; ++i)
      std::memcpy(out + i * kSize, &table[std::to_integer<std::size_t>(in[i])], kSize);
  });
}

std::array<std::uint64_t, 8> count_bits(const ByteTable& table, const std::byte* in, std::size_t count,
                                        SimdLevel level) noexcept {
  std::array<std::uint64_t, 8> counts{};
  std::byte used{};
  for (const std::byte entry : table) used |= entry;
  const ByteLookup lookup = byte_lookups(level).back();
  alignas(64) std::array<std::byte, kCounted> entries;
  for (std::size_t done = 0; done < count; done += kCounted) {
    const std::size_t length = std::min(kCounted, count - done);
    look_up(table, in + done, entries.data(), length, lookup);
    std::fill(entries.begin() + static_cast<std::ptrdiff_t>(length), entries.end(), std::byte{});
    for (unsigned bit = 0; bit < counts.size(); ++bit)
      if ((used >> bit & std::byte{1}) != std::byte{})
        counts[bit] += run_loop<CountBit>(level, entries.data(), static_cast<std::uint8_t>(1U << bit));
  }
  return counts;
}

/// In several tables, because an increment of a counter would wait for the one before it.
std::array<std::uint64_t, 256> count_bytes(std::span<const std::byte> bytes) noexcept {
  constexpr std::size_t kTables = 4;
  constexpr std::size_t kMost = std::size_t{1} << 30;  // a counter holds
  std::array<std::uint64_t, 256> counts{};
  while (!bytes.empty()) {
    const std::span part = bytes.first(std::min(bytes.size(), kMost));
    bytes = bytes.subspan(part.size());
    std::array<std::array<std::uint32_t, kTables>, 256> tables{};
    std::size_t i = 0;
    for (; i + kTables <= part.size(); i += kTables)
      for (std::size_t table = 0; table < kTables; ++table)
        ++tables[std::to_integer<std::size_t>(part[i + table])][table];
    for (; i < part.size(); ++i) ++tables[std::to_integer<std::size_t>(part[i])][0];
    for (std::size_t byte = 0; byte < counts.size(); ++byte)
      for (const std::uint32_t count : tables[byte]) counts[byte] += count;
  }
  return counts;
}

ByteResults::ByteResults(std::size_t result_size, Clip clip)
    : result_size_(result_size), clip_(std::move(clip)) {
  std::array<std::byte, 256> bytes;
  for (std::size_t byte = 0; byte < bytes.size(); ++byte) bytes[byte] = static_cast<std::byte>(byte);
  static_cast<void>(clip_(bytes.data(), results_.data(), bytes.size(), Counting::off));
}

void ByteResults::find_kinds() {
  for (std::size_t byte = 0; byte < done_.size(); ++byte) {
    const auto element = static_cast<std::byte>(byte);
    std::array<std::byte, sizeof(ElementBits)> result;
    done_[byte] = clip_(&element, result.data(), 1, Counting::on);
    if (done_[byte] == Converted{}) continue;
    const auto kind = std::ranges::find(kinds_, done_[byte]);
    bits_[byte] = std::byte{1} << (kind - kinds_.begin());
    if (kind == kinds_.end()) kinds_.push_back(done_[byte]);
  }
}

/// A refused byte must be found; otherwise it is enough to know how many bytes there are of each kind.
Converted ByteResults::count(const std::byte* in, std::size_t count, SimdLevel level) {
  std::call_once(finds_kinds_, [this] { find_kinds(); });
  Converted total;
  if (kinds_.size() <= 8) {
    const auto occurs = count_bits(bits_, in, count, level);
    bool has_refused = false;
    for (std::size_t i = 0; i < kinds_.size(); ++i) {
      total.counts.add(kinds_[i].counts, occurs[i]);
      has_refused |= occurs[i] != 0 && (kinds_[i].first_nan || kinds_[i].first_beyond);
    }
    if (!has_refused) return total;
    total = {};
  }
  const auto occurs = count_bytes({in, count});
  for (std::size_t byte = 0; byte < occurs.size(); ++byte) {
    const Converted& done = done_[byte];
    total.counts.add(done.counts, occurs[byte]);
    if (occurs[byte] == 0 || (!done.first_nan && !done.first_beyond)) continue;
    const auto first = static_cast<std::size_t>(std::find(in, in + count, static_cast<std::byte>(byte)) - in);
    if (done.first_nan) total.first_nan = std::min(first, total.first_nan.value_or(first));
    if (done.first_beyond) total.first_beyond = std::min(first, total.first_beyond.value_or(first));
  }
  return total;
}

void ByteResults::write(const std::byte* in, std::byte* out, std::size_t count, SimdLevel level) const {
  if (result_size_ != 1) return look_up(results_, result_size_, in, out, count);
  ByteTable table;
  std::memcpy(table.data(), results_.data(), table.size());
  look_up(table, in, out, count, byte_lookups(level).back());
}

}  // namespace clipper
