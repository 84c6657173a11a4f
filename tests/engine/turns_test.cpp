#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>

#include "engine/engine.hpp"
#include "files/descriptor.hpp"
#include "formats/formats.hpp"
#include "support/files.hpp"
#include "support/tensors.hpp"

namespace {

constexpr std::uint64_t kChunks = 16;
constexpr std::size_t kTurn = 4096;

constexpr unsigned kThreads = 4;

std::atomic<bool> watches = false;
std::atomic<unsigned> reads = 0;
std::atomic<unsigned> writing = 0;
std::atomic<bool> first_writes = false;
std::atomic<bool> first_is_done = false;
std::atomic<bool> too_many_write = false;

ssize_t watched_read(int fd, void* bytes, size_t size, off_t offset) {
  if (watches) ++reads;
  return ::syscall(SYS_pread64, fd, bytes, size, offset);
}

/// The first writer waits until the other threads have read, of which one may have the first chunk from the
/// start of the file, and gives them time to write; they wait for it.
ssize_t watched_write(int fd, const void* bytes, size_t size, off_t offset) {
  if (!watches) return ::syscall(SYS_pwrite64, fd, bytes, size, offset);
  if (++writing > clipper::Turn::limit(1)) too_many_write = true;
  if (!first_writes.exchange(true)) {
    while (reads < kThreads - 1) std::this_thread::yield();
    for (int i = 0; i < 200 && !too_many_write; ++i) std::this_thread::yield();
    first_is_done = true;
  }
  while (!first_is_done) std::this_thread::yield();
  const ssize_t put = ::syscall(SYS_pwrite64, fd, bytes, size, offset);
  --writing;
  return put;
}

}  // namespace

// Take the place of the C library's functions in this program.
extern "C" ssize_t pread(int fd, void* bytes, size_t size, off_t offset) {
  return watched_read(fd, bytes, size, offset);
}
extern "C" ssize_t pread64(int fd, void* bytes, size_t size, off_t offset) {
  return watched_read(fd, bytes, size, offset);
}
extern "C" ssize_t pwrite(int fd, const void* bytes, size_t size, off_t offset) {
  return watched_write(fd, bytes, size, offset);
}
extern "C" ssize_t pwrite64(int fd, const void* bytes, size_t size, off_t offset) {
  return watched_write(fd, bytes, size, offset);
}

namespace clipper::testing {

TEST_CASE("few threads at a time write to a file, while others read") {
  const TemporaryDirectory directory{
      {"in.npy",
       npy_file("|u1", "False", fmt::format("({},)", kChunks * kTurn), std::string(kChunks * kTurn, 'x'))}};
  InputFile input = InputFile::open(directory / "in.npy");
  Request request;
  request.max = 7;
  const Plan plan = make_plan(request, read_header(input, std::nullopt));
  Engine engine({.threads = kThreads, .chunk_size = kTurn});
  engine.prepare(plan.input.data_size());
  OutputFile output =
      OutputFile::create(directory / "out.npy", OutputFile::Existing::replace, OutputFile::Durability::none);
  watches = true;
  engine.run(plan, input, output, std::as_bytes(std::span(std::string_view("header"))));
  watches = false;
  output.commit();
  CHECK((directory.read("out.npy") == "header" + std::string(kChunks * kTurn, '\7')));
  CHECK(!too_many_write);
}

}  // namespace clipper::testing
