#include <fmt/format.h>
#include <sys/stat.h>

#include <filesystem>
#include <limits>
#include <string>
#include <vector>

#include "cli/numbered.hpp"

namespace clipper::testing {
namespace {

Words clip_into(const std::string& directory, const Words& files) {
  Words words{"--min", "0", "--max", "6", "--output-dir", directory};
  words.insert(words.end(), files.begin(), files.end());
  return words;
}

}  // namespace

TEST_CASE("--output-dir keeps the path of each input as given, whatever the other inputs are") {
  const TemporaryDirectory directory;
  std::filesystem::create_directories(directory / "in/a/deep");
  std::filesystem::create_directories(directory / "in/b");
  std::filesystem::create_directory_symlink("a/deep", directory / "in/link");
  write_file(directory / "in/a/x.npy", input(1));
  write_file(directory / "in/a/deep/x.npy", input(2));
  write_file(directory / "in/b/x.npy", input(3));
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
    CHECK(read_file(directory / ("new/out/" + row.kept)) == output(row.number));
  };
  Words all;
  for (const Row& row : rows) {
    all.push_back(row.given);
    check_done(run_clipper(clip_into("new/out", {row.given}), {directory.path()}));
    check(row);
    std::filesystem::remove_all(directory / "new");
  }
  check_done(run_clipper(clip_into("new/out/", all), {directory.path()}));
  for (const Row& row : rows) check(row);
}

TEST_CASE("--output-dir refuses a path with .. and names --relative-to") {
  const TemporaryDirectory directory;
  std::filesystem::create_directories(directory / "in/a");
  std::filesystem::create_directories(directory / "here");
  write_file(directory / "in/x.npy", input(1));
  write_file(directory / "x.npy", input(2));
  for (const char* file : {"../in/x.npy", "in/a/../x.npy", "in/..//in/x.npy", "in/../in/./missing.npy"})
    check_refused_untouched(
        directory, clip_into("out", {"x.npy", file}), 2,
        std::string(file) + ": --output-dir does not keep a path with ..; add --relative-to");
  const Words given = clip_into("../out", {"../in/x.npy"});
  for (const Words& more : {Words{"--relative-to", "../in"}, Words{"--flat"}}) {
    Words words = given;
    words.insert(words.end(), more.begin(), more.end());
    check_done(run_clipper(words, {directory / "here"}));
    CHECK(read_file(directory / "out/x.npy") == output(1));
    std::filesystem::remove_all(directory / "out");
  }
}

TEST_CASE("--flat keeps the name of each input, and replaces nothing without --force") {
  const TemporaryDirectory directory;
  std::filesystem::create_directories(directory / "in/a");
  std::filesystem::create_directories(directory / "in/b");
  write_file(directory / "in/a/x.npy", input(1));
  write_file(directory / "in/b/x.npy", input(2));
  write_file(directory / "in/b/y.npy", input(3));
  const auto flat = [&](const Words& more) {
    Words words = clip_into("out", {"--flat"});
    words.insert(words.end(), more.begin(), more.end());
    return words;
  };
  check_refused_untouched(directory, flat({"in/a/x.npy", "in/b/x.npy"}), 2,
                          "in/a/x.npy and in/b/x.npy would both be written to out/x.npy");
  check_refused_untouched(directory, flat({"-r", "in"}), 2, "would both be written to out/x.npy");
  check_refused_untouched(directory, flat({"--relative-to", "in", "in/b/y.npy"}), 2,
                          "--relative-to and --flat cannot be used together");
  check_refused_untouched(directory, clip({"--flat", "-i", "in/b/y.npy"}), 2, "--flat needs --output-dir");
  check_done(run_clipper(flat({"in/a/x.npy", directory / "in/./b//y.npy"}), {directory.path()}));
  CHECK(read_file(directory / "out/x.npy") == output(1));
  CHECK(read_file(directory / "out/y.npy") == output(3));
  for (const Words& more : {Words{}, Words{"-f", "-n"}}) {
    Words words = flat({"in/b/x.npy"});
    words.insert(words.end(), more.begin(), more.end());
    check_refused(run_clipper(words, {directory.path()}), 5, "out/x.npy: already exists");
  }
  CHECK(read_file(directory / "out/x.npy") == output(1));
  for (const Words& more : {Words{"-f"}, Words{"-n", "-f"}}) {
    Words words = flat({"-r", "in/b"});
    words.insert(words.end(), more.begin(), more.end());
    check_done(run_clipper(words, {directory.path()}));
    CHECK(read_file(directory / "out/x.npy") == output(2));
    write_file(directory / "out/x.npy", "old");
  }
}

TEST_CASE("--output-dir refuses an input that would be its own output") {
  const TemporaryDirectory directory;
  std::filesystem::create_directory(directory / "in");
  std::filesystem::create_directory_symlink(".", directory / "link");
  write_file(directory / "in/x.npy", input(1));
  write_file(directory / "y.npy", input(2));
  const char* const why = ": IN is OUT; use another --output-dir, or --in-place";
  for (const Words& files : {Words{"in/x.npy"}, Words{"y.npy", "in/x.npy"}, Words{"--flat", "-f", "y.npy"},
                             Words{"in/x.npy", "--relative-to", "."}})
    for (const char* to : {".", "link", "in/.."})
      check_refused_untouched(directory, clip_into(to, files), 2, why);
}

TEST_CASE("--relative-to keeps the same layout for any selection of files") {
  const TemporaryDirectory directory;
  std::filesystem::create_directories(directory / "in/a/deep");
  std::filesystem::create_directories(directory / "in/b");
  std::filesystem::create_directory_symlink("in", directory / "link");
  std::filesystem::create_directory_symlink("deep", directory / "in/a/other");
  write_file(directory / "in/a/deep/x.npy", input(1));
  write_file(directory / "in/b/x.npy", input(2));
  write_file(directory / "in/x.npy", input(3));
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

TEST_CASE("--relative-to refuses files outside of the directory, under any name") {
  const TemporaryDirectory directory;
  std::filesystem::create_directories(directory / "in/a");
  std::filesystem::create_directories(directory / "in2/deep");
  std::filesystem::create_directory_symlink("../in2", directory / "in/out_of_it");
  std::filesystem::create_directory_symlink("../../in2/deep", directory / "in/a/deep");
  for (const char* name : {"x.npy", "in/x.npy", "in2/x.npy", "in2/deep/x.npy"})
    write_file(directory / name, input(1));
  const auto refused = [&](const Words& files, const char* root, int code, const char* why) {
    Words words = clip_into("out", files);
    words.insert(words.end(), {"--relative-to", root});
    check_refused_untouched(directory, words, code, why);
  };
  for (const char* file : {"x.npy", "in2/x.npy", "in/../x.npy", "in/../in2/x.npy", "in/out_of_it/x.npy",
                           "in/a/deep/x.npy", "in/a/deep/../x.npy"})
    refused({"in/x.npy", file}, "in", 2,
            (std::string(file) + ": not below the --relative-to directory in").c_str());
  refused({"in/x.npy"}, "missing", 2, "missing is not a directory");
  refused({"in/x.npy"}, "x.npy", 2, "x.npy is not a directory");
  refused({"in/x.npy"}, "", 2, "--relative-to");
  refused({"in/missing/x.npy"}, "in", 4, "in/missing/x.npy: cannot be opened");
  check_refused_untouched(directory, {"--min", "0", "-i", "in/x.npy", "--relative-to", "in"}, 2,
                          "needs --output-dir");
  check_refused_untouched(directory, {"--min", "0", "in/x.npy", "y.npy", "--relative-to", "in"}, 2,
                          "needs --output-dir");
}

TEST_CASE("many small and large files are clipped alike with any number of threads") {
  const TemporaryDirectory directory;
  std::filesystem::create_directory(directory / "in");
  Words files;
  for (int i = 0; i < 300; ++i) {
    files.push_back(fmt::format("in/{}.npy", i));
    write_file(directory / files.back(), input(i));
  }
  const std::vector<float> large = scattered_floats(300'000);
  files.emplace_back("in/large.npy");
  write_file(directory / files.back(), float32_file(large));
  for (const char* threads : {"1", "2", "7"}) {
    CAPTURE(threads);
    Words words = clip_into("out", files);
    words.insert(words.end(), {"--threads", threads});
    check_done(run_clipper(words, {directory.path()}));
    for (int i = 0; i < 300; ++i) CHECK(read_file(directory / fmt::format("out/in/{}.npy", i)) == output(i));
    CHECK((read_file(directory / "out/in/large.npy") == float32_file(clipped(large, 0, 6))));
    std::filesystem::remove_all(directory / "out");
  }
}

TEST_CASE("existing files in --output-dir are replaced unless --no-clobber is given") {
  const TemporaryDirectory directory;
  write_file(directory / "x.npy", input(1));
  std::filesystem::create_directory(directory / "out");
  write_file(directory / "out/x.npy", "old");
  write_file(directory / "out/y.npy", "other");
  const Result refused =
      run_clipper({"-n", "--min", "0", "--output-dir", "out", "x.npy"}, {directory.path()});
  check_refused(refused, 5, "out/x.npy: ");
  CHECK(read_file(directory / "out/x.npy") == "old");
  check_done(run_clipper(clip_into("out", {"x.npy"}), {directory.path()}));
  CHECK(read_file(directory / "out/x.npy") == output(1));
  CHECK(read_file(directory / "out/y.npy") == "other");
}

TEST_CASE("after a failure, all existing outputs are complete") {
  const TemporaryDirectory directory;
  Words files{"--nan", "error"};
  for (int i = 0; i < 100; ++i) {
    files.push_back(fmt::format("{}.npy", i));
    write_file(directory / files.back(), input(i));
  }
  write_file(directory / "70.npy", float32_file({std::numeric_limits<float>::quiet_NaN()}));
  check_refused(run_clipper(clip_into("out", files), {directory.path()}), 3, "70.npy: ");
  for (const auto& entry : std::filesystem::directory_iterator(directory / "out"))
    CHECK(read_file(entry.path()) == output(std::stoi(entry.path().stem())));
}

TEST_CASE("all headers are checked before anything is created") {
  const TemporaryDirectory directory;
  write_file(directory / "x.npy", input(1));
  write_file(directory / "y.npy", input(2).substr(0, 130));
  check_refused_untouched(directory, clip_into("out", {"x.npy", "y.npy"}), 3, "y.npy: ");
  check_refused_untouched(directory, clip_into("out", {"y.npy"}), 3, "y.npy: ");
}

TEST_CASE("--output-dir refuses the same output twice, standard input and impossible paths") {
  const TemporaryDirectory directory;
  write_file(directory / "x.npy", input(1));
  check_refused_untouched(directory, clip_into("out", {"x.npy", "./x.npy"}), 2, "out/x.npy");
  check_refused_untouched(directory, clip_into("out", {"-"}), 2, "standard input");
  check_refused_untouched(directory, clip_into("out", {}), 2, "IN");
  check_refused_untouched(directory, clip_into("", {"x.npy"}), 2, "--output-dir");
  check_refused_untouched(directory, clip_into("x.npy/out", {"x.npy"}), 4, "x.npy/out");
  check_refused_untouched(directory, {"-i", "--output-dir", "out", "x.npy"}, 2, "--in-place");
  check_refused_untouched(directory, {"x.npy", "y.npy", "z.npy"}, 2, "too many files");
  const Result of_root = run_clipper(clip_into("out", {"/"}), {directory.path()});
  check_refused(of_root, 4, "/: is a directory; to clip the .npy and .npz files below it, add --recursive");
}

}  // namespace clipper::testing
