#include "cli/direct.hpp"

#include <sys/file.h>

#include "files/descriptor.hpp"

namespace clipper::testing {

TEST_CASE("--direct changes the file itself, which keeps its links") {
  for (const char* threads : {"1", "3"}) {
    CAPTURE(threads);
    const WorkingDirectory directory{{"x.npy", kInput}};
    REQUIRE(::chmod((directory / "x.npy").c_str(), 0640) == 0);
    std::filesystem::create_hard_link(directory / "x.npy", directory / "hard.npy");
    std::filesystem::create_symlink("x.npy", directory / "link.npy");
    const ino_t inode = status_of(directory / "x.npy").st_ino;
    check_done(run_clipper(direct({"--threads", threads, "link.npy"}), {directory.path()}));
    CHECK((directory.read("x.npy") == kOutput));
    CHECK((directory.read("hard.npy") == kOutput));
    CHECK(status_of(directory / "x.npy").st_ino == inode);
    CHECK(mode_of(directory / "x.npy") == 0640);
    CHECK(directory.entries() == Words{"hard.npy", "link.npy", "x.npy"});
  }
}

TEST_CASE("--direct writes nothing if no element changes") {
  const WorkingDirectory directory{{"x.npy", kInput}};
  const timespec written = status_of(directory / "x.npy").st_mtim;
  directory.done({"-i", "--direct", "--max", "inf", "x.npy"});
  CHECK(status_of(directory / "x.npy").st_mtim.tv_nsec == written.tv_nsec);
  CHECK((directory.read("x.npy") == kInput));
}

TEST_CASE("--direct clips tensors of any size, and many of them") {
  const WorkingDirectory directory;
  Words names;
  for (const std::size_t count : {0U, 1U, 1000U, 32'768U, 32'769U, 100'000U}) {
    names.push_back(std::to_string(count) + ".npy");
    directory.write(names.back(), float32_file(scattered_floats(count)));
  }
  directory.done(joined({"-i", "--direct", "--chunk-size", "4096", "--min", "0", "--max", "6"}, names));
  for (const std::string& name : names)
    CHECK((directory.read(name) == float32_file(clipped(scattered_floats(std::stoul(name)), 0, 6))));
}

TEST_CASE("--direct needs --in-place and refuses the same file twice") {
  const WorkingDirectory directory{{"x.npy", kInput}};
  directory.refused({"--direct", "--min", "0", "x.npy", "y.npy"}, 2, "--direct needs --in-place");
  directory.refused({"--direct", "--min", "0", "x.npy", "x.npy"}, 2, "--direct needs --in-place");
  std::filesystem::create_hard_link(directory / "x.npy", directory / "y.npy");
  directory.refused(direct({"x.npy", "y.npy"}), 2, "x.npy and y.npy are the same file");
  directory.refused(direct({"-"}), 5, "regular file", kInput);
}

TEST_CASE("a file that --direct left unfinished is unreadable until the same command finishes it") {
  const WorkingDirectory directory;
  const std::string file = directory / "x.npy";
  write_file(file, kInput);
  std::filesystem::create_symlink("x.npy", directory / "link.npy");
  const Result stopped = directory.run(direct({"x.npy"}), stop_in_the_middle);
  check_refused(stopped, 4,
                "x.npy: cannot be written: File too large; unreadable until the same command finishes it");
  CHECK(read_file(file)[6] == '\xcc');
  CHECK(directory.entries() == Words{".x.npy.clipper-journal", "link.npy", "x.npy"});

  const char* const unfinished =
      "x.npy: left unfinished by --in-place --direct; run the same command again to finish it";
  directory.refused({"--min", "0", "x.npy", "out.npy"}, 5, unfinished);
  directory.refused({"--min", "0", "-", "-"}, 5, "left unfinished", read_file(file));
  directory.refused({"-i", "--min", "0", "x.npy"}, 5, unfinished);
  directory.refused({"--min", "0", "--output-dir", "new", "x.npy"}, 5, unfinished);
  directory.refused(direct({"--nan", "min", "x.npy"}), 5, "x * 0.5 + 1 in float32, min 0, max 6");
  directory.refused({"-i", "--direct", "--min", "0", "x.npy"}, 5, "repeat it first");

  check_refused(directory.run(direct({"x.npy"}), stop_in_the_middle), 4, "unreadable until");
  const Result finished = directory.run(direct({"-v", "--threads", "2", "link.npy"}, "8192"));
  CHECK(finished.exit_code == 0);
  CHECK(contains(finished.error, "link.npy: finished an interrupted --direct run"));
  CHECK((read_file(file) == kOutput));
  CHECK(directory.entries() == Words{"link.npy", "x.npy"});
}

TEST_CASE("--direct changes nothing if it cannot write its journal") {
  const WorkingDirectory directory{{"x.npy", kInput}};
  directory.refused(direct({"x.npy"}), 4, ".x.npy.clipper-journal: cannot be written", stop_at(100'000));
  const std::string long_name(250, 'x');
  directory.write(long_name, kInput);
  directory.refused(direct({long_name}), 4, "name too long");
}

TEST_CASE("--direct --nan error finds a NaN before it changes anything") {
  const WorkingDirectory directory;
  std::vector<float> elements = kElements;
  elements[299'999] = std::numeric_limits<float>::quiet_NaN();
  directory.write("x.npy", float32_file(elements));
  directory.refused(direct({"--nan", "error", "x.npy"}), 3, "x.npy: NaN at [299999]");
}

TEST_CASE("a file in use by another clipper is refused") {
  const WorkingDirectory directory{{"x.npy", kInput}};
  const Descriptor other(::open((directory / "x.npy").c_str(), O_RDONLY | O_CLOEXEC));
  REQUIRE(::flock(other.get(), LOCK_EX) == 0);
  directory.refused(direct({"x.npy"}), 5, "x.npy: is locked by another program, perhaps another clipper");
  directory.refused({"-i", "--min", "0", "x.npy"}, 5,
                    "x.npy: is locked by another program, perhaps another clipper");
  directory.refused({"--min", "0", "x.npy", "x.npy"}, 5,
                    "x.npy: is locked by another program, perhaps another clipper");
  directory.done({"--min", "0", "x.npy", "y.npy"});
  REQUIRE(::flock(other.get(), LOCK_UN) == 0);
  directory.done(direct({"x.npy"}));
}

TEST_CASE("a new file with the name of an interrupted file is not finished with its journal") {
  // The new file looks as if the interrupted part were finished.
  for (const std::string& anew : {constant(5), kInput, kOutput}) {
    const WorkingDirectory directory;
    interrupt(directory, "x.npy", constant(8));
    directory.write("x.npy", anew);
    directory.refused(direct({"x.npy"}), 5, kJournal);
    std::filesystem::remove(directory / kJournal);
    directory.done(direct({"x.npy"}));
    CHECK(directory.entries() == Words{"x.npy"});
  }
  const WorkingDirectory directory;
  interrupt(directory, "x.npy", kInput);
  directory.write("x.npy", kInput);
  directory.refused(direct({"x.npy"}), 5, "if the tensor is correct, remove the journal");
}

TEST_CASE("a journal is not used for another file that was renamed to the interrupted file's name") {
  struct Other {
    std::string content;
    rlim_t stopped;
  };
  // The other file has the same shape and is unfinished, too: interrupted earlier or later, once with the
  // same elements.
  for (const Other& other :
       {Other{constant(3), 600'000}, Other{constant(0), 900'000}, Other{kInput, 400'000}}) {
    CAPTURE(other.stopped);
    const WorkingDirectory directory;
    interrupt(directory, "x.npy", other.content == kInput ? kInput : constant(0));
    interrupt(directory, "y.npy", other.content, stop_at(other.stopped));
    std::filesystem::rename(directory / "x.npy", directory / "old.npy");
    std::filesystem::rename(directory / "y.npy", directory / "x.npy");
    directory.refused(direct({"x.npy"}), 5, kJournal);

    // With its own journal, each file is finished under any name.
    std::filesystem::rename(directory / kJournal, directory / ".old.npy.clipper-journal");
    std::filesystem::rename(directory / ".y.npy.clipper-journal", directory / kJournal);
    check_done(run_clipper(direct({"x.npy", "old.npy"}), {directory.path()}));
    const std::string result = float32_file(std::vector<float>(kElements.size(), 2.5F));
    if (other.content == constant(3)) CHECK((directory.read("x.npy") == result));
    if (other.content == constant(0)) CHECK((directory.read("x.npy") == constant(1)));
    if (other.content == kInput) CHECK((directory.read("x.npy") == kOutput));
    CHECK((directory.read("old.npy") == (other.content == kInput ? kOutput : constant(1))));
    CHECK(directory.entries() == Words{"old.npy", "x.npy"});
  }
}

TEST_CASE("a copy of an unfinished file is finished with a copy of its journal") {
  const WorkingDirectory directory;
  interrupt(directory, "x.npy", kInput);
  for (const char* name : {"x.npy", kJournal}) {
    std::filesystem::rename(directory / name, directory / "saved");
    std::filesystem::copy_file(directory / "saved", directory / name);
    std::filesystem::remove(directory / "saved");
  }
  directory.done(direct({"x.npy"}));
  CHECK((directory.read("x.npy") == kOutput));
}

TEST_CASE("an unfinished file with an older copy of its journal is refused") {
  // The journal is older than the file: the file is intact up to the end of the part that the journal names.
  const WorkingDirectory directory;
  interrupt(directory, "x.npy", constant(0), stop_at(400'000));
  const std::string journal = directory.read(kJournal);
  check_refused(directory.run(direct({"x.npy"}), stop_at(900'000)), 4, "unreadable until");
  directory.write(kJournal, journal);
  directory.refused(direct({"x.npy"}), 5, kJournal);
}

TEST_CASE("an unfinished file that was modified is refused") {
  for (const std::size_t at : {std::size_t{200}, std::size_t{500'000}, kInput.size() - 1}) {
    CAPTURE(at);
    const WorkingDirectory directory;
    interrupt(directory, "x.npy", kInput);
    std::string changed = directory.read("x.npy");
    changed[at] ^= 1;
    directory.write("x.npy", changed);
    directory.refused(direct({"x.npy"}), 5, "restore its own journal");
  }
}

TEST_CASE("a journal that other users can read or could have written is refused") {
  const WorkingDirectory directory;
  interrupt(directory, "x.npy", kInput);
  REQUIRE(::chmod((directory / "x.npy").c_str(), 0600) == 0);
  for (const mode_t mode : {0604U, 0660U, 0606U}) {
    REQUIRE(::chmod((directory / kJournal).c_str(), mode) == 0);
    directory.refused(direct({"x.npy"}), 5,
                      "mode 600 does not; if you trust the journal, run chmod 600 on it");
  }
  REQUIRE(::chmod((directory / kJournal).c_str(), 0600) == 0);
  std::filesystem::create_hard_link(directory / kJournal, directory / "other");
  directory.refused(direct({"x.npy"}), 5, "is not a clipper journal");
  std::filesystem::remove(directory / "other");
  directory.done(direct({"x.npy"}));
  CHECK((directory.read("x.npy") == kOutput));
}

TEST_CASE("another user's journal is refused and not changed") {
  if (::geteuid() != 0) return skip_unless_possible("files of another user");
  constexpr uid_t kUser = 65'534;
  constexpr uid_t kOther = 65'533;
  const WorkingDirectory directory;
  REQUIRE(::chmod(directory.path().c_str(), 01777) == 0);
  const auto as_user = [&](const std::function<void()>& more) {
    return [more] {
      more();
      if (::setresgid(kUser, kUser, kUser) != 0 || ::setresuid(kUser, kUser, kUser) != 0) ::_exit(125);
    };
  };
  directory.write("x.npy", kInput);
  REQUIRE(::chown((directory / "x.npy").c_str(), kUser, kUser) == 0);
  REQUIRE(::chmod((directory / "x.npy").c_str(), 0600) == 0);
  check_refused(directory.run(direct({"x.npy"}), as_user(stop_in_the_middle)), 4, "unreadable until");
  for (const mode_t mode : {0666U, 0600U}) {
    CAPTURE(mode);
    REQUIRE(::chown((directory / kJournal).c_str(), kOther, kOther) == 0);
    REQUIRE(::chmod((directory / kJournal).c_str(), mode) == 0);
    directory.refused(direct({"x.npy"}), 5, "belongs to user 65533, who must finish", as_user([] {}));
    directory.refused(direct({"x.npy"}), 5, "belongs to user 65533, who must finish");
  }
  REQUIRE(::chown((directory / kJournal).c_str(), kUser, kUser) == 0);
  directory.done(direct({"x.npy"}), as_user([] {}));
  CHECK((directory.read("x.npy") == kOutput));
}

TEST_CASE("a journal of another version of clipper is refused") {
  const WorkingDirectory directory;
  interrupt(directory, "x.npy", kInput);
  std::string journal = directory.read(kJournal);
  for (const std::size_t slot : {0U, 4096U}) journal[slot + 8] = 1;
  directory.write(kJournal, journal);
  directory.refused(direct({"x.npy"}), 5, "another version of clipper; finish");
  directory.write("x.npy", kInput);
  directory.refused(direct({"x.npy"}), 5, "another version of clipper; finish");
}

}  // namespace clipper::testing
