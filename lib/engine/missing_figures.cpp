#include <algorithm>
#include <array>
#include <cstring>
#include <limits>
#include <memory>
#include <vector>

#include "clip/operands.hpp"
#include "engine/parameter_tile.hpp"
#include "engine/tensor_clip.hpp"
#include "memory/codec.hpp"
#include "memory/nodata.hpp"

/// Elements of groups that lack figures, which plans of their own clip: see Plan::others; and those in a
/// mask.
namespace clipper {
namespace {

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

/// Elements or results of a block.
struct alignas(64) ChosenBlock : std::array<std::byte, NodataPlaces::kMax * sizeof(ElementBits)> {};

}  // namespace

/// Makes the clips of the other plans, for the same part of the tensor and the same output.
void TensorClip::add_others(const KernelOptions& options) {
  plans_ = plan_.others;
  for (Plan& plan : plans_) {
    plan.input = plan_.input;
    plan.output = plan_.output;
    plan.slice = plan_.slice;
    plan.missing_figures = plan_.missing_figures;
    if (plan.arrays) lay_out(*plan.arrays, plan.input.shape, plan.input.fortran_order);
    others_.push_back(std::make_unique<TensorClip>(plan, options, path_));
  }
}

/// That of the elements which lack these parameters.
TensorClip& TensorClip::clip_of(std::byte missing) noexcept {
  const auto other = std::ranges::find_if(
      others_, [&](const auto& each) { return std::byte{each->plan_.missing} == missing; });
  return other == others_.end() ? *this : **other;
}

ElementCounts TensorClip::clip_by_figures(std::uint64_t position, const std::byte* in, std::byte* out,
                                          std::size_t count, Counting counting) {
  const Broadcast& missing = *plan_.missing_figures;
  const ArrayParameter& sets = missing.arrays.front();
  const std::uint64_t row =
      sets.strides.back() == 0 ? missing.axes.back() : 1;  // elements that lack the same
  ElementCounts total;
  for (std::size_t done = 0; done < count;) {
    const std::uint64_t at = position + done;
    const std::byte* const from = in + done * in_size_;
    std::byte* const to = out == nullptr ? nullptr : out + done * out_size_;
    const bool is_row = row >= NodataPlaces::kMax;
    const std::size_t length =
        std::min<std::uint64_t>(count - done, is_row ? row - at % row : NodataPlaces::kMax);
    if (is_row) {
      std::byte set{};
      ArrayReader(missing, sets, 0).read(at, 1, &set);
      total += clip_of(set).clip_own(at, from, to, length, counting);
    } else {
      total += clip_block(at, from, to, length, counting);
    }
    done += length;
  }
  return total;
}

/// Clips elements that may lack different figures.
ElementCounts TensorClip::clip_block(std::uint64_t position, const std::byte* in, std::byte* out,
                                     std::size_t count, Counting counting, Chosen mask) {
  const Broadcast& missing = *plan_.missing_figures;
  std::array<std::byte, NodataPlaces::kMax> sets;
  ArrayReader(missing, missing.arrays.front(), 0).read(position, count, sets.data());
  if (std::memcmp(sets.data(), sets.data() + 1, count - 1) == 0)
    return clip_of(sets.front()).clip_own(position, in, out, count, counting, mask);
  ChosenBlock elements;  // `out` may overlap `in`
  std::memcpy(elements.data(), in, count * in_size_);
  ElementCounts total;
  const auto clip_by = [&](TensorClip& clip) {
    std::array<std::uint8_t, NodataPlaces::kMax> chosen;
    for (std::size_t i = 0; i < count; ++i)
      chosen[i] = sets[i] == std::byte{clip.plan_.missing} && (mask.empty() || mask[i] != 0) ? 1 : 0;
    total += clip.clip_own(position, elements.data(), out, count, counting, Chosen(chosen).first(count));
  };
  clip_by(*this);
  for (const auto& other : others_) clip_by(*other);
  return total;
}

/// Writes what elements become outside of the mask. Where no figure is found they are as in it.
void TensorClip::read_mask_to(std::uint64_t position, std::span<std::uint8_t> in_mask, std::byte* to) const {
  std::array<ElementBits, NodataPlaces::kMax> numbers;
  std::array<std::uint8_t, NodataPlaces::kMax> found;
  const std::size_t count = in_mask.size();
  if (const auto& each = plan_.mask->each) {
    ArrayReader(*each, each->arrays[0], 0)
        .read(position, count, reinterpret_cast<std::byte*>(numbers.data()));
    ArrayReader(*each, each->arrays[1], 0).read(position, count, reinterpret_cast<std::byte*>(found.data()));
    for (std::size_t i = 0; i < count; ++i)
      if (found[i] == 0) in_mask[i] = 1;
  } else {
    numbers.fill(plan_.mask->to);
  }
  with_size(out_size_, [&]<std::size_t kSize>() {
    std::transform(numbers.begin(), numbers.begin() + static_cast<std::ptrdiff_t>(count),
                   reinterpret_cast<UnsignedOfSize<kSize>*>(to),
                   [](ElementBits bits) { return static_cast<UnsignedOfSize<kSize>>(bits); });
  });
  encode(plan_.output, to, {to, count * out_size_}, level_);
}

/// Clips the elements in the mask; the others become its number.
ElementCounts TensorClip::clip_in_mask(std::uint64_t position, const std::byte* in, std::byte* out,
                                       std::size_t count, Counting counting) {
  ChosenBlock block;
  const std::byte* to = block.data();  // of each element
  std::vector<std::uint8_t> flags(count);
  in_mask_(position, std::as_writable_bytes(std::span(flags)));
  ElementCounts total;
  for (std::size_t done = 0; done < count; done += NodataPlaces::kMax) {
    const std::size_t length = std::min(NodataPlaces::kMax, count - done);
    const std::span chosen = std::span(flags).subspan(done, length);
    read_mask_to(position + done, chosen, block.data());
    const std::byte* const from = in + done * in_size_;
    std::byte* const to_here = out == nullptr ? nullptr : out + done * out_size_;
    bool is_other = false;
    for (std::size_t i = 0; i < length && counting == Counting::on; ++i)
      is_other |= chosen[i] == 0 && (plan_.changes_dtype() ||
                                     std::memcmp(from + i * in_size_, to + i * out_size_, in_size_) != 0);
    total += others_.empty() ? clip_own(position + done, from, to_here, length, counting, chosen)
                             : clip_block(position + done, from, to_here, length, counting, chosen);
    total.changed |= is_other;
    for (std::size_t i = 0; i < length && out != nullptr; ++i)
      if (chosen[i] == 0) std::memcpy(to_here + i * out_size_, to + i * out_size_, out_size_);
  }
  return total;
}

/// clip_stored() of the elements at these places; positions are among all.
Converted TensorClip::clip_chosen(const Operation& operation, const Operands& operands,
                                  const NodataPlaces& places, const std::byte* in, std::byte* out,
                                  Counting counting) {
  const std::size_t count = places.all().size();
  if (count == 0) return {};
  ChosenBlock elements;
  ChosenBlock results;
  places.gather(in, in_size_, elements.data());
  const GatheredOperands own(places, operands);
  Converted done = clip_stored(operation, *own, elements.data(), out == nullptr ? nullptr : results.data(),
                               count, counting);
  if (out != nullptr) places.scatter(results.data(), out_size_, out);
  for (std::optional<std::size_t>* const first : {&done.first_nan, &done.first_beyond})
    if (*first) *first = places.all()[**first];
  return done;
}

/// The position of the first element that is refused, as far as is known.
std::uint64_t TensorClip::first_refusal() const noexcept {
  std::uint64_t first = std::numeric_limits<std::uint64_t>::max();
  for (const FirstPosition* const each : {&refused_, &first_nan_, &first_beyond_})
    first = std::min(first, each->position().value_or(first));
  return first;
}

void TensorClip::expect_valid() const {
  if (!plan_.then.empty()) {
    for (const auto& stage : others_) stage->expect_valid();
    return;
  }
  std::vector<const TensorClip*> all{this};
  for (const auto& other : others_) all.push_back(other.get());
  std::ranges::stable_sort(all, {}, &TensorClip::first_refusal);
  for (const TensorClip* const each : all) each->expect_own_valid();
}

}  // namespace clipper
