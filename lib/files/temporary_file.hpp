#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <utility>

#include "files/descriptor.hpp"
#include "files/place.hpp"

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

// The names of unfinished files, which a signal handler removes.

/// Calls `create`, which makes the file and returns its descriptor, or -1 with errno, and registers the name
/// `place`. Returns a registration for unregister_temporary(), or -1 with errno if that failed. `create` must
/// not use the heap, because signal handlers wait for it: see without_cleanup(). `place` must outlive the
/// registration. Error{io} if the name is too long or too many are registered.
[[nodiscard]] int register_temporary(const Place& place, const std::function<int()>& create);

/// For a file that was removed or completed.
void unregister_temporary(int registration) noexcept;

/// Calls `work` while the registered name may belong to changing files: signal handlers that would remove it
/// wait until `work` returns which file may be removed from now on. `work` must not use the heap: a waiting
/// handler may have interrupted a thread that holds the heap's lock.
void without_cleanup(int registration, const std::function<FileId()>& work);

/// Removes the registered files, but no other file that has got one of their names. Every thread that
/// registers one afterwards blocks until the process ends. Only for a signal handler, or a function, that
/// ends the process.
void remove_temporaries() noexcept;

}  // namespace clipper
