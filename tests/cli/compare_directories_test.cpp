#include "cli/compare.hpp"
#include "support/fork.hpp"
#include "support/tensors.hpp"

namespace clipper::testing {
namespace {

namespace fs = std::filesystem;

/// Three directories: got/ and want/ both contain the tensor a.npy, real/ contains b.npy.
class Trees : public WorkingDirectory {
 public:
  Trees() {
    for (const char* const name : {"got", "want", "real"}) fs::create_directory(*this / name);
    write("got/a.npy", float32_file({1}));
    write("want/a.npy", float32_file({1}));
    write("real/b.npy", float32_file({1}));
  }
  void link(const std::string& to, const std::string& name) { fs::create_symlink(to, *this / name); }

  void check_error_status(int status, std::string_view word) const {
    const Result result = run_compare(*this, {"got", "want"});
    CAPTURE(result.output);
    check_refused(result, status, word);
  }
};

}  // namespace

TEST_CASE("a FIFO or a device in a directory is an error and does not block") {
  Trees trees;
  trees.write("want/b.npy", float32_file({1}));
  make_fifo(trees / "got/b.npy");
  trees.check_error_status(3, "b.npy: not a regular file");
  fs::remove(trees / "got/b.npy");
  trees.link("/dev/zero", "got/b.npy");
  trees.check_error_status(3, "b.npy: not a regular file");
}

TEST_CASE("compare follows links to directories") {
  Trees trees;
  trees.link("../real", "got/sub");
  check_different(trees, {"got", "want"}, "FAIL got/sub/b.npy: want/sub/b.npy is missing\n");
  check_different(trees, {"want", "got"}, "FAIL want/sub/b.npy: is missing\n");
  trees.link("../real", "want/sub");
  check_same(trees, {"got", "want"});
  fs::remove(trees / "want/sub");
  fs::create_directory(trees / "want/sub");
  trees.write("want/sub/b.npy", float32_file({2}));
  CHECK(run_compare(trees, {"got", "want"}).output.starts_with("FAIL got/sub/b.npy: 1 of 1 differ"));
}

TEST_CASE("a directory with two links to it is compared twice and is not a loop") {
  Trees trees;
  for (const char* const name : {"got/one", "got/two", "want/one", "want/two"}) trees.link("../real", name);
  const Result result = run_compare(trees, {"-v", "got", "want"});
  check_done(result);
  CHECK(result.output == "ok got/a.npy\nok got/one/b.npy\nok got/two/b.npy\n");
}

TEST_CASE("a loop of links is an error, not a difference") {
  Trees trees;
  fs::create_directory(trees / "got/sub");
  trees.link("..", "got/sub/up");
  trees.check_error_status(4, "got/sub/up: leads back to got: a loop of links");
  fs::remove(trees / "got/sub/up");
  trees.link(".", "want/here");
  trees.check_error_status(4, "want/here: leads back to want: a loop of links");
}

TEST_CASE("a directory called .npy counts as an entry to compare") {
  Trees trees;
  fs::create_directory(trees / "got/d.npy");
  check_different(trees, {"got", "want"}, "FAIL got/d.npy: want/d.npy is missing\n");
  trees.link("../real", "want/d.npy");
  trees.check_error_status(4, "clipper: got/d.npy: cannot be read: Is a directory\n");
}

TEST_CASE("a link x.npy to a directory is an error if the other side is a tensor") {
  Trees trees;
  trees.link("../real", "got/l.npy");
  const Result only = run_compare(trees, {"got", "want"});
  CHECK(only.exit_code == 1);
  CHECK(only.output ==
        "FAIL got/l.npy: want/l.npy is missing\nFAIL got/l.npy/b.npy: want/l.npy/b.npy is missing\n");
  trees.write("want/l.npy", float32_file({1}));
  const Result result = run_compare(trees, {"got", "want"});
  CHECK(result.exit_code == 4);
  CHECK(result.error == "clipper: got/l.npy: cannot be read: Is a directory\n");
}

TEST_CASE("a broken link is an error if it is called .npy") {
  Trees trees;
  trees.link("nowhere", "got/other");
  trees.link("loop", "want/loop");
  check_same(trees, {"got", "want"});
  trees.link("nowhere", "got/x.npy");
  trees.link("nowhere", "want/x.npy");
  trees.check_error_status(4, "got/x.npy: cannot be opened");
}

TEST_CASE("an unreadable directory is an error, also through a link") {
  Trees trees;
  trees.link("../real", "got/sub");
  fs::permissions(trees.path(), fs::perms::others_exec, fs::perm_options::add);
  fs::permissions(trees / "real", fs::perms::none);
  const Result result = trees.run({"compare", "got", "want"}, become_user);
  check_refused(result, 4, "got/sub: cannot be read: Permission denied");
  fs::permissions(trees / "real", fs::perms::owner_all);
}

TEST_CASE("a tree deeper than the limit of file descriptors is compared") {
  Trees trees;
  for (const char* const side : {"got/", "want/"}) {
    std::string path = trees / side;
    for (int depth = 0; depth < 100; ++depth) path += "d/";
    fs::create_directories(path);
    write_file(path + "x.npy", float32_file({1}));
  }
  const Result result = trees.run_in_shell("ulimit -n 40; \"$@\"", {"compare", "-v", "got", "want"});
  check_done(result);
  CHECK(result.output.starts_with("ok got/a.npy\nok got/d/d/"));
}

}  // namespace clipper::testing
