#include "input_file.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>

#include "error.hpp"

namespace clipper {

InputFile::InputFile(Descriptor fd, std::string path) : fd_(std::move(fd)), path_(std::move(path)) {
  if (::fstat(fd_.get(), &status_) != 0) throw_system_error(path_, "cannot be examined");
}

InputFile InputFile::open(const std::string& path) {
  if (path == "-") {
    if (::isatty(STDIN_FILENO) != 0)
      throw Error(ErrorKind::usage, "standard input is a terminal; a tensor cannot be typed");
    Descriptor copy(::fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 0));
    if (copy.get() < 0) throw_system_error("standard input", "cannot be opened");
    enlarge_pipe(copy);
    return {std::move(copy), "standard input"};
  }
  Descriptor fd(retry_interrupted([&] { return ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOCTTY); }));
  if (fd.get() < 0) throw_system_error(path, "cannot be opened");
  InputFile file(std::move(fd), path);
  if (S_ISDIR(file.status_.st_mode)) throw_system_error(path, "cannot be read", EISDIR);
  file.regular_ = S_ISREG(file.status_.st_mode);
  if (S_ISFIFO(file.status_.st_mode)) enlarge_pipe(file.fd_);
  return file;
}

std::size_t InputFile::read(std::span<std::byte> bytes) {
  std::size_t done = 0;
  while (done < bytes.size()) {
    const ssize_t got =
        retry_interrupted([&] { return ::read(fd_.get(), bytes.data() + done, bytes.size() - done); });
    if (got < 0) throw_system_error(path_, "cannot be read");
    if (got == 0) break;
    done += static_cast<std::size_t>(got);
  }
  return done;
}

void InputFile::read_exactly(std::span<std::byte> bytes) {
  if (read(bytes) < bytes.size())
    throw Error(ErrorKind::input, fmt::format("{}: ends before its last element", path_));
}

void InputFile::expect_end() {
  std::array<std::byte, 1> byte{};
  if (read(byte) != 0) throw Error(ErrorKind::input, fmt::format("{}: bytes after the array", path_));
}

void InputFile::read_at(std::span<std::byte> bytes, std::uint64_t offset) const {
  std::size_t done = 0;
  while (done < bytes.size()) {
    const ssize_t got = retry_interrupted([&] {
      return ::pread(fd_.get(), bytes.data() + done, bytes.size() - done, static_cast<off_t>(offset + done));
    });
    if (got < 0) throw_system_error(path_, "cannot be read");
    if (got == 0)
      throw Error(ErrorKind::io,
                  fmt::format("{}: changed while it was read: it ends at byte {} now", path_, offset + done));
    done += static_cast<std::size_t>(got);
  }
}

npy::Header read_header(InputFile& file, std::optional<DType> dtype, std::vector<std::byte>* header_bytes) {
  std::vector<std::byte> bytes(npy::kPreambleSize);
  bytes.resize(file.read(bytes));
  npy::Header header = naming(file.path(), [&] {
    const std::uint64_t offset = npy::data_offset(bytes);
    const std::size_t start = bytes.size();
    bytes.resize(std::max(start, std::size_t{offset}));
    bytes.resize(start + file.read(std::span(bytes).subspan(start)));
    return npy::parse(bytes, dtype);
  });
  if (file.is_regular() && file.size() < header.data_offset + header.data_size())
    throw Error(ErrorKind::input,
                fmt::format("{}: {} data bytes expected for {} {}, the file has {}", file.path(),
                            header.data_size(), info(header.dtype).name, npy::shape_text(header.shape),
                            file.size() - header.data_offset));
  if (file.is_regular() && file.size() > header.data_offset + header.data_size())
    throw Error(ErrorKind::input, fmt::format("{}: {} bytes after the array", file.path(),
                                              file.size() - header.data_offset - header.data_size()));
  if (header_bytes != nullptr) *header_bytes = std::move(bytes);
  return header;
}

bool is_same_file(const InputFile& input, const std::string& path) {
  struct stat status {};
  return path != "-" && ::stat(path.c_str(), &status) == 0 && status.st_dev == input.status().st_dev &&
         status.st_ino == input.status().st_ino;
}

}  // namespace clipper
