#include "memory/elements.hpp"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <type_traits>
#include <utility>

#include "element/dtype.hpp"
#include "element/element.hpp"
#include "simd/vector.hpp"

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace clipper {
namespace {

template <class T>
[[gnu::always_inline]] inline T reversed(T x) noexcept {
  if constexpr (sizeof(T) == 2) return __builtin_bswap16(x);
  if constexpr (sizeof(T) == 4) return __builtin_bswap32(x);
  if constexpr (sizeof(T) == 8) return __builtin_bswap64(x);
  return x;
}

/// Reverses the bytes of elements of kSize bytes in a vector.
template <std::size_t kSize, class Bytes, std::size_t... kIndex>
[[gnu::always_inline]] inline void reverse(Bytes& bytes, std::index_sequence<kIndex...> /*all*/) noexcept {
  bytes = __builtin_shufflevector(bytes, bytes, (kIndex ^ (kSize - 1))...);
}

/// Loads a vector before it stores one: `out` may be `in`.
template <std::size_t kSize>
struct ReverseBytes {
  template <SimdLevel kLevel>
  [[gnu::always_inline]] static void run(const std::byte* in, std::byte* out, std::size_t size) noexcept {
    constexpr std::size_t kBytes = vector_bytes(kLevel);
    std::size_t i = 0;
    for (; i + kBytes <= size; i += kBytes) {
      Vector<std::uint8_t, kBytes> bytes;
      std::memcpy(&bytes, in + i, kBytes);
      reverse<kSize>(bytes, std::make_index_sequence<kBytes>{});
      std::memcpy(out + i, &bytes, kBytes);
    }
    for (; i < size; i += kSize) {
      UnsignedOfSize<kSize> element;
      std::memcpy(&element, in + i, kSize);
      element = reversed(element);
      std::memcpy(out + i, &element, kSize);
    }
  }
};

struct MakeFlags {
  [[gnu::always_inline]] static void run(std::byte* elements, std::size_t count) noexcept {
    for (std::size_t i = 0; i < count; ++i) elements[i] = std::byte{elements[i] != std::byte{}};
  }
};

/// Each kStep-th element, which compilers do with vectors, of bytes only with a signed index. Elements may
/// lie anywhere.
template <std::size_t kSize, std::ptrdiff_t kStep>
struct TakeEach {
  typedef UnsignedOfSize<kSize> Element __attribute__((aligned(1), may_alias));  // NOLINT: no alias has it

  [[gnu::always_inline]] static void run(const std::byte* from, std::byte* to,
                                         std::ptrdiff_t count) noexcept {
    take(reinterpret_cast<const Element*>(from), reinterpret_cast<Element*>(to), count);
  }

 private:
  [[gnu::always_inline]] static void take(const Element* __restrict in, Element* __restrict out,
                                          std::ptrdiff_t count) noexcept {
    for (std::ptrdiff_t i = 0; i < count; ++i) out[i] = in[i * kStep];
  }
};

using Axis = StridedCopy::Axis;

/// Rows of at least 16 bytes without gaps. A call of memcpy() for each takes longer than copying a short one.
struct CopyRows {
  template <SimdLevel kLevel>
  [[gnu::always_inline]] static void run(const std::byte* from, std::byte* to, const Axis& rows,
                                         std::size_t length) noexcept {
    constexpr std::size_t kLeast = vector_bytes(SimdLevel::baseline);
    length < vector_bytes(kLevel) ? copy<kLeast>(from, to, rows, length)
                                  : copy<vector_bytes(kLevel)>(from, to, rows, length);
  }

 private:
  template <std::size_t kBytes>
  [[gnu::always_inline]] static void copy(const std::byte* from, std::byte* to, const Axis& rows,
                                          std::size_t length) noexcept {
    for (std::int64_t i = 0; i < rows.extent; ++i, from += rows.from, to += rows.to) {
      for (std::size_t at = 0; at + kBytes < length; at += kBytes) copy_vector<kBytes>(from + at, to + at);
      copy_vector<kBytes>(from + length - kBytes, to + length - kBytes);
    }
  }

  template <std::size_t kBytes>
  [[gnu::always_inline]] static void copy_vector(const std::byte* from, std::byte* to) noexcept {
    Vector<std::uint8_t, kBytes> bytes;
    std::memcpy(&bytes, from, kBytes);
    std::memcpy(to, &bytes, kBytes);
  }
};

#if defined(__x86_64__)
// The lanes of a vector in another order.

[[gnu::target("ssse3")]] inline void permute(Vector<std::uint8_t, 16>& x,
                                             const Vector<std::uint8_t, 16>& order) noexcept {
  x = __builtin_bit_cast(Vector<std::uint8_t, 16>, _mm_shuffle_epi8(__builtin_bit_cast(__m128i, x),
                                                                    __builtin_bit_cast(__m128i, order)));
}

[[gnu::target("avx2")]] inline void permute(Vector<std::uint32_t, 32>& x,
                                            const Vector<std::uint32_t, 32>& order) noexcept {
  x = __builtin_bit_cast(
      Vector<std::uint32_t, 32>,
      _mm256_permutevar8x32_epi32(__builtin_bit_cast(__m256i, x), __builtin_bit_cast(__m256i, order)));
}

[[gnu::target("avx512bw")]] inline void permute(Vector<std::uint16_t, 64>& x,
                                                const Vector<std::uint16_t, 64>& order) noexcept {
  x = __builtin_bit_cast(Vector<std::uint16_t, 64>,
                         _mm512_maskz_permutexvar_epi16(~__mmask32{}, __builtin_bit_cast(__m512i, order),
                                                        __builtin_bit_cast(__m512i, x)));
}

/// Loads and stores a vector each time, which lies `from` and `to` bytes after the one before.
template <class Lanes>
struct PermuteLanes {
  [[gnu::always_inline]] static void run(const std::byte* from, std::byte* to, const Axis& each,
                                         const Lanes& order) noexcept {
    for (std::int64_t i = 0; i < each.extent; ++i, from += each.from, to += each.to) {
      Lanes lanes;
      std::memcpy(&lanes, from, sizeof lanes);
      permute(lanes, order);
      std::memcpy(to, &lanes, sizeof lanes);
    }
  }
};

/// Copies short rows, such as the channels of pixels, which have no gaps where they go to: as many at a time
/// as a vector holds, with and without gaps. Returns how many; the last ones may be too near to other memory.
template <std::size_t kSize, class Lane, std::int64_t kBytes>
std::int64_t permute_rows_by(const std::byte* from, std::byte* to, const Axis& rows, const Axis& row,
                             SimdLevel level) noexcept {
  using Lanes = Vector<Lane, kBytes>;
  constexpr std::int64_t kPacked = kSize;
  constexpr std::int64_t kLane = sizeof(Lane);
  const std::int64_t distance = std::abs(rows.from);
  const std::int64_t span = std::abs(row.from) * (row.extent - 1) + kPacked;
  if (row.to != kPacked || rows.to != row.extent * row.to || rows.to > kBytes || distance == 0 ||
      distance > kBytes || span > kBytes || rows.from % kLane != 0 || row.from % kLane != 0)
    return 0;
  const std::int64_t each = std::min(kBytes / rows.to, (kBytes - span) / distance + 1);
  const std::int64_t read = span + (rows.extent - 1) * distance - kBytes;
  const std::int64_t written = rows.extent * rows.to - kBytes;
  if (read < 0 || written < 0) return 0;
  const std::int64_t times = std::min(read / (each * distance), written / (each * rows.to)) + 1;
  const std::int64_t first =
      std::min<std::int64_t>(row.from * (row.extent - 1), 0) + (rows.from < 0 ? span - kBytes : 0);
  Lanes order{};
  for (std::int64_t i = 0; i < each * rows.to; i += kLane)
    order[i / kLane] = static_cast<Lane>(
        (i / rows.to * rows.from + i % rows.to / row.to * row.from + i % row.to - first) / kLane);
  run_loop<PermuteLanes<Lanes>>(level, from + first, to, Axis{times, each * rows.from, each * rows.to},
                                order);
  return times * each;
}
#endif

/// The same by the longest vectors whose lanes elements consist of.
template <std::size_t kSize>
std::int64_t permute_rows([[maybe_unused]] const std::byte* from, [[maybe_unused]] std::byte* to,
                          [[maybe_unused]] const Axis& rows, [[maybe_unused]] const Axis& row,
                          [[maybe_unused]] SimdLevel level) noexcept {
#if defined(__x86_64__)
  std::int64_t done = 0;
  if constexpr (kSize >= sizeof(std::uint16_t))
    if (level == SimdLevel::v4) done = permute_rows_by<kSize, std::uint16_t, 64>(from, to, rows, row, level);
  if constexpr (kSize >= sizeof(std::uint32_t))
    if (level == SimdLevel::v3) done = permute_rows_by<kSize, std::uint32_t, 32>(from, to, rows, row, level);
  if (done == 0 && level != SimdLevel::baseline)
    done = permute_rows_by<kSize, std::uint8_t, 16>(from, to, rows, row, level);
  return done;
#else
  return 0;
#endif
}

template <std::size_t kSize>
void copy_run(const std::byte* from, std::byte* to, const Axis& run, SimdLevel level) noexcept {
  constexpr std::ptrdiff_t kPacked = kSize;
  const std::ptrdiff_t count = run.extent;
  if (run.to == kPacked) {
    if (run.from == kPacked)
      return static_cast<void>(std::memcpy(to, from, static_cast<std::size_t>(count) * kSize));
    if (run.from == -kPacked) return run_loop<TakeEach<kSize, -1>>(level, from, to, count);
    if (run.from == 2 * kPacked) return run_loop<TakeEach<kSize, 2>>(level, from, to, count);
    if (run.from == 3 * kPacked) return run_loop<TakeEach<kSize, 3>>(level, from, to, count);
    if (run.from == 4 * kPacked) return run_loop<TakeEach<kSize, 4>>(level, from, to, count);
  }
  for (std::ptrdiff_t i = 0; i < count; ++i, from += run.from, to += run.to) std::memcpy(to, from, kSize);
}

/// Copies a row at a time, or a column if rows are short.
template <std::size_t kSize>
void copy_plane(const std::byte* from, std::byte* to, Axis rows, const Axis& row, SimdLevel level) noexcept {
  constexpr std::int64_t kShort = 16;
  constexpr std::int64_t kPacked = kSize;
  if (row.from == kPacked && row.to == kPacked && row.extent * kPacked >= kShort)
    return run_loop<CopyRows>(level, from, to, rows, static_cast<std::size_t>(row.extent) * kSize);
  const bool by_columns = row.extent < kShort && rows.extent > 1;
  if (by_columns) {
    const std::int64_t done = permute_rows<kSize>(from, to, rows, row, level);
    from += done * rows.from;
    to += done * rows.to;
    rows.extent -= done;
  }
  const Axis& across = by_columns ? row : rows;
  for (std::int64_t i = 0; i < across.extent; ++i, from += across.from, to += across.to)
    copy_run<kSize>(from, to, by_columns ? rows : row, level);
}

bool is_reversed(const TensorLayout& stored) noexcept {
  return stored.order != kNativeOrder && traits(stored.dtype).size > 1;
}

}  // namespace

bool is_decoded(const TensorLayout& stored) noexcept {
  return !is_reversed(stored) && stored.meaning.kind != LogicalType::Kind::boolean;
}

void decode(const TensorLayout& stored, const std::byte* in, std::span<std::byte> out,
            SimdLevel level) noexcept {
  encode(stored, in, out, level);
  if (stored.meaning.kind == LogicalType::Kind::boolean) run_loop<MakeFlags>(level, out.data(), out.size());
}

void encode(const TensorLayout& stored, const std::byte* in, std::span<std::byte> out,
            SimdLevel level) noexcept {
  if (is_reversed(stored))
    with_size(traits(stored.dtype).size,
              [&]<std::size_t kSize>() { run_loop<ReverseBytes<kSize>>(level, in, out.data(), out.size()); });
  else if (in != out.data() && !out.empty())
    std::memcpy(out.data(), in, out.size());
}

StridedCopy::StridedCopy(std::span<const std::int64_t> shape, std::size_t size,
                         std::span<const std::int64_t> from, std::span<const std::int64_t> to,
                         SimdLevel level)
    : size_(std::min(size, sizeof(std::uint64_t))), level_(level), parts_(size / size_) {
  const auto add = [this](const Axis& axis) {
    if (axis.extent == 1) return;
    if (!axes_.empty() && axes_.back().from == axis.extent * axis.from &&
        axes_.back().to == axis.extent * axis.to)
      axes_.back() = {axes_.back().extent * axis.extent, axis.from, axis.to};
    else
      axes_.push_back(axis);
  };
  if (std::ranges::find(shape, 0) == shape.end())
    for (std::size_t i = 0; i < shape.size(); ++i) add({shape[i], from[i], to[i]});
  const auto part = static_cast<std::int64_t>(size_);
  add({static_cast<std::int64_t>(parts_), part, part});
  if (axes_.empty()) axes_.push_back({1, part, part});
}

/// Whole rows of the plane of the two inner axes at a time.
void StridedCopy::operator()(const std::byte* from, std::byte* to, std::uint64_t begin,
                             std::uint64_t count) const {
  if (count == 0) return;
  const Axis& inner = axes_.back();
  const Axis middle = axes_.size() == 1 ? Axis{1, 0, 0} : axes_[axes_.size() - 2];
  const auto extent = static_cast<std::uint64_t>(inner.extent);
  const auto rows = static_cast<std::uint64_t>(middle.extent);
  std::uint64_t position = begin * parts_;
  const std::uint64_t end = position + count * parts_;
  const std::int64_t first = place_of(position).to;
  while (position < end) {
    const Axis place = place_of(position);
    const std::uint64_t at = position % extent;
    const std::uint64_t whole = std::min((end - position) / extent, rows - position / extent % rows);
    const bool is_part = at != 0 || whole == 0;
    const std::uint64_t length = is_part ? std::min(end - position, extent - at) : extent;
    const std::uint64_t count_of_rows = is_part ? 1 : whole;
    with_size(size_, [&]<std::size_t kSize>() {
      copy_plane<kSize>(from + place.from, to + place.to - first,
                        {static_cast<std::int64_t>(count_of_rows), middle.from, middle.to},
                        {static_cast<std::int64_t>(length), inner.from, inner.to}, level_);
    });
    position += count_of_rows * length;
  }
}

StridedCopy::Axis StridedCopy::place_of(std::uint64_t position) const {
  Axis place{};
  for (std::size_t i = axes_.size(); i-- > 0; position /= static_cast<std::uint64_t>(axes_[i].extent)) {
    const auto index = static_cast<std::int64_t>(position % static_cast<std::uint64_t>(axes_[i].extent));
    place.from += index * axes_[i].from;
    place.to += index * axes_[i].to;
  }
  return place;
}

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
