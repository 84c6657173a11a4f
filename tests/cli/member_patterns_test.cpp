#include "cli/archive_samples.hpp"

/// --member and --exclude-member with patterns, --include, --exclude and --only: one choice for all commands.
namespace clipper::testing {
namespace {

namespace fs = std::filesystem;

const std::string kIds = npy_file("<i8", "False", "(1,)", bytes_of<std::int64_t>({16777217}));

/// Two files of a model, as sharded checkpoints are, and a tensor.
class Model : public WorkingDirectory {
 public:
  Model() {
    write("m/1.npz", npz_file({{"layers.0.w.npy", float32_file({9})}, {"layers.0.ids.npy", kIds}}));
    write("m/2.npz", npz_file({{"layers.1.w.npy", float32_file({9})},
                               {"a[0].npy", float32_file({9})},
                               {"a0.npy", float32_file({9})}}));
    write("m/x.npy", float32_file({9}));
  }

  /// What `clipper show` prints about all members of o/m: "layers.0.w 6 layers.0.ids ...".
  [[nodiscard]] std::string result(const std::string& file) const {
    std::string text = run({"show", "--only", "all", file}).output;
    std::ranges::replace(text, '\n', ' ');
    return text;
  }
};

}  // namespace

TEST_CASE("--member takes patterns; an exact name wins; --exclude-member leaves members out") {
  const Model model;
  const auto clipped = [&](const Words& words) {
    model.done(joined({"--max", "6"}, joined(words, {"m/2.npz", "o.npz"})));
    return model.result("o.npz");
  };
  CHECK(clipped({"--member", "layers.*"}) == "o.npz:layers.1.w [6] o.npz:a[0] [9] o.npz:a0 [9] ");
  CHECK(clipped({"--member", "a[0]"}) == "o.npz:layers.1.w [9] o.npz:a[0] [6] o.npz:a0 [9] ");
  CHECK(clipped({"--member", "a[0].npy"}) == "o.npz:layers.1.w [9] o.npz:a[0] [6] o.npz:a0 [9] ");
  CHECK(clipped({"--member", "?[0-9]"}) == "o.npz:layers.1.w [9] o.npz:a[0] [9] o.npz:a0 [6] ");
  CHECK(clipped({"--member", "*", "--exclude-member", "a[0]"}) ==
        "o.npz:layers.1.w [6] o.npz:a[0] [9] o.npz:a0 [6] ");
  CHECK(clipped({"--exclude-member", "layers*", "--exclude-member", "a[0]"}) ==
        "o.npz:layers.1.w [9] o.npz:a[0] [9] o.npz:a0 [6] ");
  for (const char* const option : {"--member", "--exclude-member"})
    model.refused({"--max", "6", option, "layer?", "m/2.npz", "p.npz"}, 2,
                  "m/2.npz: no member 'layer?'; it has layers.1.w, a[0], a0");
}

TEST_CASE("an --exclude-member that matches nothing in the whole run is refused, as a --member is") {
  const Model model;
  const std::string why = "--exclude-member: no archive has a member 'none*'";
  const Words words = {"--exclude-member", "layers.0*", "--exclude-member", "none*"};
  model.refused(joined({"--max", "6", "-r", "m", "--output-dir", "o"}, words), 2, why);
  model.refused(joined({"--max", "6", "-r", "m", "--verify", "m"}, words), 2, "");
  model.refused(joined({"info", "m"}, words), 2, why);
  CHECK(model.run(joined({"compare", "m", "m"}, words)).error == "clipper: " + why + "\n");
  model.refused({"--max", "6", "--exclude-member", "w", "m/x.npy", "o.npy"}, 2,
                "m/x.npy: --exclude-member needs an archive");
  for (const char* const command : {"info", "show"})
    model.refused({command, "m/x.npy", "--exclude-member", "w"}, 2,
                  "m/x.npy: --exclude-member needs an archive");
  model.done({"--max", "6", "-q", "--exclude-member", "layers.0*", "-r", "m", "--output-dir", "o"});
  CHECK(model.result("o/1.npz").starts_with("o/1.npz:layers.0.w [9]"));
  CHECK(model.result("o/2.npz").starts_with("o/2.npz:layers.1.w [6]"));
}

TEST_CASE(
    "a pattern takes the kinds of --only, a name takes any; integers that a pattern has stay with --to") {
  const Model model;
  const Result result = model.run({"--to", "float16", "--member", "layers*", "m/1.npz", "o.npz"});
  CHECK(result.exit_code == 0);
  CHECK(result.error == "clipper: m/1.npz: 1 member clipped, 1 copied (int64)\n");
  CHECK(model.result("o.npz") == "o.npz:layers.0.w [9] o.npz:layers.0.ids [16777217] ");
  model.done({"--max", "6", "--member", "layers*", "--only", "int", "m/1.npz", "o.npz"});
  CHECK(model.result("o.npz") == "o.npz:layers.0.w [9] o.npz:layers.0.ids [6] ");
  model.done({"-q", "--to", "float64", "--member", "layers.0.ids", "m/1.npz", "o.npz"});
  CHECK(model.result("o.npz") == "o.npz:layers.0.w [9] o.npz:layers.0.ids [16777217] ");
}

TEST_CASE(
    "of many files, one without a chosen member is other; a pattern without a member in any is refused") {
  const Model model;
  const Words words = {"--max", "6", "--member", "layers.1.*", "--output-dir", "o"};
  CHECK(model.run(joined(words, {"-r", "m"})).error ==
        "clipper: 3 files: 1 clipped, 2 copied (not chosen)\n");
  CHECK(model.read("o/1.npz") == model.read("m/1.npz"));
  CHECK(model.read("o/x.npy") == model.read("m/x.npy"));
  CHECK(model.result("o/2.npz").starts_with("o/2.npz:layers.1.w [6]"));
  CHECK(model.run({"--max", "6", "-r", "--member", "layers.1.*", "m", "--verify", "o"}).output ==
        "6 pairs: 6 ok\n");
  CHECK(model.run(joined(words, {"m/1.npz", "m/2.npz"})).error ==
        "clipper: 2 files: 1 clipped, 1 copied (not chosen)\n");
  CHECK(model.run(joined(words, {"--other", "drop", "--output-dir", "p", "m/1.npz", "m/2.npz"})).exit_code ==
        0);
  CHECK_FALSE(fs::exists(model / "p/m/1.npz"));
  const auto before = model.snapshot();
  const Result typo = model.run({"--max", "6", "-i", "-r", "--member", "layers.1*", "--member", "lm_*", "m"});
  CHECK(typo.exit_code == 2);
  CHECK(typo.error == "clipper: --member: no archive has a member 'lm_*'\n");
  CHECK(model.snapshot() == before);
}

TEST_CASE("info, show and compare choose members, kinds and files in the same way") {
  const Model model;
  const auto lines = [&](const Words& words) { return model.run(joined({"info"}, words)).output; };
  CHECK(contains(lines({"m/2.npz", "--member", "a[0]"}), "a[0]"));
  CHECK_FALSE(contains(lines({"m/2.npz", "--member", "a[0]"}), "a0"));
  CHECK_FALSE(contains(lines({"m/1.npz", "--only", "int"}), "layers.0.w"));
  CHECK(contains(lines({"m", "--include", "*.npy"}), "m/x.npy"));
  CHECK_FALSE(contains(lines({"m", "--exclude", "1.*", "--only", "float"}), "1.npz"));
  model.refused({"info", "m", "--member", "lm_*"}, 2, "--member: no archive has a member 'lm_*'");
  model.refused({"info", "m/2.npz", "--member", "lm_*"}, 2, "m/2.npz: no member 'lm_*'");
  CHECK(model.run({"show", "m/2.npz", "--member", "a*", "--exclude-member", "a0", "--at", "0"}).output ==
        "m/2.npz:a[0]\n9\n");

  model.done({"--max", "6", "-q", "-r", "m", "--output-dir", "o"});
  const auto compared = [&](const Words& words) { return model.run(joined({"compare", "o", "m"}, words)); };
  CHECK(compared({}).exit_code == 1);
  CHECK(compared({"--only", "date"}).output == "0 pairs: 0 ok\n");
  CHECK(contains(compared({"--member", "layers.1*"}).output, "1 pair: 0 ok, 1 FAIL\n"));
  CHECK(contains(compared({"--only", "int"}).output, "1 pair: 0 ok, 1 FAIL\n"));
  CHECK(contains(compared({"--include", "*.npy"}).output, "1 pair: 0 ok, 1 FAIL\n"));
  CHECK(contains(compared({"--exclude", "*.npy", "--exclude-member", "*"}).output, "0 pairs: 0 ok\n"));
  CHECK(compared({"--member", "lm_*"}).exit_code == 2);
}

}  // namespace clipper::testing
