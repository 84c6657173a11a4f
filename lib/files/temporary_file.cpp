#include "files/temporary_file.hpp"

#include <fmt/format.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <climits>
#include <cstring>
#include <system_error>
#include <thread>
#include <tuple>
#include <utility>

#include "error.hpp"
#include "files/descriptor.hpp"
#include "files/place.hpp"
#include "os/os.hpp"

namespace clipper {
namespace {

std::string& directory() {
  static std::string path = os::temporary_directory();
  return path;
}

[[noreturn]] void throw_failure(const std::string& contents, int error) {
  throw Error(ErrorKind::io,
              fmt::format("{}: cannot be copied to {}: {}; ", contents, directory(), os::error_text(error)) +
                  Term{"temporary_directory", "name another directory"},
              error);
}

/// The file has a name for an instant. A signal that ends the process then removes it.
Descriptor create_and_unlink(const std::string& contents) {
  constexpr int kFlags = O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW;
  const Place place =
      Place::of(fmt::format("{}/.clipper-{}", directory(), random_suffix()), "cannot be created");
  Descriptor fd;
  const int registration = register_temporary(place, [&] {
    fd = Descriptor(
        retry_interrupted([&] { return os::openat(place.directory(), place.name(), kFlags, 0600); }));
    return fd.get();
  });
  if (registration < 0) throw_failure(contents, errno);
  const bool removed = os::unlinkat(place.directory(), place.name(), 0) == 0;
  const int error = errno;
  unregister_temporary(registration);
  if (!removed) throw_failure(contents, error);
  return fd;
}

Descriptor create_unnamed(const std::string& contents) {
  constexpr int kFlags = O_RDWR | O_TMPFILE | O_EXCL | O_CLOEXEC;
  Descriptor fd(retry_interrupted([] { return os::open(directory().c_str(), kFlags, 0600); }));
  if (fd.get() >= 0) return fd;
  if (has_no_unnamed_files(errno)) return create_and_unlink(contents);
  throw_failure(contents, errno);
}

}  // namespace

void set_temporary_directory(std::string path) {
  directory() = std::move(path);
}

TemporaryFile::TemporaryFile(std::string contents, std::uint64_t size)
    : contents_(std::move(contents)), fd_(create_unnamed(contents_)) {
  if (os::free_bytes(fd_.get()) < size) throw_failure(contents_, ENOSPC);
}

void TemporaryFile::write(std::span<const std::byte> bytes) {
  while (!bytes.empty()) {
    const ssize_t put = retry_interrupted([&] { return os::write(fd_.get(), bytes.data(), bytes.size()); });
    if (put < 0) throw_failure(contents_, errno);
    bytes = bytes.subspan(static_cast<std::size_t>(put));
  }
}

void TemporaryFile::write_at(std::span<const std::byte> bytes, std::uint64_t offset) {
  try {
    clipper::write_at(fd_, bytes, offset, directory());
  } catch (const Error& error) {
    throw_failure(contents_, error.system_error());
  }
}

namespace {

constexpr std::size_t kMaxAtOnce = 2048;  // 1,024 threads and two batches of 256 files in place

struct Slot {
  std::atomic<bool> taken = false;
  int directory = 0;                      ///< only valid with a name
  FileId file{};                          ///< that may be removed; only valid with a name
  std::array<char, NAME_MAX + 1> name{};  ///< empty until the file exists
};
// All zeros: not in the program's file, no page touched at the start.
constinit std::array<Slot, kMaxAtOnce> slots;

std::atomic<int> in_use = 0;  ///< threads that use the table
std::atomic<bool> ending = false;

/// Marks the thread as using the table, and blocks its signals: a handler waits for all users, and must not
/// interrupt one.
class Use {
 public:
  Use() : before_(os::block_signals()) {
    ++in_use;
    if (!ending) return;
    --in_use;
    for (;;) os::pause();
  }
  Use(const Use&) = delete;
  Use& operator=(const Use&) = delete;
  ~Use() {
    --in_use;
    os::restore_signals(before_);
  }

 private:
  os::SignalMask before_;
};

/// Only during a Use.
void release(int registration) noexcept {
  Slot& slot = slots[static_cast<std::size_t>(registration)];
  slot.name[0] = '\0';
  slot.taken = false;
}

}  // namespace

int register_temporary(const Place& place, const std::function<int()>& create) {
  const std::size_t size = std::strlen(place.name()) + 1;
  if (size > NAME_MAX + 1) throw_system_error(place.path(), "cannot be created", ENAMETOOLONG);
  for (std::size_t i = 0; i < slots.size(); ++i) {
    Slot& slot = slots[i];
    if (slot.taken.exchange(true)) continue;
    const Use use;
    os::Status status{};
    try {
      const int fd = create();
      if (fd < 0 || os::fstat(fd, &status) != 0) {
        const int error = errno;
        if (fd >= 0) os::unlinkat(place.directory(), place.name(), 0);
        slot.taken = false;
        errno = error;
        return -1;
      }
    } catch (...) {
      slot.taken = false;
      throw;
    }
    slot.directory = place.directory();
    slot.file = id_of(status);
    std::memcpy(slot.name.data(), place.name(), size);
    return static_cast<int>(i);
  }
  throw Error(ErrorKind::io,
              fmt::format("too many unfinished outputs (max {}); use fewer threads", kMaxAtOnce));
}

void unregister_temporary(int registration) noexcept {
  const Use use;
  release(registration);
}

void without_cleanup(int registration, const std::function<FileId()>& work) {
  const Use use;
  slots[static_cast<std::size_t>(registration)].file = work();
}

void remove_temporaries() noexcept {
  ending = true;
  while (in_use > 0) std::this_thread::yield();
  for (const Slot& slot : slots)
    if (slot.taken && slot.name[0] != '\0')
      std::ignore = remove_name(slot.directory, slot.name.data(), slot.file);
}

}  // namespace clipper
