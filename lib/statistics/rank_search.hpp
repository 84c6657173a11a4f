#pragma once

#include <array>
#include <atomic>
#include <bit>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <deque>
#include <limits>
#include <mutex>
#include <optional>
#include <span>
#include <vector>

#include "element/dtype.hpp"
#include "element/small_floats.hpp"
#include "simd/levels.hpp"

/// The loops of RankSearch. They need no alignment.
namespace clipper {

/// A digit of a rank: 16 bits of an element in the order of keys, or the whole element if it has 8 bits.
inline constexpr unsigned kDigitBits = 16;
inline constexpr std::size_t kDigits = std::size_t{1} << kDigitBits;

/// The element's key as an unsigned integer: 0 for the lowest key.
template <class T>
[[nodiscard]] constexpr std::uint64_t ordered(T x) noexcept {
  using Unsigned = UnsignedOfSize<sizeof(T)>;
  return static_cast<Unsigned>(static_cast<Unsigned>(key_of(x)) ^
                               static_cast<Unsigned>(std::numeric_limits<Key<T>>::lowest()));
}

template <class T>
[[nodiscard]] constexpr T element_at(std::uint64_t ordered_key) noexcept {
  using Unsigned = UnsignedOfSize<sizeof(T)>;
  return element_of<T>(static_cast<Key<T>>(static_cast<Unsigned>(ordered_key) ^
                                           static_cast<Unsigned>(std::numeric_limits<Key<T>>::lowest())));
}

/// The element at any address.
template <class T>
[[nodiscard]] inline T load_element(const std::byte* at) noexcept {
  UnsignedOfSize<sizeof(T)> bits;
  std::memcpy(&bits, at, sizeof(bits));
  return from_bits<T>(bits);
}

/// The counters of each digit, used in turn: a counter that is incremented again before its last value is in
/// the cache takes several times as long.
inline constexpr std::size_t kInterleaved = 2;

/// Counts the highest digits of the elements: increments one of the counters at the digit's position, and at
/// the positions kDigits after it.
void count_first_digits(std::size_t element_size, std::span<const std::byte> elements,
                        std::uint32_t* counters, SimdLevel level) noexcept;

/// How many elements are NaN with this sign and have the same highest digit as infinity.
[[nodiscard]] std::uint64_t count_nan_beside_infinity(DType dtype, bool negative,
                                                      std::span<const std::byte> elements) noexcept;

/// Which elements find_candidates() finds: x & mask is one of `prefixes`.
template <class Bits>
struct Candidates {
  static constexpr std::size_t kMaxPrefixes = 8;

  Bits mask = 0;
  std::array<Bits, kMaxPrefixes> prefixes{};
  std::size_t count = 0;  ///< of prefixes
};

/// Writes the candidates among `count` elements to `found`, which has room for all. Returns their number.
/// Bits: std::uint32_t, std::uint64_t.
template <class Bits>
[[nodiscard]] std::size_t find_candidates(const Candidates<Bits>& wanted, const std::byte* elements,
                                          std::size_t count, Bits* found, SimdLevel level) noexcept;

/// Tables of counters for many threads. A thread takes a table for itself, increments its counters and gives
/// it back. All tables together take at most `memory` bytes, or there is only one; a thread that finds none
/// waits.
class CounterTables {
  struct Table {
    std::vector<std::uint32_t> counters;
    std::uint64_t increments = 0;  ///< since the counters were 0
    bool taken = false;
  };

 public:
  static constexpr std::size_t kMemory = 8UL << 20;

  /// Tables of `size` counters.
  explicit CounterTables(std::size_t size, std::size_t memory = kMemory)
      : size_(size), memory_(memory), totals_(size) {}

  /// A table that a thread has taken; its destructor gives it back.
  class Taken {
   public:
    explicit Taken(CounterTables& tables) : tables_(tables), table_(tables.take()) {}
    Taken(const Taken&) = delete;
    Taken& operator=(const Taken&) = delete;
    ~Taken() { tables_.give_back(table_); }

    [[nodiscard]] std::uint32_t* counters() const noexcept { return table_.counters.data(); }

    /// To be called with the number of increments, at most kMaxIncrements, before the table is given back.
    void add_increments(std::uint64_t count) const noexcept { table_.increments += count; }

   private:
    CounterTables& tables_;
    Table& table_;
  };

  static constexpr std::uint64_t kMaxIncrements = std::uint64_t{1} << 31;

  /// The sums of all tables' counters. No table may be taken.
  [[nodiscard]] const std::vector<std::uint64_t>& totals();

 private:
  [[nodiscard]] Table& take();
  void give_back(Table& table) noexcept;
  void add_to_totals(Table& table) noexcept;

  std::size_t size_;
  std::size_t memory_;
  std::mutex mutex_;
  std::condition_variable given_back_;
  std::deque<Table> tables_;
  std::vector<std::uint64_t> totals_;
};

/// Finds the elements at given ranks in the order of keys (small_floats.hpp), NaNs left out, in a few passes
/// over all elements: one for 8 and 16 bits, two for 32, two to four for 64; more for many ranks. Needs a few
/// MiB, whatever the number of elements; several searches at once share them.
///
/// A pass counts a digit, which is 16 bits of an element: the first pass the highest digit of each element,
/// later ones the next digit of the elements that can still be at a wanted rank. If there are few of these,
/// the pass collects them instead.
class RankSearch {
 public:
  /// `count`: at least the number of elements. `sharers`: the number of searches that share the memory.
  RankSearch(DType dtype, std::uint64_t count, SimdLevel level, std::size_t sharers = 1);

  /// Called in each pass with all elements, in any order and from many threads. At most 2 GiB at a time.
  void look_at(std::span<const std::byte> elements);

  /// Ends a pass. After the first one, numbers() is known and want() may be called once.
  void end_pass();

  /// Elements of at most this number are collected in the first pass.
  static constexpr std::uint64_t kFew = 16UL * 1024;

  /// False if a pass did not see the elements that an earlier pass had counted. The search is then of no use.
  [[nodiscard]] bool is_consistent() const noexcept { return consistent_; }

  /// How many elements are not NaN.
  [[nodiscard]] std::uint64_t numbers() const noexcept { return count_ - nan_below_ - nan_above_; }

  /// The ranks to find: from 0 to numbers() - 1, in any order; none if there are no numbers.
  void want(std::span<const std::uint64_t> ranks);

  /// Whether another pass is needed.
  [[nodiscard]] bool is_open() const noexcept { return !pass_.prefixes.empty(); }

  /// The element at the rank `ranks[i]` of want(), once no pass is needed.
  [[nodiscard]] ElementBits element(std::size_t i) const;

 private:
  /// The elements with equal first bits, the prefix, that have a wanted one among them.
  struct Wanted {
    std::uint64_t prefix = 0;  ///< of a key as ordered() returns it, moved to the right
    unsigned bits = 0;         ///< of the prefix
    std::uint64_t count = 0;   ///< of these elements
    std::uint64_t rank = 0;    ///< of the wanted one among them
  };

  struct Pass {
    unsigned bits = 0;                    ///< of each prefix
    std::vector<std::uint64_t> prefixes;  ///< of the elements that the pass counts or collects, sorted
    bool collects = false;
  };

  void begin(const Pass& pass);
  void choose_pass();
  void count_first_digits(std::span<const std::byte> elements);
  void collect_all(std::span<const std::byte> elements);
  template <class T>
  void count_candidates(std::span<const std::byte> elements);
  void collect(std::span<const std::uint64_t> keys);
  void fill_buckets();
  void end_first_count();
  void count_nan();
  void refine(Wanted& wanted);

  DType dtype_;
  std::uint64_t count_;  ///< at least, until the first pass has ended
  SimdLevel level_;
  std::size_t sharers_;
  unsigned width_;       ///< bits of an element
  unsigned digit_bits_;  ///< 16, or 8 for elements of 8 bits
  Pass pass_;
  std::optional<CounterTables> tables_;  ///< of a pass that counts
  std::vector<std::uint64_t> totals_;    ///< kDigits counters for each prefix of the last pass
  std::mutex mutex_;
  std::vector<std::uint64_t> collected_;  ///< keys; sorted at the end of a pass, of the first one in buckets
  std::vector<std::size_t> ends_;         ///< of the buckets
  std::vector<Wanted> wanted_;
  bool consistent_ = true;
  std::array<std::atomic<std::uint64_t>, 2> nan_beside_infinity_{};  ///< see count_first_digits()
  std::uint64_t nan_below_ = 0;
  std::uint64_t nan_above_ = 0;
};

}  // namespace clipper
