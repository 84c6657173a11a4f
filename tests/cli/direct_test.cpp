#include "cli/direct.hpp"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>

#include <filesystem>
#include <limits>
#include <string>
#include <vector>

#include "files/descriptor.hpp"

namespace clipper::testing {

TEST_CASE("--direct changes the file itself, which keeps its links") {
  for (const char* threads : {"1", "3"}) {
    CAPTURE(threads);
    const TemporaryDirectory directory;
    write_file(directory / "x.npy", kInput);
    REQUIRE(::chmod((directory / "x.npy").c_str(), 0640) == 0);
    std::filesystem::create_hard_link(directory / "x.npy", directory / "hard.npy");
    std::filesystem::create_symlink("x.npy", directory / "link.npy");
    const ino_t inode = status_of(directory / "x.npy").st_ino;
    check_done(run_clipper(direct({"--threads", threads, "link.npy"}), {directory.path()}));
    CHECK((read_file(directory / "x.npy") == kOutput));
    CHECK((read_file(directory / "hard.npy") == kOutput));
    CHECK(status_of(directory / "x.npy").st_ino == inode);
    CHECK(mode_of(directory / "x.npy") == 0640);
    CHECK(directory.entries() == Words{"hard.npy", "link.npy", "x.npy"});
  }
}

TEST_CASE("--direct writes nothing if no element changes") {
  const TemporaryDirectory directory;
  write_file(directory / "x.npy", kInput);
  const timespec written = status_of(directory / "x.npy").st_mtim;
  check_done(run_clipper({"-i", "--direct", "--max", "inf", "x.npy"}, {directory.path()}));
  CHECK(status_of(directory / "x.npy").st_mtim.tv_nsec == written.tv_nsec);
  CHECK((read_file(directory / "x.npy") == kInput));
}

TEST_CASE("--direct clips tensors of any size, and many of them") {
  const TemporaryDirectory directory;
  Words names;
  for (const std::size_t count : {0U, 1U, 1000U, 32'768U, 32'769U, 100'000U}) {
    names.push_back(std::to_string(count) + ".npy");
    write_file(directory / names.back(), float32_file(scattered_floats(count)));
  }
  Words words = {"-i", "--direct", "--chunk-size", "4096", "--min", "0", "--max", "6"};
  words.insert(words.end(), names.begin(), names.end());
  check_done(run_clipper(words, {directory.path()}));
  for (const std::string& name : names)
    CHECK((read_file(directory / name) == float32_file(clipped(scattered_floats(std::stoul(name)), 0, 6))));
}

TEST_CASE("--direct needs --in-place and refuses the same file twice") {
  const TemporaryDirectory directory;
  write_file(directory / "x.npy", kInput);
  check_refused_untouched(directory, {"--direct", "--min", "0", "x.npy", "y.npy"}, 2,
                          "--direct needs --in-place");
  check_refused_untouched(directory, {"--direct", "--min", "0", "x.npy", "x.npy"}, 2,
                          "--direct needs --in-place");
  std::filesystem::create_hard_link(directory / "x.npy", directory / "y.npy");
  check_refused_untouched(directory, direct({"x.npy", "y.npy"}), 2, "x.npy and y.npy are the same file");
  check_refused_untouched(
      directory, direct({"-"}), 5, "regular file", [] {}, kInput);
}

TEST_CASE("a file that --direct left unfinished is unreadable until the same command finishes it") {
  const TemporaryDirectory directory;
  const std::string file = directory / "x.npy";
  write_file(file, kInput);
  std::filesystem::create_symlink("x.npy", directory / "link.npy");
  const Result stopped = run_clipper(direct({"x.npy"}), {directory.path(), stop_in_the_middle});
  check_refused(stopped, 4,
                "x.npy: cannot be written: File too large; unreadable until the same command finishes it");
  CHECK(read_file(file)[6] == '\xcc');
  CHECK(directory.entries() == Words{".x.npy.clipper-journal", "link.npy", "x.npy"});

  const char* const unfinished =
      "x.npy: left unfinished by --in-place --direct; run the same command again to finish it";
  check_refused_untouched(directory, {"--min", "0", "x.npy", "out.npy"}, 5, unfinished);
  check_refused_untouched(
      directory, {"--min", "0", "-", "-"}, 5, "left unfinished", [] {}, read_file(file));
  check_refused_untouched(directory, {"-i", "--min", "0", "x.npy"}, 5, unfinished);
  check_refused_untouched(directory, {"--min", "0", "--output-dir", "new", "x.npy"}, 5, unfinished);
  check_refused_untouched(directory, direct({"--nan", "min", "x.npy"}), 5,
                          "x * 0.5 + 1 in float32, min 0, max 6");
  check_refused_untouched(directory, {"-i", "--direct", "--min", "0", "x.npy"}, 5, "repeat it first");

  check_refused(run_clipper(direct({"x.npy"}), {directory.path(), stop_in_the_middle}), 4,
                "unreadable until");
  const Result finished =
      run_clipper(direct({"-v", "--threads", "2", "link.npy"}, "8192"), {directory.path()});
  CHECK(finished.exit_code == 0);
  CHECK(finished.error.find("link.npy: finished an interrupted --direct run") != std::string::npos);
  CHECK((read_file(file) == kOutput));
  CHECK(directory.entries() == Words{"link.npy", "x.npy"});
}

TEST_CASE("--direct changes nothing if it cannot write its journal") {
  const TemporaryDirectory directory;
  write_file(directory / "x.npy", kInput);
  check_refused_untouched(directory, direct({"x.npy"}), 4, ".x.npy.clipper-journal: cannot be written",
                          stop_at(100'000));
  const std::string long_name(250, 'x');
  write_file(directory / long_name, kInput);
  check_refused_untouched(directory, direct({long_name}), 4, "name too long");
}

TEST_CASE("--direct --nan error finds a NaN before it changes anything") {
  const TemporaryDirectory directory;
  std::vector<float> elements = kElements;
  elements[299'999] = std::numeric_limits<float>::quiet_NaN();
  write_file(directory / "x.npy", float32_file(elements));
  check_refused_untouched(directory, direct({"--nan", "error", "x.npy"}), 3, "x.npy: NaN at [299999]");
}

TEST_CASE("a file in use by another clipper is refused") {
  const TemporaryDirectory directory;
  write_file(directory / "x.npy", kInput);
  const Descriptor other(::open((directory / "x.npy").c_str(), O_RDONLY | O_CLOEXEC));
  REQUIRE(::flock(other.get(), LOCK_EX) == 0);
  check_refused_untouched(directory, direct({"x.npy"}), 5,
                          "x.npy: is locked by another program, perhaps another clipper");
  check_refused_untouched(directory, {"-i", "--min", "0", "x.npy"}, 5,
                          "x.npy: is locked by another program, perhaps another clipper");
  check_refused_untouched(directory, {"--min", "0", "x.npy", "x.npy"}, 5,
                          "x.npy: is locked by another program, perhaps another clipper");
  check_done(run_clipper({"--min", "0", "x.npy", "y.npy"}, {directory.path()}));
  REQUIRE(::flock(other.get(), LOCK_UN) == 0);
  check_done(run_clipper(direct({"x.npy"}), {directory.path()}));
}

}  // namespace clipper::testing
