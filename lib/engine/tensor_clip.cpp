#include "engine/tensor_clip.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <optional>
#include <span>
#include <utility>

#include "contract/fields.hpp"
#include "engine/parameter_tile.hpp"
#include "memory/elements.hpp"

namespace clipper {
namespace {

/// Elements that may lack different figures, or may be outside of a mask, are clipped in such blocks.
constexpr std::size_t kBlock = NodataPlaces::kMax;

/// The plans for the elements that lack other figures, for the same part of the tensor and the same output.
std::vector<Plan> plans_of_others(const Plan& plan) {
  std::vector<Plan> plans = plan.others;
  for (Plan& other : plans) {
    other.input = plan.input;
    other.output = plan.output;
    other.slice = plan.slice;
    other.missing_figures = plan.missing_figures;
    if (other.arrays) lay_out(*other.arrays, plan.input.shape, plan.input.fortran_order);
  }
  return plans;
}

}  // namespace

/// A stage: clips the elements that are in its mask, each by the plan for those that lack the same figures.
class TensorClip::Stage {
 public:
  Stage(const Plan& plan, const KernelOptions& options, const std::string& path)
      : plan_(plan),
        other_plans_(plans_of_others(plan)),
        level_(options.level),
        in_size_(traits(plan.input.dtype).size),
        out_size_(traits(plan.output.dtype).size) {
    if (plan.mask) in_mask_ = flags_of(plan.mask->mask, plan.input);
    for (const Plan& other : other_plans_) clips_.push_back(std::make_unique<PlanClip>(other, options, path));
    clips_.insert(clips_.begin(), std::make_unique<PlanClip>(plan, options, path));
  }

  ElementCounts clip(std::uint64_t position, const std::byte* in, std::byte* out, std::size_t count,
                     Counting counting) const {
    ElementCounts counts = in_mask_             ? clip_in_mask(position, in, out, count, counting)
                           : clips_.size() == 1 ? clips_.front()->clip(position, in, out, count, counting)
                                                : clip_by_figures(position, in, out, count, counting);
    counts.changed = counts.changed || (count != 0 && plan_.changes_order());
    return counts;
  }

  [[nodiscard]] bool is_checked() const noexcept {
    return std::ranges::all_of(clips_, [](const auto& clip) { return clip->is_checked(); });
  }

  void check(std::uint64_t position, std::uint64_t count) const {
    for (const auto& clip : clips_) clip->check(position, count);
  }

  [[nodiscard]] bool is_refused_before(std::uint64_t position) const noexcept {
    return std::ranges::any_of(clips_, [=](const auto& clip) { return clip->is_refused_before(position); });
  }

  void expect_valid() const {
    if (plan_.mask && plan_.mask->mask.array) plan_.mask->mask.array->expect_unwritten();
    std::vector<const PlanClip*> all;
    for (const auto& clip : clips_) all.push_back(clip.get());
    std::ranges::stable_sort(all, {}, &PlanClip::first_refusal);
    for (const PlanClip* const clip : all) clip->expect_valid();
  }

 private:
  /// The clip of the elements that lack these figures.
  [[nodiscard]] PlanClip& clip_of(std::byte missing) const noexcept {
    const auto other = std::ranges::find_if(
        clips_, [&](const auto& clip) { return std::byte{clip->plan().missing} == missing; });
    return other == clips_.end() ? *clips_.front() : **other;
  }

  ElementCounts clip_by_figures(std::uint64_t position, const std::byte* in, std::byte* out,
                                std::size_t count, Counting counting) const;
  ElementCounts clip_block(std::uint64_t position, const std::byte* in, std::byte* out, std::size_t count,
                           Counting counting, PlanClip::Chosen mask = {}) const;
  void read_mask_to(std::uint64_t position, std::span<std::uint8_t> in_mask, std::byte* to) const;
  ElementCounts clip_in_mask(std::uint64_t position, const std::byte* in, std::byte* out, std::size_t count,
                             Counting counting) const;

  const Plan& plan_;
  std::vector<Plan> other_plans_;                 ///< for the elements that lack other figures
  std::vector<std::unique_ptr<PlanClip>> clips_;  ///< by the plan, and by the other ones
  MaskFlags in_mask_;                             ///< null without Plan::mask
  SimdLevel level_;
  std::size_t in_size_;
  std::size_t out_size_;
};

ElementCounts TensorClip::Stage::clip_by_figures(std::uint64_t position, const std::byte* in, std::byte* out,
                                                 std::size_t count, Counting counting) const {
  const Broadcast& missing = *plan_.missing_figures;
  const ArrayParameter& sets = missing.arrays.front();
  const std::uint64_t row =
      sets.strides.back() == 0 ? missing.axes.back() : 1;  // elements that lack the same
  ElementCounts total;
  for (std::size_t done = 0; done < count;) {
    const std::uint64_t at = position + done;
    const std::byte* const from = in + done * in_size_;
    std::byte* const to = out == nullptr ? nullptr : out + done * out_size_;
    const bool is_row = row >= kBlock;
    const std::size_t length = std::min<std::uint64_t>(count - done, is_row ? row - at % row : kBlock);
    if (is_row) {
      std::byte set{};
      ArrayReader(missing, sets, 0).read(at, 1, &set);
      total += clip_of(set).clip(at, from, to, length, counting);
    } else {
      total += clip_block(at, from, to, length, counting);
    }
    done += length;
  }
  return total;
}

/// Clips elements that may lack different figures.
ElementCounts TensorClip::Stage::clip_block(std::uint64_t position, const std::byte* in, std::byte* out,
                                            std::size_t count, Counting counting,
                                            PlanClip::Chosen mask) const {
  const Broadcast& missing = *plan_.missing_figures;
  std::array<std::byte, kBlock> sets;
  ArrayReader(missing, missing.arrays.front(), 0).read(position, count, sets.data());
  if (std::memcmp(sets.data(), sets.data() + 1, count - 1) == 0)
    return clip_of(sets.front()).clip(position, in, out, count, counting, mask);
  BlockMemory elements;  // `out` may overlap `in`
  std::memcpy(elements.data(), in, count * in_size_);
  ElementCounts total;
  for (const auto& clip : clips_) {
    std::array<std::uint8_t, kBlock> chosen;
    for (std::size_t i = 0; i < count; ++i)
      chosen[i] = sets[i] == std::byte{clip->plan().missing} && (mask.empty() || mask[i] != 0) ? 1 : 0;
    total += clip->clip(position, elements.data(), out, count, counting, std::span(chosen).first(count));
  }
  return total;
}

/// Writes what elements become outside of the mask. Where no figure is found they are as in it.
void TensorClip::Stage::read_mask_to(std::uint64_t position, std::span<std::uint8_t> in_mask,
                                     std::byte* to) const {
  std::array<ElementBits, kBlock> numbers;
  std::array<std::uint8_t, kBlock> found;
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
ElementCounts TensorClip::Stage::clip_in_mask(std::uint64_t position, const std::byte* in, std::byte* out,
                                              std::size_t count, Counting counting) const {
  BlockMemory block;
  const std::byte* to = block.data();  // of each element
  std::vector<std::uint8_t> flags(count);
  in_mask_(position, std::as_writable_bytes(std::span(flags)));
  ElementCounts total;
  for (std::size_t done = 0; done < count; done += kBlock) {
    const std::size_t length = std::min(kBlock, count - done);
    const std::span chosen = std::span(flags).subspan(done, length);
    read_mask_to(position + done, chosen, block.data());
    const std::byte* const from = in + done * in_size_;
    std::byte* const to_here = out == nullptr ? nullptr : out + done * out_size_;
    bool is_other = false;
    for (std::size_t i = 0; i < length && counting == Counting::on; ++i) {
      if (chosen[i] != 0) continue;
      ++total.masked;
      is_other |=
          plan_.changes_dtype() || std::memcmp(from + i * in_size_, to + i * out_size_, in_size_) != 0;
    }
    total += clips_.size() == 1
                 ? clips_.front()->clip(position + done, from, to_here, length, counting, chosen)
                 : clip_block(position + done, from, to_here, length, counting, chosen);
    total.changed |= is_other;
    for (std::size_t i = 0; i < length && out != nullptr; ++i)
      if (chosen[i] == 0) std::memcpy(to_here + i * out_size_, to + i * out_size_, out_size_);
  }
  return total;
}

bool may_keep_zeros(const Plan& plan, const KernelOptions& options) {
  if (plan.has_arrays()) return true;
  constexpr std::size_t kMaxSize = 8;  // of an element
  const std::array<std::byte, kMaxSize> zero{};
  std::array<std::byte, kMaxSize> result{};
  TensorClip(plan, options, "").clip(0, zero.data(), result.data(), 1, Counting::off);
  return result == zero;
}

StageCounts& StageCounts::operator+=(const StageCounts& other) {
  ElementCounts::operator+=(other);
  then.resize(std::max(then.size(), other.then.size()));
  for (std::size_t i = 0; i < other.then.size(); ++i) then[i] += other.then[i];
  return *this;
}

TensorClip::TensorClip(const Plan& plan, const KernelOptions& options, const std::string& path)
    : plan_(plan) {
  if (!plan.then.empty()) plans_ = stages_of(plan);
  if (plans_.empty()) stages_.push_back(std::make_unique<Stage>(plan, options, path));
  for (std::size_t i = 0; i < plans_.size(); ++i)
    stages_.push_back(std::make_unique<Stage>(plans_[i], options, stage_name(i, path)));
}

TensorClip::~TensorClip() = default;

/// Takes as many elements through all stages as the first-level cache holds.
StageCounts TensorClip::clip_in_stages(std::uint64_t position, const std::byte* in, std::byte* out,
                                       std::size_t count, Counting counting) const {
  constexpr std::size_t kTile = 16UL << 10;
  alignas(64) std::array<std::array<std::byte, kTile>, 2> tiles;
  std::size_t most = kTile;
  for (const Plan& stage : plans_) most = std::min(most, kTile / stage.largest_element());
  StageCounts total;
  total.then.resize(plan_.then.size());
  bool changed = plan_.changes_dtype() && count != 0;
  const std::size_t out_size = traits(plan_.output.dtype).size;
  for (std::size_t done = 0; done < count; done += most) {
    const std::size_t length = std::min(most, count - done);
    const std::byte* const first = in + done * traits(plan_.input.dtype).size;
    const std::byte* from = first;
    for (std::size_t i = 0; i < stages_.size(); ++i) {
      std::byte* const to = tiles[i % 2].data();
      total.of(i) += stages_[i]->clip(position + done, from, to, length, counting);
      from = to;
    }
    const std::size_t size = length * out_size;
    changed = changed || (counting == Counting::on && std::memcmp(from, first, size) != 0);
    if (out != nullptr) std::memcpy(out + done * out_size, from, size);
  }
  total.changed = counting == Counting::on && changed;
  return total;
}

StageCounts TensorClip::clip(std::uint64_t position, const std::byte* in, std::byte* out, std::size_t count,
                             Counting counting) {
  if (!plans_.empty()) return clip_in_stages(position, in, out, count, counting);
  return {stages_.front()->clip(position, in, out, count, counting)};
}

bool TensorClip::is_checked() const noexcept {
  return std::ranges::all_of(stages_, [](const auto& stage) { return stage->is_checked(); });
}

void TensorClip::check(std::uint64_t position, std::uint64_t count) {
  for (const auto& stage : stages_) stage->check(position, count);
}

bool TensorClip::is_refused_before(std::uint64_t position) const noexcept {
  return std::ranges::any_of(stages_, [=](const auto& stage) { return stage->is_refused_before(position); });
}

bool TensorClip::is_over_before(std::uint64_t position) const noexcept {
  return stages_.front()->is_refused_before(position);
}

void TensorClip::expect_valid() const {
  for (const auto& stage : stages_) stage->expect_valid();
}

}  // namespace clipper
