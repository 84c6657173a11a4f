#include "cli/clipper.hpp"

namespace clipper::testing {
namespace {

/// Contains in.npy.
class Directory : public WorkingDirectory {
 public:
  Directory() { write("in.npy", float32_file({-9, -0.7F, 0, 9})); }

  /// What clipper writes for in.npy.
  [[nodiscard]] std::string clipped_by(Words arguments) const {
    arguments.insert(arguments.end(), {"in.npy", "out.npy"});
    CAPTURE(arguments);
    done(arguments);
    return read("out.npy");
  }

  /// Checks that the arguments, followed by in.npy and out.npy, are a usage error.
  void check_usage(Words arguments, std::string_view word) const {
    arguments.insert(arguments.end(), {"in.npy", "out.npy"});
    refused(arguments, 2, word);
  }
};

}  // namespace

TEST_CASE("a number in a file is read after all options are validated") {
  const Directory directory;
  directory.check_usage({"--min", "@missing.npy", "--direct"}, "--direct needs --in-place");
  directory.check_usage({"--min", "@missing.npy", "--max", "5x"}, "--max");
}

TEST_CASE("negative numbers in every notation are values, not options") {
  const Directory directory;
  CHECK(directory.clipped_by({"--min", "-6"}) == float32_file({-6, -0.7F, 0, 9}));
  CHECK(directory.clipped_by({"--min=-6"}) == float32_file({-6, -0.7F, 0, 9}));
  CHECK(directory.clipped_by({"--min=-inf", "--max", "-.5"}) == float32_file({-9, -0.7F, -0.5F, -0.5F}));
  CHECK(directory.clipped_by({"--min", "-inf"}) == directory.read("in.npy"));
  CHECK(directory.clipped_by({"--min", "-.5"}) == float32_file({-0.5F, -0.5F, 0, 9}));
  CHECK(directory.clipped_by({"--min", "-1e-3"}) == float32_file({-1e-3F, -1e-3F, 0, 9}));
  CHECK(directory.clipped_by({"--max", "-0x1p-1"}) == float32_file({-9, -0.7F, -0.5F, -0.5F}));
}

TEST_CASE("options are accepted before, between and after files") {
  const Directory directory;
  for (const Words& arguments :
       {Words{"in.npy", "out.npy", "--max", "6"}, Words{"in.npy", "--max=6", "out.npy"},
        Words{"--max", "6", "--", "in.npy", "out.npy"}, Words{"--max", "6", "in.npy", "--", "out.npy"}}) {
    CAPTURE(arguments);
    directory.done(arguments);
    CHECK(directory.read("out.npy") == float32_file({-9, -0.7F, 0, 6}));
  }
}

TEST_CASE("a command that would change no element is refused") {
  const Directory directory;
  directory.write("out.npy", float32_file({-9, 0}));
  for (const Words& arguments :
       {Words{}, Words{"-v"}, Words{"--nan", "keep"}, Words{"--min-above-max", "max"},
        Words{"--dtype", "float32"}, Words{"--sync"}, Words{"--dry-run"}, Words{"--fail-if-clipped", "0"},
        Words{"--in-place"}, Words{"--in-place", "--direct"}, Words{"--output-dir", "new"},
        Words{"-o", "new.npy"}, Words{"--shard", "0/2"}, Words{"--profile", "native"}}) {
    CAPTURE(arguments);
    directory.check_usage(arguments, "nothing to do");
    directory.check_usage(arguments, "clipper compare");
    directory.check_usage(arguments, "clipper info");
  }
  directory.refused({"in.npy", "--verify", "out.npy"}, 2, "nothing to do");
  directory.refused({"in.npy", "--verify", "out.npy", "--update-golden"}, 2, "nothing to do");
  directory.refused({"--in-place", "--files-from", "-"}, 2, "nothing to do");
  directory.check_usage({"--profile", "directml"}, "--min");
}

TEST_CASE("a profile's own bound, --nan, --scale or --bias alone is an operation") {
  const Directory directory;
  directory.write("in.npy", float32_file({-INFINITY, 1}));
  const float lowest = -3.4028234663852886e+38F;
  for (const char* profile : {"onnx-6", "onnx-11", "onnx"})
    CHECK(directory.clipped_by({"--profile", profile}) == float32_file({lowest, 1}));
  CHECK(directory.clipped_by({"--nan", "0"}) == float32_file({-INFINITY, 1}));
  CHECK(directory.clipped_by({"--scale", "2"}) == float32_file({-INFINITY, 2}));
  CHECK(directory.clipped_by({"--bias", "2"}) == float32_file({-INFINITY, 3}));
}

TEST_CASE("an empty file name is refused before any work") {
  const Directory directory;
  for (const Words& files :
       {Words{"", "out.npy"}, Words{"in.npy", ""}, Words{"in.npy", "", "-i"},
        Words{"in.npy", "", "--output-dir", "new"}, Words{"", "--verify", "in.npy"},
        Words{"in.npy", "--verify", ""}, Words{"-i", "--files-from", "-", ""}, Words{"--finalize", ""}}) {
    directory.refused(joined({"--min", "0"}, files), 2, "is a shell variable empty?");
  }
  directory.refused({"info", "in.npy", ""}, 2, "is a shell variable empty?");
  directory.refused({"--min", "@", "in.npy", "out.npy"}, 2, "is a shell variable empty?");
  for (const Words& files :
       {Words{"", "in.npy"}, Words{"in.npy", ""}, Words{"in.npy", "in.npy", "--diff-out", ""}}) {
    directory.refused(joined({"compare"}, files), 2, "is a shell variable empty?");
  }
}

TEST_CASE("an option does not take the next word for an empty or missing value") {
  const Directory directory;
  for (const std::string option : {"--min", "--max", "--scale", "--bias", "--nan", "--min-above-max",
                                   "--dtype", "--threads", "--chunk-size", "--simd", "--profile"}) {
    directory.check_usage({option + "="}, option + " has no value");
    directory.check_usage({option, ""}, option + " has no value");
  }
  directory.check_usage({"--min", "--max", "6"}, "--min has no value; --max follows");
  directory.refused({"in.npy", "out.npy", "--min"}, 2, "--min has no value");
}

TEST_CASE("a number followed by other text is refused") {
  const Directory directory;
  for (const char* text :
       {" 1", "1 ", "1x", "x", "0x", "1e", "1,5", "1_0", "--1", "1.2.3", "infin", ".", "-"}) {
    directory.check_usage({"--min", text}, "--min");
    directory.check_usage({"--max", text}, "--max");
    directory.check_usage({"--scale", text}, "--scale");
    directory.check_usage({"--bias", text}, "--bias");
    directory.check_usage({"--nan", text}, "--nan");
  }
  directory.check_usage({"--min", "nan"}, "--min");
  directory.check_usage({"--scale", "inf"}, "--scale");
  directory.check_usage({"--bias", "nan"}, "--bias");
  directory.check_usage({"--min", "1e999"}, "1e999");
  directory.check_usage({"--min", "6", "--max", "0"}, "--min 6");
  directory.check_usage({"--min-above-max", "swap"}, "swap");
  directory.check_usage({"--simd", "avx2"}, "avx2");
  directory.check_usage({"--profile", "tensorrt"}, "tensorrt");
}

TEST_CASE("counts are whole decimal numbers") {
  const Directory directory;
  for (const char* text : {"0", "-1", "+1", "1x", "x", "1.5", "0x10", " 2", "1e2", "99999999999999999999"}) {
    directory.check_usage({"--threads", text}, "--threads");
    directory.check_usage({"--chunk-size", text}, "--chunk-size");
  }
  directory.check_usage({"--threads", "1025"}, "--threads");
  directory.check_usage({"--chunk-size", "4095"}, "--chunk-size");

  directory.write("large.npy", float32_file(scattered_floats(100'000)));
  const Result result =
      directory.run({"-v", "--min", "0", "--threads", "010", "--chunk-size", "4096", "large.npy", "out.npy"});
  CHECK(result.exit_code == 0);
  CHECK(contains(result.error, "10 threads, 4 KiB chunks"));
}

TEST_CASE("-v says how many threads run, at most one for each chunk") {
  const Directory directory;
  directory.write("large.npy", float32_file(scattered_floats(100'000)));
  for (const char* size : {"131072", "128K", "128KiB"}) {
    const Result result =
        directory.run({"-f", "-v", "--min", "0", "-j10", "--chunk-size", size, "large.npy", "out.npy"});
    CHECK(result.exit_code == 0);
    CHECK(contains(result.error, "4 threads, 128 KiB chunks"));
  }
}

TEST_CASE("unknown options, unknown values and surplus files are refused") {
  const Directory directory;
  directory.check_usage({"--minimum", "0"}, "unknown option --minimum; clipper --help lists all options");
  directory.check_usage({"--mi", "0"}, "unknown option --mi; did you mean --min?");
  directory.check_usage({"-x"}, "unknown option -x; clipper --help lists all options");
  directory.check_usage({"--min", "0", "--in-place=false"}, "--in-place takes no value");
  directory.check_usage({"--min", "in.npy"}, "to read the number from a file, write @in.npy");
  directory.check_usage({"--profile", "onx-6", "--min", "0"},
                        "--profile: unknown value 'onx-6'; did you mean 'onnx-6'?");
  directory.refused({"in.npy", "out.npy", "more.npy"}, 2,
                    "too many files (expected IN OUT); for several inputs use --output-dir, --output or");
  directory.refused({"--min", "0", "in.npy"}, 2, "OUT is missing");
  directory.refused({"--min", "0"}, 2, "IN is missing; to read standard input");
  directory.refused({}, 2, "see clipper -h, or clipper --help for all options");
  directory.refused({"--min", "0", "-r", "."}, 2, "--recursive needs --output-dir");
}

TEST_CASE("the last of a repeated option counts, as aliases need") {
  const Directory directory;
  CHECK(directory.clipped_by({"--min", "1", "--min", "0"}) == float32_file({0, 0, 0, 9}));
  CHECK(directory.clipped_by({"--min", "0", "-n", "-f"}) == float32_file({0, 0, 0, 9}));
  CHECK(directory.clipped_by({"--max", "0", "-j", "1", "-j2", "-v", "-q"}) ==
        float32_file({-9, -0.7F, 0, 0}));
  directory.refused({"--min", "0", "-f", "-n", "in.npy", "out.npy"}, 5, "out.npy");
  const Result verbose = directory.run({"--min", "0", "-q", "-v", "in.npy", "out.npy"});
  CHECK(verbose.exit_code == 0);
  CHECK(contains(verbose.error, "min 0"));
}

TEST_CASE("--fail-if-clipped needs a percent sign, except for 0") {
  const Directory directory;
  CHECK(directory.clipped_by({"--min", "0", "--fail-if-clipped", "50%"}) == float32_file({0, 0, 0, 9}));
  directory.refused({"--min", "0", "--fail-if-clipped=49%", "in.npy", "out.npy"}, 1, "more than 49 %");
  directory.check_usage({"--min", "0", "--fail-if-clipped", "10"}, ": '10' has no percent sign; write 10%\n");
  directory.check_usage({"--min", "0", "--fail-if-clipped=0.05"},
                        ": '0.05' has no percent sign; write 0.05%, or 5% for the fraction 0.05\n");
  for (const char* none : {"0", "0%", "0.0", "-0"}) {
    directory.refused({"--min", "0", "--fail-if-clipped", none, "in.npy", "out.npy"}, 1,
                      "50 % would be clipped");
    directory.done({"--min", "-9", "--fail-if-clipped", none, "in.npy", "same.npy"});
  }
}

TEST_CASE("a first word that is nearly a command and not a file is refused") {
  const Directory directory;
  directory.refused({"inof", "in.npy"}, 2, "unknown command 'inof'; did you mean 'info'?");
  directory.refused({"compar", "in.npy", "in.npy"}, 2, "did you mean 'compare'?");
  directory.refused({"--min", "0", "inof", "out.npy"}, 4, "inof: ");
  directory.refused({"inof.npy", "out.npy", "--min", "0"}, 4, "inof.npy: ");
  directory.refused({"./inof", "out.npy", "--min", "0"}, 4, "./inof: ");
  directory.refused({"raw", "out.npy", "--min", "0"}, 4, "raw: ");
  directory.write("inof", float32_file({-1}));
  directory.done({"inof", "out.npy", "--min", "0"});
  CHECK(directory.read("out.npy") == float32_file({0}));
}

TEST_CASE("clipper help prints the help of clipper and of each command") {
  const auto output = [](const Words& words) {
    const Result result = run_clipper(words);
    check_done(result);
    return result.output;
  };
  CHECK(output({"help"}) == output({"--help"}));
  for (const std::string command : {"compare", "info", "show", "profiles", "completion", "help"}) {
    CAPTURE(command);
    const std::string help = output({"help", command});
    CHECK(help == output({command, "--help"}));
    CHECK(contains(help, "\nUsage: clipper " + command + " "));
    CHECK(contains(output({"--help"}), "\n  " + command + " "));
  }
  for (const Words& words : {Words{"-h"}, {"--help", "-h"}, {"-vh"}})
    CHECK(output(words).ends_with("All options: clipper --help. Everything: man clipper.\n"));
  CHECK(output({"-h", "--help"}) == output({"--help"}));
  CHECK(output({"compare", "-h"}).size() < output({"compare", "--help"}).size() / 2);
  CHECK(output({"help", "-h"}) == output({"help", "--help"}));
  check_refused(run_clipper({"help", "inof"}), 2, "unknown command 'inof'; did you mean 'info'?");
  check_refused(
      run_clipper({"help", "nonsense"}), 2,
      "unknown command 'nonsense'; expected one of: compare, info, show, profiles, completion, help");
  check_refused(run_clipper({"help", "info", "compare"}), 2, "unexpected argument 'compare'");
}

TEST_CASE("options are validated before any file is opened") {
  const Directory directory;
  directory.refused({"--min", "x", "missing.npy", "out.npy"}, 2, "--min");
  directory.refused({"--threads", "0", "missing.npy", "out.npy"}, 2, "--threads");
}

TEST_CASE("locale, TMPDIR and NO_COLOR do not change the result") {
  const Directory directory;
  for (const char* variable : {"LC_ALL=de_DE.UTF-8", "LC_ALL=C", "TMPDIR=/nonexistent", "NO_COLOR=1"}) {
    CAPTURE(variable);
    const Words words{"env", variable, clipper_binary(), "--max", "1.5", "in.npy", "out.npy"};
    check_done(Process(words, {directory.path()}).finish());
    CHECK(directory.read("out.npy") == float32_file({-9, -0.7F, 0, 1.5F}));
  }
}

TEST_CASE("a command after options is told its place, unless a file has its name") {
  const Directory directory;
  const std::string place = "a command comes before its options: clipper compare ...";
  directory.refused({"-v", "compare", "in.npy", "in.npy"}, 2, place);
  directory.refused({"--min", "0", "compare", "out.npy"}, 2, place);
  directory.refused({"--json", "info", "in.npy"}, 2, "clipper info ...");
  std::filesystem::copy_file(directory / "in.npy", directory / "compare");
  directory.done({"--min", "0", "compare", "out.npy"});
}

}  // namespace clipper::testing
