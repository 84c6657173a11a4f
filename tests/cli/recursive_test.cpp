#include "cli/numbered.hpp"
#include "support/fork.hpp"

namespace clipper::testing::recursive_test {
namespace {

namespace fs = std::filesystem;

/// in/ with tensors 1 to 3.
class Tree : public WorkingDirectory {
 public:
  Tree() {
    fs::create_directories(*this / "in/train/deep");
    fs::create_directory(*this / "in/val.npy");
    write("in/train/a.npy", input(1));
    write("in/train/deep/b.npy", input(2));
    write("in/val.npy/c.npy", input(3));
  }

  [[nodiscard]] auto count(const std::string& below) const {
    return std::ranges::count_if(fs::recursive_directory_iterator(*this / below),
                                 [](const auto& entry) { return !entry.is_directory(); });
  }
};

}  // namespace

TEST_CASE("in place, a file that is no longer below the input directory is refused") {
  const Words kind = GENERATE(Words{}, Words{"--direct"});
  const Tree tree;
  fs::create_directories(tree / "other/deep");
  tree.write("other/a.npy", input(4));
  tree.write("other/deep/b.npy", input(5));
  make_fifo(tree / "list");
  Process process(
      clipper_words(clip(joined({"-r", "-i", "-k", "in", "--files-from", "list", "--allow-empty"}, kind))),
      {tree.path()});
  {
    // clipper opens the list after it has walked in/.
    const Descriptor list(::open((tree / "list").c_str(), O_WRONLY | O_CLOEXEC));
    REQUIRE(list.get() >= 0);
    fs::rename(tree / "in/train", tree / "moved");
    make_link("../other", tree / "in/train");
  }
  const Result result = process.finish();
  CHECK(result.exit_code == 5);
  CHECK(contains(result.error, "in/train/a.npy: refused to avoid data loss: is no longer below"));
  CHECK(contains(result.error, "in/train/deep/b.npy: refused"));
  CHECK(tree.read("other/a.npy") == input(4));
  CHECK(tree.read("other/deep/b.npy") == input(5));
  CHECK(tree.read("moved/a.npy") == input(1));
  CHECK(tree.read("in/val.npy/c.npy") == output(3));
}

TEST_CASE("an unreadable directory is an error, and --keep-going continues after it") {
  const Tree tree;
  fs::permissions(tree.path(), fs::perms::others_exec, fs::perm_options::add);
  fs::permissions(tree / "in", fs::perms::all);
  fs::create_directory(tree / "in/out");
  fs::permissions(tree / "in/out", fs::perms::all);
  fs::permissions(tree / "in/train/deep", fs::perms::none);
  const auto run = [&](const Words& words) { return run_clipper(clip(words), {tree / "in", become_user}); };
  const char* const why = "train/deep: cannot be read: Permission denied";
  check_refused(run({"-r", "--output-dir", "out", "train", "val.npy"}), 4, why);
  CHECK(tree.count("in/out") == 0);
  check_refused(run({"-r", "-k", "--output-dir", "out", "train", "val.npy"}), 4, why);
  CHECK(tree.count("in/out") == 2);
  check_refused(run({"-r", "-k", "--output-dir", "out", "train/deep"}), 4, why);
  fs::permissions(tree / "in/train/deep", fs::perms::owner_all);
}

TEST_CASE("compare: an unreadable directory is an error, also through a link") {
  const WorkingDirectory directory{{"got/a.npy", float32_file({1})}, {"want/a.npy", float32_file({1})}};
  fs::create_directory(directory / "real");
  make_link("../real", directory / "got/sub");
  fs::permissions(directory.path(), fs::perms::others_exec, fs::perm_options::add);
  fs::permissions(directory / "real", fs::perms::none);
  const Result result = directory.run({"compare", "got", "want"}, become_user);
  check_refused(result, 4, "got/sub: cannot be read: Permission denied");
  fs::permissions(directory / "real", fs::perms::owner_all);
}

}  // namespace clipper::testing::recursive_test
