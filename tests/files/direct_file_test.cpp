#include "files/input_file.hpp"
#include "support/files.hpp"
#include "support/refusal.hpp"
#include "support/tensors.hpp"

namespace clipper::testing {
namespace {

constexpr std::size_t kParts = 4;
constexpr std::size_t kPartSize = 4096;
constexpr std::size_t kHeader = 128;

std::string part(std::size_t number, bool changed) {
  return std::string(kPartSize, static_cast<char>('a' + 2 * number + (changed ? 1 : 0)));
}

/// The file with that many parts changed.
std::string file_with(std::size_t changed) {
  std::string file = float32_file(std::vector<float>(kParts * kPartSize / sizeof(float))).substr(0, kHeader);
  for (std::size_t number = 0; number < kParts; ++number) file += part(number, number < changed);
  return file;
}

/// A file that is changed part by part. In the first part nothing changes after an interruption.
struct Scratch {
  TemporaryDirectory directory;
  std::string path = directory / "x.npy";

  Scratch() { write_file(path, file_with(0)); }

  [[nodiscard]] std::string file() const { return read_file(path); }

  static void change(DirectFile& file, std::size_t number) {
    std::string before(kPartSize, '\0');
    const std::uint64_t offset = kHeader + number * kPartSize;
    file.read(std::as_writable_bytes(std::span(before)), offset);
    const std::string after = part(number, true);
    if (before != after) file.write(bytes(before), bytes(after), offset);
  }

  /// Leaves the file like a process that ends after this many parts.
  void interrupt_after(std::size_t parts) const {
    const InputFile input = InputFile::open_to_change(path);
    DirectFile file(input);
    file.begin("plan");
    for (std::size_t number = 0; number < parts; ++number) change(file, number);
  }

  void finish() const {
    const InputFile input = InputFile::open_to_change(path);
    DirectFile file(input);
    CHECK(file.was_interrupted());
    CHECK(*file.start() == *DirectFile(input).start());
    file.begin("plan");
    for (std::size_t number = 0; number < kParts; ++number) change(file, number);
    file.commit();
    CHECK_FALSE(file.is_unfinished());
  }
};

TEST_CASE(
    "A file that is changed directly is unfinished until the change is complete, and has nothing beside it") {
  for (std::size_t parts = 1; parts <= kParts; ++parts) {
    CAPTURE(parts);
    const Scratch scratch;
    const ino_t inode = status_of(scratch.path).st_ino;
    scratch.interrupt_after(parts);
    const std::string left = scratch.file();
    CHECK(npy::is_unfinished(bytes(left)));
    CHECK(left.substr(8) == file_with(parts).substr(8));
    scratch.finish();
    CHECK(scratch.file() == file_with(kParts));
    CHECK(status_of(scratch.path).st_ino == inode);
    CHECK(scratch.directory.entries() == std::vector<std::string>{"x.npy"});
  }
}

TEST_CASE("A file in which nothing changes is not written") {
  const Scratch scratch;
  const auto snapshot = scratch.directory.snapshot();
  scratch.interrupt_after(0);
  const InputFile input = InputFile::open_to_change(scratch.path);
  DirectFile file(input);
  file.begin("plan");
  file.commit();
  CHECK(scratch.directory.snapshot() == snapshot);
}

TEST_CASE("An interrupted change is finished by the same change only, under any name") {
  const Scratch scratch;
  scratch.interrupt_after(2);
  const std::string left = scratch.file();
  CHECK(refusal(ErrorKind::refused,
                [&] {
                  const InputFile input = InputFile::open_to_change(scratch.path);
                  DirectFile(input).begin("another plan");
                }) ==
        scratch.path +
            ": another direct change was interrupted; finish it first, with the parameters that it had");
  CHECK(scratch.file() == left);
  std::filesystem::copy_file(scratch.path, scratch.directory / "copy.npy");
  std::filesystem::rename(scratch.directory / "copy.npy", scratch.path);
  scratch.finish();
  CHECK(scratch.file() == file_with(kParts));
}

TEST_CASE("A write by another process into a file that is changed is an error") {
  const Scratch scratch;
  const InputFile input = InputFile::open_to_change(scratch.path);
  DirectFile file(input);
  file.begin("plan");
  Scratch::change(file, 0);
  std::string before = part(1, false);
  const std::string after = part(1, true);
  before[7] = '?';  // as if it had been read before the other process wrote
  CHECK(refusal(ErrorKind::io, [&] { file.write(bytes(before), bytes(after), kHeader + kPartSize); }) ==
        scratch.path + ": another process wrote to it while it was changed and may have damaged it");
  std::filesystem::resize_file(scratch.path, kHeader + 2 * kPartSize);
  CHECK(refusal(ErrorKind::io, [&] { file.commit(); }).ends_with("may have damaged it"));
  CHECK(npy::is_unfinished(bytes(scratch.file())));
}

TEST_CASE("A file that is removed while it is changed is refused") {
  const Scratch scratch;
  const InputFile input = InputFile::open_to_change(scratch.path);
  DirectFile file(input);
  file.begin("plan");
  std::filesystem::remove(scratch.path);
  CHECK(refusal(ErrorKind::refused, [&] { Scratch::change(file, 0); }) ==
        scratch.path + ": was removed while it was changed");
}

}  // namespace
}  // namespace clipper::testing
