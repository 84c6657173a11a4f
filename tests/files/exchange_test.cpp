#include "files/place.hpp"
#include "support/files.hpp"

namespace clipper::testing {
namespace {

/// The file "hidden" replaces the file "x".
class TwoNames {
 public:
  TwoNames() {
    directory.write("hidden", "replacement");
    directory.write("x", "old");
  }

  Exchanged exchange(const std::function<bool()>& is_right) const {
    return clipper::exchange(Place::of(directory / "hidden"), Place::of(directory / "x"),
                             id_of(status_of(directory / "hidden")), is_right);
  }

  void check(const std::string& x, const std::string& hidden) const {
    CHECK(directory.read("x") == x);
    CHECK(directory.read("hidden") == hidden);
  }

  TemporaryDirectory directory;
};

}  // namespace

TEST_CASE("names are exchanged") {
  const TwoNames names;
  CHECK(names.exchange([] { return true; }) == Exchanged::done);
  names.check("replacement", "old");
}

TEST_CASE("a file that should not have come out gets its name back") {
  const TwoNames names;
  CHECK(names.exchange([] { return false; }) == Exchanged::taken_back);
  names.check("old", "replacement");
}

TEST_CASE("a file that is renamed over the replacement during the second exchange stays") {
  const TwoNames names;
  write_file(names.directory / "newest", "newest");
  CHECK(names.exchange([&] {
    std::filesystem::rename(names.directory / "newest", names.directory / "x");
    return false;
  }) == Exchanged::taken_back);
  CHECK(read_file(names.directory / "x") == "newest");
}

TEST_CASE("two files that are renamed to the name one after the other both stay") {
  const TwoNames names;
  CHECK(names.exchange([&] {
    std::filesystem::rename(names.directory / "x", names.directory / "backup");
    write_file(names.directory / "x", "newest");
    return false;
  }) == Exchanged::taken_back);
  names.check("newest", "old");
  CHECK(read_file(names.directory / "backup") == "replacement");
}

TEST_CASE("a name that is removed during the second exchange is restored with its file") {
  const TwoNames names;
  CHECK(names.exchange([&] {
    std::filesystem::remove(names.directory / "x");
    return false;
  }) == Exchanged::taken_back);
  CHECK(read_file(names.directory / "x") == "old");
  CHECK_FALSE(std::filesystem::exists(names.directory / "hidden"));
}

TEST_CASE("if there is no file to replace, every name stays as it was") {
  const TwoNames names;
  std::filesystem::remove(names.directory / "x");
  CHECK(names.exchange([] { return true; }) == Exchanged::failed);
  CHECK(names.directory.entries() == std::vector<std::string>{"hidden"});
}

}  // namespace clipper::testing
