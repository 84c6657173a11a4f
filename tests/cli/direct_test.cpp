#include "cli/direct.hpp"

#include <sys/file.h>

#include "files/descriptor.hpp"

namespace clipper::testing {

TEST_CASE("--direct changes the file itself, which keeps its links") {
  for (const char* threads : {"1", "3"}) {
    CAPTURE(threads);
    const WorkingDirectory directory{{"x.npy", kInput}};
    REQUIRE(::chmod((directory / "x.npy").c_str(), 0640) == 0);
    std::filesystem::create_hard_link(directory / "x.npy", directory / "hard.npy");
    std::filesystem::create_symlink("x.npy", directory / "link.npy");
    const ino_t inode = status_of(directory / "x.npy").st_ino;
    check_done(run_clipper(direct({"--threads", threads, "link.npy"}), {directory.path()}));
    CHECK((directory.read("x.npy") == kOutput));
    CHECK((directory.read("hard.npy") == kOutput));
    CHECK(status_of(directory / "x.npy").st_ino == inode);
    CHECK(mode_of(directory / "x.npy") == 0640);
    CHECK(directory.entries() == Words{"hard.npy", "link.npy", "x.npy"});
  }
}

TEST_CASE("--direct writes nothing if no element changes") {
  const WorkingDirectory directory{{"x.npy", kInput}};
  const timespec written = status_of(directory / "x.npy").st_mtim;
  directory.done({"-i", "--direct", "--max", "inf", "x.npy"});
  CHECK(status_of(directory / "x.npy").st_mtim.tv_nsec == written.tv_nsec);
  CHECK((directory.read("x.npy") == kInput));
}

TEST_CASE("--direct clips tensors of any size, and many of them") {
  const WorkingDirectory directory;
  Words names;
  for (const std::size_t count : {0U, 1U, 1000U, 32'768U, 32'769U, 100'000U}) {
    names.push_back(std::to_string(count) + ".npy");
    directory.write(names.back(), float32_file(scattered_floats(count)));
  }
  directory.done(joined({"-i", "--direct", "--chunk-size", "4096", "--min", "0", "--max", "6"}, names));
  for (const std::string& name : names)
    CHECK((directory.read(name) == float32_file(clipped(scattered_floats(std::stoul(name)), 0, 6))));
}

TEST_CASE("--direct needs --in-place and refuses the same file twice") {
  const WorkingDirectory directory{{"x.npy", kInput}};
  directory.refused({"--direct", "--min", "0", "x.npy", "y.npy"}, 2, "--direct needs --in-place");
  directory.refused({"--direct", "--min", "0", "x.npy", "x.npy"}, 2, "--direct needs --in-place");
  std::filesystem::create_hard_link(directory / "x.npy", directory / "y.npy");
  directory.refused(direct({"x.npy", "y.npy"}), 2, "x.npy and y.npy are the same file");
  directory.refused(direct({"-"}), 5, "regular file", kInput);
}

TEST_CASE("a file that --direct left unfinished is unreadable until the same command finishes it") {
  const WorkingDirectory directory;
  const std::string file = directory / "x.npy";
  write_file(file, kInput);
  std::filesystem::create_symlink("x.npy", directory / "link.npy");
  const Result stopped = directory.run(direct({"x.npy"}), stop_in_the_middle);
  check_refused(stopped, 4,
                "x.npy: cannot be written: File too large; unreadable until the same command finishes it");
  CHECK(read_file(file)[6] == '\xcc');
  CHECK(directory.entries() == Words{"link.npy", "x.npy"});

  const char* const unfinished =
      "x.npy: left unfinished by --in-place --direct; run the same command again to finish it";
  directory.refused({"--min", "0", "x.npy", "out.npy"}, 5, unfinished);
  directory.refused({"--min", "0", "-", "-"}, 5, "left unfinished", read_file(file));
  directory.refused({"-i", "--min", "0", "x.npy"}, 5, unfinished);
  directory.refused({"--min", "0", "--output-dir", "new", "x.npy"}, 5, unfinished);
  directory.refused(direct({"--nan", "min", "x.npy"}), 5,
                    "x.npy: another --in-place --direct was interrupted");
  directory.refused({"-i", "--direct", "--min", "0", "x.npy"}, 5, "finish it first");
  std::filesystem::rename(file, directory / "other.npy");  // any name will do
  std::filesystem::rename(directory / "other.npy", file);

  check_refused(directory.run(direct({"x.npy"}), stop_in_the_middle), 4, "unreadable until");
  const Result finished = directory.run(direct({"-v", "--threads", "2", "link.npy"}, "8192"));
  CHECK(finished.exit_code == 0);
  CHECK(contains(finished.error, "link.npy: finished an interrupted --direct run"));
  CHECK((read_file(file) == kOutput));
  CHECK(directory.entries() == Words{"link.npy", "x.npy"});
}

TEST_CASE("--direct --nan error finds a NaN before it changes anything") {
  const WorkingDirectory directory;
  std::vector<float> elements = kElements;
  elements[299'999] = std::numeric_limits<float>::quiet_NaN();
  directory.write("x.npy", float32_file(elements));
  directory.refused(direct({"--nan", "error", "x.npy"}), 3, "x.npy: NaN at [299999]");
}

TEST_CASE("a file in use by another clipper is refused") {
  const WorkingDirectory directory{{"x.npy", kInput}};
  const Descriptor other(::open((directory / "x.npy").c_str(), O_RDONLY | O_CLOEXEC));
  REQUIRE(::flock(other.get(), LOCK_EX) == 0);
  directory.refused(direct({"x.npy"}), 5, "x.npy: is locked by another program, perhaps another clipper");
  directory.refused({"-i", "--min", "0", "x.npy"}, 5,
                    "x.npy: is locked by another program, perhaps another clipper");
  directory.refused({"--min", "0", "x.npy", "x.npy"}, 5,
                    "x.npy: is locked by another program, perhaps another clipper");
  directory.done({"--min", "0", "x.npy", "y.npy"});
  REQUIRE(::flock(other.get(), LOCK_UN) == 0);
  directory.done(direct({"x.npy"}));
}

TEST_CASE("an interrupted file can be copied, renamed and replaced before it is finished") {
  const WorkingDirectory directory;
  interrupt(directory, "x.npy", kInput);
  std::filesystem::copy_file(directory / "x.npy", directory / "copy.npy");
  std::filesystem::rename(directory / "x.npy", directory / "renamed.npy");
  directory.write("x.npy", kInput);
  directory.done(direct({"x.npy", "copy.npy", "renamed.npy"}));
  for (const char* const name : {"x.npy", "copy.npy", "renamed.npy"})
    CHECK((directory.read(name) == kOutput));
}

TEST_CASE("--direct refuses what would change elements again, and nothing else") {
  const WorkingDirectory directory;
  const std::string input = float32_file({-3, -0.0F, 2, 9, std::numeric_limits<float>::quiet_NaN()});
  directory.write("x.npy", input);
  directory.write("lo.npy", float32_file({0, 1, 2, 3, 4}));
  const std::string again = ", which clips every element again to finish an interrupted run";
  struct Row {
    Words words;
    std::string refused;  ///< empty: done
  };
  const std::string replacement = "a replacement that may lie beyond the bounds";
  for (const Row& row :
       std::vector<Row>{{{"--scale", "2", "--max", "1"}, "--scale"},
                        {{"--bias", "0"}, "--bias"},
                        {{"--min", "0", "--round", "floor"}, "--round"},
                        {{"--min", "1%"}, "a percentile"},
                        {{"--min", "0", "--nan", "-1"}, replacement},
                        {{"--min", "0", "--max", "6", "--nan", "7"}, replacement},
                        {{"--min", "0", "--max", "6", "--replace-below", "7"}, replacement},
                        {{"--min", "0", "--max", "6", "--replace-above", "nan", "--nan", "2"}, replacement},
                        {{"--min", "@lo.npy", "--nan", "5"}, replacement},
                        {{"--min", "6", "--max", "0", "--min-above-max", "max", "--nan", "min"}, replacement},
                        {{"--min", "0", "--max", "6", "--nan", "6"}, ""},
                        {{"--min", "0", "--replace-below", "-1"}, ""},
                        {{"--min", "0", "--max", "6", "--replace-below", "nan", "--replace-above", "3"}, ""},
                        {{"--min", "@lo.npy", "--replace-below", "nan"}, ""},
                        {{"--min", "@lo.npy", "--max", "@lo.npy"}, ""},
                        {{"--min", "6", "--max", "0", "--min-above-max", "min"}, ""},
                        {{"--profile", "numpy", "--min", "nan"}, ""}}) {
    CAPTURE(row.words);
    directory.write("x.npy", input);
    if (!row.refused.empty()) {
      directory.refused(joined({"-i", "--direct", "x.npy"}, row.words), 2,
                        "x.npy: " + row.refused + " cannot be combined with --in-place --direct" + again);
      CHECK((directory.read("x.npy") == input));
      continue;
    }
    directory.done(joined({"x.npy", "expected.npy"}, row.words));
    for (int times = 0; times < 2; ++times) {
      directory.done(joined({"-i", "--direct", "x.npy"}, row.words));
      CHECK((directory.read("x.npy") == directory.read("expected.npy")));
    }
  }
}

TEST_CASE("what --direct of an older clipper left is named and refused") {
  const WorkingDirectory directory{{"x.npy", kInput}, {".x.npy.clipper-journal", ".journal"}};
  directory.refused(direct({"x.npy"}), 5, "x.npy: an older clipper left the journal ");
  std::string unfinished = kInput;
  unfinished[6] = '\xcc';
  directory.write("x.npy", unfinished);
  directory.refused(direct({"x.npy"}), 5, ".x.npy.clipper-journal");
  directory.refused(
      {"--min", "0", "x.npy", "out.npy"}, 5,
      "x.npy: left unfinished by --in-place --direct of an older clipper; finish it with that version");
}

}  // namespace clipper::testing
