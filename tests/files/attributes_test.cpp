#include "support/attributes.hpp"

#include "files/input_file.hpp"
#include "files/replacement.hpp"
#include "support/files.hpp"
#include "support/fork.hpp"
#include "support/refusal.hpp"

namespace clipper::testing {
namespace {

/// A file and its replacement.
struct Files {
  TemporaryDirectory directory;
  std::string from = directory / "from";
  std::string to = directory / "to";

  Files() { write_file(from, ""); }

  [[nodiscard]] Descriptor create_replacement() const {
    return Descriptor(::open(to.c_str(), O_CREAT | O_RDWR | O_CLOEXEC, 0600));
  }

  void keep() const { keep_attributes(InputFile::open(from), create_replacement()); }
};

}  // namespace

TEST_CASE("a replacement gets all user attributes, of any length, and keeps its own others") {
  const Files files;
  const std::string large(4000, 'l');
  if (!set_attribute(files.from, "user.unit", "metres")) return;
  if (!set_attribute(files.from, "user.large", large) || !set_attribute(files.from, "user.empty", "")) return;
  write_file(files.to, "");
  REQUIRE(set_attribute(files.to, "user.unit", "feet"));
  REQUIRE(set_attribute(files.to, "user.other", "stays"));
  files.keep();
  CHECK(attribute_of(files.to, "user.unit") == "metres");
  CHECK(attribute_of(files.to, "user.large") == large);
  CHECK(attribute_of(files.to, "user.empty").empty());
  CHECK(attribute_of(files.to, "user.other") == "stays");
}

TEST_CASE("each change of the mode, the owner, the ACL or a kept attribute is noticed, and no other one") {
  const std::string large(4000, 'l');
  using Change = std::function<bool(const std::string& path)>;
  const std::vector<std::pair<std::string, Change>> changes{
      {"mode", [](const std::string& path) { return ::chmod(path.c_str(), 0600) == 0; }},
      {"group",
       [](const std::string& path) { return ::geteuid() != 0 || ::chown(path.c_str(), 0, 5678) == 0; }},
      {"ACL", [](const std::string& path) { return set_attribute(path, kAccessList, access_list()); }},
      {"new", [](const std::string& path) { return set_attribute(path, "user.other", "x"); }},
      {"value", [](const std::string& path) { return set_attribute(path, "user.unit", "miles!"); }},
      {"longer", [&](const std::string& path) { return set_attribute(path, "user.unit", large); }},
      {"empty", [](const std::string& path) { return set_attribute(path, "user.unit", ""); }},
      {"removed", [](const std::string& path) { return ::removexattr(path.c_str(), "user.unit") == 0; }},
  };
  for (const auto& [name, change] : changes) {
    CAPTURE(name);
    const Files files;
    REQUIRE(::chmod(files.from.c_str(), 0640) == 0);
    if (!set_attribute(files.from, "user.unit", "metres")) return;
    const InputFile input = InputFile::open(files.from);
    KeptAttributes kept(input);
    write_file(files.from, "contents");
    CHECK(kept.are_unchanged());
    REQUIRE(change(files.from));
    if (name != "group" || ::geteuid() == 0) CHECK_FALSE(kept.are_unchanged());
  }
}

TEST_CASE("a replacement gets no trusted attributes") {
  const Files files;
  if (::geteuid() != 0) return skip_unless_possible("an attribute that is root's");
  if (!set_attribute(files.from, "trusted.secret", "x")) return;
  files.keep();
  CHECK(attribute_of(files.to, "trusted.secret") == "none");
}

TEST_CASE("a replacement gets the ACL of the file, or loses the ACL inherited from the directory") {
  for (const bool has_list : {true, false})
    for (const bool by_path : {true, false}) {
      const Files files;
      if (has_list && !set_attribute(files.from, kAccessList, access_list())) return;
      if (!set_attribute(files.directory.path(), kDefaultList, access_list())) return;
      CAPTURE(has_list, by_path);
      if (by_path)
        CHECK(keep_access_list(files.from, files.create_replacement()));
      else
        files.keep();
      CHECK(attribute_of(files.to, kAccessList) == attribute_of(files.from, kAccessList));
    }
}

TEST_CASE("the ACL of a missing file is an error, not an empty ACL") {
  const Files files;
  CHECK_FALSE(keep_access_list(files.directory / "none", files.create_replacement()));
  CHECK(errno == ENOENT);
}

TEST_CASE("a replacement gets the owner; a user who may not change the owner is refused") {
  if (::geteuid() != 0) return skip_unless_possible("files of another user");
  const Files files;
  REQUIRE(::chown(files.from.c_str(), 1234, 5678) == 0);
  files.keep();
  CHECK(status_of(files.to).st_uid == 1234);
  CHECK(status_of(files.to).st_gid == 5678);
  REQUIRE(::chown(files.to.c_str(), 65534, 65534) == 0);
  REQUIRE(::chmod(files.directory.path().c_str(), 0755) == 0);
  const InputFile input = InputFile::open(files.from);
  const Descriptor replacement = files.create_replacement();
  in_a_process([&] {
    become_user();
    return refusal(ErrorKind::refused, [&] {
             keep_attributes(input, replacement);
           }).find("cannot keep its owner 1234:5678") != std::string::npos;
  });
}

TEST_CASE("an attribute that the replacement cannot have is named in the refusal") {
  const Files files;
  if (!set_attribute(files.from, "user.unit", "metres")) return;
  std::array<int, 2> ends{};
  REQUIRE(::pipe2(ends.data(), O_CLOEXEC) == 0);  // pipes have no user attributes
  const Descriptor input(ends[0]);
  const Descriptor output(ends[1]);
  CHECK(refusal(ErrorKind::refused, [&] {
          keep_attributes(InputFile::open(files.from), output);
        }).find("cannot keep its attribute user.unit") != std::string::npos);
}

}  // namespace clipper::testing
