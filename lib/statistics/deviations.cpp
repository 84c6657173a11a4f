#include <algorithm>
#include <array>
#include <atomic>
#include <bit>
#include <cmath>
#include <cstring>
#include <deque>
#include <limits>
#include <map>
#include <mutex>
#include <numeric>
#include <string>
#include <unordered_map>

#include "element/element.hpp"
#include "element/number.hpp"
#include "error.hpp"
#include "simd/conversions.hpp"
#include "statistics/rank_search.hpp"
#include "statistics/statistics.hpp"

namespace clipper {
namespace {

/// Where |x - center| of an element is calculated. A deviation has a key, its bits, which grow with it; keys
/// are off by a few units at most. NaN has a greater key than all numbers.
template <class T>
using Real = std::conditional_t<std::is_same_v<T, float>, float, double>;
template <class T>
using DeviationKey = Key<Real<T>>;

constexpr std::int64_t kUnits = 8;

constexpr std::size_t kMaxCollected = 128UL * 1024;
constexpr std::size_t kBlock = 1024;  // elements

/// |x - center| from exact or correctly rounded differences, as a key.
class Deviation {
 public:
  explicit Deviation(const Number& center)
      : high_(round_to<double>(center)),
        low_(round_to<double>(difference(center, high_))),
        single_high_(round_to<float>(center)),
        single_low_(round_to<float>(difference(center, single_high_))),
        whole_(static_cast<std::uint64_t>(to_integer(center, Rounding::down))),
        half_(is_integer(center) ? 0 : 0.5) {}

  /// The greatest key of a number. Keys of integers begin with that of the least deviation but 0, and the
  /// other deviations of few bits have only few exponents.
  [[nodiscard]] static std::int64_t last(DType dtype) {
    return !is_floating(dtype)       ? kIntegersEnd - kIntegersBegin
           : dtype == DType::float64 ? key_of(std::numeric_limits<double>::infinity())
                                     : key_of(std::numeric_limits<float>::infinity());
  }

  template <class T>
  [[nodiscard, gnu::always_inline]] DeviationKey<T> operator()(T x) const noexcept {
    if constexpr (std::is_same_v<T, float>) {
      return std::bit_cast<std::int32_t>(std::fabs((x - single_high_) - single_low_));
    } else if constexpr (std::is_same_v<T, double>) {
      return std::bit_cast<std::int64_t>(std::fabs((x - high_) - low_));
    } else {
      const std::int64_t key = std::bit_cast<std::int64_t>(of_integer(x));
      return (key < kIntegersBegin ? kIntegersBegin : key) - kIntegersBegin;
    }
  }

 private:
  static constexpr std::int64_t kIntegersBegin = std::bit_cast<std::int64_t>(0.25);
  static constexpr std::int64_t kIntegersEnd = std::bit_cast<std::int64_t>(0x1p66);

  template <class T>
  [[nodiscard, gnu::always_inline]] double of_integer(T x) const noexcept {
    if constexpr (sizeof(T) < sizeof(double)) return std::fabs(static_cast<double>(x) - high_);
    const bool is_above = x > static_cast<T>(whole_);  // of T, because it is between elements
    const std::uint64_t difference = static_cast<std::uint64_t>(x) - whole_;
    const std::uint64_t sign = is_above ? 0 : ~std::uint64_t{0};
    const double half = half_;
    return nearest_double((difference ^ sign) - sign) + (is_above ? -half : half);
  }

  double high_;  ///< high_ + low_ is the center, or near enough
  double low_;
  float single_high_;  ///< the same for float
  float single_low_;
  std::uint64_t whole_;  ///< of 64-bit integers, with a half or without
  double half_;
};

template <class K>
struct KeyRange {
  K first;
  K last;
};

template <class T>
struct FindKeys {
  [[gnu::always_inline]] static void run(const Deviation& deviation, const T* __restrict elements,
                                         DeviationKey<T>* __restrict keys) noexcept {
    const Deviation of = deviation;
    for (std::size_t i = 0; i < kBlock; ++i) keys[i] = of(elements[i]);
  }
};

/// The numbers of the counters that keys increment: of the parts of a range, of what is below it, of what is
/// above it, and of NaN.
struct FindParts {
  static constexpr std::uint32_t kBelow = kDigits;
  static constexpr std::uint32_t kAbove = kDigits + 1;
  static constexpr std::uint32_t kNan = kDigits + 2;
  static constexpr std::size_t kParts = kDigits + 3;

  template <class K>
  [[gnu::always_inline]] static void run(const K* __restrict keys, std::uint32_t* __restrict parts,
                                         const KeyRange<K>& range, K infinity, unsigned shift) noexcept {
    const auto [first, last] = range;
    for (std::size_t i = 0; i < kBlock; ++i) {
      const auto within = static_cast<std::uint32_t>((keys[i] - first) >> shift);
      const std::uint32_t above = keys[i] > infinity ? kNan : kAbove;
      const std::uint32_t part = keys[i] > last ? above : within;
      parts[i] = keys[i] < first ? kBelow : part;
    }
  }
};

struct CountKeys {
  /// How many keys are at most `last`.
  template <class K>
  [[gnu::always_inline]] static std::uint64_t run(const K* keys, K last) noexcept {
    K count = 0;
    for (std::size_t i = 0; i < kBlock; ++i) count += keys[i] <= last ? 1 : 0;
    return static_cast<std::uint64_t>(count);
  }
};

/// Copies the elements whose keys are in the range, of which most blocks have none.
template <class T>
struct FindWithin {
  [[gnu::always_inline]] static std::size_t run(const DeviationKey<T>* keys, const T* elements,
                                                const KeyRange<DeviationKey<T>>& range,
                                                ElementBits* found) noexcept {
    constexpr std::size_t kFew = 64;
    const auto [first, last] = range;
    std::size_t size = 0;
    for (std::size_t begin = 0; begin < kBlock; begin += kFew) {
      DeviationKey<T> any = 0;
      for (std::size_t i = begin; i < begin + kFew; ++i)
        any |= (keys[i] >= first ? 1 : 0) & (keys[i] <= last ? 1 : 0);
      if (any == 0) continue;
      for (std::size_t i = begin; i < begin + kFew; ++i) {
        found[size] = to_bits(elements[i]);
        size += keys[i] >= first && keys[i] <= last ? 1 : 0;
      }
    }
    return size;
  }
};

/// An element and how often it occurs.
struct Entry {
  std::int64_t key;
  ElementBits element;
  std::uint64_t count;
};

/// Finds the median deviation of a group: counts keys in parts of a range that has the lower one of the two
/// middle elements, then collects the elements in a part, and those next above it. Of many elements it counts
/// each, and of small dtypes always; if a part has too many for that, it counts in parts of the part.
class DeviationSearch {
 public:
  /// `sharers`: the number of searches that share the memory.
  DeviationSearch(const ElementSource& source, const Number& center, std::uint64_t sharers)
      : dtype_(source.dtype),
        sharers_(sharers),
        is_small_(traits(dtype_).size <= 2),
        center_(center),
        deviation_(center),
        last_(Deviation::last(dtype_)) {
    if (source.count > RankSearch::kFew) begin_count();
  }

  [[nodiscard]] bool is_open() const { return !result_; }
  [[nodiscard]] const Number& result() const { return *result_; }

  void look_at(std::span<const std::byte> elements, SimdLevel level) {
    if (is_small_ && tables_) {
      const CounterTables::Taken table(*tables_);
      count_first_digits(traits(dtype_).size, elements, table.counters(), level);
      table.add_increments(elements.size() / traits(dtype_).size);
    } else if (is_small_) {
      collect_small(elements);
    } else {
      with_type(dtype_, [&]<class T>() {
        if constexpr (sizeof(T) > 2) tables_ ? count<T>(elements, level) : collect<T>(elements, level);
      });
    }
  }

  /// False if the pass has not seen the elements of the one before.
  [[nodiscard]] bool end_pass() {
    if (tables_ && !is_small_) return end_count();
    if (tables_) take_counted();
    return end_collect();
  }

 private:
  void begin_count() {
    const int bits = static_cast<int>(std::bit_width(static_cast<std::uint64_t>(last_ - first_)));
    shift_ = static_cast<unsigned>(std::max(bits - static_cast<int>(kDigitBits), 0));
    tables_.emplace(is_small_ ? kInterleaved * kDigits : FindParts::kParts,
                    CounterTables::kMemory / sharers_);
  }

  void collect_small(std::span<const std::byte> elements) {
    const std::lock_guard lock(mutex_);
    with_size(traits(dtype_).size, [&]<std::size_t kSize>() {
      for (std::size_t at = 0; at < elements.size(); at += kSize)
        collected_.push_back(load_element<UnsignedOfSize<kSize>>(elements.data() + at));
    });
  }

  void take_counted() {
    const std::vector<std::uint64_t>& totals = tables_->totals();
    for (std::size_t element = 0; element < kDigits; ++element)
      if (const std::uint64_t count = totals[element] + totals[kDigits + element]) counted_[element] = count;
  }

  /// Calls use(keys, elements) for blocks; the last one is filled with keys above all others.
  template <class T, class Use>
  void for_each_block(std::span<const std::byte> elements, SimdLevel level, const Use& use) const {
    std::array<T, kBlock> block{};
    std::array<DeviationKey<T>, kBlock> keys;
    for (std::size_t at = 0; at < elements.size(); at += sizeof(block)) {
      const std::size_t bytes = std::min(sizeof(block), elements.size() - at);
      std::memcpy(block.data(), elements.data() + at, bytes);
      run_loop<FindKeys<T>>(level, deviation_, static_cast<const T*>(block.data()), keys.data());
      std::fill(keys.begin() + static_cast<std::ptrdiff_t>(bytes / sizeof(T)), keys.end(),
                std::numeric_limits<DeviationKey<T>>::max());
      use(static_cast<const DeviationKey<T>*>(keys.data()), static_cast<const T*>(block.data()));
    }
  }

  template <class T>
  void count(std::span<const std::byte> elements, SimdLevel level) {
    using K = DeviationKey<T>;
    const CounterTables::Taken table(*tables_);
    std::uint32_t* const counters = table.counters();
    std::array<std::uint32_t, kBlock> parts;
    const KeyRange<K> range{static_cast<K>(first_), static_cast<K>(last_)};
    for_each_block<T>(elements, level, [&](const K* keys, const T* /*block*/) {
      run_loop<FindParts>(level, keys, parts.data(), range, static_cast<K>(Deviation::last(dtype_)), shift_);
      for (const std::uint32_t part : parts) ++counters[part];
    });
    table.add_increments(elements.size() / sizeof(T) + kBlock);
  }

  template <class T>
  void collect(std::span<const std::byte> elements, SimdLevel level) {
    if (has_too_many_) return;
    using K = DeviationKey<T>;
    std::uint64_t below = 0;
    std::uint64_t numbers = 0;
    std::int64_t next = last_;
    std::array<ElementBits, kBlock> found;
    std::vector<ElementBits> all;
    for_each_block<T>(elements, level, [&](const K* keys, const T* block) {
      below += run_loop<CountKeys>(level, keys, static_cast<K>(first_ - kUnits - 1));
      numbers += run_loop<CountKeys>(level, keys, static_cast<K>(Deviation::last(dtype_)));
      if (wants_next_) next = next_above(std::span(keys, kBlock), next);
      const KeyRange<K> range{static_cast<K>(first_ - kUnits), static_cast<K>(next + kUnits)};
      const std::size_t size = run_loop<FindWithin<T>>(level, keys, block, range, found.data());
      all.insert(all.end(), found.begin(), found.begin() + static_cast<std::ptrdiff_t>(size));
      if (all.size() < kMaxCollected) return;
      take(all, next);
      all.clear();
    });
    take(all, next);
    const std::lock_guard lock(mutex_);
    numbers_seen_ += numbers;
    below_ += below;
  }

  /// The least key of a number above the range, if it is less than `next` or that is still the range's last.
  template <class K>
  [[nodiscard]] std::int64_t next_above(std::span<const K> keys, std::int64_t next) const {
    for (const K key : keys)
      if (key > last_ && key <= Deviation::last(dtype_))
        next = next == last_ ? key : std::min<std::int64_t>(next, key);
    return next;
  }

  /// Many elements are counted. Too many different ones are forgotten, to be counted by parts. `next` is the
  /// greatest key that is wanted.
  void take(const std::vector<ElementBits>& elements, std::int64_t next) {
    const std::lock_guard lock(mutex_);
    if (has_too_many_) return;
    collected_.insert(collected_.end(), elements.begin(), elements.end());
    if (collected_.size() <= 2 * kMaxCollected) return;
    for (const ElementBits element : collected_) ++counted_[element];
    collected_.clear();
    if (counted_.size() <= kMaxCollected) return;
    std::erase_if(counted_, [&](const auto& entry) { return key_of_element(entry.first) > next + kUnits; });
    has_too_many_ = counted_.size() > kMaxCollected && last_ - first_ > kUnits;
    if (has_too_many_) counted_.clear();
  }

  /// Chooses the part with the lower one of the two middle elements.
  bool end_count() {
    const std::vector<std::uint64_t>& totals = tables_->totals();
    const std::uint64_t numbers =
        std::accumulate(totals.begin(), totals.end() - 1, std::uint64_t{0});  // without NaN
    const std::uint64_t rank = (numbers - 1) / 2;
    std::uint64_t before = totals[FindParts::kBelow];
    std::size_t part = 0;
    while (part < kDigits && before + totals[part] <= rank) before += totals[part++];
    if (numbers == 0 || rank < before || part == kDigits || numbers_.value_or(numbers) != numbers)
      return false;
    numbers_ = numbers;
    wants_next_ = numbers / 2 >= before + totals[part];
    first_ += static_cast<std::int64_t>(part) << shift_;
    last_ = std::min(first_ + (std::int64_t{1} << shift_) - 1, last_);
    const bool has_many = totals[part] > kMaxCollected && last_ - first_ > kUnits;
    tables_.reset();
    if (had_too_many_ && has_many) begin_count();
    return true;
  }

  bool end_collect() {
    if (has_too_many_) {
      has_too_many_ = false;
      had_too_many_ = true;
      below_ = numbers_seen_ = 0;
      begin_count();
      return true;
    }
    std::vector<Entry> entries;
    entries.reserve(collected_.size() + counted_.size());
    const auto add = [&](ElementBits element, std::uint64_t count) {
      const std::int64_t key = key_of_element(element);
      if (key > Deviation::last(dtype_)) return;  // NaN
      entries.push_back({key, element, count});
      if (is_small_) numbers_seen_ += count;
    };
    for (const ElementBits element : collected_) add(element, 1);
    for (const auto& [element, count] : counted_) add(element, count);
    if (numbers_seen_ == 0 || numbers_.value_or(numbers_seen_) != numbers_seen_) return false;
    const std::vector<Number> middle = deviations_at((numbers_seen_ - 1) / 2, numbers_seen_ / 2, entries);
    if (middle.size() != 2) return false;
    const bool is_between = middle[0] != middle[1] && middle[1].kind == Number::Kind::finite;
    result_ = is_between ? Number(interpolate(middle[0], middle[1], kFractionOne / 2)) : middle[1];
    return true;
  }

  /// Elements with nearly the keys at the ranks, which are equal or neighbours, are compared exactly: keys
  /// are off by less than half of kUnits.
  std::vector<Number> deviations_at(std::uint64_t lower, std::uint64_t upper,
                                    std::vector<Entry>& entries) const {
    const auto keys = keys_at(lower, upper, entries);
    if (!keys) return {};
    std::uint64_t before = below_;
    std::map<ElementBits, std::uint64_t> near;
    for (const Entry& entry : entries)
      if (entry.key < keys->first - kUnits)
        before += entry.count;
      else if (entry.key <= keys->last + kUnits)
        near[entry.element] += entry.count;
    std::vector<std::pair<Number, std::uint64_t>> deviations;
    for (const auto& [element, count] : near) deviations.emplace_back(deviation(element), count);
    std::ranges::sort(deviations, [](const auto& a, const auto& b) { return a.first < b.first; });
    std::vector<Number> found;
    for (const auto& [number, count] : deviations) {
      for (const std::uint64_t rank : {lower, upper})
        if (before <= rank && rank < before + count) found.push_back(number);
      before += count;
    }
    return found;
  }

  std::optional<KeyRange<std::int64_t>> keys_at(std::uint64_t lower, std::uint64_t upper,
                                                std::vector<Entry>& entries) const {
    const auto less = [](const Entry& a, const Entry& b) { return a.key < b.key; };
    if (counted_.empty()) {
      if (lower < below_ || upper - below_ >= entries.size()) return std::nullopt;
      const auto at = entries.begin() + static_cast<std::ptrdiff_t>(lower - below_);
      std::nth_element(entries.begin(), at, entries.end(), less);
      return KeyRange<std::int64_t>{
          at->key, lower == upper ? at->key : std::min_element(at + 1, entries.end(), less)->key};
    }
    std::ranges::sort(entries, less);
    std::uint64_t before = below_;
    std::optional<KeyRange<std::int64_t>> keys;
    for (const Entry& entry : entries) {
      if (before <= lower && lower < before + entry.count) keys = {entry.key, entry.key};
      if (before <= upper && upper < before + entry.count && keys) keys->last = entry.key;
      before += entry.count;
    }
    return keys;
  }

  [[nodiscard]] Number deviation(ElementBits element) const {
    Number result = difference(number_of(dtype_, element), center_);
    result.negative = false;
    return result;
  }

  [[nodiscard]] std::int64_t key_of_element(ElementBits element) const {
    return with_element(dtype_, element, [&](auto x) -> std::int64_t { return deviation_(comparable(x)); });
  }

  DType dtype_;
  std::uint64_t sharers_;
  bool is_small_;
  Number center_;
  Deviation deviation_;
  std::int64_t first_ = 0;  ///< the range of keys
  std::int64_t last_;
  unsigned shift_ = 0;
  std::optional<CounterTables> tables_;  ///< of a pass that counts
  std::optional<std::uint64_t> numbers_;
  bool wants_next_ = false;  ///< whether the upper one of the middle elements is above the range
  std::mutex mutex_;
  std::atomic<bool> has_too_many_ = false;  ///< different elements in the range
  bool had_too_many_ = false;
  std::uint64_t below_ = 0;  ///< elements whose keys are below the range by more than kUnits
  std::uint64_t numbers_seen_ = 0;
  std::vector<ElementBits> collected_;
  std::unordered_map<ElementBits, std::uint64_t> counted_;
  std::optional<Number> result_;
};

void find_deviations(const ElementSource& source, const GroupRange& range,
                     std::span<std::optional<Number>> deviations, SimdLevel level) {
  std::deque<std::optional<DeviationSearch>> searches(range.count);
  for (std::size_t i = 0; i < range.count; ++i) {
    std::optional<Number>& center = deviations[i];  // at first
    if (center && center->kind == Number::Kind::finite)
      searches[i].emplace(source, *center, range.count);
    else if (center)
      center = std::numeric_limits<double>::quiet_NaN();
  }
  const auto is_open = [](const auto& search) { return search && search->is_open(); };
  while (std::ranges::any_of(searches, is_open)) {
    source.read(range, [&](std::size_t group, std::span<const std::byte> elements) {
      if (is_open(searches[group])) searches[group]->look_at(elements, level);
    });
    for (auto& search : searches)
      if (is_open(search) && !search->end_pass())
        throw Error(ErrorKind::io, std::string(source.path.empty() ? "the tensor" : source.path) +
                                       ": changed while it was read");
  }
  for (std::size_t i = 0; i < range.count; ++i)
    if (searches[i]) deviations[i] = searches[i]->result();
}

}  // namespace

std::vector<std::optional<Number>> median_deviations(const ElementSource& source,
                                                     std::span<const std::optional<Number>> centers,
                                                     SimdLevel level) {
  std::vector<std::optional<Number>> deviations(centers.begin(), centers.end());
  for (std::uint64_t first = 0; first < source.groups; first += kGroupsAtOnce) {
    const GroupRange range{first, std::min(kGroupsAtOnce, source.groups - first)};
    find_deviations(source, range, std::span(deviations).subspan(first, range.count), level);
  }
  return deviations;
}

}  // namespace clipper
