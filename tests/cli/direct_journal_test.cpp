#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "cli/direct.hpp"
#include "support/skip.hpp"

namespace clipper::testing {

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
