#include "files/output_file.hpp"

#include "files/replacement.hpp"
#include "support/attributes.hpp"
#include "support/refusal.hpp"
#include "support/removed_file.hpp"

namespace clipper::testing {
namespace {

using Names = std::vector<std::string>;
constexpr auto kReplace = OutputFile::Existing::replace;
constexpr auto kRefuse = OutputFile::Existing::refuse;

}  // namespace

TEST_CASE("nothing is visible before the commit") {
  const TemporaryDirectory directory;
  OutputFile file = OutputFile::create(directory / "out", kReplace, OutputFile::Durability::none);
  CHECK(file.is_regular());
  file.write(bytes("abc"));
  file.write(bytes("def"));
  CHECK(directory.entries().empty());
  file.commit();
  CHECK(directory.entries() == Names{"out"});
  CHECK(directory.read("out") == "abcdef");
}

TEST_CASE("an exception in `last_look` prevents the commit") {
  const TemporaryDirectory directory;
  if (GENERATE(false, true)) directory.write("out", "old");
  const Names before = directory.entries();
  OutputFile file = OutputFile::create(directory / "out", kReplace, OutputFile::Durability::on_disk);
  file.write(bytes("new"));
  CHECK_THROWS_AS(file.commit([&] {
    CHECK(directory.entries() == before);
    refuse("out", "no");
  }),
                  Error);
  CHECK(directory.entries() == before);
  if (!before.empty()) CHECK(directory.read("out") == "old");
}

TEST_CASE("all ways to write begin at the base") {
  const TemporaryDirectory directory;
  OutputFile file = OutputFile::create(directory / "out", kReplace, OutputFile::Durability::none);
  file.write(bytes("abc"));
  file.set_base(3);
  file.write_start(bytes("01"), bytes("23"));
  file.set_base(8);
  file.write(bytes("w"));
  file.write(bytes("x"));
  file.write_at(bytes("yz"), 2);
  constexpr std::uint64_t kReserved = 1 << 20;
  std::ignore = file.reserve(kReserved);
  file.commit();
  const std::string written = directory.read("out");
  CHECK(written.substr(0, 12) == std::string("abc0123\0wxyz", 12));
  CHECK((written.size() == 12 || written.size() == 8 + kReserved));
}

TEST_CASE("bytes can be written at any offset, in any order") {
  const TemporaryDirectory directory;
  OutputFile file = OutputFile::create(directory / "out", kReplace, OutputFile::Durability::none);
  file.write_at(bytes("world"), 6);
  file.write_at(bytes("hello "), 0);
  file.commit();
  CHECK(directory.read("out") == "hello world");
}

TEST_CASE("the header and the first elements are written together") {
  const TemporaryDirectory directory;
  OutputFile file = OutputFile::create(directory / "out", kReplace, OutputFile::Durability::none);
  file.write_at(bytes("third"), 12);
  file.write_start(bytes("first "), bytes("second"));
  file.commit();
  CHECK(directory.read("out") == "first secondthird");
}

TEST_CASE("reserved space does not change the size of the file") {
  const TemporaryDirectory directory;
  constexpr std::uint64_t kSize = 3 << 20;
  OutputFile file = OutputFile::create(directory / "out", kReplace, OutputFile::Durability::none);
  std::ignore = file.reserve(kSize);
  file.write_at(bytes("end"), kSize - 3);
  file.commit();
  CHECK(std::filesystem::file_size(directory / "out") == kSize);
  CHECK(directory.read("out") == std::string(kSize - 3, '\0') + "end");
}

TEST_CASE("without a commit nothing is left, and an existing file stays") {
  const TemporaryDirectory directory{{"out", "old"}};
  const auto before = directory.snapshot();
  for (const char* name : {"out", "new"}) {
    OutputFile file = OutputFile::create(directory / name, kReplace, OutputFile::Durability::none);
    file.write(bytes("abc"));
    OutputFile moved = std::move(file);
  }
  CHECK(directory.snapshot() == before);
}

TEST_CASE("a replacement keeps the mode, and an open reader keeps the old file") {
  const TemporaryDirectory directory{{"out", "old"}};
  REQUIRE(::chmod((directory / "out").c_str(), 0751) == 0);
  std::ifstream reader(directory / "out");
  OutputFile file = OutputFile::create(directory / "out", kReplace, OutputFile::Durability::none);
  file.write(bytes("new"));
  file.commit();
  CHECK(directory.read("out") == "new");
  CHECK(mode_of(directory / "out") == 0751);
  std::string old;
  reader >> old;
  CHECK(old == "old");
}

TEST_CASE("a replacement keeps the mode and the ACL that the old file has when it is replaced") {
  const TemporaryDirectory directory{{"out", "old"}};
  REQUIRE(::chmod((directory / "out").c_str(), 0644) == 0);
  OutputFile file = OutputFile::create(directory / "out", kReplace, OutputFile::Durability::none);
  file.write(bytes("new"));
  REQUIRE(::chmod((directory / "out").c_str(), 0600) == 0);
  const bool has_list = set_attribute(directory / "out", kAccessList, access_list());
  file.commit();
  CHECK(directory.read("out") == "new");
  CHECK((mode_of(directory / "out") & 07) == 0);
  if (has_list) CHECK(attribute_of(directory / "out", kAccessList) == access_list());
}

TEST_CASE("an output that may replace nothing is refused if a file appears before the commit") {
  const TemporaryDirectory directory;
  OutputFile file = OutputFile::create(directory / "out", kRefuse, OutputFile::Durability::none);
  file.write(bytes("new"));
  directory.write("out", "a file that came between");
  CHECK(refusal(ErrorKind::refused, [&] { file.commit(); }).starts_with(directory / "out: already exists"));
  CHECK(directory.read("out") == "a file that came between");
  CHECK(refusal(ErrorKind::refused, [&] {
          return OutputFile::create(directory / "out", kRefuse, OutputFile::Durability::none);
        }).starts_with(directory / "out: already exists"));
}

TEST_CASE("an output that must be new does not replace a file that appears before the commit") {
  const TemporaryDirectory directory;
  constexpr auto kNew = OutputFile::Existing::must_be_new;
  OutputFile first = OutputFile::create(directory / "out", kNew, OutputFile::Durability::none);
  OutputFile second = OutputFile::create(directory / "./out", kNew, OutputFile::Durability::none);
  first.write(bytes("first"));
  second.write(bytes("second"));
  first.commit();
  CHECK(refusal(ErrorKind::refused, [&] { second.commit(); }).find("when the run began") !=
        std::string::npos);
  CHECK(directory.read("out") == "first");
  CHECK(directory.entries() == Names{"out"});
}

TEST_CASE("an output gets its name in the directory that was opened at the start") {
  const TemporaryDirectory directory;
  std::filesystem::create_directory(directory / "deep");
  OutputFile file = OutputFile::create(directory / "deep/out", kReplace, OutputFile::Durability::on_disk);
  file.write(bytes("new"));
  std::filesystem::rename(directory / "deep", directory / "moved");
  std::filesystem::create_directory(directory / "deep");
  file.commit();
  CHECK(directory.read("moved/out") == "new");
  CHECK(std::filesystem::is_empty(directory / "deep"));
}

TEST_CASE("in place, the mode is kept and symbolic links are followed") {
  const TemporaryDirectory directory{{"file", "old"}};
  REQUIRE(::chmod((directory / "file").c_str(), 0640) == 0);
  std::filesystem::create_symlink("file", directory / "link");
  {
    InputFile input = InputFile::open_to_change(directory / "link");
    OutputFile file = OutputFile::create_in_place(input);
    file.write(bytes("new"));
    CHECK(directory.read("file") == "old");
    file.complete();
    file.replace(input);
  }
  CHECK(directory.read("file") == "new");
  CHECK(mode_of(directory / "file") == 0640);
  CHECK(std::filesystem::is_symlink(directory / "link"));

  std::filesystem::create_hard_link(directory / "file", directory / "hard");
  const InputFile input = InputFile::open_to_change(directory / "file");
  CHECK(refusal(ErrorKind::refused, [&] {
          OutputFile::expect_one_link(input);
        }).starts_with(directory / "file: refused to avoid data loss: has 2 hard links"));
  CHECK(directory.entries() == Names{"file", "hard", "link"});
}

TEST_CASE("a device gets its bytes at once") {
  OutputFile file = OutputFile::create("/dev/null", kReplace, OutputFile::Durability::none);
  CHECK_FALSE(file.is_regular());
  file.write(bytes("abc"));
  file.commit();

  OutputFile full = OutputFile::create("/dev/full", kReplace, OutputFile::Durability::none);
  CHECK(refusal(ErrorKind::io, [&] { full.write(bytes("abc")); }) ==
        "/dev/full: cannot be written: No space left on device");
}

TEST_CASE("the file of a descriptor that is not under its name is written to, not the file of that name") {
  const TemporaryDirectory directory;
  const RemovedFile removed(directory / "x");
  std::filesystem::create_symlink(removed.path(), directory / "link");
  for (const std::string& path : {removed.path(), directory / "link"}) {
    OutputFile file = OutputFile::create(path, kReplace, OutputFile::Durability::none);
    file.write(bytes("new"));
    file.commit();
    CHECK(read_file(removed.path()) == "new");
    CHECK(read_file(removed.neighbour) == "neighbour");
    CHECK(refusal(ErrorKind::refused, [&] {
            OutputFile::check(path, OutputFile::Existing::refuse);
          }).starts_with(path + ": already exists"));
  }
  CHECK(directory.entries() == Names{"link", "x (deleted)"});
}

TEST_CASE("so is the file of a descriptor whose directory has become a file") {
  const TemporaryDirectory directory;
  std::filesystem::create_directory(directory / "d");
  const RemovedFile removed(directory / "d/x");
  std::filesystem::remove_all(directory / "d");
  directory.write("d", "mine");
  OutputFile file = OutputFile::create(removed.path(), kReplace, OutputFile::Durability::none);
  file.write(bytes("new"));
  file.commit();
  CHECK(read_file(removed.path()) == "new");
}

TEST_CASE("the registration of a file is released with the file") {
  const TemporaryDirectory directory;
  for (int i = 0; i < 1000; ++i) {
    OutputFile file = OutputFile::create(directory / "out", kReplace, OutputFile::Durability::none);
    if (i % 2 == 0) file.commit();
  }
  for (int i = 0; i < 1000; ++i)
    CHECK(refusal(ErrorKind::io, [&] {
            return OutputFile::create(directory / "no/out", kReplace, OutputFile::Durability::none);
          }) != "too many unfinished outputs (max 2048); use fewer threads");
}

TEST_CASE("a temporary file has no name and is read at any offset") {
  const TemporaryDirectory directory;
  set_temporary_directory(directory.path());
  TemporaryFile file("a.npz:w", 6);
  file.write(bytes("abc"));
  file.write(bytes("def"));
  CHECK(directory.entries().empty());
  const Descriptor fd = file.release();
  std::array<std::byte, 4> read{};
  CHECK(read_at(fd, read, 2, "file") == 4);
  CHECK(static_cast<char>(read[0]) == 'c');
  set_temporary_directory("/var/tmp");
}

TEST_CASE("a temporary file that is larger than the free space is refused before it is written") {
  CHECK(refusal(ErrorKind::io, [] {
          const TemporaryFile file("a.npz:w", std::numeric_limits<std::uint64_t>::max());
        }) == "a.npz:w: cannot be copied to /var/tmp: No space left on device; name another directory");
}

}  // namespace clipper::testing
