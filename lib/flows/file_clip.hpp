#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "contract/plan.hpp"
#include "files/input_file.hpp"
#include "files/output_file.hpp"
#include "flows/clip_file.hpp"
#include "flows/figures.hpp"
#include "flows/selection.hpp"
#include "formats/container.hpp"
#include "npz/archive.hpp"

/// Clips the tensor of a file or of a stream, a member of an archive, and an archive.
namespace clipper {

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

/// The CRC-32 of a known number of bytes that many threads add in pieces, in any order.
class PlacedCrc {
 public:
  explicit PlacedCrc(std::uint64_t size) noexcept : size_(size) {}

  /// Adds the bytes at `offset`. Each byte is added once.
  void add(std::uint64_t offset, std::span<const std::byte> bytes) {
    // The CRC-32 of a whole is the exclusive or of its parts' CRC-32s, each moved by the bytes after it.
    value_ ^= npz::crc32_of_both(npz::crc32(bytes), 0, size_ - offset - bytes.size());
  }

  /// After all bytes were added.
  [[nodiscard]] std::uint32_t value() const noexcept { return value_; }

 private:
  std::uint64_t size_;
  std::atomic<std::uint32_t> value_ = 0;
};

/// A header, which may be empty, and the elements after it, in memory that is used again.
class HeaderAndElements {
 public:
  /// Makes room for elements of this size after the header, and for `room` bytes while they are clipped.
  void assign(std::span<const std::byte> header, std::size_t elements, std::size_t room);

  [[nodiscard]] std::span<const std::byte> bytes() const {
    return std::span(memory_).subspan(begin_, end_ - begin_);
  }
  [[nodiscard]] std::byte* elements() { return memory_.data() + elements_; }

 private:
  std::vector<std::byte> memory_;
  std::size_t begin_ = 0;     ///< of the header
  std::size_t elements_ = 0;  ///< the first one's position, which is aligned
  std::size_t end_ = 0;
};

/// Clips a member of an archive. The contents are compared with the member's CRC-32 while they are read.
class MemberClip {
 public:
  /// Opens the member and makes its plan.
  MemberClip(const Clipping& clipping, const Container& archive, const Entry& member);

  [[nodiscard]] ClipResult& result() noexcept { return result_; }

  /// Whether the elements change. Counts all if they do not, or if `counting` is on.
  bool scan(Counting counting);

  /// The size of the clipped contents.
  [[nodiscard]] std::uint64_t size() const;

  /// Puts the clipped contents of a small member into memory.
  void clip(HeaderAndElements& contents);

  /// Writes the clipped contents to a regular output, stored or deflated as the member is.
  [[nodiscard]] Contents write(OutputFile& output);

 private:
  [[nodiscard]] std::vector<std::byte> header() const;
  [[nodiscard]] ByteObserver observer();
  [[nodiscard]] Contents write_stored(std::span<const std::byte> header, OutputFile& output);
  [[nodiscard]] Contents write_deflated(std::span<const std::byte> header, OutputFile& output);
  void note(const StageCounts& counts);
  void expect_sound() const;

  const Clipping& clipping_;
  const Entry& member_;
  bool has_crc_;
  bool is_checked_;  ///< nothing is compared with the CRC-32 while the contents are read
  InputFile input_;
  std::vector<std::byte> header_;
  PlacedCrc crc_;  ///< of the contents that were read
  ClipResult result_;
};

/// Why `out`, a file that exists, is not what clipping `in` to it writes, as far as headers and sizes tell:
/// it is empty or cut off, or of another dtype or shape. Empty if it is. If `in` is a stream or cannot be
/// clipped, `out` is judged alone; if it cannot be read, the run says why. `clipping` is for Purpose::check.
[[nodiscard]] std::string why_unfinished(const Clipping& clipping, const std::string& in,
                                         const std::string& out);

class MemberWriter;

/// Clips the members of an archive that selection.hpp selects. All others are handled by Selection::other,
/// and are not compared with their CRC-32. Error{input} for damaged contents of a member that is clipped, for
/// the reasons of member_uses() and, if the archive was named, those of expect_clipped_member(). Notifies the
/// observer, unless stated otherwise.
class ArchiveClip : public ContentsClip {
 public:
  /// Reads the members' headers. Throws all errors that do not depend on elements; notifies nobody. `input`
  /// must outlive this.
  ArchiveClip(const Clipping& clipping, const InputFile& input, const Format& format);

  /// Why the archive as a whole is not clipped: the reason of its first member. Empty if a member is clipped,
  /// and for an archive without members.
  [[nodiscard]] std::string_view why_other() const {
    return uses_.empty() || has_clipped_member(uses_) ? "" : uses_.front().reason;
  }

  [[nodiscard]] std::uint64_t size() const override;
  [[nodiscard]] std::uint64_t least_room() const override;
  [[nodiscard]] bool changes() override;  ///< also if a member is dropped; notifies nobody of changes
  void count() override;
  void expect_written(InputFile& output, const std::string& out) const override;

  /// Writes the archive with clipped members to `output`, which is regular.
  void write(OutputFile& output) override;

 private:
  /// What became of a small member, in memory.
  struct Small {
    ClipResult result;
    HeaderAndElements clipped;
    std::vector<std::byte> deflated;  ///< unless it is stored
    Contents contents;
    std::exception_ptr failure;
  };

  [[nodiscard]] const Entry& member(std::size_t index) const { return *uses_[index].member; }
  [[nodiscard]] bool is_clipped(std::size_t index) const {
    return uses_[index].action == MemberAction::clipped;
  }
  template <class Large, class SmallOnes>
  void for_each(const Large& large, const SmallOnes& small) const;
  template <class Make, class End>
  void in_order(std::size_t begin, std::size_t end, const Make& make, const End& end_member);
  void clip_small(std::size_t index, Small& small) const;
  void write_large(std::size_t index, MemberWriter& writer);
  [[nodiscard]] bool has_changes();
  void write_members(OutputFile& output);
  void count_members();

  /// Calls `work`. If a member cannot be clipped, looks at all others for the observer that wants that.
  template <class Work>
  auto attempt(const Work& work);
  void expect_earlier_stages(ErrorKind kind) const;
  void begin();
  [[nodiscard]] ClipResult result_of(std::size_t index) const;
  void end_small(ClipResult& result);
  void end(ClipResult& result);

  const Clipping& clipping_;
  Container archive_;
  std::vector<MemberUse> uses_;  ///< in the order of the result
  Frame frame_;                  ///< of the result
};

}  // namespace clipper
