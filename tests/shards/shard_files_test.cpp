#include "shards/shard_files.hpp"

#include <set>

#include "formats/formats.hpp"
#include "support/files.hpp"
#include "support/refusal.hpp"
#include "support/tensors.hpp"

namespace clipper::testing {
namespace {

const ShardRun kRun{.shards = 3,
                    .size = 19,
                    .must_be_new = false,
                    .work = "plan 1: <f4",
                    .description = "float32 (1,), min 0"};

ShardRun changed(void (*change)(ShardRun&)) {
  ShardRun run = kRun;
  change(run);
  return run;
}

}  // namespace

TEST_CASE("The text of a run is parsed back to that run, and any other text is rejected") {
  for (const bool must_be_new : {false, true})
    for (const bool is_in_place : {false, true}) {
      ShardRun run = kRun;
      run.must_be_new = must_be_new;
      const std::string unmarked = text_of(run);
      if (is_in_place) run.in_place = "1795353872.697841404";
      const std::string text = text_of(run);
      const std::optional<ShardRun> parsed = parsed_run(text);
      REQUIRE(parsed);
      CHECK(text_of(*parsed) == text);
      CHECK((parsed->fingerprint() == kRun.fingerprint()) == !must_be_new);
      CHECK(parsed->in_place.empty() == !is_in_place);
      for (std::size_t i = 0; i < unmarked.size(); ++i) {
        std::string other = text;
        other[i] = static_cast<char>(other[i] ^ 1);
        CHECK_FALSE(parsed_run(other));
        if (text.substr(0, i) != unmarked) CHECK_FALSE(parsed_run(text.substr(0, i)));
      }
      CHECK_FALSE(parsed_run(text + "\n"));
    }
}

TEST_CASE("Every property that decides the output's bytes changes the fingerprint") {
  const std::set<std::uint64_t> fingerprints{
      kRun.fingerprint(), changed([](ShardRun& run) { run.shards = 4; }).fingerprint(),
      changed([](ShardRun& run) { run.size = 20; }).fingerprint(),
      changed([](ShardRun& run) { run.must_be_new = true; }).fingerprint(),
      changed([](ShardRun& run) { run.work += "0"; }).fingerprint()};
  CHECK(fingerprints.size() == 5);
  CHECK(changed([](ShardRun& run) { run.description = "reworded"; }).fingerprint() == kRun.fingerprint());
}

TEST_CASE("A record is valid only for its own shard and run") {
  const ShardRecord record{0x0123456789abcdef, true};
  const std::string text = text_of(kRun, 1, record);
  CHECK(parsed_record(kRun, 1, text) == record);
  CHECK(parsed_record(kRun, 1, text_of(kRun, 1, {7, false})) == ShardRecord{7, false});
  CHECK_FALSE(parsed_record(kRun, 2, text));
  CHECK_FALSE(parsed_record(changed([](ShardRun& run) { run.shards = 4; }), 1, text));
  for (std::size_t size = 0; size < text.size(); ++size)
    CHECK_FALSE(parsed_record(kRun, 1, text.substr(0, size)));
  CHECK_FALSE(parsed_record(kRun, 1, text + text));
}

TEST_CASE("An input is identified by its size, its time and samples of its bytes") {
  const TemporaryDirectory directory;
  const std::string path = directory / "in.npy";
  const auto description = [&](std::string_view bytes) {
    write_file(path, bytes);
    const std::array times{timespec{1, 0}, timespec{1, 500}};
    REQUIRE(::utimensat(AT_FDCWD, path.c_str(), times.data(), 0) == 0);
    InputFile input = InputFile::open_regular(path);
    Plan plan;
    plan.input = read_header(input, std::nullopt);
    const ShardRun run = make_run(2, false, plan, input);
    CHECK(run.work.starts_with(plan.fingerprint() + ", of "));
    return run.work;
  };
  const std::size_t count = GENERATE(0U, 1U, 1000U, 1'000'000U);
  const std::string file = float32_file(scattered_floats(count));
  const std::string before = description(file);
  CHECK(before.find(fmt::format("of {} bytes that were written at 1.000000500, samples", file.size())) !=
        std::string::npos);
  CHECK(description(file) == before);
  if (count > 0) {
    std::string other = file;
    other.back() = static_cast<char>(other.back() ^ 1);
    CHECK(description(other) != before);
  }
}

TEST_CASE("Lists of shards are abbreviated") {
  CHECK(list_text({}).empty());
  CHECK(list_text({7}) == "7");
  CHECK(list_text({0, 1, 3, 5, 6, 7}) == "0, 1, 3, 5 to 7");
}

TEST_CASE("A file in place of OUT.shards counts as missing if it is cut off, and is refused otherwise") {
  const TemporaryDirectory directory;
  const std::string path = directory / "out";
  const ShardFiles files(path);
  CHECK_FALSE(files.read_run());
  SECTION("only zeros, after a power failure") {
    write_file(path + ".shards", std::string(GENERATE(0U, 500U), '\0'));
    CHECK_FALSE(files.read_run());
  }
  SECTION("a text that is cut off, on a network file system") {
    const std::string text = text_of(kRun);
    write_file(path + ".shards", text.substr(0, GENERATE(7U, 30U, 60U)));
    CHECK_FALSE(files.read_run());
  }
  SECTION("a file that shards did not make") {
    write_file(path + ".shards", "mine");
    CHECK(refusal(ErrorKind::refused, [&] { (void)files.read_run(); }) ==
          path + ".shards: is not a file that shards made; remove it or choose another output");
  }
  SECTION("the text of another version") {
    write_file(path + ".shards", "clipper shards, format 2\nanything");
    CHECK(refusal(ErrorKind::refused, [&] { (void)files.read_run(); }) ==
          path +
              ".shards: was left by another version of clipper; finish the run with that version, or remove "
              "this file and the shards' other files and start again");
  }
}

TEST_CASE("A large file that begins with zeros does not count as cut off") {
  const TemporaryDirectory directory{{"out.shards", std::string(1 << 16, '\0') + "mine"}};
  CHECK(refusal(ErrorKind::refused, [&] {
          return ShardFiles(directory / "out").read_run();
        }).ends_with("is not a file that shards made; remove it or choose another output"));
}

}  // namespace clipper::testing
