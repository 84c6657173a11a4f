#include "cli/clipper.hpp"
#include "support/tsv.hpp"

/// Archives of the programs that write .npz files: see data/archives/cases.tsv.
namespace clipper::testing::archive_goldens_test {
namespace {

struct Contents {
  std::string list;  ///< names, methods, times and attributes
  std::vector<std::string> names;
  std::vector<std::string> files;
};

/// What Python's zipfile reads.
Contents read_contents(const std::string& archive) {
  const WorkingDirectory directory;
  const Words words{debian_python(), source_path("tests/cli/zip_members.py"), archive, directory.path()};
  const Result result = Process(words, {}).finish();
  INFO(archive << ": " << result.error);
  REQUIRE(result.exit_code == 0);
  Contents contents{result.output, {}, {}};
  for (std::size_t i = 0; i < directory.entries().size(); ++i) {
    contents.names.push_back(tsv::split(tsv::split(result.output, '\n')[i], '\t').front());
    contents.files.push_back(directory.read(std::to_string(i)));
  }
  return contents;
}

/// The same, but archives with the same bytes are read once: each start of Python takes long.
const Contents& contents_of(const std::string& archive) {
  static std::map<std::string, Contents> known;
  const std::string bytes = read_file(archive);
  if (!known.contains(bytes)) known[bytes] = read_contents(archive);
  return known.at(bytes);
}

std::string archive_path(const std::string& name) {
  return source_path("data/archives/" + name + ".npz");
}

/// Checks that clipper's result is the expected archive of a row.
void check_result(const std::string& result, const std::string& expected, const std::string& same) {
  CAPTURE(result, expected);
  if (same == "bytes") CHECK((read_file(result) == read_file(expected)));
  const Contents& ours = contents_of(result);
  const Contents& theirs = contents_of(expected);
  CHECK(ours.list == theirs.list);
  CHECK((ours.files == theirs.files));
}

}  // namespace

TEST_CASE("a clipped archive is what its writer writes of np.clip's arrays, and stays as it is") {
  for (const auto& row : tsv::read("archives/cases.tsv")) {
    const WorkingDirectory directory;
    const std::string input = archive_path(row[0]);
    const std::string expected = archive_path(row[2]);
    const Words words = tsv::split(row[4], ' ');
    INFO(row[0] << ", " << row[1] << ": " << row[4]);

    if (row[1] != "in place") {
      for (const char* const threads : {"1", "3"}) {
        const std::string out = directory / (std::string(threads) + ".npz");
        check_done(run_clipper(joined(words, {"--threads", threads, input, out})));
        check_result(out, expected, row[3]);
      }
      const std::string result = directory.read("1.npz");
      CHECK((directory.read("3.npz") == result));
      check_done(run_clipper(joined(words, {"--flat", "-f", "--output-dir", directory / "batch", input})));
      CHECK((directory.read("batch/" + row[0] + ".npz") == result));
      const Words dtype = row[0] == "bfloat16" ? Words{"--dtype", "bfloat16"} : Words{};
      const Result compared = run_clipper(joined({"compare", directory / "1.npz", expected}, dtype));
      CAPTURE(compared.output, compared.error);
      CHECK(compared.exit_code == 0);
    }
    const std::string changed = directory / "changed.npz";
    if (row[1] != "new") {
      std::filesystem::copy_file(input, changed);
      check_done(run_clipper(joined(words, {"-q", "--in-place", changed})));
      check_result(changed, expected, row[3]);
    }
    if (row[1] == "in place" || contains(row[4], "--unclipped")) continue;
    write_file(changed, read_file(expected));
    const auto before = directory.snapshot();
    check_done(run_clipper(joined(words, {"--in-place", changed})));
    CHECK(directory.snapshot() == before);
  }
}

TEST_CASE("a member of an archive is clipped as a file") {
  std::size_t clipped = 0;
  for (const auto& row : tsv::read("archives/cases.tsv")) {
    if (row[1] == "in place" || row[4].find("--member") != std::string::npos) continue;
    const WorkingDirectory directory;
    const Contents before = contents_of(archive_path(row[0]));
    const Contents expected = contents_of(archive_path(row[2]));
    if (before.names != expected.names) continue;
    for (std::size_t i = 0; i < expected.files.size(); ++i) {
      if (expected.files[i] == before.files[i]) continue;
      const std::string member = archive_path(row[0]) + ":" + expected.names[i];
      INFO(member);
      const std::string out = directory / (std::to_string(i) + ".npy");
      check_done(run_clipper(joined(tsv::split(row[4], ' '), {member, out})));
      CHECK((read_file(out) == expected.files[i]));
      ++clipped;
    }
  }
  CHECK(clipped > 100);
}

}  // namespace clipper::testing::archive_goldens_test
