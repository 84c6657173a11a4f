#include "formats/container.hpp"

#include "contract/arrays.hpp"
#include "files/input_file.hpp"
#include "files/output_file.hpp"
#include "files/place.hpp"
#include "files/replacement.hpp"
#include "formats/parameter_file.hpp"
#include "support/archives.hpp"
#include "support/files.hpp"
#include "support/refusal.hpp"
#include "support/tensors.hpp"

namespace clipper::testing {
namespace {

constexpr std::size_t kLarge = (1 << 20) + 1;  // the smallest deflated member that is not held in memory

/// A directory with the archive a.npz.
class Archive {
 public:
  explicit Archive(const std::vector<NpzMember>& members) { write(npz_file(members)); }

  void write(std::string_view bytes) const { write_file(path(), bytes); }
  [[nodiscard]] std::string path(std::string_view member = "") const {
    return (directory_ / "a.npz").append(member);
  }
  [[nodiscard]] const TemporaryDirectory& directory() const { return directory_; }

 private:
  TemporaryDirectory directory_;
};

/// All bytes, by read().
std::string content(InputFile& file) {
  std::vector<std::byte> bytes(file.size() + 1);
  bytes.resize(file.read(bytes));
  return text_of(bytes);
}

std::string content(const std::string& path) {
  InputFile file = open_input(path);
  return content(file);
}

/// Makes unnamed files in another directory until it is destroyed.
class TemporaryFilesIn {
 public:
  explicit TemporaryFilesIn(const std::string& directory) { set_temporary_directory(directory); }
  TemporaryFilesIn(TemporaryFilesIn&&) = delete;
  TemporaryFilesIn& operator=(TemporaryFilesIn&&) = delete;
  ~TemporaryFilesIn() { set_temporary_directory("/var/tmp"); }
};

std::string with_method(const std::vector<NpzMember>& members, char method) {
  std::string bytes = npz_file(members);
  bytes[8] = method;
  bytes[bytes.find("PK\1\2") + 10] = method;
  return bytes;
}

}  // namespace

TEST_CASE("a member is read like a file that has only the member's contents") {
  const bool is_deflated = GENERATE(false, true);
  const Archive archive({{"v.npy", "0123456789", is_deflated}, {"w.npy", "abcdef", is_deflated}});
  InputFile v = open_input(archive.path(":v"));
  InputFile w = open_input(archive.path(":w"), Streams::refused);
  CHECK(v.path() == archive.path(":v"));
  CHECK(v.is_regular());
  CHECK(v.is_member());
  CHECK(v.size() == 10);
  CHECK(w.size() == 6);
  std::array<std::byte, 4> bytes{};
  v.read_exactly(bytes);
  CHECK(text_of(bytes) == "0123");
  CHECK(content(w) == "abcdef");
  v.read_at(bytes, 6);
  CHECK(text_of(bytes) == "6789");
  CHECK(v.read(bytes) == 4);
  CHECK(text_of(bytes) == "4567");
  CHECK(v.read(bytes) == 2);
  CHECK(v.read(bytes) == 0);
  v.expect_end();
  CHECK(refusal(ErrorKind::io, [&] { v.read_at(bytes, 7); }).ends_with("it now ends at byte 10"));
}

TEST_CASE("an empty member is an empty file") {
  const Archive archive({{"w.npy", "", GENERATE(false, true)}});
  CHECK(content(archive.path(":w")).empty());
}

TEST_CASE("a deflated member of any size is read through an unnamed file that leaves no trace") {
  const std::string large(GENERATE(kLarge - 1, kLarge, 3 * kLarge), 'x');
  const Archive archive({{"w.npy", large, true}});
  const TemporaryDirectory temporary;
  const TemporaryFilesIn in(temporary.path());
  InputFile file = open_input(archive.path(":w"));
  CHECK(temporary.entries().empty());
  CHECK(content(file) == large);
}

TEST_CASE("a directory that cannot hold inflated data is named") {
  const Archive archive({{"w.npy", std::string(kLarge, 'x'), true}, {"small.npy", "x", true}});
  const std::string missing = archive.directory() / "missing";
  const TemporaryFilesIn in(missing);
  CHECK(refusal(ErrorKind::io, [&] { content(archive.path(":w")); }) ==
        archive.path(":w: cannot be copied to ") + missing +
            ": No such file or directory; name another directory");
  CHECK(content(archive.path(":small")) == "x");
}

TEST_CASE("a member is named by its name or np.load's key, and its exact name wins") {
  const Archive archive(
      {{"w", "name"}, {"w.npy", "key"}, {"dir/../x.npy", "path"}, {"v.npy", "only"}, {"v.npy.npy", "twice"}});
  CHECK(content(archive.path(":w")) == "name");
  CHECK(content(archive.path(":w.npy")) == "key");
  CHECK(content(archive.path(":dir/../x")) == "path");
  CHECK(content(archive.path(":v.npy")) == "only");
  const InputFile file = InputFile::open(archive.path());
  const Container reader(file);
  for (const Entry& member : reader.entries()) {
    InputFile opened = reader.open(member);
    CHECK(content(opened) == content(reader.path_of(member)));
  }
  CHECK(reader.path_of(reader.entries()[1]) == archive.path(":w.npy"));
  CHECK(reader.path_of(reader.entries()[3]) == archive.path(":v"));
  CHECK(reader.path_of(reader.entries()[4]) == archive.path(":v.npy.npy"));
}

TEST_CASE("an archive whose name has hard links is refused without advice to change it directly") {
  const Archive archive({{"w.npy", ""}, {"v.npy", ""}});
  std::filesystem::create_hard_link(archive.path(), archive.directory() / "b.npz");
  const InputFile file = InputFile::open_to_change(archive.path());
  CHECK(
      refusal(ErrorKind::refused,
              [&] { OutputFile::check_in_place(file, std::nullopt, OutputFile::Direct::impossible); }) ==
      archive.path() +
          ": refused to avoid data loss: has 2 hard links, which a change in place would separate; write to "
          "another file");
}

TEST_CASE("a name that the archive lacks is refused with the names that it has") {
  const Archive archive({{"a.npy", ""}, {"b.npy", ""}});
  CHECK(refusal(ErrorKind::usage, [&] { content(archive.path(":w")); }) ==
        archive.path() + ": no member 'w'; it has a, b");
  archive.write(npz_file({}));
  CHECK(refusal(ErrorKind::usage, [&] { content(archive.path(":w")); }) ==
        archive.path() + ": no member 'w'; it has no members");
  archive.write(npz_file({{"a", ""}, {"a.npy", ""}}));
  CHECK(refusal(ErrorKind::usage, [&] { content(archive.path(":w")); }) ==
        archive.path() + ": no member 'w'; it has a, a.npy");
  archive.write(npz_file({{"1", ""}, {"2", ""}, {"3", ""}, {"4", ""}, {"5", ""}, {"6", ""}}));
  CHECK(refusal(ErrorKind::usage, [&] { content(archive.path(":w")); }) ==
        archive.path() + ": no member 'w'; it has 1, 2, 3, 4, 5, ...");
  archive.write(npz_file({{std::string(60'000, 'n'), ""}}));
  CHECK(refusal(ErrorKind::usage, [&] { content(archive.path(":w")); }).size() < archive.path().size() + 150);
  archive.write("text");
  CHECK(refusal(ErrorKind::input, [&] { content(archive.path(":w")); }) ==
        archive.path() + ": not an .npz archive, so it has no member 'w'");
}

TEST_CASE("a file whose whole name is FILE:MEMBER is that file") {
  const Archive archive({NpzMember{"w.npy", "member"}});
  CHECK(member_path(archive.path(":w")).has_value());
  write_file(archive.path(":w"), "file");
  CHECK_FALSE(member_path(archive.path(":w")).has_value());
  CHECK(content(archive.path(":w")) == "file");
  std::filesystem::remove(archive.path(":w"));
  std::filesystem::create_symlink("nowhere", archive.path(":w"));
  CHECK_FALSE(member_path(archive.path(":w")).has_value());
}

TEST_CASE("FILE:MEMBER needs a FILE that exists and ends in .npz") {
  const Archive archive({NpzMember{"w.npy", ""}});
  const std::string other = archive.directory() / "a.zip";
  write_file(other, read_file(archive.path()));
  std::filesystem::create_directory(archive.directory() / "d.npz");
  for (const std::string& path : {archive.path(), other + ":w", archive.directory() / "d.npz:w",
                                  archive.directory() / "none.npz:w", std::string("-")})
    CHECK_FALSE(member_path(path).has_value());
}

TEST_CASE("FILE is the longest name that exists") {
  const Archive archive({NpzMember{"b.npz:w.npy", "short"}});
  CHECK(content(archive.path(":b.npz:w")) == "short");
  write_file(archive.path(":b.npz"), npz_file({NpzMember{"w.npy", "long"}}));
  CHECK(content(archive.path(":b.npz:w")) == "long");
}

TEST_CASE("damaged contents are an input error") {
  const bool is_deflated = GENERATE(false, true);
  const std::string contents = "only this text is in the member";
  const Archive archive({{"w.npy", contents, is_deflated}});
  flip(archive.path(), read_file(archive.path()).find(contents));
  const std::string error = refusal(ErrorKind::input, [&] { content(archive.path(":w")); });
  CHECK(error.starts_with(archive.path(":w: ")));
  CHECK(error.find("CRC-32") != std::string::npos);
  const InputFile file = InputFile::open(archive.path());
  const Container reader(file);
  const Entry& member = reader.entries().front();
  if (!is_deflated) CHECK(reader.open(member, Check::by_caller).size() == contents.size());
}

TEST_CASE("a method that is not supported is named") {
  const Archive archive({{"w.npy", "x"}, {"v.npy", "v"}});
  archive.write(with_method({{"w.npy", "x"}, {"v.npy", "v"}}, 12));
  const std::string why =
      "compressed by a method (12, bzip2) that is not supported; save the archive again with "
      "np.savez_compressed";
  CHECK(refusal(ErrorKind::input, [&] { content(archive.path(":w")); }) == archive.path(":w: ") + why);
  CHECK(content(archive.path(":v")) == "v");
  archive.write(with_method({{"w.npy", "x"}, {"v.npy", "v"}}, 77));
  CHECK(refusal(ErrorKind::input, [&] { content(archive.path(":w")); }).find("(77)") != std::string::npos);
}

TEST_CASE("a member is the archive's file: it has its identity, and changes with it") {
  const bool is_deflated = GENERATE(false, true);
  const Archive archive({{"w.npy", "abc", is_deflated}});
  const InputFile member = open_input(archive.path(":w"));
  CHECK(id_of(member.status()) == find_file(archive.path()));
  member.expect_unwritten();
  archive.write(npz_file({{"w.npy", "longer", is_deflated}}));
  CHECK(refusal(ErrorKind::io, [&] { member.expect_unwritten(); }) ==
        archive.path(":w: changed while it was read"));
}

TEST_CASE("an archive that was written to since it was opened is not damaged but changed") {
  const bool is_deflated = GENERATE(false, true);
  const Archive archive({{"w.npy", "abc", is_deflated}});
  const InputFile file = InputFile::open(archive.path());
  const Container reader(file);
  archive.write("longer than an archive: " + std::string(1000, ' '));
  CHECK(refusal(ErrorKind::io, [&] { return reader.open(reader.entries().front()); }) ==
        archive.path(": changed while it was read"));
}

TEST_CASE("a member can be read after its archive is closed") {
  const bool is_deflated = GENERATE(false, true);
  const Archive archive({{"w.npy", "abc", is_deflated}});
  std::optional<InputFile> member;
  {
    const InputFile file = InputFile::open(archive.path());
    const Container reader(file);
    member = reader.open(reader.entries().front());
  }
  std::filesystem::remove(archive.path());
  CHECK(content(*member) == "abc");
}

TEST_CASE("a member of an archive that is replaced in place must not lose bytes") {
  const Archive archive({{"w.npy", float32_file({1}) + "trailing"}});
  const InputFile file = InputFile::open_to_change(archive.path());
  const Container reader(file);
  InputFile member = reader.open(reader.entries().front());
  member.ignore_trailing();
  CHECK(refusal(ErrorKind::refused, [&] {
          return read_header(member, std::nullopt);
        }).find("8 bytes after the array would be lost") != std::string::npos);
}

TEST_CASE("a member alone can be neither changed nor written") {
  const Archive archive({NpzMember{"w.npy", "abc"}});
  const auto before = archive.directory().snapshot();
  CHECK(refusal(ErrorKind::usage, [&] { return open_to_change(archive.path(":w"), Caching::kept); }) ==
        archive.path(":w: is a member of an archive; change the archive ") + archive.path() +
            " and its member w");
  CHECK(refusal(ErrorKind::usage, [&] { expect_no_member(archive.path(":w")); }) ==
        archive.path(":w: is a member of an archive; write to another file"));
  CHECK(archive.directory().snapshot() == before);
}

TEST_CASE("an archive where one tensor is needed is refused with the way to name the tensor") {
  const Archive archive({{"w.npy", float32_file({1})}, {"b.npz", npz_file({NpzMember{"w.npy", "abc"}})}});
  const auto refused = [](const std::string& path) {
    InputFile file = open_input(path);
    return refusal(ErrorKind::input, [&] { return read_header(file, std::nullopt); });
  };
  const std::string why = ": not a .npy file but an .npz archive; ";
  CHECK(refused(archive.path()) == archive.path() + why + "name a tensor in it: " + archive.path(":NAME"));
  CHECK(refused(archive.path(":b.npz")) == archive.path(":b.npz") + why + "extract it first");
  const std::string other = archive.directory() / "a";
  write_file(other, read_file(archive.path()));
  CHECK(refused(other) == other + why + "rename it to name a tensor in it: " + other + ".npz:NAME");
  const std::string quoted = archive.directory() / "a b.npz";  // would need quotes in a command
  write_file(quoted, read_file(archive.path()));
  CHECK(refused(quoted) == quoted + why + "name a tensor in it: FILE:NAME");
  write_file(other, npz_file({NpzMember{"readme.txt", "text"}}));
  CHECK(refused(other).starts_with(other + ": not a .npy file but a zip archive; extract "));
}

TEST_CASE("an archive is recognised by its first bytes, and a PyTorch file is none") {
  const Archive archive({{"w.npz", npz_file({NpzMember{"w.npy", "abc"}})}});
  CHECK(is_archive(InputFile::open(archive.path())));
  CHECK_FALSE(is_archive(open_input(archive.path(":w.npz"))));
  archive.write(npz_file({}));
  CHECK(is_archive(InputFile::open(archive.path())));
  for (const std::string& bytes :
       {npz_file({NpzMember{"archive/data.pkl", "abc"}}), float32_file({1}), std::string()}) {
    archive.write(bytes);
    InputFile file = InputFile::open(archive.path());
    CHECK_FALSE(is_archive(file));
    CHECK(content(file) == bytes);
  }
}

TEST_CASE("a parameter may be a member, and belongs to the archive") {
  const Archive archive({{"lo.npy", float32_file({1, 2})}, {"one.npy", float32_file({3})}});
  CHECK(read_parameter(archive.path(":one")).text == "@" + archive.path(":one"));
  const Parameter given = read_parameter(archive.path(":lo"));
  REQUIRE(given.array);
  CHECK(given.array->is(status_of(archive.path())));
  CHECK(text_of(given.array->held()) == bytes_of(std::vector<float>{1, 2}));
}

}  // namespace clipper::testing
