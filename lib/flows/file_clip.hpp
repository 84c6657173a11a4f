#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "contract/plan.hpp"
#include "files/direct_file.hpp"
#include "files/input_file.hpp"
#include "flows/clip_file.hpp"
#include "flows/figures.hpp"

/// The tensor of a .npy file, or of a stream.
namespace clipper {

/// Whether a stage may clip only so many elements.
[[nodiscard]] bool has_limit(const ClipSettings& settings);

/// Whether all clipped elements are counted.
[[nodiscard]] Counting counting_of(const ClipSettings& settings);

/// Error{different} if more elements were clipped, or became infinite, than the settings allow.
void check_clip_limit(const ClipSettings& settings, const ClipResult& result);

/// What read_header() reads of a tensor that may be clipped.
struct ReadHeader {
  npy::Header header;
  std::vector<std::byte> bytes;
};
[[nodiscard]] ReadHeader header_of(const ClipSettings& settings, InputFile& input,
                                   std::optional<npy::Start> start = std::nullopt);

/// Reads the header and makes the plan by `make`: make_plan() for a part of a tensor, plan_before_reading()
/// for finding errors.
[[nodiscard]] Plan plan_header(const ClipSettings& settings, InputFile& input,
                               Plan (*make)(const Request&, const TensorLayout&));

/// Makes the plan. Reads the elements if the request has figures.
[[nodiscard]] Plan read_plan(Engine& engine, const ClipSettings& settings, InputFile& input,
                             const npy::Header& header);

/// Clips the tensor.
class FileClip : public ContentsClip {
 public:
  /// Makes the plan: see read_plan(); without the elements for Purpose::check. Notifies the observer. `start`
  /// is that of read_header(), `read` what header_of() has read already.
  FileClip(const Clipping& clipping, InputFile& input, std::optional<npy::Start> start = std::nullopt,
           std::optional<ReadHeader> read = std::nullopt);

  /// Clips a part by a plan that was made from the header.
  FileClip(const Clipping& clipping, InputFile& input, Plan part);

  [[nodiscard]] std::uint64_t size() const override { return clipping_.result.plan->input_size(); }
  [[nodiscard]] std::uint64_t least_room() const override;
  [[nodiscard]] bool changes() override;
  void count() override;
  void expect_written(InputFile& output, const std::string& out) const override;

  /// Error{refused} if the output is the input file.
  void write(OutputFile& output) override;

 private:
  void take(Plan plan);
  void check_limit_of_stream();
  template <class Work>
  auto in_order_of_stages(const Work& work);

  const Clipping& clipping_;
  InputFile& input_;
  const Format& format_;           ///< of the result
  std::vector<std::byte> header_;  ///< of the input, if it is .npy
};

}  // namespace clipper
