#include "files/place.hpp"

#include <sys/mman.h>

#include <atomic>

#include "files/output_file.hpp"
#include "support/append_only.hpp"
#include "support/files.hpp"
#include "support/fork.hpp"
#include "support/refusal.hpp"

namespace clipper::testing {
namespace {

namespace fs = std::filesystem;

struct Places {
  TemporaryDirectory directory;
  std::string file = directory / "file";
  FileId id = (write_file(file, ""), id_of(status_of(file)));
};

}  // namespace

TEST_CASE("all names of a file lead to the same file") {
  const Places files;
  const std::string symbolic = files.directory / "symbolic";
  const std::string hard = files.directory / "hard";
  const std::string other = files.directory / "other";
  fs::create_symlink("file", symbolic);
  fs::create_hard_link(files.file, hard);
  write_file(other, "");
  for (const std::string& name : {files.file, symbolic, hard, files.directory / "./file"}) {
    CAPTURE(name);
    CHECK(find_file(name) == files.id);
    CHECK(is_same_file(files.file, name));
    CHECK(is_same_file(name, files.file));
    CHECK_FALSE(is_same_file(name, other));
  }
}

TEST_CASE("a path that leads nowhere has no file, and is the same as no other path") {
  const Places files;
  fs::create_symlink("nowhere", files.directory / "dangling");
  fs::create_symlink("loop", files.directory / "loop");
  for (const std::string& name :
       {files.directory / "none", files.directory / "dangling", files.directory / "loop", files.file + "/x",
        files.directory / std::string(300, 'x')}) {
    CAPTURE(name);
    CHECK_FALSE(find_file(name));
    CHECK_FALSE(is_same_file(name, name));
    CHECK_FALSE(is_same_file(name, files.file));
  }
  CHECK_FALSE(is_same_file("-", "-"));
}

TEST_CASE("of() is the name itself, resolved() the file that its links lead to") {
  const Places files;
  fs::create_symlink("file", files.directory / "link");
  const Place link = Place::of(files.directory / "link");
  CHECK(link.name() == std::string("link"));
  REQUIRE(link.status());
  CHECK(S_ISLNK(link.status()->st_mode));
  CHECK_FALSE(link.is(files.id));
  const Place file = Place::resolved(files.directory / "link");
  CHECK(file.name() == std::string("file"));
  CHECK(file.is(files.id));
  CHECK(file.id() == files.id);
  CHECK(file.directory_id() == id_of(status_of(files.directory.path())));
  const Place none = Place::of(files.directory / "none");
  CHECK_FALSE(none.status());
  CHECK_FALSE(none.id());
  CHECK_FALSE(none.is(files.id));
  CHECK_THROWS_AS(Place::resolved(files.directory / "none"), Error);
}

TEST_CASE("a link leads to its file, whoever replaces the file meanwhile") {
  const Places files;
  const std::string link = files.directory / "link";
  fs::create_symlink("file", link);
  std::atomic<bool> done = false;
  std::thread stranger([&] {
    for (const std::string next = files.directory / "next"; !done;) {
      write_file(next, "");
      fs::rename(next, files.file);
    }
  });
  constexpr int kLooks = 2'000;  // with a single look, hundreds of them lost the file
  int lost = 0;
  for (int look = 0; look < kLooks; ++look) {
    try {
      lost += Place::resolved(link).name() != std::string("file");
      lost += examine(link, OutputFile::Existing::replace).place->name() != std::string("file");
    } catch (const Error&) {
      ++lost;
    }
  }
  done = true;
  stranger.join();
  CHECK(lost == 0);
}

TEST_CASE("a place stays in its directory when the path changes") {
  const Places files;
  fs::create_directory(files.directory / "deep");
  const Place place = Place::of(files.directory / "deep/x");
  fs::rename(files.directory / "deep", files.directory / "moved");
  fs::create_directory(files.directory / "deep");
  write_file(files.directory / "deep/x", "stranger");
  CHECK_FALSE(place.status());
  write_file(files.directory / "moved/x", "");
  CHECK(place.is(id_of(status_of(files.directory / "moved/x"))));
  CHECK(place.directory_id() == id_of(status_of(files.directory / "moved")));
}

TEST_CASE("a path that does not end in a file name is refused") {
  const TemporaryDirectory directory;
  for (const std::string& path : {directory.path() + "/", directory / ".", directory / "..", std::string()}) {
    CAPTURE(path);
    CHECK(refusal(ErrorKind::io, [&] { return Place::of(path, "cannot be created"); }) ==
          path + ": cannot be created: Is a directory");
  }
  CHECK(refusal(ErrorKind::io, [&] { return Place::of(directory / "none/x"); }) ==
        (directory / "none/x") + ": directory " + (directory / "none") + " does not exist; create it first");
}

TEST_CASE("beside() gives names in the same directory, shortened between characters") {
  const Places files;
  const Place place = Place::of(files.file);
  CHECK(place.beside(".journal", false).path() == files.directory / ".file.journal");
  CHECK(place.with_suffix(".shards").path() == files.directory / "file.shards");
  CHECK(place.beside(".journal", false).directory() == place.directory());
  for (std::size_t ascii = 230; ascii <= 250; ++ascii) {
    const std::string name = std::string(ascii, 'x') + "\u20ac";  // 3 bytes
    const std::string beside = Place::of(files.directory / name).beside(".journal", true).name();
    const std::size_t room = 255 - 1 - 8;
    const std::size_t kept = ascii + 3 <= room ? ascii + 3 : std::min(ascii, room);
    CAPTURE(ascii);
    CHECK(beside == "." + name.substr(0, kept) + ".journal");
    CHECK(beside.size() <= 255);
  }
}

TEST_CASE("one name and its possible spellings are one place; a name in another directory is not") {
  const Places files;
  fs::create_directory(files.directory / "deep");
  fs::create_hard_link(files.file, files.directory / "deep/file");
  const Place place = Place::of(files.file);
  CHECK(place.is_same_place(Place::of(files.directory / "deep/../file")));
  CHECK_FALSE(place.is_same_place(Place::of(files.directory / "deep/file")));
  CHECK_FALSE(place.is_same_place(Place::of(files.directory / "none")));
}

TEST_CASE("an append-only directory is recognized") {
  const Places files;
  CHECK_FALSE(Place::of(files.file).is_append_only());
  const AppendOnly append_only(files.directory.path());
  if (!append_only) return skip_unless_possible("chattr +a");
  CHECK(Place::of(files.file).is_append_only());
}

TEST_CASE("a directory without read permission can be used, but not flushed to disk") {
  const TemporaryDirectory directory;
  REQUIRE(::chmod(directory.path().c_str(), 0733) == 0);
  in_a_process([&] {
    become_user();
    const Place place = Place::of(directory / "x");
    directory.write("x", "");
    const bool is_written = place.id() && !place.sync();
    return is_written && refusal(ErrorKind::io, [&] { place.expect_sync(); }) ==
                             directory.path() + ": cannot be opened: Permission denied";
  });
  const Place readable = Place::of(directory / "x");
  readable.expect_sync();
  CHECK(readable.sync());
}

TEST_CASE("a place is below the directories that hold it, whatever its path says") {
  const TemporaryDirectory directory;
  std::filesystem::create_directories(directory / "a/b/c");
  std::filesystem::create_directories(directory / "d");
  std::filesystem::create_directory_symlink("a/b", directory / "link");
  const auto id = [&](const std::string& name) { return std::vector{find_file(directory / name).value()}; };
  const Place place = Place::of(directory / "link/c/x.npy");
  CHECK(place.is_below(id("a")));
  CHECK(place.is_below(id("a/b/c")));
  CHECK_FALSE(place.is_below(id("d")));
  CHECK_FALSE(place.is_below({}));
  std::filesystem::rename(directory / "a/b/c", directory / "d/c");
  CHECK_FALSE(place.is_below(id("a")));
  CHECK(place.is_below(id("d")));
}

TEST_CASE("a file that a full disk keeps is emptied, unless it has another name") {
  const TemporaryDirectory directory;
  for (const bool has_other_name : {false, true}) {
    const std::string name = has_other_name ? "linked" : "alone";
    directory.write(name, "bytes");
    if (has_other_name) std::filesystem::create_hard_link(directory / name, directory / "other");
    const Descriptor fd(::open((directory / name).c_str(), O_RDWR | O_CLOEXEC));
    int calls = 0;
    drop(fd, Place::of(directory / name), [&] {
      errno = ENOSPC;
      return ++calls == 2;
    });
    CHECK(calls == (has_other_name ? 1 : 2));
    CHECK(directory.read(name) == (has_other_name ? "bytes" : ""));
  }
}

TEST_CASE("a name that belongs to another file is not removed") {
  const TemporaryDirectory directory{{"a", "bytes"}, {"b", "other"}};
  const Descriptor fd(::open((directory / "a").c_str(), O_RDWR | O_CLOEXEC));
  bool is_removed = false;
  drop(fd, Place::of(directory / "b"), [&] { return is_removed = true; });
  CHECK_FALSE(is_removed);
  CHECK(Place::of(directory / "b").remove(id_of(status_of(directory / "a"))));
  CHECK(directory.read("b") == "other");
  CHECK(Place::of(directory / "b").remove(id_of(status_of(directory / "b"))));
  CHECK(directory.entries() == std::vector<std::string>{"a"});
}

TEST_CASE("tmpfs is a file system of one machine; /proc is not a known one") {
  const Descriptor memory(::memfd_create("clipper-test", MFD_CLOEXEC));
  REQUIRE(memory.get() >= 0);
  CHECK(is_of_one_machine(memory.get()));
  const Descriptor process(::open("/proc/self/status", O_RDONLY | O_CLOEXEC));
  REQUIRE(process.get() >= 0);
  CHECK_FALSE(is_of_one_machine(process.get()));
  std::array<int, 2> ends{};
  REQUIRE(::pipe2(ends.data(), O_CLOEXEC) == 0);
  const Descriptor input(ends[0]);
  const Descriptor output(ends[1]);
  CHECK_FALSE(is_of_one_machine(input.get()));
  CHECK_FALSE(is_of_one_machine(-1));
}

TEST_CASE("file systems of the kernel are not FUSE, whatever type is asked for") {
  const Descriptor memory(::memfd_create("clipper-test", MFD_CLOEXEC));
  const Descriptor process(::open("/proc/self/status", O_RDONLY | O_CLOEXEC));
  for (const char* type : {"fuse.sshfs", "tmpfs", "proc", ""})
    for (const int fd : {memory.get(), process.get(), -1}) CHECK_FALSE(is_on_fuse(fd, type));
}

}  // namespace clipper::testing
