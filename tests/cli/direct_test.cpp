#include <fcntl.h>
#include <sys/file.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <functional>
#include <limits>
#include <string>
#include <vector>

#include "clipper.hpp"
#include "descriptor.hpp"
#include "tensors.hpp"

namespace clipper::testing {
namespace {

const std::vector<float> kElements = scattered_floats(300'000);
const std::string kInput = float32_file(kElements);

std::vector<float> scaled_and_clipped() {
  std::vector<float> elements = kElements;
  for (float& element : elements) element = element * 0.5F + 1;
  return clipped(elements, 0, 6);
}
const std::string kOutput = float32_file(scaled_and_clipped());

/// An operation that must not be done twice, in parts of 128 KiB.
Words direct(const Words& arguments, const char* chunk_size = "4096") {
  Words words{"-i", "--direct", "--scale", "0.5", "--bias", "1", "--min", "0", "--max", "6"};
  words.insert(words.end(), {"--chunk-size", chunk_size});
  words.insert(words.end(), arguments.begin(), arguments.end());
  return words;
}

/// No file may be written beyond that: the journal fits, the file's later parts do not.
std::function<void()> stop_at(rlim_t size) {
  return [size] {
    const rlimit limit{size, size};
    if (::setrlimit(RLIMIT_FSIZE, &limit) != 0) ::_exit(125);
  };
}
const std::function<void()> stop_in_the_middle = stop_at(600'000);

constexpr const char* kJournal = ".x.npy.clipper-journal";

/// A file and its journal as the interrupted command leaves them.
void interrupt(const TemporaryDirectory& directory, const std::string& name, const std::string& content,
               const std::function<void()>& stop = stop_in_the_middle) {
  write_file(directory / name, content);
  check_refused(run_clipper(direct({name}), {directory.path(), stop}), 4, "unreadable until");
}

std::string constant(float value) {
  return float32_file(std::vector<float>(kElements.size(), value));
}

}  // namespace

TEST_CASE("--direct changes the file itself, under all its names") {
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

TEST_CASE("--direct writes nothing where nothing changes") {
  const TemporaryDirectory directory;
  write_file(directory / "x.npy", kInput);
  const timespec written = status_of(directory / "x.npy").st_mtim;
  check_done(run_clipper({"-i", "--direct", "--max", "inf", "x.npy"}, {directory.path()}));
  CHECK(status_of(directory / "x.npy").st_mtim.tv_nsec == written.tv_nsec);
  CHECK((read_file(directory / "x.npy") == kInput));
}

TEST_CASE("--direct of tensors of any size and many of them") {
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

TEST_CASE("--direct is for --in-place, and for each file once") {
  const TemporaryDirectory directory;
  write_file(directory / "x.npy", kInput);
  check_refused_untouched(directory, {"--direct", "--min", "0", "x.npy", "y.npy"}, 2,
                          "--direct needs --in-place");
  check_refused_untouched(directory, {"--direct", "--min", "0", "x.npy", "x.npy"}, 2,
                          "--direct needs --in-place");
  std::filesystem::create_hard_link(directory / "x.npy", directory / "y.npy");
  check_refused_untouched(directory, direct({"x.npy", "y.npy"}), 2, "x.npy and y.npy are one file");
  check_refused_untouched(
      directory, direct({"-"}), 5, "regular file", [] {}, kInput);
}

TEST_CASE("what --direct has not finished nobody can read, and the same command finishes it") {
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
      "x.npy: left unfinished by --in-place --direct; the same command finishes it";
  check_refused_untouched(directory, {"--min", "0", "x.npy", "out.npy"}, 5, unfinished);
  check_refused_untouched(
      directory, {"--min", "0", "-", "-"}, 5, "left unfinished", [] {}, read_file(file));
  check_refused_untouched(directory, {"-i", "--min", "0", "x.npy"}, 5, unfinished);
  check_refused_untouched(directory, {"--min", "0", "--output-dir", ".", "x.npy"}, 5, unfinished);
  check_refused_untouched(directory, direct({"--nan", "min", "x.npy"}), 5,
                          "x * 0.5 + 1 in float32, min 0, max 6");
  check_refused_untouched(directory, {"-i", "--direct", "--min", "0", "x.npy"}, 5, "must end first");

  check_refused(run_clipper(direct({"x.npy"}), {directory.path(), stop_in_the_middle}), 4,
                "unreadable until");
  const Result finished =
      run_clipper(direct({"-v", "--threads", "2", "link.npy"}, "8192"), {directory.path()});
  CHECK(finished.exit_code == 0);
  CHECK(finished.error.find("link.npy: finished what was interrupted") != std::string::npos);
  CHECK((read_file(file) == kOutput));
  CHECK(directory.entries() == Words{"link.npy", "x.npy"});
}

TEST_CASE("a file that was made anew after an interruption is not taken for the interrupted one") {
  // Its part that was interrupted looks as if it were finished.
  for (const std::string& anew : {constant(5), kInput, kOutput}) {
    const TemporaryDirectory directory;
    interrupt(directory, "x.npy", constant(8));
    write_file(directory / "x.npy", anew);
    check_refused_untouched(directory, direct({"x.npy"}), 5, kJournal);
    std::filesystem::remove(directory / kJournal);
    check_done(run_clipper(direct({"x.npy"}), {directory.path()}));
    CHECK(directory.entries() == Words{"x.npy"});
  }
  const TemporaryDirectory directory;
  interrupt(directory, "x.npy", kInput);
  write_file(directory / "x.npy", kInput);
  check_refused_untouched(directory, direct({"x.npy"}), 5, "remove that if the tensor is as it should be");
}

TEST_CASE("a journal is not used for a file that got the interrupted one's name") {
  struct Other {
    std::string content;
    rlim_t stopped;
  };
  // Unfinished, too, of the same shape, interrupted earlier and later; also with the same elements
  // everywhere.
  for (const Other& other :
       {Other{constant(3), 600'000}, Other{constant(0), 900'000}, Other{kInput, 400'000}}) {
    CAPTURE(other.stopped);
    const TemporaryDirectory directory;
    interrupt(directory, "x.npy", other.content == kInput ? kInput : constant(0));
    interrupt(directory, "y.npy", other.content, stop_at(other.stopped));
    std::filesystem::rename(directory / "x.npy", directory / "old.npy");
    std::filesystem::rename(directory / "y.npy", directory / "x.npy");
    check_refused_untouched(directory, direct({"x.npy"}), 5, kJournal);

    // Each with its own, they are finished under any name.
    std::filesystem::rename(directory / kJournal, directory / ".old.npy.clipper-journal");
    std::filesystem::rename(directory / ".y.npy.clipper-journal", directory / kJournal);
    check_done(run_clipper(direct({"x.npy", "old.npy"}), {directory.path()}));
    const std::string result = float32_file(std::vector<float>(kElements.size(), 2.5F));
    if (other.content == constant(3)) CHECK((read_file(directory / "x.npy") == result));
    if (other.content == constant(0)) CHECK((read_file(directory / "x.npy") == constant(1)));
    if (other.content == kInput) CHECK((read_file(directory / "x.npy") == kOutput));
    CHECK((read_file(directory / "old.npy") == (other.content == kInput ? kOutput : constant(1))));
    CHECK(directory.entries() == Words{"old.npy", "x.npy"});
  }
}

TEST_CASE("an unfinished file's copy is finished with the journal's copy") {
  const TemporaryDirectory directory;
  interrupt(directory, "x.npy", kInput);
  for (const char* name : {"x.npy", kJournal}) {
    std::filesystem::rename(directory / name, directory / "saved");
    std::filesystem::copy_file(directory / "saved", directory / name);
    std::filesystem::remove(directory / "saved");
  }
  check_done(run_clipper(direct({"x.npy"}), {directory.path()}));
  CHECK((read_file(directory / "x.npy") == kOutput));
}

TEST_CASE("a copy that was made while the file was changed is refused") {
  // The journal as it was, the file as it was later: all in order for the journal's part and what is before.
  const TemporaryDirectory directory;
  interrupt(directory, "x.npy", constant(0), stop_at(400'000));
  const std::string journal = read_file(directory / kJournal);
  check_refused(run_clipper(direct({"x.npy"}), {directory.path(), stop_at(900'000)}), 4, "unreadable until");
  write_file(directory / kJournal, journal);
  check_refused_untouched(directory, direct({"x.npy"}), 5, kJournal);
}

TEST_CASE("an unfinished file that was written to is refused") {
  for (const std::size_t at : {std::size_t{200}, std::size_t{500'000}, kInput.size() - 1}) {
    CAPTURE(at);
    const TemporaryDirectory directory;
    interrupt(directory, "x.npy", kInput);
    std::string changed = read_file(directory / "x.npy");
    changed[at] ^= 1;
    write_file(directory / "x.npy", changed);
    check_refused_untouched(directory, direct({"x.npy"}), 5, "was written to since");
  }
}

TEST_CASE("a journal that others could have written or can read is refused") {
  const TemporaryDirectory directory;
  interrupt(directory, "x.npy", kInput);
  REQUIRE(::chmod((directory / "x.npy").c_str(), 0600) == 0);
  for (const mode_t mode : {0604, 0660, 0606}) {
    REQUIRE(::chmod((directory / kJournal).c_str(), mode) == 0);
    check_refused_untouched(directory, direct({"x.npy"}), 5, "users to whom the tensor is not");
  }
  REQUIRE(::chmod((directory / kJournal).c_str(), 0600) == 0);
  std::filesystem::create_hard_link(directory / kJournal, directory / "other");
  check_refused_untouched(directory, direct({"x.npy"}), 5, "is no journal");
  std::filesystem::remove(directory / "other");
  check_done(run_clipper(direct({"x.npy"}), {directory.path()}));
  CHECK((read_file(directory / "x.npy") == kOutput));
}

TEST_CASE("another user's journal is refused, and nothing is written to it") {
  if (::geteuid() != 0) {
    WARN("NOT TESTED: another user's journal, which only root can make");
    return;
  }
  constexpr uid_t kUser = 65'534;
  constexpr uid_t kOther = 65'533;
  const TemporaryDirectory directory;
  REQUIRE(::chmod(directory.path().c_str(), 01777) == 0);
  const auto as_user = [&](const std::function<void()>& more) {
    return [more] {
      more();
      if (::setresgid(kUser, kUser, kUser) != 0 || ::setresuid(kUser, kUser, kUser) != 0) ::_exit(125);
    };
  };
  write_file(directory / "x.npy", kInput);
  REQUIRE(::chown((directory / "x.npy").c_str(), kUser, kUser) == 0);
  REQUIRE(::chmod((directory / "x.npy").c_str(), 0600) == 0);
  check_refused(run_clipper(direct({"x.npy"}), {directory.path(), as_user(stop_in_the_middle)}), 4,
                "unreadable until");
  for (const mode_t mode : {0666, 0600}) {
    CAPTURE(mode);
    REQUIRE(::chown((directory / kJournal).c_str(), kOther, kOther) == 0);
    REQUIRE(::chmod((directory / kJournal).c_str(), mode) == 0);
    check_refused_untouched(directory, direct({"x.npy"}), 5, "belongs to another user", as_user([] {}));
    check_refused_untouched(directory, direct({"x.npy"}), 5, "belongs to another user");
  }
  REQUIRE(::chown((directory / kJournal).c_str(), kUser, kUser) == 0);
  check_done(run_clipper(direct({"x.npy"}), {directory.path(), as_user([] {})}));
  CHECK((read_file(directory / "x.npy") == kOutput));
}

TEST_CASE("a journal of another version of clipper is left to that") {
  const TemporaryDirectory directory;
  interrupt(directory, "x.npy", kInput);
  std::string journal = read_file(directory / kJournal);
  for (const std::size_t slot : {0U, 4096U}) journal[slot + 8] = 1;
  write_file(directory / kJournal, journal);
  check_refused_untouched(directory, direct({"x.npy"}), 5, "another version of clipper, which can finish");
  write_file(directory / "x.npy", kInput);
  check_refused_untouched(directory, direct({"x.npy"}), 5, "another version of clipper, which can finish");
}

TEST_CASE("--direct that cannot have its journal leaves the file as it is") {
  const TemporaryDirectory directory;
  write_file(directory / "x.npy", kInput);
  check_refused_untouched(directory, direct({"x.npy"}), 4, ".x.npy.clipper-journal: cannot be written",
                          stop_at(100'000));
  const std::string long_name(250, 'x');
  write_file(directory / long_name, kInput);
  check_refused_untouched(directory, direct({long_name}), 4, "File name too long");
}

TEST_CASE("--direct --nan error finds a NaN before it changes anything") {
  const TemporaryDirectory directory;
  std::vector<float> elements = kElements;
  elements[299'999] = std::numeric_limits<float>::quiet_NaN();
  write_file(directory / "x.npy", float32_file(elements));
  check_refused_untouched(directory, direct({"--nan", "error", "x.npy"}), 3, "x.npy: NaN at [299999]");
}

TEST_CASE("a file that another clipper works on") {
  const TemporaryDirectory directory;
  write_file(directory / "x.npy", kInput);
  const Descriptor other(::open((directory / "x.npy").c_str(), O_RDONLY | O_CLOEXEC));
  REQUIRE(::flock(other.get(), LOCK_EX) == 0);
  check_refused_untouched(directory, direct({"x.npy"}), 5, "x.npy: is in use by another clipper");
  check_refused_untouched(directory, {"-i", "--min", "0", "x.npy"}, 5, "x.npy: is in use by another clipper");
  check_refused_untouched(directory, {"--min", "0", "x.npy", "x.npy"}, 5,
                          "x.npy: is in use by another clipper");
  check_done(run_clipper({"--min", "0", "x.npy", "y.npy"}, {directory.path()}));
  REQUIRE(::flock(other.get(), LOCK_UN) == 0);
  check_done(run_clipper(direct({"x.npy"}), {directory.path()}));
}

}  // namespace clipper::testing
