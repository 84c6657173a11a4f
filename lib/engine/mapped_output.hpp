#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "files/output_file.hpp"

namespace clipper {

/// Writes blocks of a file whose space is reserved by storing in its pages: several threads at once, where
/// pwrite() lets only one go on. For one thread. Handles SIGBUS: only for the program, not for the library.
class MappedBlock {
 public:
  /// Of a block, and what its offset is a multiple of: a huge page, which is mapped by one fault.
  static constexpr std::size_t kSize = 2UL << 20;

  /// Whether the kernel has huge pages of files: on ext4 since Linux 6.16. A fault for each 4 KiB takes
  /// longer than pwrite().
  [[nodiscard]] static bool is_fast() noexcept;

  /// `output` must outlive this.
  explicit MappedBlock(const OutputFile& output) noexcept;
  MappedBlock(const MappedBlock&) = delete;
  MappedBlock& operator=(const MappedBlock&) = delete;
  ~MappedBlock();

  /// Maps the block at this offset in place of the last one, and gets all its pages. Null if that fails:
  /// another way to write the block will tell why.
  [[nodiscard]] std::byte* map(std::uint64_t offset) noexcept;

  /// Error{io} if the file did not take all that was stored: stores succeed nevertheless.
  void expect_stored() const;

 private:
  [[nodiscard]] bool place(int protection, int flags, int fd, std::uint64_t offset) const noexcept;
  [[nodiscard]] static bool repair(const void* address) noexcept;

  const OutputFile& output_;
  void* reserved_;
  std::byte* begin_ = nullptr;  ///< in the reserved addresses; null if there are none
  std::atomic<bool> failed_ = false;
};

}  // namespace clipper
