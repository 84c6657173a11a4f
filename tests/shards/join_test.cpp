
#include <sys/file.h>
#include <sys/resource.h>

#include "files/descriptor.hpp"
#include "shards/shard.hpp"
#include "shards/shard_files.hpp"
#include "support/files.hpp"
#include "support/refusal.hpp"

namespace clipper::testing {
namespace {

namespace fs = std::filesystem;

using Existing = OutputFile::Existing;
using Names = std::vector<std::string>;

/// Every shard but the last has 1 MiB.
std::string large_text() {
  std::string text(2'500'000, ' ');
  for (std::size_t i = 0; i < text.size(); ++i) text[i] = static_cast<char>('a' + i * i % 23);
  return text;
}

/// A run of three shards, all in this process. Their parts are ranges of a common file, or files of their
/// own, as on file systems that machines share.
class ThreeShards {
 public:
  ThreeShards() : ThreeShards(GENERATE(true, false)) {}

  explicit ThreeShards(bool in_common) : in_common(in_common) {
    write_file(input(), "in");
    if (!in_common) lock_common();
  }

  void run(std::uint64_t shard) const {
    ShardOutput output = begin(shard);
    OutputFile part = output.begin_part();
    write(part, shard);
    output.commit(part, sum(shard));
  }

  [[nodiscard]] ShardOutput begin(std::uint64_t shard) const {
    ShardOutput output(path(), run_, shard, InputFile::open(input()), OutputFile::Durability::none);
    output.write_run();
    return output;
  }

  static void write(OutputFile& part, std::uint64_t shard) {
    part.write_at(std::as_bytes(std::span(text(shard))), 0);
  }

  [[nodiscard]] static std::string_view text(std::uint64_t shard) {
    const ByteRange range = part_range({shard, 3}, kResult.size());
    return std::string_view(kResult).substr(range.offset, range.size);
  }

  [[nodiscard]] static std::uint64_t sum(std::uint64_t shard) {
    return placed_sum(std::as_bytes(std::span(text(shard))), 0);
  }

  void run_all() const {
    for (const std::uint64_t shard : {1U, 0U, 2U}) run(shard);
  }

  void finalize(Existing existing = Existing::replace) const {
    Engine engine({.threads = 2});
    Join(path(), existing).run(engine);
  }

  [[nodiscard]] std::string why_not(Existing existing = Existing::replace) const {
    const std::string why = refusal(ErrorKind::refused, [&] { finalize(existing); });
    return why.substr(path().size());
  }

  void check_result() const {
    CHECK((read_file(path()) == kResult));
    CHECK(status_of(path()).st_nlink == 1);
    CHECK(directory_->entries() == Names{"in", "out"});
  }

  /// The file that has the shard's part.
  [[nodiscard]] std::string part(std::uint64_t shard) const {
    return in_common ? files().common(run_).path() : files().part(run_, shard).path();
  }
  [[nodiscard]] std::string record(std::uint64_t shard) const { return files().record(run_, shard).path(); }
  [[nodiscard]] ShardFiles files() const { return ShardFiles(path()); }
  [[nodiscard]] std::string path(const std::string& suffix = "") const {
    return *directory_ / "out" + suffix;
  }
  [[nodiscard]] Names names() const { return directory_->entries(); }
  void unlock_common() const {
    if (lock_) ::flock(lock_->get(), LOCK_UN);
  }
  [[nodiscard]] std::string input() const { return *directory_ / "in"; }
  [[nodiscard]] ShardRun& description() { return run_; }
  [[nodiscard]] const ShardRun& description() const { return run_; }

  void make_new() {
    if (!in_common) fs::remove(files().common(run_).path());
    run_.must_be_new = true;
    if (!in_common) lock_common();
  }

  const bool in_common;

 private:
  /// Takes the lock that Join takes before it makes the common file the output.
  void lock_common() {
    const Place place = files().common(run_);
    lock_ = std::make_shared<Descriptor>(::open(place.path().c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0666));
    REQUIRE(::flock(lock_->get(), LOCK_EX | LOCK_NB) == 0);
  }

  static inline const std::string kResult = large_text();
  std::shared_ptr<TemporaryDirectory> directory_ = std::make_shared<TemporaryDirectory>();
  ShardRun run_{.shards = 3, .size = kResult.size(), .must_be_new = false, .work = "elements"};
  std::shared_ptr<Descriptor> lock_;
};

}  // namespace

TEST_CASE("Shards in any order, also repeated, become the output and leave no files") {
  const ThreeShards run;
  for (const std::uint64_t shard : {1U, 2U, 1U, 0U, 2U}) run.run(shard);
  CHECK_FALSE(fs::exists(run.path()));
  run.finalize();
  run.check_result();
  CHECK(run.why_not() == ": no shards to finalize: none have run, or they are already finalized");
  run.run_all();
  run.finalize();
  run.check_result();
}

TEST_CASE("Missing shards are named, and nothing changes") {
  const ThreeShards run;
  write_file(run.path(), "old");
  run.run(1);
  CHECK(run.why_not() == ": shards 0, 2 of 3 are missing; run them, then join them again");
  run.run(0);
  CHECK(run.why_not().starts_with(": shard 2 of 3 is missing"));
  run.run(2);
  SECTION("a record is gone") {
    fs::remove(run.record(1));
  }
  SECTION("a record is another shard's") {
    fs::copy_file(run.record(0), run.record(1), fs::copy_options::overwrite_existing);
  }
  SECTION("a record is empty") {
    fs::resize_file(run.record(1), 0);
  }
  CHECK(run.why_not().starts_with(": shard 1 of 3 is missing"));
  CHECK(read_file(run.path()) == "old");
  run.run(1);
  run.finalize();
  run.check_result();
}

TEST_CASE("A byte that differs from the calculated one is not put in place") {
  const ThreeShards run;
  run.run_all();
  const std::uint64_t offset = run.in_common ? 1 << 20 : 0;
  SECTION("changed") {
    flip(run.part(1), offset + 777);
  }
  SECTION("its last byte") {
    flip(run.part(1), offset + (1 << 20) - 1);
  }
  SECTION("zeros, as after a power cut") {
    fs::resize_file(run.part(1), offset + 4096);
    fs::resize_file(run.part(1), offset + (1 << 20));
  }
  SECTION("gone") {
    fs::remove(run.part(1));
  }
  SECTION("of another shard") {
    if (run.in_common)
      flip(run.part(1), offset);
    else
      fs::copy_file(run.part(0), run.part(1), fs::copy_options::overwrite_existing);
  }
  CHECK(run.why_not().find(" damaged (wrong checksum") != std::string::npos);
  CHECK_FALSE(fs::exists(run.path()));
  run.run_all();
  run.finalize();
  run.check_result();
}

TEST_CASE("Bytes after the end of a part are ignored") {
  const ThreeShards run;
  run.run_all();
  fs::resize_file(run.part(2), fs::file_size(run.part(2)) + 5000);
  run.finalize();
  run.check_result();
}

TEST_CASE("A shard that goes on after --finalize does not write to the output") {
  const ThreeShards run;
  run.run_all();
  ShardOutput late = run.begin(1);
  OutputFile part = late.begin_part();
  run.finalize();
  CHECK((read_file(run.path()).size() == 2'500'000));
  part.write_at(std::as_bytes(std::span("other bytes")), 0);
  late.commit(part, 7);
  CHECK((read_file(run.path()).find("other bytes") == std::string::npos));
  CHECK(run.why_not() == ": no shards to finalize: none have run, or they are already finalized");
  run.run_all();
  run.finalize();
  run.check_result();
}

TEST_CASE("A killed --finalize is finished by the next one") {
  const ThreeShards run;
  run.run_all();
  const TemporaryDirectory kept;
  fs::copy(fs::path(run.path()).parent_path(), kept.path(), fs::copy_options::recursive);
  const auto restore = [&](const std::string& path) {
    fs::copy_file(kept / fs::path(path).filename().string(), path, fs::copy_options::overwrite_existing);
  };
  run.finalize();
  restore(run.path(".shards"));
  SECTION("before it marked the output as in place") {
    for (const std::uint64_t shard : {0U, 1U, 2U}) {
      restore(run.record(shard));
      if (!run.in_common) restore(run.part(shard));
    }
  }
  SECTION("while it removed files") {
    write_file(run.path(".shards"), read_file(run.path(".shards")) + "the output is in place, written at " +
                                        time_text(status_of(run.path())) + "\n");
    restore(run.record(2));
  }
  run.finalize();
  run.check_result();
}

TEST_CASE("A --finalize killed right after the common file became the output is finished by the next one") {
  const ThreeShards run(true);
  run.run_all();
  fs::create_hard_link(run.part(0), run.path());
  if (GENERATE(false, true)) fs::remove(run.part(0));
  run.finalize();
  run.check_result();
}

TEST_CASE("A --finalize killed right after it put a new output in place is finished by the next one") {
  ThreeShards run;
  run.make_new();
  run.run_all();
  const TemporaryDirectory kept;
  fs::copy(fs::path(run.path()).parent_path(), kept.path(), fs::copy_options::recursive);
  run.finalize();
  for (const std::string& name : kept.entries())
    if (name != "in") fs::copy_file(kept / name, run.path(name.substr(3)), fs::copy_options::skip_existing);
  SECTION("it is finished") {
    run.finalize();
    run.check_result();
  }
  SECTION("another output is left alone") {
    flip(run.path(), 1'000'000);
    CHECK(run.why_not() == ": already exists");
  }
}

TEST_CASE("A shard does not write to a common file that has become the output") {
  const ThreeShards run(true);
  run.run_all();
  fs::create_hard_link(run.part(0), run.path());  // as a killed Join leaves it
  ShardOutput late = run.begin(1);
  OutputFile part = late.begin_part();
  part.write_at(std::as_bytes(std::span("other bytes")), 0);
  CHECK((read_file(run.path()).find("other bytes") == std::string::npos));
  run.run(1);
  run.finalize();
  run.check_result();
}

TEST_CASE("An output with other bytes than the shards calculated is not accepted as theirs") {
  const ThreeShards run(true);
  run.run_all();
  fs::rename(run.part(0), run.path());
  flip(run.path(), 2'000'000);
  CHECK(run.why_not().starts_with(": shards 0 to 2 of 3 are damaged"));
}

TEST_CASE("The mark of an earlier output of the same size does not count") {
  const ThreeShards run;
  run.run_all();
  write_file(run.path(), std::string(2'500'000, 'x'));  // the size of the output
  write_file(run.path(".shards"),
             read_file(run.path(".shards")) + "the output is in place, written at 1.000000005\n");
  run.finalize();
  run.check_result();
}

TEST_CASE("Whoever can read OUT.shards can also read that the output is in place") {
  const ThreeShards run(true);
  run.run_all();
  const std::string kept = run.files().part(run.description(), 0).path();
  fs::create_directory(kept);  // cannot be removed as a file
  const mode_t mode = status_of(run.path(".shards")).st_mode;
  CHECK(
      refusal(ErrorKind::not_durable, [&] { run.finalize(); }).starts_with(run.path() + ": complete, but "));
  CHECK(read_file(run.path(".shards")).find("the output is in place") != std::string::npos);
  CHECK(status_of(run.path(".shards")).st_mode == mode);
}

TEST_CASE("A mark whose output is gone does not count") {
  const ThreeShards run;
  run.run_all();
  write_file(run.path(".shards"),
             read_file(run.path(".shards")) + "the output is in place, written at 1.000000005\n");
  SECTION("no output") {}
  SECTION("another output") {
    write_file(run.path(), "other");
  }
  run.finalize();
  run.check_result();
}

TEST_CASE("The output keeps the mode of the old file, and the parts are readable by nobody else") {
  const ThreeShards run;
  write_file(run.path(), "old");
  fs::permissions(run.path(), fs::perms{0600});
  run.run_all();
  if (run.in_common) CHECK(mode_of(run.part(0)) == 0600);
  for (const std::string& path : {run.record(1), run.path(".shards")}) CHECK(mode_of(path) == 0600);
  fs::permissions(
      run.path(),
      fs::perms{0240});  // the parts' group may be another one, and the group bits may be an ACL mask
  fs::remove(run.path(".shards"));
  run.run_all();
  for (const std::string& path : {run.record(1), run.path(".shards")}) CHECK(mode_of(path) == 0600);
  fs::permissions(run.path(), fs::perms{0664});
  run.finalize();
  run.check_result();
  CHECK(mode_of(run.path()) == 0664);
}

TEST_CASE("Shards and --finalize follow a link to the output") {
  const ThreeShards run;
  write_file(run.path(".target"), "old");
  fs::create_symlink("out.target", run.path());
  run.run_all();
  run.finalize();
  CHECK(fs::is_symlink(run.path()));
  CHECK((read_file(run.path(".target")).size() == 2'500'000));
}

TEST_CASE("--no-clobber of the shards also holds for --finalize") {
  ThreeShards run;
  run.make_new();
  run.run_all();
  write_file(run.path(), "mine");
  CHECK(run.why_not() == ": already exists");
  CHECK(read_file(run.path()) == "mine");
  CHECK(refusal(ErrorKind::refused, [&] { run.run(1); }) == run.path() + ": already exists");
  fs::remove(run.path());
  run.finalize();
  run.check_result();
}

TEST_CASE("A name that is too long is refused before anything is written") {
  const TemporaryDirectory directory{{"in", "in"}};
  const ShardRun run{.shards = 3, .size = 19, .must_be_new = false, .work = "elements"};
  const std::string out = directory / std::string(230, 'a');
  CHECK(refusal(ErrorKind::io, [&] {
          return ShardOutput(out, run, 0, InputFile::open(directory / "in"), OutputFile::Durability::none);
        }).find("name too long") != std::string::npos);
  CHECK(directory.entries() == Names{"in"});
}

TEST_CASE("Two runs with the same output do not touch each other's parts") {
  const ThreeShards run;
  ThreeShards other(run);
  other.description().work = "others";
  run.run(0);
  other.run(1);
  run.run(1);
  CHECK(run.why_not().starts_with(": shard 2 of 3 is missing"));
  run.run(2);
  run.finalize();
  CHECK((read_file(run.path()).size() == 2'500'000));
  other.run_all();
  other.finalize();
  other.check_result();
}

TEST_CASE("Missing shards that saw another input are named") {
  ThreeShards run;
  run.description().work = "clip, of 8 bytes that were written at 1.000000000";
  run.description().description = "clips 8 bytes";
  ThreeShards changed(run);
  changed.description().work = "clip, of 8 bytes that were written at 2.000000000";
  run.run(0);
  changed.run(1);
  changed.run(2);
  CHECK(run.why_not() ==
        ": shard 0 of 3 is missing; run it, then join them again; shard 0 saw another input");
  run.run(2);
  CHECK(run.why_not() ==
        ": shard 1 of 3 is missing; run it, then join them again; shard 1 saw another input");
}

TEST_CASE("A record of another run that cannot be read does not hide which shards are missing") {
  const ThreeShards run;
  run.run(0);
  run.run(2);
  fs::create_directory(run.path(".shard-1-of-3.0123456789abcdef.done"));
  CHECK(run.why_not() == ": shard 1 of 3 is missing; run it, then join them again");
}

TEST_CASE("Shards of one run may describe it in different words, such as other paths of an array") {
  ThreeShards run;
  run.description().description = "min @lo.npy";
  ThreeShards elsewhere(run);
  elsewhere.description().description = "min @/data/lo.npy";
  run.run(0);
  elsewhere.run(1);
  run.run(2);
  run.finalize();
  run.check_result();
}

TEST_CASE("If a late shard of another run makes shards missing, the run that has ended is named") {
  ThreeShards run;
  run.description().description = "clips to 6";
  ThreeShards late(run);
  late.description().work = "others";
  late.description().description = "clips to 7";
  run.run_all();
  late.run(0);
  CHECK(run.why_not() ==
        ": shards 1, 2 of 3 are missing; run them, then join them again; of another run, "
        "shards 0 to 2 of 3 ended: clips to 6");
}

TEST_CASE("A shard that runs again removes the mark of an earlier output, which does not stop --finalize") {
  const ThreeShards run(false);
  run.run_all();
  const std::string marked =
      read_file(run.path(".shards")) + "the output is in place, written at 1.000000005\n";
  write_file(run.path(".shards"), marked);
  const auto wanted = [&](const std::optional<ShardRun>& there) {
    run.run(1);  // after OUT.shards was read
    return there;
  };
  Engine engine({.threads = 2});
  Join join(run.path(), Existing::replace, [&, calls = 0](const std::optional<ShardRun>& there) mutable {
    if (++calls == 1) return there;
    return wanted(there);
  });
  join.run(engine);
  run.check_result();
}

TEST_CASE("What abandoned shards of all runs have left is discarded, and nothing else") {
  const ThreeShards run;
  ThreeShards other(run);
  other.description().work = "others";
  run.run(0);
  other.run(1);
  for (const char* const name :
       {".npy", ".shards.mine", ".shard-0-of-3.mine", ".shard-0-of-3.0123456789abcdef.done.bak"})
    write_file(run.path(name), "mine");
  write_file(run.path(), "old");
  const std::string killed = fs::path(run.path()).parent_path() / ".out.shards.clipper-0123456789abcdef";
  write_file(killed, "half");
  run.unlock_common();
  const auto before = run.names();
  const std::vector<std::string> would_go = discard_shards(run.path(), true);
  CHECK(run.names() == before);
  CHECK(std::ranges::find(would_go, killed) != would_go.end());
  CHECK(discard_shards(run.path(), false) == would_go);
  CHECK(run.names() == Names{"in", "out", "out.npy", "out.shard-0-of-3.0123456789abcdef.done.bak",
                             "out.shard-0-of-3.mine", "out.shards.mine"});
  CHECK(discard_shards(run.path(), false).empty());
}

TEST_CASE("Nothing is discarded while a shard is running") {
  const ThreeShards run;
  run.unlock_common();
  run.run(0);
  ShardOutput running = run.begin(1);
  if (GENERATE(false, true)) static_cast<void>(running.begin_part());
  const auto before = run.names();
  CHECK(refusal(ErrorKind::refused, [&] {
          return discard_shards(run.path(), false);
        }).starts_with(run.path() + ": a shard or the process that joins them is running and uses "));
  CHECK(run.names() == before);
}

TEST_CASE("Nothing is discarded while shards are joined") {
  const ThreeShards run(false);
  run.run_all();
  run.unlock_common();
  std::string refused;
  const auto wanted = [&, calls = 0](const std::optional<ShardRun>& there) mutable {
    if (++calls == 2)
      refused = refusal(ErrorKind::refused, [&] { return discard_shards(run.path(), false); });
    return there;
  };
  Engine engine({.threads = 2});
  Join(run.path(), Existing::replace, wanted).run(engine);
  CHECK(refused.ends_with(" is running and uses " + run.path(".shards")));
  run.check_result();
}

TEST_CASE("An OUT.shards that shards did not make is not discarded") {
  const ThreeShards run;
  run.unlock_common();
  run.run(0);
  write_file(run.path(".shards"), "a tensor");
  const auto before = run.names();
  CHECK(refusal(ErrorKind::refused, [&] {
          return discard_shards(run.path(), false);
        }).starts_with(run.path(".shards") + ": is not a file that shards made"));
  CHECK(run.names() == before);
}

TEST_CASE("More files of shards than a process can open are discarded") {
  const ThreeShards run(true);
  for (int shard = 0; shard < 64; ++shard)
    write_file(run.path(".shard-" + std::to_string(shard) + "-of-64.0123456789abcdef"), "part");
  rlimit old{};
  REQUIRE(::getrlimit(RLIMIT_NOFILE, &old) == 0);
  const rlimit few{32, old.rlim_max};
  REQUIRE(::setrlimit(RLIMIT_NOFILE, &few) == 0);
  CHECK(discard_shards(run.path(), false).size() == 64);
  REQUIRE(::setrlimit(RLIMIT_NOFILE, &old) == 0);
}

TEST_CASE("A shard does not begin while its files are removed") {
  const ThreeShards run;
  run.unlock_common();
  run.run(0);
  const Descriptor discarding(::open(run.path(".shards").c_str(), O_RDWR | O_CLOEXEC));
  REQUIRE(::flock(discarding.get(), LOCK_EX) == 0);
  CHECK(refusal(ErrorKind::refused, [&] { run.run(1); }) ==
        run.path(".shards") + ": is just being removed together with the shards' other files; try again");
}

TEST_CASE("A common file with a second name does not become the output") {
  const ThreeShards run(true);
  run.run_all();
  fs::create_hard_link(run.part(0), run.path(".mine"));
  run.finalize();
  CHECK(status_of(run.path()).st_ino != status_of(run.path(".mine")).st_ino);
  fs::remove(run.path(".mine"));
  run.check_result();
}

TEST_CASE("An input that a shard would overwrite is refused") {
  const ThreeShards run;
  fs::create_hard_link(run.input(), GENERATE(true, false) ? run.path(".shards") : run.record(1));
  CHECK(refusal(ErrorKind::usage, [&] { run.run(1); }).find(", which a shard would overwrite") !=
        std::string::npos);
}

}  // namespace clipper::testing
