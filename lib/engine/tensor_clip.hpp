#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "engine/plan_clip.hpp"

namespace clipper {

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
