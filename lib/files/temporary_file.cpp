#include "files/temporary_file.hpp"

#include <fmt/format.h>

#include <system_error>
#include <utility>

#include "error.hpp"
#include "files/cleanup_registry.hpp"
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

}  // namespace clipper
