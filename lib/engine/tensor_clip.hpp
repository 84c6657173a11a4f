#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "clip/clip.hpp"
#include "clip/convert.hpp"
#include "clip/operation.hpp"
#include "contract/plan.hpp"
#include "engine/parameter_tile.hpp"
#include "error.hpp"
#include "memory/byte_table.hpp"
#include "memory/elements.hpp"
#include "parallel/pool.hpp"
#include "simd/levels.hpp"

namespace clipper {

/// How kernels are run.
struct KernelOptions {
  SimdLevel level;
  unsigned threads = 1;  ///< max threads that clip a tensor at once; their memory is bounded together
};

/// Applies one plan to elements, with the parameters that belong to each. Knows nothing of the plan's mask,
/// of other plans for other elements, and of later stages: see TensorClip. Many threads may call its
/// functions.
class PlanClip {
 public:
  /// 1 for each element that is clipped; empty if all are. At most NodataPlaces::kMax.
  using Chosen = std::span<const std::uint8_t>;

  /// `plan` must outlive this. Errors name the tensor's file, `path`, unless it is empty. Reads the arrays
  /// and throws the errors of expect_valid() if that takes little time: see is_checked().
  PlanClip(const Plan& plan, const KernelOptions& options, std::string path);
  PlanClip(const PlanClip&) = delete;
  PlanClip& operator=(const PlanClip&) = delete;
  ~PlanClip();

  /// See TensorClip::clip(); the others than the chosen elements are neither read nor written.
  ElementCounts clip(std::uint64_t position, const std::byte* in, std::byte* out, std::size_t count,
                     Counting counting, Chosen chosen = {});

  /// See TensorClip.
  [[nodiscard]] bool is_checked() const noexcept { return checked_; }
  void check(std::uint64_t position, std::uint64_t count);

  /// The position of the first element that is refused, as far as is known.
  [[nodiscard]] std::uint64_t first_refusal() const noexcept;
  [[nodiscard]] bool is_refused_before(std::uint64_t position) const noexcept {
    return first_refusal() < position;
  }

  /// See TensorClip.
  void expect_valid() const;

  [[nodiscard]] const Plan& plan() const noexcept { return plan_; }

 private:
  class Borrowed;

  void check_first_period();
  template <class Use>
  void for_each_tile(std::uint64_t position, std::uint64_t count, const Use& use);
  [[nodiscard]] bool is_worth_table(std::size_t count) const noexcept;
  Converted look_up_bytes(const std::byte* in, std::byte* out, std::size_t count, Counting counting);
  Converted clip_chosen(const Operation& operation, const Operands& operands, const NodataPlaces& places,
                        const std::byte* in, std::byte* out, Counting counting);
  Converted clip_stored(const Operation& operation, const Operands& operands, const std::byte* in,
                        std::byte* out, std::size_t count, Counting counting);
  Converted clip_decoded(const Operation& operation, const Operands& operands, const std::byte* in,
                         std::byte* out, std::size_t count, Counting counting);
  Converted clip_without_nodata(const Operation& operation, const Operands& operands, const std::byte* in,
                                std::byte* out, std::size_t count, Counting counting);
  Converted clip_around_nodata(const Operation& operation, const Operands& operands, const std::byte* in,
                               std::byte* out, std::size_t count, Counting counting);
  Converted clip_beside_nodata(const Operation& operation, const Operands& operands,
                               const NodataPlaces& nodata, const std::byte* in, std::byte* out,
                               std::size_t count, Counting counting);
  bool convert_nodata(const Operands& operands, const NodataPlaces& nodata, const std::byte* in,
                      std::byte* out) const;
  std::size_t count_written(const Operands& operands, const NodataPlaces& nodata, const std::byte* out,
                            std::size_t count) const;
  void expect_valid_arrays() const;
  [[noreturn]] void refuse(std::string_view what, std::uint64_t position, const Message& why) const;

  const Plan& plan_;
  SimdLevel level_;
  std::size_t band_size_;  ///< of each array and thread
  std::string path_;
  std::size_t in_size_;
  std::size_t out_size_;
  bool is_decoded_;        ///< whether kernels take the elements as they are stored
  std::size_t capacity_;   ///< elements of a tile
  std::uint64_t row_ = 0;  ///< length of the ranges in which all parameters are numbers; 0 if it is short
  bool checked_ = true;
  std::uint64_t repeats_ = 0;              ///< elements after which the parameters and what is missing repeat
  std::unique_ptr<ParameterTile> period_;  ///< the parameters of all elements, if they repeat soon
  std::once_flag makes_bytes_;
  std::unique_ptr<ByteResults> bytes_;  ///< see is_worth_table()
  std::once_flag looks_for_losses_;
  std::optional<Losses> losses_;
  FirstPosition refused_;
  FirstPosition first_nan_;     ///< which is refused
  FirstPosition first_beyond_;  ///< the range of the output's dtype
  std::mutex mutex_;
  std::size_t tiles_ = 0;
  std::vector<std::unique_ptr<ParameterTile>> free_;  ///< tiles that no thread uses now
};

/// The counts of the first stage, and of the later ones; `changed` is of what the last gives.
struct StageCounts : ElementCounts {
  std::vector<ElementCounts> then{};

  /// Of a stage, counted from 0.
  [[nodiscard]] ElementCounts& of(std::size_t stage) { return stage == 0 ? *this : then[stage - 1]; }
  [[nodiscard]] const ElementCounts& of(std::size_t stage) const {
    return stage == 0 ? *this : then[stage - 1];
  }

  StageCounts& operator+=(const StageCounts& other);
};

/// Whether a plan may turn elements whose bytes are all zero into such elements: unknown, hence true, with
/// arrays.
[[nodiscard]] bool may_keep_zeros(const Plan& plan, const KernelOptions& options);

/// Applies a plan to the elements of its tensor: stage by stage, those that are in a mask, each by the plan
/// for the figures that it has. Many threads may call its functions.
class TensorClip {
 public:
  /// `plan` must outlive this. Errors name the tensor's file, `path`, unless it is empty. Reads the arrays
  /// and throws the errors of expect_valid() if that takes little time: see is_checked().
  TensorClip(const Plan& plan, const KernelOptions& options, const std::string& path);
  TensorClip(const TensorClip&) = delete;
  TensorClip& operator=(const TensorClip&) = delete;
  ~TensorClip();

  /// Clips `count` elements, as they are stored and at any address, the first of which has the index
  /// `position` in the file of the whole tensor: see apply(), of which `out` may be null if there is a cast.
  /// Without counting, the counts are zero. If is_refused_before(position + count), the results are
  /// meaningless. Error{io} if an array cannot be read.
  StageCounts clip(std::uint64_t position, const std::byte* in, std::byte* out, std::size_t count,
                   Counting counting);

  /// Whether it is known that expect_valid() refuses no element of an array. If not, clip() and check() look
  /// for such elements.
  [[nodiscard]] bool is_checked() const noexcept;

  /// Looks for refused parameters of the elements, as clip() does.
  void check(std::uint64_t position, std::uint64_t count);

  /// Whether refused parameters, or a result that is refused, are known for an element before `position`.
  [[nodiscard]] bool is_refused_before(std::uint64_t position) const noexcept;

  /// Whether that is known of the first stage, so that no later result matters.
  [[nodiscard]] bool is_over_before(std::uint64_t position) const noexcept;

  /// Error{usage} for the first element whose parameters are refused: see ParameterTile. Error{io} if an
  /// array was written to since it was opened. Error{input} for the first result that is
  /// refused: see Plan::refuse_nan and Plan::refuse_beyond. Of stages, the first one with an error throws.
  void expect_valid() const;

 private:
  class Stage;

  StageCounts clip_in_stages(std::uint64_t position, const std::byte* in, std::byte* out, std::size_t count,
                             Counting counting) const;

  const Plan& plan_;
  std::vector<Plan> plans_;  ///< of the stages, if there are several
  std::vector<std::unique_ptr<Stage>> stages_;
};

}  // namespace clipper
