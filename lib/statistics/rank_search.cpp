#include "statistics/rank_search.hpp"

#include <algorithm>
#include <numeric>
#include <utility>

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

namespace {

constexpr std::size_t kMaxCollected = 128UL * 1024;
constexpr std::size_t kMaxPrefixes = Candidates<std::uint64_t>::kMaxPrefixes;
constexpr std::size_t kBlock = 1024;  // elements that are looked at before the candidates are handled

std::uint64_t ordered_key(DType dtype, ElementBits element) {
  if (!has_kernels(dtype)) return static_cast<std::uint8_t>(element_key(dtype, element) + 0x80);
  return with_type(dtype, [=]<class T>() { return ordered(from_bits<T>(element)); });
}

/// The candidates of a pass.
template <class T>
auto candidates_for(std::span<const std::uint64_t> prefixes, unsigned bits) {
  using Bits = UnsignedOfSize<sizeof(T)>;
  const unsigned rest = 8 * sizeof(T) - bits;
  const auto mask = static_cast<Bits>(~std::uint64_t{0} << rest);
  Candidates<Bits> wanted;
  wanted.mask = mask;
  for (const std::uint64_t prefix : prefixes) {
    const auto element = static_cast<Bits>(to_bits(element_at<T>(prefix << rest)));
    wanted.prefixes[wanted.count++] = static_cast<Bits>(element & mask);
  }
  return wanted;
}

}  // namespace

CounterTables::Table& CounterTables::take() {
  std::unique_lock lock(mutex_);
  for (;;) {
    for (Table& table : tables_)
      if (!table.taken) {
        table.taken = true;
        return table;
      }
    if (tables_.empty() || (tables_.size() + 1) * size_ * sizeof(std::uint32_t) <= memory_) {
      tables_.push_back({std::vector<std::uint32_t>(size_), 0, true});
      return tables_.back();
    }
    given_back_.wait(lock);
  }
}

void CounterTables::give_back(Table& table) noexcept {
  {
    const std::lock_guard lock(mutex_);
    if (table.increments >= kMaxIncrements) add_to_totals(table);  // before a counter can overflow
    table.taken = false;
  }
  given_back_.notify_one();
}

void CounterTables::add_to_totals(Table& table) noexcept {
  for (std::size_t i = 0; i < size_; ++i) totals_[i] += table.counters[i];
  std::ranges::fill(table.counters, 0U);
  table.increments = 0;
}

const std::vector<std::uint64_t>& CounterTables::totals() {
  for (Table& table : tables_) add_to_totals(table);
  return totals_;
}

RankSearch::RankSearch(DType dtype, std::uint64_t count, SimdLevel level, std::size_t sharers)
    : dtype_(dtype),
      count_(count),
      level_(level),
      sharers_(sharers),
      width_(8 * static_cast<unsigned>(traits(dtype).size)),
      digit_bits_(std::min(width_, kDigitBits)) {
  begin({.bits = 0, .prefixes = {0}, .collects = count <= kFew});
}

void RankSearch::begin(const Pass& pass) {
  pass_ = pass;
  collected_.clear();
  tables_.reset();
  if (!pass.collects)
    tables_.emplace((pass.bits == 0 ? kInterleaved : pass.prefixes.size()) * kDigits,
                    CounterTables::kMemory / sharers_);
}

void RankSearch::look_at(std::span<const std::byte> elements) {
  if (pass_.bits != 0 && width_ > kDigitBits)
    with_type(dtype_, [&]<class T>() {
      if constexpr (sizeof(T) > 2) count_candidates<T>(elements);
    });
  else if (pass_.collects)
    collect_all(elements);
  else
    count_first_digits(elements);
}

/// A NaN and an infinity can have the same first digit. The few chunks with such digits are searched again.
void RankSearch::count_first_digits(std::span<const std::byte> elements) {
  const CounterTables::Taken table(*tables_);
  const std::size_t size = width_ / 8;
  const auto count_beside_infinity = [&](bool negative) {
    const ElementBits infinity = negative ? lowest_element(dtype_) : highest_element(dtype_);
    const auto digit = static_cast<std::uint16_t>(infinity >> (width_ - kDigitBits));
    return table.counters()[digit] + table.counters()[kDigits + digit];
  };
  const bool may_share = is_floating(dtype_) && width_ > kDigitBits;
  const std::array before{may_share ? count_beside_infinity(false) : 0,
                          may_share ? count_beside_infinity(true) : 0};
  clipper::count_first_digits(size, elements, table.counters(), level_);
  table.add_increments(elements.size() / size);
  for (const bool negative : {false, true})
    if (may_share && count_beside_infinity(negative) != before[negative ? 1 : 0])
      nan_beside_infinity_[negative ? 1 : 0] +=
          clipper::count_nan_beside_infinity(dtype_, negative, elements);
}

void RankSearch::collect_all(std::span<const std::byte> elements) {
  std::vector<std::uint64_t> keys;
  keys.reserve(elements.size() / (width_ / 8));
  if (!has_kernels(dtype_))
    for (const std::byte element : elements)
      keys.push_back(ordered_key(dtype_, std::to_integer<ElementBits>(element)));
  else
    with_type(dtype_, [&]<class T>() {
      for (std::size_t at = 0; at < elements.size(); at += sizeof(T))
        keys.push_back(ordered(load_element<T>(elements.data() + at)));
    });
  collect(keys);
}

template <class T>
void RankSearch::count_candidates(std::span<const std::byte> elements) {
  using Bits = UnsignedOfSize<sizeof(T)>;
  const auto wanted = candidates_for<T>(pass_.prefixes, pass_.bits);
  const unsigned rest = width_ - pass_.bits;
  const std::span<const std::uint64_t> prefixes = pass_.prefixes;
  std::array<Bits, kBlock> found;
  std::vector<std::uint64_t> keys;
  std::optional<CounterTables::Taken> table;
  std::uint64_t counted = 0;
  for (std::size_t at = 0; at < elements.size(); at += kBlock * sizeof(T)) {
    const std::size_t count = std::min(kBlock, (elements.size() - at) / sizeof(T));
    const std::size_t size = find_candidates(wanted, elements.data() + at, count, found.data(), level_);
    if (size == 0) continue;
    if (pass_.collects) {
      for (std::size_t i = 0; i < size; ++i) keys.push_back(ordered(from_bits<T>(found[i])));
      continue;
    }
    if (!table) table.emplace(*tables_);
    std::uint32_t* const counters = table->counters();
    for (std::size_t i = 0; i < size; ++i) {
      const std::uint64_t key = ordered(from_bits<T>(found[i]));
      std::size_t slot = 0;  // that of the candidate's prefix, found without a branch that depends on it
      for (std::size_t k = 0; k + 1 < prefixes.size(); ++k) slot += prefixes[k] < key >> rest ? 1 : 0;
      ++counters[slot << kDigitBits | ((key >> (rest - kDigitBits)) & (kDigits - 1))];
    }
    counted += size;
  }
  if (table) table->add_increments(counted);
  collect(keys);
}

void RankSearch::collect(std::span<const std::uint64_t> keys) {
  if (keys.empty()) return;
  const std::lock_guard lock(mutex_);
  if (collected_.size() > kMaxCollected) return;  // the elements have changed: refine() finds too many
  collected_.insert(collected_.end(), keys.begin(), keys.end());
}

/// Moves the keys to buckets in their order, without an order in a bucket: refine() needs that of a few.
void RankSearch::fill_buckets() {
  constexpr int kBucketBits = 11;
  ends_.assign((std::size_t{1} << kBucketBits) + 1, 0);
  if (collected_.empty()) return;
  const auto [least, most] = std::ranges::minmax(collected_);
  const int shift = std::max(static_cast<int>(std::bit_width(most - least)) - kBucketBits, 0);
  for (const std::uint64_t key : collected_) ++ends_[((key - least) >> shift) + 1];
  std::partial_sum(ends_.begin(), ends_.end(), ends_.begin());
  std::vector<std::uint64_t> moved(collected_.size());
  for (const std::uint64_t key : collected_) moved[ends_[(key - least) >> shift]++] = key;
  collected_ = std::move(moved);
}

void RankSearch::end_pass() {
  const bool is_first = pass_.bits == 0;
  if (is_first && pass_.collects)
    fill_buckets();
  else
    std::ranges::sort(collected_);
  if (is_first && !pass_.collects)
    end_first_count();
  else if (!pass_.collects)
    totals_ = tables_->totals();
  tables_.reset();
  if (is_first) {
    count_ = pass_.collects ? collected_.size()
                            : std::accumulate(totals_.begin(), totals_.end(), std::uint64_t{0});
    count_nan();
    return;
  }
  for (Wanted& wanted : wanted_) refine(wanted);
  choose_pass();
}

/// Adds the tables' counters in the order of the keys.
void RankSearch::end_first_count() {
  const std::vector<std::uint64_t>& counted = tables_->totals();
  totals_.assign(kDigits, 0);
  for (std::size_t digit = 0; digit < (std::size_t{1} << digit_bits_); ++digit) {
    const std::uint64_t key = ordered_key(dtype_, digit << (width_ - digit_bits_));
    for (std::size_t lane = 0; lane < kInterleaved; ++lane)
      totals_[key >> (width_ - digit_bits_)] += counted[lane * kDigits + digit];
  }
}

void RankSearch::count_nan() {
  if (!is_floating(dtype_)) return;
  const std::uint64_t lowest = ordered_key(dtype_, lowest_element(dtype_));
  const std::uint64_t highest = ordered_key(dtype_, highest_element(dtype_));
  if (pass_.collects) {
    for (const std::uint64_t key : collected_) {
      nan_below_ += key < lowest ? 1 : 0;
      nan_above_ += key > highest ? 1 : 0;
    }
    return;
  }
  const auto digit = [&](std::uint64_t key) {
    return static_cast<std::ptrdiff_t>(key >> (width_ - digit_bits_));
  };
  nan_above_ =
      std::accumulate(totals_.begin() + digit(highest) + 1, totals_.end(), nan_beside_infinity_[0].load());
  nan_below_ =
      std::accumulate(totals_.begin(), totals_.begin() + digit(lowest), nan_beside_infinity_[1].load());
}

void RankSearch::want(std::span<const std::uint64_t> ranks) {
  for (const std::uint64_t rank : ranks) {
    wanted_.push_back({.prefix = 0, .bits = 0, .count = count_, .rank = rank + nan_below_});
    refine(wanted_.back());
  }
  choose_pass();
}

/// Narrows the elements to those that the last pass has found at the wanted rank. A file that is mapped by
/// another program can change between two passes although its mtime does not.
void RankSearch::refine(Wanted& wanted) {
  const auto prefix = std::ranges::lower_bound(pass_.prefixes, wanted.prefix);
  if (wanted.bits != pass_.bits || prefix == pass_.prefixes.end() || *prefix != wanted.prefix) return;
  if (pass_.collects && pass_.bits == 0) {
    const auto at = [&](std::size_t i) { return collected_.begin() + static_cast<std::ptrdiff_t>(i); };
    const auto end = std::ranges::upper_bound(ends_, wanted.rank);
    std::nth_element(at(end == ends_.begin() ? 0 : end[-1]), at(wanted.rank), at(*end));
    wanted = {*at(wanted.rank), width_, 1, 0};
    return;
  }
  if (pass_.collects) {
    const unsigned rest = width_ - wanted.bits;
    const std::uint64_t lowest = wanted.prefix << rest;
    const std::uint64_t highest = lowest | ((std::uint64_t{1} << rest) - 1);
    const auto begin = std::ranges::lower_bound(collected_, lowest);
    const auto end = std::ranges::upper_bound(collected_, highest);
    consistent_ &= static_cast<std::uint64_t>(end - begin) == wanted.count;
    if (consistent_) wanted = {begin[static_cast<std::ptrdiff_t>(wanted.rank)], width_, 1, 0};
    return;
  }
  const std::uint64_t* count =
      totals_.data() + static_cast<std::size_t>(prefix - pass_.prefixes.begin()) * kDigits;
  consistent_ &= std::accumulate(count, count + kDigits, std::uint64_t{0}) == wanted.count;
  if (!consistent_) return;
  std::uint64_t digit = 0;
  for (; wanted.rank >= count[digit]; ++digit) wanted.rank -= count[digit];
  wanted.prefix = wanted.prefix << digit_bits_ | digit;
  wanted.bits += digit_bits_;
  wanted.count = count[digit];
}

/// Chooses the elements with equally long prefixes: all of them, unless there are too many for the counters.
void RankSearch::choose_pass() {
  const std::size_t max_prefixes = std::max<std::size_t>(kMaxPrefixes / sharers_, 1);
  Pass next;
  next.bits = width_;
  for (const Wanted& wanted : wanted_) next.bits = std::min(next.bits, wanted.bits);
  std::uint64_t candidates = 0;
  for (const Wanted& wanted : wanted_) {
    if (next.bits == width_ || wanted.bits != next.bits || next.prefixes.size() == max_prefixes) continue;
    if (std::ranges::find(next.prefixes, wanted.prefix) != next.prefixes.end()) continue;
    next.prefixes.push_back(wanted.prefix);
    candidates += wanted.count;
  }
  std::ranges::sort(next.prefixes);
  next.collects = candidates <= kMaxCollected;
  begin(next);
}

ElementBits RankSearch::element(std::size_t i) const {
  if (!has_kernels(dtype_))
    return element_with_key(dtype_, static_cast<std::int64_t>(wanted_[i].prefix) - 0x80);
  return with_type(dtype_, [&]<class T>() { return to_bits(element_at<T>(wanted_[i].prefix)); });
}

}  // namespace clipper
