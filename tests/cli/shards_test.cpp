#include <nlohmann/json.hpp>

#include "cli/clipper.hpp"

namespace clipper::testing {
namespace {

namespace fs = std::filesystem;

using Names = std::vector<std::string>;

Words shard(std::uint64_t index, std::uint64_t count, const Words& more) {
  return joined({"--shard", fmt::format("{}/{}", index, count)}, more);
}

/// A tensor of 2.5 MiB and a few bytes.
std::string large_file() {
  return float32_file(scattered_floats(655'363));
}

}  // namespace

TEST_CASE("shards write the same file as one process") {
  const WorkingDirectory directory;
  const auto count = GENERATE(values<std::uint64_t>({1, 2, 7}));
  const auto file = GENERATE(values<std::string>(
      {large_file(), float32_file({}), float32_file({7}), npy_file(">i2", "False", "()", "\x12\x34"),
       npy_file("|u1", "True", "(1500, 1000)", std::string(1'500'000, '\x50'))}));
  directory.write("in.npy", file);
  const Words words{"-q", "--min", "0", "--max", "6", "--scale", "0.5", "in.npy"};
  Words alone = words;
  alone.emplace_back("expected.npy");
  directory.done(alone);
  Words together = words;
  together.emplace_back("out.npy");
  for (std::uint64_t index = count; index-- > 0;) directory.done(shard(index, count, together));
  CHECK_FALSE(fs::exists(directory / "out.npy"));
  Words finalize{"--finalize", "out.npy"};
  if (GENERATE(false, true)) {
    finalize = together;
    finalize.insert(finalize.begin(), "--finalize");
  }
  directory.done(finalize);
  CHECK(directory.read("out.npy") == directory.read("expected.npy"));
  CHECK(directory.entries() == Names{"expected.npy", "in.npy", "out.npy"});
}

TEST_CASE("other parameters, another number of shards or a changed input are another run") {
  const WorkingDirectory directory{{"in.npy", large_file()}};
  const Words words{"--max", "6", "in.npy", "out.npy"};
  const auto finalize = [&](Words arguments) {
    arguments.insert(arguments.begin(), "--finalize");
    return directory.run(arguments);
  };
  for (const std::uint64_t index : {0U, 1U, 2U}) directory.done(shard(index, 3, words));
  const std::string all =
      "shards 0 to 2 of 3 are missing; out.npy.shards belongs to another run: 3 shards, float32";
  check_refused(finalize(shard(0, 2, words)), 5,
                "shards 0, 1 of 2 are missing; out.npy.shards belongs to another");
  check_refused(finalize({"--max", "7", "in.npy", "out.npy"}), 5, all);
  check_refused(finalize({"--max", "6", "--nan", "0", "in.npy", "out.npy"}), 5, all);
  check_refused(finalize({"--max", "6", "--nan", "error", "in.npy", "out.npy"}), 5, all);
  check_refused(finalize({"-n", "--max", "6", "in.npy", "out.npy"}), 5, all);
  const auto time = fs::last_write_time(directory / "in.npy");
  fs::last_write_time(directory / "in.npy", time + std::chrono::seconds(1));
  check_refused(finalize(words), 5, all);
  fs::last_write_time(directory / "in.npy", time);
  CHECK_FALSE(fs::exists(directory / "out.npy"));
  directory.done(shard(1, 2, {"--max", "7", "in.npy", "out.npy"}));
  check_refused(finalize({"out.npy"}), 5, "shard 0 of 2 is missing");
  check_done(finalize(shard(2, 3, words)));
  directory.done({"--max", "6", "in.npy", "expected.npy"});
  CHECK((directory.read("out.npy") == directory.read("expected.npy")));
}

TEST_CASE("--finalize refuses an OUT without shards") {
  const WorkingDirectory directory;
  check_refused(directory.run({"--finalize", "none.npy"}), 5, "none.npy: no shards to finalize");
  directory.write("a", float32_file({1}));
  check_refused(directory.run({"--finalize", "--max", "1", "a", "none.npy"}), 5,
                "none.npy: no shards to finalize");
  check_refused(directory.run({"--finalize"}), 2, "OUT is missing");
  check_refused(directory.run({"--finalize", "--shard", "0/1", "b"}), 2, "--finalize");
}

TEST_CASE("--finalize refuses the files and options that it does not take") {
  const WorkingDirectory directory{{"a.npy", float32_file({1})}, {"b.npy", float32_file({1})}};
  const auto refused = [&](const Words& more, const char* why) {
    directory.refused(joined({"--finalize"}, more), 2, why);
  };
  refused({"a.npy", "b.npy"}, "--finalize takes only OUT");
  refused({"--max", "6", "a.npy", "b.npy", "c.npy"}, "--finalize takes only OUT");
  refused({"--output-dir", "out", "a.npy"}, "--finalize and --output-dir");
  refused({"--files-from", "list", "a.npy"}, "--finalize and --files-from");
  refused({"-o", "out", "a.npy"}, "--finalize and --output");
  refused({"--dry-run", "a.npy"}, "--finalize and --dry-run");
  refused({"--max", "6", "a.npy"}, "--finalize takes only OUT");
  refused({"--max", "6", "-", "a.npy"}, "--finalize takes only OUT");
}

TEST_CASE("--split-output refuses to replace IN by a slab or the index") {
  const WorkingDirectory directory;
  const std::string file = float32_file({-1, 2, 9});
  for (const char* name : {"x.json", "y.00001-of-00002.npy", "z.npy"}) directory.write(name, file);
  fs::create_hard_link(directory / "z.npy", directory / "link.json");
  fs::create_symlink("z.npy", directory / "symbolic.json");
  const auto refused = [&](const char* index, const char* in, const char* out, const char* why) {
    for (const Words& more : {Words{}, Words{"--dry-run"}}) {
      directory.refused(joined({"--shard", index, "--split-output", "--max", "6", in, out}, more), 2, why);
    }
  };
  for (const char* index : {"0/2", "1/2"}) {
    refused(index, "x.json", "x.npy", "x.json: IN is x.json, which --split-output would overwrite");
    refused(index, "z.npy", "link.npy", "IN is link.json");
    refused(index, "z.npy", "symbolic.npy", "IN is symbolic.json");
  }
  refused("1/2", "y.00001-of-00002.npy", "y.npy", "IN is OUT");
}

TEST_CASE("--shard auto reads the variables of Open MPI, PMI and Slurm") {
  struct Case {
    std::vector<std::pair<const char*, const char*>> environment;
    std::string shard;
  };
  const Case given =
      GENERATE(values<Case>({{{{"OMPI_COMM_WORLD_RANK", "1"}, {"OMPI_COMM_WORLD_SIZE", "3"}}, "1/3"},
                             {{{"PMI_RANK", "0"}, {"PMI_SIZE", "2"}}, "0/2"},
                             {{{"SLURM_PROCID", "4"}, {"SLURM_NTASKS", "5"}}, "4/5"},
                             {{{"OMPI_COMM_WORLD_RANK", "2"},
                               {"OMPI_COMM_WORLD_SIZE", "3"},
                               {"SLURM_PROCID", "0"},
                               {"SLURM_NTASKS", "1"}},
                              "2/3"},
                             {{{"PMI_RANK", "0"}, {"SLURM_PROCID", "1"}, {"SLURM_NTASKS", "2"}}, "1/2"}}));
  const WorkingDirectory directory{{"in.npy", large_file()}};
  const auto with_environment = [&] {
    for (const auto& [name, value] : given.environment) ::setenv(name, value, 1);
  };
  const Result result =
      directory.run({"--shard", "auto", "-v", "--max", "6", "in.npy", "out.npy"}, with_environment);
  CHECK(result.exit_code == 0);
  CAPTURE(result.error);
  CHECK(contains(result.error, "in.npy, shard " + given.shard + ": clipped"));
}

TEST_CASE("--shard refuses invalid shards and unsafe combinations") {
  const WorkingDirectory directory{{"in.npy", float32_file({1, 2})}};
  const auto check = [&](
                         const Words& arguments, int exit_code, std::string_view word,
                         const std::function<void()>& prepare = [] {}) {
    directory.refused(arguments, exit_code, word, prepare);
  };
  const Words files{"--max", "1", "in.npy", "out.npy"};
  check(shard(2, 2, files), 2, "--shard: shard index 2 out of range (0 to 1)");
  check(shard(0, 0, files), 2, "--shard: '0'");
  for (const char* text : {"", "1", "1/", "/2", "-1/2", "a/b", "1/2/3", "1 /2", "0/1000001"})
    check({"--shard", text, "--max", "1", "in.npy", "out.npy"}, 2, "--shard");
  check({"--shard", "auto", "--max", "1", "in.npy", "out.npy"}, 2, "--shard auto");
  check({"--shard", "auto", "--max", "1", "in.npy", "out.npy"}, 2, "--shard auto", [] {
    ::setenv("SLURM_ARRAY_TASK_ID", "0", 1);
    ::setenv("SLURM_ARRAY_TASK_COUNT", "4", 1);
  });
  check({"--shard", "auto", "--max", "1", "in.npy", "out.npy"}, 2, "OMPI_COMM_WORLD_RANK", [] {
    ::setenv("OMPI_COMM_WORLD_RANK", "4", 1);
    ::setenv("OMPI_COMM_WORLD_SIZE", "4", 1);
  });
  check(shard(0, 2, {"--in-place", "--max", "1", "in.npy"}), 2, "use IN OUT or --output-dir");
  check(shard(0, 2, {"--max", "1", "in.npy", "in.npy"}), 2, "IN is OUT");
  check(shard(0, 2, {"--max", "1", "-", "out.npy"}), 2, "--shard needs files");
  check(shard(0, 2, {"--max", "1", "in.npy", "-"}), 2, "--shard needs files");
  check(shard(0, 2, {"--max", "1", "/dev/null", "out.npy"}), 3, "not a regular file");
  check(shard(0, 2, {"--max", "1", "in.npy", "/dev/null"}), 5, "is not a regular file");
  check(shard(0, 2, {"--fail-if-clipped", "1%", "--max", "1", "in.npy", "out.npy"}), 2, "--fail-if-clipped");
  check(shard(0, 2, {"--output-dir", ".", "--max", "1", "in.npy"}), 2, "IN is OUT");
  check({"--split-output", "--max", "1", "in.npy", "out.npy"}, 2, "--split-output needs --shard");
  check(shard(0, 2, {"--split-output", "--output-dir", "d", "--max", "1", "in.npy"}), 2,
        "--split-output needs one tensor");
}

TEST_CASE("a shard that finds a NaN with --nan error writes no output") {
  const WorkingDirectory directory;
  std::vector<float> elements = scattered_floats(655'363);
  elements[600'000] = NAN;
  directory.write("in.npy", float32_file(elements));
  const Words words{"--max", "6", "--nan", "error", "in.npy", "out.npy"};
  directory.done(shard(0, 2, words));
  check_refused(directory.run(shard(1, 2, words)), 3, "in.npy: NaN at [600000] (element 600000)");
  CHECK_FALSE(fs::exists(directory / "out.npy"));
}

TEST_CASE("--dry-run of a shard creates no file") {
  const WorkingDirectory directory{{"in.npy", large_file()}};
  const auto before = directory.snapshot();
  const Result result = directory.run(shard(1, 2, {"--dry-run", "-v", "--max", "6", "in.npy", "out.npy"}));
  CHECK(result.exit_code == 0);
  CHECK(contains(result.error, "shard 1/2"));
  CHECK(directory.snapshot() == before);
}

TEST_CASE("--json of a shard counts only the shard's elements") {
  const WorkingDirectory directory{{"in.npy", large_file()}};
  std::uint64_t elements = 0;
  for (std::uint64_t index = 0; index < 3; ++index) {
    const Result result = directory.run(shard(index, 3, {"--json", "--max", "6", "in.npy", "out.npy"}));
    const auto json = nlohmann::json::parse(result.output);
    CHECK(json["shard"]["index"] == index);
    CHECK(json["shard"]["count"] == 3);
    CHECK_FALSE(json.contains("shards_missing"));
    CHECK(json["shape"] == std::vector<int>{655'363});
    elements += json["elements"].get<std::uint64_t>();
  }
  CHECK(elements == 655'363);
}

TEST_CASE("many files are divided among the shards") {
  const WorkingDirectory directory;
  fs::create_directory(directory / "in");
  Words files;
  for (int i = 0; i < 20; ++i) {
    files.push_back(fmt::format("in/{}.npy", i));
    directory.write(files.back(), float32_file(std::vector<float>(static_cast<std::size_t>(i * 50), 9)));
  }
  std::size_t before = 0;
  for (std::uint64_t index = 0; index < 3; ++index) {
    directory.done(joined(shard(index, 3, {"--max", "6", "--output-dir", "out"}), files));
    const auto written =
        std::distance(fs::directory_iterator(directory / "out/in"), fs::directory_iterator());
    CHECK(static_cast<std::size_t>(written) > before);
    before = static_cast<std::size_t>(written);
  }
  CHECK(before == files.size());
  CHECK(directory.read("out/in/7.npy") == float32_file(std::vector<float>(350, 6)));
}

TEST_CASE("an index of --split-output that lists other slabs is kept, and no slab is written") {
  const WorkingDirectory directory{{"in.npy", float32_file({-1, 3, 9})}, {"out.json", "mine"}};
  const Words words = shard(1, 3, {"--split-output", "--max", "6", "in.npy", "out.npy"});
  directory.refused(words, 5, "out.json: lists parts that other shards made with other");
}

TEST_CASE("shards of --split-output with different parameters are refused") {
  const WorkingDirectory directory{{"in.npy", float32_file({-1, 3, 9})}};
  const auto words = [](std::uint64_t index, const std::string& max) {
    return shard(index, 2, {"-n", "--split-output", "--max", max, "in.npy", "out.npy"});
  };
  directory.done(words(1, "6"));
  directory.refused(words(0, "7"), 5,
                    "out.json: lists parts that other shards made with other parameters; remove it, or "
                    "choose another OUT");
  directory.done(words(0, "6"));
}

TEST_CASE("--split-output writes slabs that are tensors, and their index") {
  const WorkingDirectory directory{
      {"in.npy", npy_file("<f4", "False", "(5, 2)", bytes_of<float>({0, 1, 2, 3, 4, 5, 6, 7, 8, 9}))}};
  for (std::uint64_t index = 0; index < 3; ++index)
    directory.done(shard(index, 3, {"--split-output", "--max", "6", "in.npy", "out.npy"}));
  CHECK(directory.entries() == Names{"in.npy", "out.00000-of-00003.npy", "out.00001-of-00003.npy",
                                     "out.00002-of-00003.npy", "out.json"});
  const auto slab = [](std::string_view shape, const std::vector<float>& elements) {
    return npy_file("<f4", "False", shape, bytes_of(elements));
  };
  CHECK(directory.read("out.00000-of-00003.npy") == slab("(2, 2)", {0, 1, 2, 3}));
  CHECK(directory.read("out.00001-of-00003.npy") == slab("(2, 2)", {4, 5, 6, 6}));
  CHECK(directory.read("out.00002-of-00003.npy") == slab("(1, 2)", {6, 6}));
  const auto index = nlohmann::json::parse(directory.read("out.json"));
  CHECK(index["dtype"] == "float32");
  CHECK(index["shape"] == std::vector<int>{5, 2});
  CHECK(index["slabs"][2]["file"] == "out.00002-of-00003.npy");
  CHECK(index["slabs"][2]["begin"] == 4);
  CHECK(index["slabs"][2]["end"] == 5);
}

TEST_CASE("the JSON of a shard of --split-output has the slab's shape") {
  const WorkingDirectory directory{
      {"in.npy", npy_file("<f4", "False", "(5, 1)", bytes_of<float>({0, 1, 2, 3, 4}))}};
  const Result result =
      directory.run(shard(1, 2, {"--json", "--split-output", "--max", "6", "in.npy", "out.npy"}));
  CHECK(nlohmann::json::parse(result.output)["shape"] == std::vector<int>{2, 1});
}

TEST_CASE("a shard of --split-output names a NaN by its index in the whole tensor") {
  const WorkingDirectory directory{
      {"in.npy", npy_file("<f4", "False", "(4, 2)", bytes_of<float>({0, 1, 2, 3, 4, 5, 6, NAN}))}};
  directory.refused(shard(1, 2, {"--split-output", "--nan", "error", "--max", "6", "in.npy", "out.npy"}), 3,
                    "in.npy: NaN at [3, 1] (element 7)");
}

}  // namespace clipper::testing
