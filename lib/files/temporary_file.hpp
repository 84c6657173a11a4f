#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <utility>

#include "files/descriptor.hpp"

/// Unnamed files for data that does not fit into memory.
namespace clipper {

/// The directory of all unnamed files from now on; by default /var/tmp. Not while another thread works.
void set_temporary_directory(std::string directory);

/// An unnamed file, which disappears with its descriptor. It is written once. Every failure is an
/// Error{io} that names the contents and the directory.
class TemporaryFile {
 public:
  /// For `size` bytes; `contents` is their name in messages. Error{io} if there are fewer free bytes.
  TemporaryFile(std::string contents, std::uint64_t size);

  void write(std::span<const std::byte> bytes);  ///< in order

  /// Callable from many threads.
  void write_at(std::span<const std::byte> bytes, std::uint64_t offset);

  /// Gives the file away.
  [[nodiscard]] Descriptor release() noexcept { return std::move(fd_); }

 private:
  std::string contents_;
  Descriptor fd_;
};

}  // namespace clipper
