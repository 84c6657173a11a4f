#include "error.hpp"
#include "files/output_file.hpp"
#include "support/files.hpp"
#include "support/refusal.hpp"

namespace clipper::testing {
namespace {

/// A root "o" with a directory, and a directory outside of it.
struct Scene {
  TemporaryDirectory directory{{"o/inside/kept", ""}, {"outside/kept", ""}};
  OutputRoot root{directory / "o"};

  void link(const std::string& target, const char* name) const {
    std::filesystem::create_symlink(target, directory / name);
  }
  [[nodiscard]] OutputFile create(const char* name) const {
    return OutputFile::create(directory / name, OutputFile::Existing::replace, OutputFile::Durability::none,
                              0666, &root);
  }
  [[nodiscard]] std::string leads_out(const char* name) const {
    return directory / name + ": refused to avoid data loss: a symbolic link leads out of " + root_path();
  }
  [[nodiscard]] std::string root_path() const { return directory / "o"; }
  [[nodiscard]] bool is_outside_untouched() const {
    return std::distance(std::filesystem::directory_iterator(directory / "outside"), {}) == 1;
  }
};

}  // namespace

TEST_CASE("links that stay below an output root are followed") {
  Scene scene;
  scene.link("inside", "o/relative");
  scene.link(scene.directory / "o/inside", "o/absolute");
  scene.link("../o/inside", "o/around");
  scene.link("inside/kept", "o/file");
  for (const char* name : {"o/relative/a/x", "o/absolute/b/x", "o/around/x", "o/x", "o/file", "o//new/./x"}) {
    CAPTURE(name);
    scene.root.check(scene.directory / name);
    scene.root.make_directories(scene.directory / name);
    OutputFile file = scene.create(name);
    file.write(bytes(name));
    file.commit();
    CHECK(scene.directory.read(name) == name);
  }
  CHECK(std::filesystem::is_symlink(scene.directory / "o/file"));
}

TEST_CASE("links that lead out of an output root are refused before anything is made outside") {
  Scene scene;
  scene.link("../outside", "o/relative");
  scene.link(scene.directory / "outside", "o/absolute");
  scene.link("relative", "o/chain");
  scene.link("../..", "o/inside/up");
  for (const char* name : {"o/relative/x", "o/absolute/new/x", "o/chain/new/x", "o/inside/up/x"}) {
    CAPTURE(name);
    CHECK(refusal(ErrorKind::refused, [&] { scene.root.check(scene.directory / name); }) ==
          scene.leads_out(name));
    CHECK(refusal(ErrorKind::refused, [&] { scene.root.make_directories(scene.directory / name); }) ==
          scene.leads_out(name));
  }
  CHECK(scene.is_outside_untouched());
}

TEST_CASE("an output that is a link out of its root is refused") {
  const Scene scene;
  scene.link("../outside/kept", "o/file");
  scene.link("/dev/null", "o/device");
  for (const char* name : {"o/file", "o/device"}) {
    CAPTURE(name);
    CHECK(refusal(ErrorKind::refused, [&] { return scene.create(name); }) == scene.leads_out(name));
  }
}

TEST_CASE("a directory that becomes a link out of the root after it was made is not followed") {
  Scene scene;
  scene.root.make_directories(scene.directory / "o/new/x");
  std::filesystem::remove(scene.directory / "o/new");
  scene.link("../outside", "o/new");
  CHECK(refusal(ErrorKind::refused, [&] { return scene.create("o/new/x"); }) == scene.leads_out("o/new/x"));
  CHECK(scene.is_outside_untouched());
}

TEST_CASE("an output root that does not exist is made, and may be a link") {
  const TemporaryDirectory directory;
  OutputRoot missing(directory / "a/b");
  missing.check(directory / "a/b/c/x");
  CHECK(directory.entries().empty());
  missing.make_directories(directory / "a/b/c/x");
  CHECK(std::filesystem::is_directory(directory / "a/b/c"));
  std::filesystem::create_symlink("a/b", directory / "link");
  OutputRoot link(directory / "link/");
  link.make_directories(directory / "link/d/x");
  CHECK(std::filesystem::is_directory(directory / "a/b/d"));
}

}  // namespace clipper::testing
