#include "cli/numbered.hpp"
#include "support/fork.hpp"

namespace clipper::testing {
namespace {

namespace fs = std::filesystem;

const std::string kOddName = os::kIsWindows ? "\u00e4.npy" : "\xff.npy";

/// in/ with tensors 1 to 3, and files that are not tensors.
class Tree : public WorkingDirectory {
 public:
  Tree() {
    fs::create_directories(*this / "in/train/deep");
    fs::create_directories(*this / "in/val.npy");
    write("in/train/a.npy", input(1));
    write("in/train/deep/b.npy", input(2));
    write("in/val.npy/" + kOddName, input(3));
    write("in/notes.txt", "no tensor");
    write("in/train/.a.npy.clipper-0123456789abcdef", "a temporary file of clipper");
    if (!os::kIsWindows) make_fifo(*this / "in/fifo.npy");
    fs::create_directory(*this / "empty");
  }

  void link(const std::string& to, const std::string& name) const { make_link(to, *this / name); }
  void check_clipped(const std::string& in) const {
    CHECK(read(in + "/train/a.npy") == output(1));
    CHECK(read(in + "/train/deep/b.npy") == output(2));
    CHECK(read(in + "/val.npy/" + kOddName) == output(3));
  }

  [[nodiscard]] std::size_t count(const std::string& below) const {
    std::size_t count = 0;
    for (const auto& entry : fs::recursive_directory_iterator(*this / below))
      count += entry.is_directory() ? 0 : 1;
    return count;
  }
};

}  // namespace

TEST_CASE("--recursive with --output-dir recreates the layout below the given directory") {
  const Tree tree;
  for (const char* in : {"in", "in/", "./in//", "in/train/..", "empty/../in"}) {
    CAPTURE(in);
    tree.done(clip({"-r", "--output-dir", "out", in}));
    tree.check_clipped("out");
    CHECK(tree.count("out") == 3);
    fs::remove_all(tree / "out");
  }
  fs::remove_all(tree / "in/val.npy");
  fs::remove(tree / "in/train/a.npy");
  tree.done(clip({"-r", "--output-dir", "out", "in"}));
  CHECK(tree.read("out/train/deep/b.npy") == output(2));
}

TEST_CASE("--recursive with another input or a list keeps the paths as given") {
  const Tree tree;
  tree.write("x.npy", input(4));
  tree.done(clip({"-r", "--output-dir", "one", "in/train", "./in//val.npy/"}));
  tree.check_clipped("one/in");
  tree.done(clip({"-r", "--output-dir", "two", "in", "x.npy"}));
  tree.check_clipped("two/in");
  CHECK(tree.read("two/x.npy") == output(4));
  tree.done(clip({"-r", "--output-dir", "three", "--relative-to", ".", "in/train/deep"}));
  CHECK(tree.read("three/in/train/deep/b.npy") == output(2));
  CHECK(tree.run(clip({"-r", "-k", "--output-dir", "four", "in/train/deep", "empty"})).exit_code == 3);
  CHECK(tree.read("four/in/train/deep/b.npy") == output(2));
  tree.done(clip({"-r", "--output-dir", "five", "x.npy"}));
  CHECK(tree.read("five/x.npy") == output(4));
  // A list of one directory is divided from a longer one, and must give the same paths.
  tree.done(clip({"-r", "--output-dir", "six", "--files-from", "-"}), "in\n");
  tree.check_clipped("six/in");
  tree.refused(clip({"-r", "--output-dir", "seven", "in/../in/train", "x.npy"}), 2,
               "path with ..; add --relative-to");
  tree.refused(clip({"-r", "--output-dir", "seven", "in/train", "in/train/deep"}), 2,
               "would both be written to seven/in/train/deep/b.npy");
}

TEST_CASE("--recursive with --in-place replaces the files below a directory, sorted by path") {
  const Tree tree;
  for (const char* name : {"in/zz.npy", "in/y.npy", "in/train-2.npy", "in/0.npy"}) tree.write(name, input(4));
  const Result trial = tree.run(clip({"-r", "-i", "--dry-run", "--threads", "1", "in"}));
  CHECK(trial.exit_code == 0);
  std::size_t last = 0;
  for (const char* name : {"in/0.npy", "in/train-2.npy", "in/train/a.npy", "in/train/deep/b.npy",
                           "in/val.npy/", "in/y.npy", "in/zz.npy"}) {
    CAPTURE(name);
    const std::size_t at = trial.error.find(name, last);
    CHECK(at != std::string::npos);
    last = std::min(at, trial.error.size());
  }
  CHECK(tree.read("in/train/a.npy") == input(1));
  tree.done(clip({"--recursive", "--in-place", "in"}));
  tree.check_clipped("in");
}

TEST_CASE("--recursive takes templates, lists and shards") {
  const Tree tree;
  tree.done(clip({"-r", "-o", "{dir}/{stem}.clip{ext}", "in"}));
  CHECK(tree.read("in/train/deep/b.clip.npy") == output(2));
  fs::remove(tree / "in/train/deep/b.clip.npy");
  tree.done(clip({"-r", "--output-dir", "out", "--files0-from", "-"}),
            std::string_view("in/train/deep\0in/val.npy", 24));
  CHECK(tree.read("out/in/train/deep/b.npy") == output(2));
  CHECK(tree.count("out") == 3);  // deep/b.npy, and two files from in/val.npy: \xff.npy and \xff.clip.npy
  for (const char* shard : {"0/2", "1/2"})
    tree.done(clip({"-r", "--shard", shard, "--output-dir", "shards", "in"}));
  tree.check_clipped("shards");
  tree.refused(clip({"-r", "--shard", "0/2", "-o", "{dir}/{stem}.2.npy", "in"}), 2, "use --output-dir");
}

TEST_CASE("a directory without --recursive is refused with advice, before anything is written") {
  const Tree tree;
  tree.write("x.npy", input(4));
  const char* const why = "in: is a directory; to clip the .npy and .npz files below it, add --recursive";
  tree.refused(clip({"in", "out.npy"}), 4, why);
  tree.refused(clip({"-i", "x.npy", "in"}), 4, why);
  tree.refused(clip({"--output-dir", "out", "x.npy", "in"}), 4, why);
  tree.refused(clip({"-o", "{stem}.2.npy", "x.npy", "in"}), 4, why);
  const Result json = tree.run(clip({"--json", "--output-dir", "out", "in"}));
  CHECK(contains(json.output, R"("input":"in")"));
  CHECK_FALSE(contains(json.output, R"("output")"));  // a directory has none
  const Result kept = tree.run(clip({"-i", "-k", "in", "x.npy"}));
  check_refused(kept, 4, why);
  CHECK(tree.read("x.npy") == output(4));
}

TEST_CASE("--recursive refuses unusable inputs and options") {
  const Tree tree;
  tree.refused(clip({"-r", "in", "out.npy"}), 2, "--recursive needs --output-dir, --output or --in-place");
  tree.refused(clip({"-r", "-i", "empty"}), 3, "empty: contains no .npy or .npz file");
  tree.refused(clip({"-r", "-i", "in", "empty"}), 3, "empty: contains no .npy or .npz file");
  tree.refused(clip({"--allow-empty", "--finalize", "x.npy"}), 2, "--finalize and --allow-empty");
  tree.refused(clip({"-r", "--finalize", "x.npy"}), 2, "--finalize and --recursive");
  tree.refused(clip({"-r", "-i", "in", "in/train"}), 2, "is an input twice");
}

TEST_CASE("--allow-empty accepts a directory without a tensor") {
  const Tree tree;
  for (const char* to : {"-i", "--output-dir=out", "-oout/{name}"})
    tree.done(clip({"--allow-empty", "-r", to, "empty"}));
  CHECK_FALSE(fs::exists(tree / "out"));
  tree.done(clip({"--allow-empty", "-r", "-i", "empty", "in/train"}));
  CHECK(tree.read("in/train/a.npy") == output(1));
  tree.refused(clip({"--allow-empty", "-r", "-i", "missing"}), 4, "missing: cannot be opened");
}

TEST_CASE("--output-dir below an input directory is refused, under any name") {
  const Tree tree;
  tree.link("in/train", "link");
  const char* const why = "lies within the input directory";
  for (const char* out :
       {"in", "in/out", "in/train/deep/new/er", "link/out", "empty/../in/out", "in/./../in"})
    tree.refused(clip({"-r", "--output-dir", out, "in"}), 2, why);
  tree.refused(clip({"-r", "--output-dir", "out", "."}), 2, why);
  tree.refused(clip({"-r", "-k", "--output-dir", "in/train/out", "link"}), 2, why);
  tree.refused(clip({"-r", "--output-dir", "link", "in"}), 2, why);
}

TEST_CASE("links to directories are skipped, links to files and a directory given by a link are followed") {
  const Tree tree;
  fs::create_directory(tree / "other");
  tree.write("other/o.npy", input(5));
  tree.link("../other", "in/elsewhere");
  tree.link("..", "in/train/loop");
  tree.link("in", "link");
  tree.link("../other/o.npy", "in/file.npy");
  tree.link("../other", "in/directory.npy");
  tree.done(clip({"-r", "--output-dir", "out", "link"}));
  tree.check_clipped("out");
  CHECK(tree.read("out/file.npy") == output(5));
  CHECK(tree.count("out") == 4);
  fs::remove(tree / "in/file.npy");
  tree.done(clip({"-r", "-i", "link"}));
  tree.check_clipped("in");
  CHECK(tree.read("other/o.npy") == input(5));
  tree.link("nowhere", "in/x.npy");
  tree.refused(clip({"-r", "-i", "in"}), 4, "in/x.npy: cannot be opened");
}

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
    tree.link("../other", "in/train");
  }
  const Result result = process.finish();
  CHECK(result.exit_code == 5);
  CHECK(contains(result.error, "in/train/a.npy: refused to avoid data loss: is no longer below"));
  CHECK(contains(result.error, "in/train/deep/b.npy: refused"));
  CHECK(tree.read("other/a.npy") == input(4));
  CHECK(tree.read("other/deep/b.npy") == input(5));
  CHECK(tree.read("moved/a.npy") == input(1));
  CHECK(tree.read("in/val.npy/" + kOddName) == output(3));
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

TEST_CASE("info shows the .npy files below directories, sorted by path") {
  const Tree tree;
  tree.write("x.npy", input(4));
  tree.link("../../empty", "in/train/empty");
  const auto names = [](const Result& result) {
    Words names;
    std::istringstream lines(result.output);
    for (std::string line; std::getline(lines, line);)
      if (const std::string name = line.substr(0, line.find(' ')); name.ends_with(".npy"))
        names.push_back(name);
    return names;
  };
  const auto info = [&](const Words& words) { return tree.run(words); };
  const Result result = info({"info", "x.npy", "in/"});
  check_done(result);
  CHECK(names(result) == Words{"x.npy", "in/train/a.npy", "in/train/deep/b.npy", "in/val.npy/\\xff.npy"});
  tree.link("../in", "empty/link");
  CHECK(names(info({"info", "empty"})).size() == 3);
  fs::remove(tree / "empty/link");
  tree.link("..", "in/train/deep/loop");
  const Result loop = info({"info", "in"});
  check_refused(loop, 4, "in/train/deep/loop: leads back to in/train: a loop of links");
  CHECK(names(loop).size() == 3);
  fs::create_directory(tree / "none");
  const Result none = info({"info", "--json", "none", "x.npy"});
  check_refused(none, 3, "none: contains no .npy or .npz file");
  CHECK(none.output.starts_with("{\"version\":"));
  CHECK(std::ranges::count(none.output, '\n') == 2);
}

TEST_CASE("a TEMPLATE without a placeholder is a path like OUT, whose directory must exist") {
  const Tree tree;
  tree.write("x.npy", input(4));
  const char* const why = "no/dir/y.npy: directory no/dir does not exist; create it first";
  for (const Words& more : {Words{}, Words{"--dry-run"}, Words{"--sync"}}) {
    for (Words words : {Words{"x.npy", "no/dir/y.npy"}, Words{"x.npy", "-o", "no/dir/y.npy"}}) {
      words.insert(words.end(), more.begin(), more.end());
      tree.refused(clip(words), 4, why);
    }
  }
  tree.refused(clip({"x.npy", "-o", "no/{{}}.npy"}), 4, "no/{}.npy: directory no does not exist");
  tree.done(clip({"x.npy", "-o", "no/dir/{name}"}));
  CHECK(tree.read("no/dir/x.npy") == output(4));
}

}  // namespace clipper::testing
