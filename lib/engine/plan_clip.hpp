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
#include "engine/byte_results.hpp"
#include "engine/parameter_tile.hpp"
#include "error.hpp"
#include "memory/nodata.hpp"
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

}  // namespace clipper
