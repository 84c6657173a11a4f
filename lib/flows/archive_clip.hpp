#pragma once

#include <cstddef>
#include <cstdint>
#include <exception>
#include <vector>

#include "files/input_file.hpp"
#include "files/output_file.hpp"
#include "flows/member_clip.hpp"
#include "flows/selection.hpp"
#include "formats/container.hpp"

namespace clipper {

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
