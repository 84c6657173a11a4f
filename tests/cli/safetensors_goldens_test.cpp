#include "cli/clipper.hpp"

/// Files of the programs that write safetensors, and what they write of np.clip's results: see
/// scripts/make_safetensors.py.
namespace clipper::testing {
namespace {

std::string path(const std::string& writer, const std::string& suffix = "") {
  return source_path("data/safetensors/" + writer + suffix + ".safetensors");
}

const Words kWriters{"library", "go"};

}  // namespace

TEST_CASE("a clipped safetensors file is what its writer writes of np.clip's arrays") {
  for (const std::string& writer : kWriters) {
    CAPTURE(writer);
    const WorkingDirectory directory;
    const std::string expected = read_file(path(writer, ".clipped"));
    for (const char* const threads : {"1", "3"}) {
      const std::string out = directory / (std::string(threads) + ".safetensors");
      check_done(run_clipper({"--min", "1", "--max", "6", "--threads", threads, path(writer), out}));
      CHECK((read_file(out) == expected));
    }
    const std::string changed = directory / "changed.safetensors";
    std::filesystem::copy_file(path(writer), changed);
    check_done(run_clipper({"--min", "1", "--max", "6", "--in-place", changed}));
    CHECK((read_file(changed) == expected));
    const auto before = directory.snapshot();
    check_done(run_clipper({"--min", "1", "--max", "6", "--in-place", changed}));
    CHECK(directory.snapshot() == before);
  }
}

TEST_CASE("a tensor of a safetensors file is clipped as a file") {
  for (const std::string& writer : kWriters) {
    const WorkingDirectory directory;
    for (const char* const name :
         {"layer.0.f64", "layer.3.bf16", "layer.9.u32", "model.embed.weight", "größe ∑"}) {
      CAPTURE(writer, name);
      const std::string out = directory / "out.npy";
      check_done(run_clipper({"-f", "--min", "1", "--max", "6", path(writer) + ":" + name, out}));
      const Result compared = run_clipper({"compare", out, path(writer, ".clipped") + ":" + name});
      CAPTURE(compared.output, compared.error);
      CHECK(compared.exit_code == 0);
    }
  }
}

TEST_CASE("compare pairs the tensors of a safetensors file with those of an .npz archive by numpy's keys") {
  const std::string archive = source_path("data/safetensors/numpy.npz");
  for (const Words& pair : {Words{archive, path("library")}, Words{path("library"), archive}}) {
    const Result result = run_clipper(joined({"compare"}, pair));
    CAPTURE(result.output, result.error);
    CHECK(result.exit_code == 1);
    CHECK(std::ranges::count(result.output, '\n') == 2);
    CHECK(contains(result.output, ":layer.3.bf16: "));  // numpy.npz lacks these two
    CHECK(contains(result.output, ":a.flag: "));
  }
}

}  // namespace clipper::testing
