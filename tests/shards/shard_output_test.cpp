#include "files/descriptor.hpp"
#include "shards/shard.hpp"
#include "support/files.hpp"
#include "support/refusal.hpp"

namespace clipper::testing {
namespace {

namespace fs = std::filesystem;

constexpr std::uint64_t kShards = 3;
constexpr std::uint64_t kSize = 2'500'000;  // the first two shards have 1 MiB each

/// The bytes of an output from `offset` on.
std::string bytes_at(std::uint64_t offset, std::uint64_t size) {
  std::string text(size, ' ');
  for (std::uint64_t i = 0; i < size; ++i) text[i] = static_cast<char>('a' + (offset + i) / 1000 % 26);
  return text;
}

struct Directory {
  TemporaryDirectory directory;
  std::string out = directory / "out";
  std::string in = directory / "in";
  ShardRun run{.shards = kShards, .size = kSize, .must_be_new = false, .description = "what is done"};

  Directory() { write_file(in, "in"); }

  [[nodiscard]] ShardOutput begin(std::uint64_t shard) const {
    ShardOutput output(out, run, shard, InputFile::open(in), OutputFile::Durability::none);
    output.write_run();
    return output;
  }

  [[nodiscard]] ByteRange range(std::uint64_t shard) const { return part_range({shard, kShards}, kSize); }

  /// Writes the shard's part, and returns its sum.
  std::uint64_t write(OutputFile& part, std::uint64_t shard) const {
    const std::string text = bytes_at(range(shard).offset, range(shard).size);
    part.write_at(std::as_bytes(std::span(text)), 0);
    return placed_sum(std::as_bytes(std::span(text)), 0);
  }

  void run_shard(std::uint64_t shard) const {
    ShardOutput output = begin(shard);
    OutputFile part = output.begin_part();
    const std::uint64_t sum = write(part, shard);
    output.commit(part, sum);
  }

  [[nodiscard]] ShardFiles files() const { return ShardFiles(out); }

  /// The shard's part, read from where its record says it is.
  [[nodiscard]] std::string read_part(std::uint64_t shard) const {
    const std::optional<ShardRecord> record = files().read_record(run, shard);
    REQUIRE(record);
    if (!record->in_common) return read_file(files().part(run, shard).path());
    return read_file(files().common(run).path()).substr(range(shard).offset, range(shard).size);
  }
};

}  // namespace

TEST_CASE("shards in any order, also repeated, leave their parts, their records and one OUT.shards") {
  const Directory directory;
  for (const std::uint64_t shard : {2U, 0U, 2U, 1U, 0U}) directory.run_shard(shard);
  CHECK(read_file(directory.files().run().path()) == text_of(directory.run));
  for (std::uint64_t shard = 0; shard < kShards; ++shard) {
    const ByteRange range = directory.range(shard);
    const std::string expected = bytes_at(range.offset, range.size);
    CHECK((directory.read_part(shard) == expected));
    CHECK(directory.files().read_record(directory.run, shard)->sum ==
          placed_sum(std::as_bytes(std::span(expected)), 0));
  }
  CHECK_FALSE(fs::exists(directory.out));
}

TEST_CASE("repeating all shards changes no byte and no name") {
  const Directory directory;
  std::vector<std::string> before;
  for (int round = 0; round < 2; ++round) {
    for (std::uint64_t shard = 0; shard < kShards; ++shard) directory.run_shard(shard);
    std::vector<std::string> all;
    for (const std::string& name : directory.directory.entries())
      all.insert(all.end(), {name, read_file(directory.directory / name)});
    if (round == 1) CHECK((all == before));
    before = all;
  }
}

TEST_CASE("a shard has a record only after its part is complete") {
  const Directory directory;
  {
    ShardOutput output = directory.begin(1);
    OutputFile part = output.begin_part();
    const std::uint64_t sum = directory.write(part, 1);
    CHECK_FALSE(directory.files().read_record(directory.run, 1));
    output.commit(part, sum);
  }
  CHECK(directory.files().read_record(directory.run, 1));
  CHECK_FALSE(directory.files().read_record(directory.run, 0));
}

TEST_CASE("a last look that fails leaves no record") {
  const Directory directory;
  ShardOutput output = directory.begin(1);
  OutputFile part = output.begin_part();
  const std::uint64_t sum = directory.write(part, 1);
  const auto look = [] { throw Error(ErrorKind::io, "changed"); };
  CHECK(refusal(ErrorKind::io, [&] { output.commit(part, sum, look); }) == "changed");
  CHECK_FALSE(directory.files().read_record(directory.run, 1));
}

TEST_CASE("if the common file cannot be used, a part has its own file") {
  enum class Why { none, locked, further_name };
  for (const Why why : {Why::none, Why::locked, Why::further_name}) {
    const Directory directory;
    const std::string common = directory.files().common(directory.run).path();
    write_file(common, "");
    Descriptor other(::open(common.c_str(), O_RDONLY | O_CLOEXEC));
    if (!is_of_one_machine(other.get())) return skip_unless_possible("a common file of shards");
    if (why == Why::locked) REQUIRE(clipper::lock(other, common));
    if (why == Why::further_name) fs::create_hard_link(common, directory.directory / "further");
    directory.run_shard(1);
    CAPTURE(static_cast<int>(why));
    CHECK(directory.files().read_record(directory.run, 1)->in_common == (why == Why::none));
    CHECK(fs::exists(directory.files().part(directory.run, 1).path()) == (why != Why::none));
    CHECK((directory.read_part(1) == bytes_at(directory.range(1).offset, directory.range(1).size)));
  }
}

TEST_CASE("an OUT.shards of another run or cut off is replaced, any other content is refused") {
  ShardRun other{.shards = 7, .size = 5, .must_be_new = false, .description = "something else"};
  for (const std::string& text : {text_of(other), text_of(other).substr(0, 40), std::string()}) {
    const Directory directory;
    write_file(directory.files().run().path(), text);
    directory.run_shard(0);
    CHECK(read_file(directory.files().run().path()) == text_of(directory.run));
  }
  const Directory directory;
  write_file(directory.files().run().path(), "mine");
  const auto before = directory.directory.snapshot();
  CHECK(refusal(ErrorKind::refused, [&] {
          return directory.begin(0);
        }).find("out.shards: is not a file that shards made") != std::string::npos);
  CHECK(directory.directory.snapshot() == before);
}

TEST_CASE("an input that is one of the shard's own files is a usage error") {
  Directory directory;
  const ShardFiles files = directory.files();
  for (const Place& place : {files.run(), files.common(directory.run), files.part(directory.run, 1),
                             files.record(directory.run, 1)}) {
    fs::rename(directory.in, place.path());
    directory.in = place.path();
    const auto before = directory.directory.snapshot();
    CHECK(refusal(ErrorKind::usage, [&] { return directory.begin(1); }) ==
          place.path() + ": the input is " + place.path() + ", which a shard would overwrite");
    CHECK(directory.directory.snapshot() == before);
  }
}

TEST_CASE("the files of a shard have no wider permissions than the file that the output replaces") {
  const mode_t umask = ::umask(022);
  for (const auto& [replaced, own] :
       {std::pair{0600U, 0600U}, {0640U, 0600U}, {0644U, 0644U}, {0666U, 0644U}}) {
    const Directory directory;
    write_file(directory.out, "old");
    REQUIRE(::chmod(directory.out.c_str(), replaced) == 0);
    directory.run_shard(0);
    for (const std::string& name : directory.directory.entries()) {
      if (name == "in" || name == "out") continue;
      CAPTURE(name, replaced);
      CHECK(mode_of(directory.directory / name) == own);
    }
    CHECK(read_file(directory.out) == "old");
  }
  ::umask(umask);
}

TEST_CASE("a run whose output must be new is refused if the output exists, and writes nothing") {
  Directory directory;
  directory.run.must_be_new = true;
  write_file(directory.out, "old");
  const auto before = directory.directory.snapshot();
  CHECK(refusal(ErrorKind::refused, [&] { return directory.begin(0); }).find("exists") != std::string::npos);
  CHECK(directory.directory.snapshot() == before);
}

}  // namespace clipper::testing
