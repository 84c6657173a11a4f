#include "cli/numbered.hpp"

namespace clipper::testing {
namespace {

Words clip_into(const std::string& directory, const Words& files) {
  return joined({"--min", "0", "--max", "6", "--output-dir", directory}, files);
}

}  // namespace

TEST_CASE("--output-dir keeps the path of each input as given, whatever the other inputs are") {
  const WorkingDirectory directory;
  std::filesystem::create_directories(directory / "in/a/deep");
  std::filesystem::create_directories(directory / "in/b");
  make_link("a/deep", directory / "in/link");
  directory.write("in/a/x.npy", input(1));
  directory.write("in/a/deep/x.npy", input(2));
  directory.write("in/b/x.npy", input(3));
  struct Row {
    std::string given;
    std::string kept;
    int number;
  };
  const std::string absolute = directory / "in/b/x.npy";
  const std::vector<Row> rows{{"in/a/x.npy", "in/a/x.npy", 1},
                              {"./in/./a//deep/x.npy", "in/a/deep/x.npy", 2},
                              {"in/link/x.npy", "in/link/x.npy", 2},
                              {"in/b/x.npy", "in/b/x.npy", 3},
                              {"/" + absolute, absolute.substr(1), 3}};
  const auto check = [&](const Row& row) {
    CAPTURE(row.given);
    CHECK(directory.read("new/out/" + row.kept) == output(row.number));
  };
  Words all;
  for (const Row& row : rows) {
    all.push_back(row.given);
    directory.done(clip_into("new/out", {row.given}));
    check(row);
    std::filesystem::remove_all(directory / "new");
  }
  directory.done(clip_into("new/out/", all));
  for (const Row& row : rows) check(row);
}

TEST_CASE("--output-dir refuses a path with .. and names --relative-to") {
  const WorkingDirectory directory{{"in/x.npy", input(1)}, {"x.npy", input(2)}};
  std::filesystem::create_directories(directory / "in/a");
  std::filesystem::create_directories(directory / "here");
  for (const char* file : {"../in/x.npy", "in/a/../x.npy", "in/..//in/x.npy", "in/../in/./missing.npy"})
    directory.refused(clip_into("out", {"x.npy", file}), 2,
                      std::string(file) + ": --output-dir does not keep a path with ..; add --relative-to");
  const Words given = clip_into("../out", {"../in/x.npy"});
  for (const Words& more : {Words{"--relative-to", "../in"}, Words{"--flat"}}) {
    check_done(run_clipper(joined(given, more), {directory / "here"}));
    CHECK(directory.read("out/x.npy") == output(1));
    std::filesystem::remove_all(directory / "out");
  }
}

TEST_CASE("--output-dir refuses an input that would be its own output") {
  const WorkingDirectory directory;
  std::filesystem::create_directory(directory / "in");
  make_link(".", directory / "link");
  directory.write("in/x.npy", input(1));
  directory.write("y.npy", input(2));
  const char* const why = ": IN is OUT; choose another directory, or --in-place";
  for (const Words& files : {Words{"in/x.npy"}, Words{"y.npy", "in/x.npy"}, Words{"--flat", "-f", "y.npy"},
                             Words{"in/x.npy", "--relative-to", "."}})
    for (const char* to : {".", "link", "in/.."}) directory.refused(clip_into(to, files), 2, why);
}

TEST_CASE("--relative-to keeps the same layout for any selection of files") {
  const WorkingDirectory directory;
  std::filesystem::create_directories(directory / "in/a/deep");
  std::filesystem::create_directories(directory / "in/b");
  make_link("in", directory / "link");
  make_link("deep", directory / "in/a/other");
  directory.write("in/a/deep/x.npy", input(1));
  directory.write("in/b/x.npy", input(2));
  directory.write("in/x.npy", input(3));
  const auto check = [&](const Words& files, const std::string& root, const std::string& name, int number,
                         const std::string& here = "") {
    const std::string out = directory / "out";
    Words words = clip_into(out, files);
    words.insert(words.end(), {"--relative-to", root});
    CAPTURE(words);
    check_done(run_clipper(words, {directory / here}));
    CHECK(read_file(out + "/" + name) == output(number));
    std::filesystem::remove_all(out);
  };
  for (const std::string& root : Words{"in", "./in/", "link", "in/a/..", directory / "in"}) {
    check({"in/b/x.npy"}, root, "b/x.npy", 2);
    check({"in/b/x.npy", "in/a/deep/x.npy"}, root, "b/x.npy", 2);
    check({"in/x.npy"}, root, "x.npy", 3);
    check({"in/./a//deep/x.npy"}, root, "a/deep/x.npy", 1);
    check({"in/a/../b/x.npy"}, root, "b/x.npy", 2);
    check({"in/a/other/../../b/x.npy"}, root, "b/x.npy", 2);
    check({directory / "link/b/x.npy"}, root, "b/x.npy", 2);
    check({"in/a/other/x.npy"}, root, "a/other/x.npy", 1);  // keeps the name of the link
  }
  check({"x.npy"}, "..", "b/x.npy", 2, "in/b");
  check({"../b/x.npy"}, "..", "b/x.npy", 2, "in/b");
  check({"x.npy"}, ".", "x.npy", 2, "in/b");
  check({"in/b/x.npy"}, "/", (directory / "in/b/x.npy").substr(1), 2);
}

TEST_CASE("many small and large files are clipped alike with any number of threads") {
  const WorkingDirectory directory;
  std::filesystem::create_directory(directory / "in");
  Words files;
  for (int i = 0; i < 300; ++i) {
    files.push_back(fmt::format("in/{}.npy", i));
    directory.write(files.back(), input(i));
  }
  const std::vector<float> large = scattered_floats(300'000);
  files.emplace_back("in/large.npy");
  directory.write(files.back(), float32_file(large));
  for (const char* threads : {"1", "2", "7"}) {
    CAPTURE(threads);
    Words words = clip_into("out", files);
    words.insert(words.end(), {"--threads", threads});
    directory.done(words);
    for (int i = 0; i < 300; ++i) CHECK(directory.read(fmt::format("out/in/{}.npy", i)) == output(i));
    CHECK((directory.read("out/in/large.npy") == float32_file(clipped(large, 0, 6))));
    std::filesystem::remove_all(directory / "out");
  }
}

TEST_CASE("after a failure, all existing outputs are complete") {
  const WorkingDirectory directory;
  Words files{"--nan", "error"};
  for (int i = 0; i < 100; ++i) {
    files.push_back(fmt::format("{}.npy", i));
    directory.write(files.back(), input(i));
  }
  directory.write("70.npy", float32_file({std::numeric_limits<float>::quiet_NaN()}));
  check_refused(directory.run(clip_into("out", files)), 3, "70.npy: ");
  for (const auto& entry : std::filesystem::directory_iterator(directory / "out"))
    CHECK(read_file(os::text_of(entry.path())) == output(std::stoi(entry.path().stem())));
}

TEST_CASE("--output-dir refuses links below it that lead out of it, also in a dry run, and follows others") {
  const WorkingDirectory directory{{"in/a/x.npy", input(1)}, {"in/b/x.npy", input(2)}};
  std::filesystem::create_directories(directory / "out/real");
  std::filesystem::create_directories(directory / "elsewhere");
  make_link("real", directory / "out/b");
  make_link("../elsewhere", directory / "out/a");
  const Words tree = clip({"-r", "in", "--output-dir", "out"});
  const std::string why = "out/a/x.npy: refused to avoid data loss: a symbolic link leads out of out";
  for (const Words& more : {Words{}, Words{"--dry-run", "-q"}, Words{"-n"}, Words{"-k"}}) {
    CAPTURE(more);
    check_refused(directory.run(joined(tree, more)), 5, why);
    CHECK(std::filesystem::is_empty(directory / "elsewhere"));
    CHECK(std::filesystem::exists(directory / "out/real/x.npy") == (more == Words{"-k"}));
  }
  CHECK(directory.read("out/real/x.npy") == output(2));
  std::filesystem::remove(directory / "out/a");
  std::filesystem::create_directory(directory / "out/a");
  directory.write("elsewhere/y.npy", "kept");
  make_link("../../elsewhere/y.npy", directory / "out/a/x.npy");
  for (const Words& more : {Words{}, Words{"--dry-run", "-q"}})
    check_refused(directory.run(joined(tree, more)), 5, why);
  CHECK(directory.read("elsewhere/y.npy") == "kept");
}

}  // namespace clipper::testing
