#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <limits>
#include <memory>
#include <optional>
#include <span>
#include <utility>

#include "clip/clip.hpp"
#include "clip/convert.hpp"
#include "contract/steps.hpp"
#include "element/element.hpp"
#include "engine/tensor_clip.hpp"
#include "error.hpp"
#include "memory/elements.hpp"

namespace clipper {
namespace {

/// Bytes of one parameter in a tile, which must fit the L2 cache together with the elements.
constexpr std::size_t kTileSize = 32UL << 10;

/// Bytes of the bands of all arrays and threads.
constexpr std::size_t kBands = 8UL << 20;

/// Parameters that repeat within this many tiles are expanded once.
constexpr std::uint64_t kMaxPeriod = 16;

/// Copies of a short period fill this part of a tile, so that a call of the kernel is worth it.
constexpr std::size_t kCopies = 4;

/// From this length on, the kernel for numbers is faster for a range than the expansion of its parameters.
constexpr std::uint64_t kLongRow = 128;

/// As many parameters are checked before the work begins.
constexpr std::uint64_t kMaxChecked = 4UL << 20;

/// Elements of a tile.
std::size_t capacity_of(const Plan& plan) {
  const std::size_t size = traits(plan.operation.dtype).size;
  const bool has_doubles = plan.operation.arithmetic != Arithmetic::none || plan.operation.normalization;
  return kTileSize / (has_doubles ? std::max(size, sizeof(double)) : size);
}

/// The length of the ranges of elements in which all parameters are numbers; 0 if it is short.
std::uint64_t long_row(const Broadcast& arrays) {
  if (arrays.axes.empty()) return 1;
  const bool is_constant =
      std::ranges::all_of(arrays.arrays, [](const ArrayParameter& row) { return row.strides.back() == 0; });
  return is_constant && arrays.axes.back() >= kLongRow ? arrays.axes.back() : 0;
}

/// The numbers of the elements at some places.
class GatheredOperands {
 public:
  GatheredOperands(const NodataPlaces& places, const Operands& all) {
    for (std::size_t i = 0; i < kSlots; ++i) {
      const auto slot = static_cast<Slot>(i);
      const auto& [data, stride] = all[slot];
      operands_[slot] = all[slot];
      if (stride == 0) continue;
      memory_.push_back(std::make_unique_for_overwrite<std::byte[]>(places.all().size() * stride));
      std::byte* const together = memory_.back().get();
      operands_[slot].data = together;
      if (stride <= sizeof(ElementBits))
        places.gather(data, stride, together);
      else
        for (std::size_t at = 0; at < places.all().size(); ++at)
          std::memcpy(together + at * stride, data + places.all()[at] * stride, stride);
    }
  }

  [[nodiscard]] const Operands& operator*() const noexcept { return operands_; }

 private:
  std::vector<std::unique_ptr<std::byte[]>> memory_;
  Operands operands_;
};

}  // namespace

/// A tile that one thread uses.
class PlanClip::Borrowed {
 public:
  Borrowed(PlanClip& owner, std::uint64_t position) : owner_(owner) {
    {
      const std::lock_guard lock(owner.mutex_);
      if (!owner.free_.empty()) {
        const auto near =
            std::ranges::find_if(owner.free_, [=](const auto& tile) { return tile->has_in_band(position); });
        if (near != owner.free_.end()) std::swap(*near, owner.free_.back());
        tile_ = std::move(owner.free_.back());
        owner.free_.pop_back();
        return;
      }
      owner.free_.reserve(++owner.tiles_);  // so that the destructor needs no memory
    }
    tile_ =
        std::make_unique<ParameterTile>(owner.plan_, owner.row_ != 0 ? 1 : owner.capacity_, owner.band_size_);
  }
  Borrowed(const Borrowed&) = delete;
  Borrowed& operator=(const Borrowed&) = delete;
  ~Borrowed() {
    const std::lock_guard lock(owner_.mutex_);
    owner_.free_.push_back(std::move(tile_));
  }

  ParameterTile* operator->() const noexcept { return tile_.get(); }
  ParameterTile& operator*() const noexcept { return *tile_; }

 private:
  PlanClip& owner_;
  std::unique_ptr<ParameterTile> tile_;
};

PlanClip::PlanClip(const Plan& plan, const KernelOptions& options, std::string path)
    : plan_(plan),
      level_(options.level),
      band_size_(kBands / options.threads / (plan.arrays ? plan.arrays->arrays.size() : 1)),
      path_(std::move(path)),
      in_size_(traits(plan.input.dtype).size),
      out_size_(traits(plan.output.dtype).size),
      is_decoded_(is_decoded(plan.input) && is_decoded(plan.output)),
      capacity_(capacity_of(plan)) {
  if (!plan.arrays || plan.slice.count == 0) return;
  const auto& missing = plan.missing_figures;
  // What nodata elements become is no number of an operation.
  if ((!missing || missing->arrays.front().strides.back() == 0) &&
      plan.array(ParameterId::nodata_to) == nullptr)
    row_ = long_row(*plan.arrays);
  repeats_ = std::max(plan.arrays->period(), missing ? missing->period() : 0);
  check_first_period();
  expect_valid();
}

PlanClip::~PlanClip() = default;

void PlanClip::check_first_period() {
  const std::uint64_t period = repeats_;
  checked_ = false;
  if (row_ == 0 && period <= kMaxPeriod * capacity_) {
    const std::size_t size = std::min<std::uint64_t>(period + capacity_ / kCopies, plan_.arrays->count());
    period_ = std::make_unique<ParameterTile>(plan_, size);
    period_->expand(0, period);
    if (const auto refused = period_->first_refused(period)) refused_.note(*refused);
    period_->repeat(period, size);
  } else if (period / std::max<std::uint64_t>(row_, 1) <= kMaxChecked) {
    check(0, period);
  } else {
    return;
  }
  checked_ = true;
}

/// Calls use(tile, begin, length) for parts of the range, after the tile was expanded for the part. A part is
/// a long row, for which the tile has one element, or as long as the tile.
template <class Use>
void PlanClip::for_each_tile(std::uint64_t position, std::uint64_t count, const Use& use) {
  Borrowed tile(*this, position);
  for (std::uint64_t begin = 0; begin < count;) {
    const std::uint64_t at = position + begin;
    const std::uint64_t length = std::min(count - begin, row_ != 0 ? row_ - at % row_ : capacity_);
    const std::size_t expanded = row_ != 0 ? 1 : static_cast<std::size_t>(length);
    tile->expand(at, expanded);
    if (!checked_)
      if (const auto refused = tile->first_refused(expanded)) refused_.note(at + *refused);
    use(*tile, begin, length);
    begin += length;
  }
}

void PlanClip::check(std::uint64_t position, std::uint64_t count) {
  if (!checked_) for_each_tile(position, count, [](const ParameterTile&, std::uint64_t, std::uint64_t) {});
}

/// Kernels clip bytes to bounds faster than a table gives results and counts, and loops make wider results.
/// Of some results each is made by a call.
bool PlanClip::is_worth_table(std::size_t count) const noexcept {
  constexpr std::uint64_t kWorth = 64UL << 10;
  constexpr std::size_t kLeast = 1024;
  const Operation& operation = plan_.operation;
  const bool has_calls = !has_kernels(operation.from) || !has_kernels(plan_.output.dtype) ||
                         operation.arithmetic == Arithmetic::integer ||
                         (operation.cast && (operation.cast->below || operation.cast->above));
  const bool does_more = operation.cast || operation.arithmetic != Arithmetic::none;
  return in_size_ == 1 && count >= kLeast && std::max<std::uint64_t>(count, plan_.slice.count) >= kWorth &&
         does_more && (has_calls || (out_size_ == 1 && !is_native(operation)));
}

ElementCounts PlanClip::clip(std::uint64_t position, const std::byte* in, std::byte* out, std::size_t count,
                             Counting counting, Chosen chosen) {
  ElementCounts total;
  const auto note = [&](const Converted& done, std::uint64_t begin) {
    total += done.counts;
    if (done.first_nan) first_nan_.note(position + begin + *done.first_nan);
    if (done.first_beyond) first_beyond_.note(position + begin + *done.first_beyond);
  };
  const auto add = [&](const Operation& operation, const Operands& operands, std::uint64_t begin,
                       std::size_t length) {
    const std::byte* const from = in + begin * in_size_;
    std::byte* const to = out == nullptr ? nullptr : out + begin * out_size_;
    note(chosen.empty() ? clip_stored(operation, operands, from, to, length, counting)
                        : clip_chosen(operation, operands, NodataPlaces(chosen.subspan(begin, length)), from,
                                      to, counting),
         begin);
  };
  if (!plan_.arrays) {
    if (chosen.empty() && is_worth_table(count))
      note(look_up_bytes(in, out, count, counting), 0);
    else
      add(plan_.operation, kNumbers, 0, count);
    return total;
  }
  if (period_) {
    const std::uint64_t period = repeats_;
    for (std::size_t begin = 0; begin < count;) {
      const auto first = static_cast<std::size_t>((position + begin) % period);
      const std::size_t length = std::min(count - begin, period_->capacity() - first);
      add(plan_.operation, period_->operands(first), begin, length);
      begin += length;
    }
    return total;
  }
  for_each_tile(position, count, [&](const ParameterTile& tile, std::uint64_t begin, std::uint64_t length) {
    if (row_ != 0)
      add(tile.operation(), kNumbers, begin, length);
    else
      add(plan_.operation, tile.operands(), begin, length);
  });
  return total;
}

Converted PlanClip::look_up_bytes(const std::byte* in, std::byte* out, std::size_t count, Counting counting) {
  std::call_once(makes_bytes_, [this] {
    const auto clip_bytes = [this](const std::byte* bytes, std::byte* results, std::size_t number,
                                   Counting counts) {
      return clip_stored(plan_.operation, kNumbers, bytes, results, number, counts);
    };
    bytes_ = std::make_unique<ByteResults>(out_size_, clip_bytes);
  });
  Converted total;
  if (counting == Counting::on || plan_.may_refuse_elements()) total = bytes_->count(in, count, level_);
  if (out != nullptr) bytes_->write(in, out, count, level_);
  return total;
}

/// Clips elements to the numbers of the operation, or to their own. Those that kernels do not take
/// as they are stored, or where they lie, are decoded and encoded in blocks that the first-level cache holds.
Converted PlanClip::clip_stored(const Operation& operation, const Operands& operands, const std::byte* in,
                                std::byte* out, std::size_t count, Counting counting) {
  if (is_decoded_ && is_aligned(in, in_size_) && is_aligned(out, out_size_))
    return clip_decoded(operation, operands, in, out, count, counting);
  constexpr std::size_t kBlock = 8UL << 10;  // bytes: with 32 KiB, float32 takes 1.5 times as long
  alignas(64) std::array<std::byte, kBlock> block;
  alignas(64) std::array<std::byte, kBlock> results;
  const std::size_t most = kBlock / std::max(in_size_, out_size_);
  Converted total;
  for (std::size_t done = 0; done < count; done += most) {
    const std::size_t length = std::min(most, count - done);
    const std::byte* const from = in + done * in_size_;
    decode(plan_.input, from, std::span(block).first(length * in_size_), level_);
    const bool is_other = plan_.input.meaning.kind == LogicalType::Kind::boolean &&
                          (plan_.operation.cast || std::memcmp(block.data(), from, length) != 0);
    total.add(clip_decoded(operation, operands.after(done), block.data(),
                           out == nullptr ? nullptr : results.data(), length, counting),
              done);
    total.counts.changed = total.counts.changed || is_other;
    if (out != nullptr)
      encode(plan_.output, results.data(), {out + done * out_size_, length * out_size_}, level_);
  }
  return total;
}

Converted PlanClip::clip_decoded(const Operation& operation, const Operands& operands, const std::byte* in,
                                 std::byte* out, std::size_t count, Counting counting) {
  if (!plan_.has_nodata()) return clip_without_nodata(operation, operands, in, out, count, counting);
  BlockMemory unwanted;
  Converted total;
  for (std::size_t done = 0; done < count; done += NodataPlaces::kMax) {
    total.add(clip_around_nodata(operation, operands.after(done), in + done * in_size_,
                                 out == nullptr ? unwanted.data() : out + done * out_size_,
                                 std::min(NodataPlaces::kMax, count - done), counting),
              done);
  }
  return total;
}

Converted PlanClip::clip_without_nodata(const Operation& operation, const Operands& operands,
                                        const std::byte* in, std::byte* out, std::size_t count,
                                        Counting counting) {
  const Losses* losses = nullptr;
  if (counting == Counting::on && plan_.may_lose()) {
    std::call_once(looks_for_losses_, [this] { losses_ = losses_of(plan_.operation); });
    if (losses_) losses = &*losses_;
  }
  Converted result = apply(operation, operands, in, out, count, counting, level_, losses);
  if (!plan_.refuse_nan)
    result.first_nan.reset();
  else if (plan_.looks_for_nan())
    result.first_nan = find_nan(operation, out, count);
  if (counting == Counting::off) result.counts = {};
  return result;
}

/// Writes what nodata elements become, together. Returns whether that is something else.
bool PlanClip::convert_nodata(const Operands& operands, const NodataPlaces& nodata, const std::byte* in,
                              std::byte* out) const {
  const std::size_t count = nodata.all().size();
  BlockMemory elements;
  nodata.gather(in, in_size_, elements.data());
  if (plan_.nodata->to)
    with_size(out_size_, [&]<std::size_t kSize>() {
      const PerElement each(operands[Slot::nodata], *plan_.nodata->to);
      for (std::size_t i = 0; i < count; ++i)
        reinterpret_cast<UnsignedOfSize<kSize>*>(out)[i] =
            static_cast<UnsignedOfSize<kSize>>(each[nodata.all()[i]]);
    });
  else if (plan_.input.dtype == plan_.output.dtype)
    std::memcpy(out, elements.data(), count * in_size_);
  else
    static_cast<void>(
        convert(plan_.nodata->keeping, kNumbers, elements.data(), out, count, Counting::off, level_));
  return count != 0 && (plan_.input.dtype != plan_.output.dtype ||
                        std::memcmp(out, elements.data(), count * in_size_) != 0);
}

/// Clips a block in which the first element that is data stands in the places of those that are not, too.
/// What these are counted for is taken back.
Converted PlanClip::clip_beside_nodata(const Operation& operation, const Operands& operands,
                                       const NodataPlaces& nodata, const std::byte* in, std::byte* out,
                                       std::size_t count, Counting counting) {
  const std::byte* const first = in + nodata.first_data() * in_size_;
  const auto clip_one = [&](const std::byte* element, std::size_t at, Counting counts) {
    alignas(ElementBits) std::array<std::byte, sizeof(ElementBits)> result;
    return clip_without_nodata(operation, operands.after(at), element, result.data(), 1, counts);
  };
  Converted done = clip_without_nodata(operation, operands, in, out, count, counting);
  if (counting == Counting::on) done.counts.became_nodata = count_written(operands, nodata, out, count);
  if (nodata.all().empty()) return done;
  if (done.first_nan || done.first_beyond) {
    done.first_nan = done.first_beyond = std::nullopt;
    for (std::size_t i = 0; i < count; ++i)
      if (!std::ranges::binary_search(nodata.all(), i))
        done.add(clip_one(in + i * in_size_, i, Counting::off), i);
  }
  if (counting == Counting::off) return done;
  constexpr std::uint64_t kMinusOne = ~std::uint64_t{0};
  if (!operands.vary())
    done.counts.add(clip_one(first, 0, counting).counts, kMinusOne * nodata.all().size());
  else
    for (const std::size_t place : nodata.all())
      done.counts.add(clip_one(first, place, counting).counts, kMinusOne);
  if (plan_.input.dtype == plan_.output.dtype) {
    nodata.fill(first, out_size_, out);
    done.counts.changed = std::memcmp(in, out, count * in_size_) != 0;
  }
  return done;
}

/// How many elements that are data have become nodata.
std::size_t PlanClip::count_written(const Operands& operands, const NodataPlaces& nodata,
                                    const std::byte* out, std::size_t count) const {
  std::array<std::uint8_t, NodataPlaces::kMax> flags;
  constexpr static ElementBits kNone = 0;
  const PerElement each(operands[Slot::nodata], plan_.nodata->to ? *plan_.nodata->to : kNone);
  const bool varies = operands[Slot::nodata].data != nullptr;
  std::size_t written = 0;
  for (std::size_t begin = 0, end = 0; begin < count; begin = end) {  // of one number
    end = varies ? begin + 1 : count;
    while (end < count && each[end] == each[begin]) ++end;
    Nodata own{plan_.output.dtype};
    if (varies) own.add(number_of(own.dtype, each[begin]));
    written += find_nodata(varies ? own : plan_.nodata->written, out + begin * out_size_, end - begin,
                           flags.data() + begin, level_);
  }
  for (const std::size_t place : nodata.all()) written -= flags[place];
  return written;
}

Converted PlanClip::clip_around_nodata(const Operation& operation, const Operands& operands,
                                       const std::byte* in, std::byte* out, std::size_t count,
                                       Counting counting) {
  const NodataPlaces nodata(plan_.nodata->read, in, count, level_);
  const std::size_t first = nodata.first_data();
  BlockMemory elements;
  BlockMemory results;
  bool is_other = false;
  if (!nodata.all().empty()) {
    is_other = convert_nodata(operands, nodata, in, results.data());
    std::memcpy(elements.data(), in, count * in_size_);
    if (first != count) nodata.fill(in + first * in_size_, in_size_, elements.data());
    in = elements.data();
  }
  Converted done;
  if (first != count) done = clip_beside_nodata(operation, operands, nodata, in, out, count, counting);
  nodata.scatter(results.data(), out_size_, out);
  if (counting == Counting::off) return done;
  done.counts.nodata = nodata.all().size();
  done.counts.changed |= is_other;
  return done;
}

/// clip_stored() of the elements at these places; positions are among all.
Converted PlanClip::clip_chosen(const Operation& operation, const Operands& operands,
                                const NodataPlaces& places, const std::byte* in, std::byte* out,
                                Counting counting) {
  const std::size_t count = places.all().size();
  if (count == 0) return {};
  BlockMemory elements;
  BlockMemory results;
  places.gather(in, in_size_, elements.data());
  const GatheredOperands own(places, operands);
  Converted done = clip_stored(operation, *own, elements.data(), out == nullptr ? nullptr : results.data(),
                               count, counting);
  if (out != nullptr) places.scatter(results.data(), out_size_, out);
  for (std::optional<std::size_t>* const first : {&done.first_nan, &done.first_beyond})
    if (*first) *first = places.all()[**first];
  return done;
}

std::uint64_t PlanClip::first_refusal() const noexcept {
  std::uint64_t first = std::numeric_limits<std::uint64_t>::max();
  for (const FirstPosition* const each : {&refused_, &first_nan_, &first_beyond_})
    first = std::min(first, each->position().value_or(first));
  return first;
}

void PlanClip::expect_valid() const {
  if (plan_.arrays) expect_valid_arrays();
  const DTypeTraits& to = traits(plan_.output.dtype);
  const std::optional<std::uint64_t> nan = first_nan_.position();
  if (nan && !first_beyond_.is_before(*nan))
    refuse("NaN", *nan,
           !plan_.operation.cast || is_floating(to.dtype) ? ""
           : makes_nan(plan_)                             ? fmt::format(" cannot become {}", to.name)
                              : fmt::format(" cannot become {}; to replace NaN, add ", to.name) +
                                    Term{"nan", "nan=", Says::setting} + "0");
  const std::optional<std::uint64_t> beyond = first_beyond_.position();
  if (!beyond) return;
  const auto limit = [&](ElementBits element) { return element_text(to.dtype, element); };
  refuse("the result", *beyond,
         fmt::format(" is beyond the range of {}, {} to {}; to clip it to this range, add ", to.name,
                     limit(lowest_finite(to.dtype)), limit(highest_finite(to.dtype))) +
             (plan_.changes_dtype() ? Message("") : Term{"to", "to"} + fmt::format(" {} and ", to.name)) +
             Term{"saturate", "saturate"});
}

void PlanClip::refuse(std::string_view what, std::uint64_t position, const Message& why) const {
  if (path_.empty()) throw Error(ErrorKind::input, fmt::format("{} at element {}", what, position) + why);
  throw Error(ErrorKind::input, fmt::format("{}: {} at {} (element {})", path_, what,
                                            index_text(plan_.input, position), position) +
                                    why);
}

void PlanClip::expect_valid_arrays() const {
  const std::optional<std::uint64_t> refused = refused_.position();
  if (refused) {
    ParameterTile tile(plan_, 1);
    if (path_.empty()) tile.refuse(*refused);
    with_path(path_, [&] { tile.refuse(*refused); });
  }
  for (const ArrayParameter& row : plan_.arrays->arrays) row.array->expect_unwritten();
  if (refused)  // the file has other elements now, and its time is that of the old ones
    throw Error(ErrorKind::io, "an array that is a parameter changed while it was read; try again");
}

}  // namespace clipper
