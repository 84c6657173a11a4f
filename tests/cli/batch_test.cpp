#include "cli/numbered.hpp"
#include "support/archives.hpp"

namespace clipper::testing {
namespace {

const std::string kNan = float32_file({std::numeric_limits<float>::quiet_NaN()});

}  // namespace

TEST_CASE("--files-from reads one name per line, --files0-from NUL-separated names") {
  const WorkingDirectory directory;
  const std::string strange = "b\n -x.npy";
  const auto begin = [&] {
    for (const std::string& name : Words{"a.npy", strange, "-c.npy"}) directory.write(name, input(1));
  };
  const auto check_all = [&](const Words& names) {
    for (const std::string& name : names) CHECK(directory.read(name) == output(1));
    begin();
  };
  begin();
  directory.write("list", "a.npy\n-c.npy");
  directory.done(clip({"-i", "--files-from", "list"}));
  check_all({"a.npy", "-c.npy"});
  const std::string list0 = "a.npy" + std::string(1, '\0') + strange + std::string(1, '\0') + "-c.npy" + '\0';
  directory.done(clip({"-i", "--files0-from", "-"}), list0);
  check_all({"a.npy", strange, "-c.npy"});
  directory.done(clip({"-i", "--files-from", "-", "./-c.npy"}), "a.npy\n");
  check_all({"a.npy", "-c.npy"});
  directory.done(clip({"--files-from=-", "--output-dir", "out"}), "a.npy\n");
  CHECK(directory.read("out/a.npy") == output(1));
}

TEST_CASE("an empty list of names is refused without --allow-empty") {
  const WorkingDirectory directory{{"a.npy", input(1)}, {"list", ""}};
  for (const char* to : {"-i", "--output-dir=made", "-omade/{name}"}) {
    for (const char* option : {"--files-from", "--files0-from"}) {
      for (const Words& more : {Words{}, Words{"-k"}, Words{"a.npy"}}) {
        Words words = joined(clip({to, option, "-"}), more);
        directory.refused(words, 3, "standard input: contains no file name; --allow-empty");
      }
      directory.refused(clip({to, option, "list"}), 3, "list: contains no file name");
      directory.done(clip({to, option, "-", "--allow-empty"}), "");
    }
  }
  CHECK_FALSE(std::filesystem::exists(directory / "made"));
  directory.done(clip({"-i", "--allow-empty", "--files-from", "list", "a.npy"}));
  CHECK(directory.read("a.npy") == output(1));
  check_refused(directory.run(clip({"-i", "--allow-empty", "--files-from", "-"}), "\n"), 2,
                "entry 1 is an empty file name");
}

TEST_CASE("an unreadable list of names, and a list with an invalid name, are refused") {
  const WorkingDirectory directory{{"a.npy", input(1)}};
  const auto refused = [&](const Words& words, int code, const char* why, const std::string& list = "") {
    directory.refused(clip(words), code, why, list);
  };
  refused({"-i", "--files-from", "-"}, 2, "entry 2 is an empty file name", "a.npy\n\na.npy\n");
  refused({"-i", "--files0-from", "-"}, 2, "entry 1 ('-') means standard input", std::string("-\0", 2));
  refused({"-i", "--files-from", "missing"}, 4, "missing: ");
  refused({"-i", "--files-from", "."}, 4, ".: ");
  refused({"--files-from", "-"}, 2, "--files-from needs");
  refused({"--files-from", "-", "in", "out"}, 2, "--files-from needs");
  refused({"-o", "-", "--files-from", "-", "-"}, 2, "standard input cannot be both");
  refused({"-i", "--files-from="}, 2, "--files-from has no value");
  refused({"-i", "--files-from", ""}, 2, "--files-from");
  refused({"-i", "--files-from", "-", "--files0-from", "-"}, 2, "--files0-from");
}

TEST_CASE("a list with the wrong separator is refused with the option for it") {
  const WorkingDirectory directory{{"in/1.npy", input(1)}, {"in/2.npy", input(1)}, {"in/3.npy", input(1)}};
  const std::string nul(1, '\0');
  const auto refused = [&](const char* option, const std::string& list, const char* why) {
    for (const char* to : {"-i", "--output-dir=o", "-o{stem}.out"})
      directory.refused(clip({to, "-k", option, "-"}), 2, why, list);
  };
  const char* const has_nul = "standard input: entry 1 ('in/1.npy') ends with a NUL; for NUL";
  refused("--files-from", "in/1.npy" + nul + "in/2.npy" + nul + "in/3.npy" + nul, has_nul);
  refused("--files-from", "in/1.npy" + nul, has_nul);
  refused("--files-from", "in/1.npy\nin/2" + nul + "3.npy\n", "entry 2 ('in/2') ends with a NUL");
  const char* const has_lines =
      "standard input: entry 1 ('in/1.npy') is followed by a line end, not by a NUL; for lists";
  refused("--files0-from", "in/1.npy\nin/2.npy\n", has_lines);
  refused("--files0-from", "in/1.npy\n", has_lines);
  std::string many;
  for (int i = 0; i < 10'000; ++i) many += "in/1.npy\n";
  refused("--files0-from", many, has_lines);
  refused("--files-from", "in/1.npy\n" + std::string(5000, 'x'),
          "xxx...') is longer than a path can be (4095 bytes)");
  refused("--files0-from", "in/1.npy" + nul + std::string(5000, 'x'),
          "xxx...') is longer than a path can be (4095 bytes)");
}

TEST_CASE("--output names each result after its input") {
  const WorkingDirectory directory{{"in/a.b.npy", input(1)}, {"in/deep/c", input(2)}, {"d.npy", input(3)}};
  directory.done(clip({"in/a.b.npy", "in/deep/c", "d.npy", "--output", "{dir}/{{new}}/{stem}.clip{ext}"}));
  CHECK(directory.read("in/{new}/a.b.clip.npy") == output(1));
  CHECK(directory.read("in/deep/{new}/c.clip") == output(2));
  CHECK(directory.read("{new}/d.clip.npy") == output(3));
  directory.done(clip({"d.npy", "-o", "flat_{name}"}));
  CHECK(directory.read("flat_d.npy") == output(3));
  CHECK(directory.run(clip({"d.npy", "-o", "-"})).output == output(3));
  directory.done(clip({"-", "-o", "new.npy"}), input(4));
  CHECK(directory.read("new.npy") == output(4));
  directory.done(clip({"d.npy", "-o", "{name}"}));
  CHECK(directory.read("d.npy") == output(3));
}

TEST_CASE("an invalid --output template is refused") {
  const WorkingDirectory directory{{"a.npy", input(1)}, {"b.npy", input(2)}};
  const auto refused = [&](const Words& words, const char* why) { directory.refused(clip(words), 2, why); };
  refused({"a.npy", "-o", "{base}.npy"}, "unknown placeholder {base}; use {dir}, {name}, {stem} or {ext}");
  refused({"a.npy", "-o", "{name"}, "{name");
  refused({"a.npy", "-o", ""}, "--output");
  refused({"-", "-o", "{name}"}, "standard input has no {name}");
  refused({"a.npy", "-o", "x", "--output-dir", "y"}, "cannot be used together");
  refused({"a.npy", "-o", "x", "-i"}, "cannot be used together");
}

TEST_CASE("two inputs with the same output, and an output that is another input, are refused") {
  const WorkingDirectory directory;
  std::filesystem::create_directory(directory / "real");
  make_link("real", directory / "link");
  for (const char* name : {"a.npy", "b.npy", "real/c.npy"}) directory.write(name, input(1));
  const auto refused = [&](const Words& words, const char* why) { directory.refused(clip(words), 2, why); };
  refused({"a.npy", "b.npy", "-o", "out.npy"}, "a.npy and b.npy would both be written to out.npy");
  refused({"real/x.npy", "link/y.npy", "-o", "{dir}/new.npy"}, "would both be written to");
  refused({"real/c.npy", "link/c.npy", "-o", "new/{dir}/{name}", "-i"}, "cannot be used together");
  refused({"a.npy", "b.npy", "-o", "b.npy"}, "b.npy");
  make_link("b.npy", directory / "a.out");
  refused({"a.npy", "b.npy", "-o", "{stem}.out"},
          "a.npy would be written to a.out, which is the input b.npy");
  refused({"-i", "real/c.npy", "link/c.npy"}, "are the same file");
}

TEST_CASE("two outputs that are loops of links are not taken for the same file") {
  const WorkingDirectory directory{{"a.npy", input(1)}, {"b.npy", input(1)}};
  for (const char* name : {"a.out", "b.out"}) make_link(name, directory / name);
  // Either file may fail first and end the batch.
  directory.refused(clip({"a.npy", "b.npy", "-o", "{stem}.out"}), 4, ".out: cannot be examined");
}

TEST_CASE("--keep-going clips the remaining files and returns the highest status") {
  const WorkingDirectory directory{{"good.npy", input(1)},
                                   {"bad.npy", input(2).substr(0, 100)},
                                   {"nan.npy", kNan},
                                   {"last.npy", input(3)}};
  const Words files{"good.npy", "bad.npy", "nan.npy", "missing.npy", "last.npy"};
  for (const char* to : {"--output-dir=out", "-i"}) {
    const Result result = directory.run(joined(clip({"-k", to, "--nan", "error"}), files));
    CAPTURE(to, result.error);
    CHECK(result.exit_code == 4);
    CHECK(std::ranges::count(result.error, '\n') == 4);
    for (const char* name : {"bad.npy: ", "nan.npy: NaN at [0]", "missing.npy: "})
      CHECK(contains(result.error, "clipper: " + std::string(name)));
    const std::string in = to == std::string("-i") ? "" : "out/";
    CHECK(directory.read(in + "good.npy") == output(1));
    CHECK(directory.read(in + "last.npy") == output(3));
    CHECK(directory.read("nan.npy") == kNan);
  }
  CHECK(std::filesystem::exists(directory / "out/bad.npy") == false);
}

TEST_CASE("--keep-going with only one input, a directory, is an error like any other") {
  const WorkingDirectory directory;
  std::filesystem::create_directory(directory / "in");
  const Result result = directory.run(clip({"-k", "in", "out.npy"}));
  CHECK(result.exit_code == 4);
  CHECK(result.error ==
        "clipper: in: is a directory; to clip the .npy and .npz files below it, add --recursive\n");
  CHECK(std::filesystem::exists(directory / "out.npy") == false);
}

TEST_CASE("--dry-run makes all checks and writes nothing") {
  const WorkingDirectory directory{
      {"a.npy", input(1)}, {"b.npy", input(2)}, {"nan.npy", kNan}, {"bad.npy", "bad"}};
  std::filesystem::create_directory(directory / "links");
  make_link("nowhere", directory / "links/a.npy");
  const auto before = directory.snapshot();
  const auto dry_run = [&](const Words& more) {
    Result result = directory.run(joined(clip({"--dry-run"}), more));
    CHECK(directory.snapshot() == before);
    return result;
  };
  const Result result = dry_run({"--output-dir", "out", "a.npy", "b.npy"});
  CHECK(result.exit_code == 0);
  CHECK(contains(result.error, "clipper: a.npy: would be written to out/a.npy\n"));
  CHECK(dry_run({"-i", "a.npy"}).error == "clipper: a.npy: would be replaced\n");
  CHECK(dry_run({"-i", "--direct", "a.npy"}).error == "clipper: a.npy: would be replaced\n");
  CHECK(contains(dry_run({"-i", "-v", "a.npy"}).error, "clipped 66.7 % (33.3 % raised, 33.3 % lowered)"));
  CHECK(dry_run({"-q", "a.npy", "out.npy"}).error.empty());
  CHECK(dry_run({"a.npy", "-"}).output.empty());
  check_refused(dry_run({"bad.npy", "out.npy"}), 3, "bad.npy");
  check_refused(dry_run({"a.npy", "missing/out.npy"}), 4, "missing/out.npy");
  // One thread, because a second one may report b.npy before a.npy fails.
  check_refused(dry_run({"--threads", "1", "--output-dir", "links", "a.npy", "b.npy"}), 5,
                "links/a.npy: is a dangling");
  check_refused(dry_run({"-n", "a.npy", "b.npy"}), 5, "b.npy: already exists");
  check_refused(dry_run({"-n", "-o", "b{ext}", "a.npy"}), 5, "b.npy: already exists");
  check_refused(dry_run({"--nan", "error", "nan.npy", "out.npy"}), 3, "nan.npy: NaN at [0]");
  check_refused(dry_run({"--fail-if-clipped", "50%", "-i", "a.npy"}), 1, "a.npy: 66.7 %");
}

TEST_CASE("--no-clobber refuses before anything is written") {
  const WorkingDirectory directory{{"a.npy", input(1)}, {"b.npy", input(1)}, {"b.out", input(1)}};
  directory.refused(clip({"-n", "-o", "{stem}.out", "a.npy", "b.npy"}), 5, "b.out: already exists");
  check_refused(directory.run(clip({"-n", "-k", "-o", "{stem}.out", "b.npy", "a.npy"})), 5, "b.out");
  CHECK(directory.read("a.out") == output(1));
}

TEST_CASE("--fail-if-clipped writes nothing if too much would be clipped") {
  const WorkingDirectory directory;
  std::vector<float> elements(1000, 1);
  std::fill_n(elements.begin(), 50, -1.0F);
  directory.write("x.npy", float32_file(elements));
  std::filesystem::create_directory(directory / "there");
  for (const Words& more : {Words{"x.npy", "out.npy"}, Words{"-i", "x.npy"}, Words{"-i", "--direct", "x.npy"},
                            Words{"x.npy", "-"}, Words{"--output-dir", "there", "x.npy"}}) {
    const Result result = directory.refused(joined(clip({"--fail-if-clipped", "4.9%"}), more), 1,
                                            "x.npy: 5 % would be clipped, more than 4.9 %");
    CHECK(result.output.empty());
  }
  directory.done(clip({"--fail-if-clipped", "5%", "x.npy", "out.npy"}));
  CHECK((directory.read("out.npy") == float32_file(clipped(elements, 0, 6))));
  const Result piped = directory.run(clip({"--fail-if-clipped", "5%", "x.npy", "-"}));
  CHECK((piped.output == float32_file(clipped(elements, 0, 6))));
  check_refused(directory.run(clip({"--fail-if-clipped", "0", "-", "new.npy"}), input(1)), 1,
                "standard input: 66.7 %");
  check_refused(run_clipper(clip({"--fail-if-clipped", "0", "-", "-"}), {}, input(1)), 2, "must be a file");
  for (const char* wrong : {"-1", "101", "nan", "5%%", "x", " 1"})
    directory.refused(clip({"--fail-if-clipped", wrong, "x.npy", "y.npy"}), 2, "--fail-if-clipped");
  directory.done(clip({"--fail-if-clipped", "5%", "-i", "--direct", "x.npy"}));
  CHECK((directory.read("x.npy") == float32_file(clipped(elements, 0, 6))));
}

TEST_CASE("--fail-if-clipped judges elements that are clipped to their own bits") {
  const std::string elements = bytes_of(std::vector<float>{5, 5});
  const WorkingDirectory directory{{"x.npy", float32_file({5, 5})},
                                   {"x.pb", "\x08\x02\x10\x01\x4a\x08" + elements},
                                   {"x.raw", elements},
                                   {"x.npz", npz_file({{"w.npy", float32_file({5, 5})}})}};
  for (const std::string name : {"x.npy", "x.pb", "x.raw", "x.npz"})
    for (const Words& way : {Words{"-i", name}, Words{name, name}, Words{"-i", "--dry-run", name}}) {
      const Words format = name == "x.raw" ? Words{"--raw", "float32"} : Words{};
      const Words words{"--scale", "2", "--max", "5", "--fail-if-clipped", "0%"};
      directory.refused(joined(joined(words, format), way), 1, "100 % would be clipped, more than 0 %");
    }
}

TEST_CASE("a number from a pipe is read once for all files") {
  if (!has_proc()) return skip_without("/proc");
  const WorkingDirectory directory{{"lo.npy", npy_file("<f4", "False", "()", bytes_of(std::vector{1.5F}))},
                                   {"a.npy", float32_file({1, 2})},
                                   {"b.npy", float32_file({1, 2})},
                                   {"c.npy", float32_file({1, 2})}};
  check_done(directory.run_in_shell("cat lo.npy | \"$@\"",
                                    {"--min", "@/proc/self/fd/0", "-i", "a.npy", "b.npy", "c.npy"}));
  for (const char* const name : {"a.npy", "b.npy", "c.npy"})
    CHECK(directory.read(name) == float32_file({1.5F, 2}));
}

}  // namespace clipper::testing
