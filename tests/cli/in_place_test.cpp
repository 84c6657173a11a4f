
#include "cli/clipper.hpp"
#include "support/append_only.hpp"
#include "support/attributes.hpp"
#include "support/mounts.hpp"

namespace clipper::testing::in_place_test {
namespace {

const std::string kInput = float32_file({-1, 0.5F, 9});

}  // namespace

TEST_CASE("--in-place keeps the owner") {
  if (::geteuid() != 0) return skip_unless_possible("files of another user");
  const WorkingDirectory directory{{"x.npy", kInput}};
  const std::string file = directory / "x.npy";
  REQUIRE(::chown(file.c_str(), 1234, 4321) == 0);
  check_done(run_clipper(clip({"-i", file})));
  CHECK(status_of(file).st_uid == 1234);
  CHECK(status_of(file).st_gid == 4321);
}

TEST_CASE("--in-place refuses a file whose owner may be unknown to the user namespace") {
  if (Process({"unshare", "-U", "true"}).finish().exit_code != 0) return skip_without("user namespace");
  const WorkingDirectory directory{{"x.npy", kInput}};
  directory.refused(clip({"-i", "x.npy"}), 5, "cannot keep its owner 65534:65534, which may", [] {
    if (::unshare(CLONE_NEWUSER) != 0) ::_exit(125);
  });
  if (::geteuid() != 0) return skip_unless_possible("files of another user");
  REQUIRE(::chown((directory / "x.npy").c_str(), 65534, 65534) == 0);
  check_done(run_clipper(clip({"-i", directory / "x.npy"})));
  CHECK(status_of(directory / "x.npy").st_uid == 65534);
}

TEST_CASE("--dry-run refuses what --in-place would refuse") {
  const WorkingDirectory directory{{"x.npy", kInput}};
  const AppendOnly append_only(directory.path());
  if (!append_only) return skip_unless_possible("chattr +a");
  directory.refused(clip({"-i", "--dry-run", "x.npy"}), 5, "append-only");
}

TEST_CASE(
    "a linked file of overlayfs's lower layer is refused once: opening it separates it from its links") {
  const WorkingDirectory directory{{"x.npy", float32_file({9, 1})}, {"expected.npy", float32_file({6, 1})}};
  std::filesystem::create_directory(directory / "disk");
  std::filesystem::create_directory(directory / "both");
  constexpr int kCannotMount = 99;
  const auto on_overlayfs = [] {
    if (!has_own_mounts() || ::mount("disk", "disk", "tmpfs", 0, nullptr) != 0) ::_exit(kCannotMount);
    for (const char* const name : {"disk/lower", "disk/upper", "disk/work"}) ::mkdir(name, 0700);
    std::filesystem::copy_file("x.npy", "disk/lower/a.npy");
    std::filesystem::create_hard_link("disk/lower/a.npy", "disk/lower/b.npy");
    const char* const layers = "lowerdir=disk/lower,upperdir=disk/upper,workdir=disk/work";
    if (::mount("both", "both", "overlay", 0, layers) != 0) ::_exit(kCannotMount);
  };
  const auto run = [&](const std::string& script) {
    return run_in_shell(script, clip({"-i", "both/a.npy"}), {directory.path(), on_overlayfs});
  };
  const Result refused = run("\"$@\"");
  if (refused.exit_code == kCannotMount) return skip_unless_possible("mounting overlayfs");
  check_refused(refused, 5,
                "both/a.npy: overlayfs has separated it from its other hard links; to change only this file, "
                "try again");
  check_done(run("\"$@\" 2>error; \"$@\" && cmp expected.npy both/a.npy && cmp x.npy both/b.npy"));
}

TEST_CASE("--in-place needs room for the result, if there is one, and each of many files only for its own") {
  const WorkingDirectory directory;
  std::filesystem::create_directory(directory / "small");
  const std::vector<float> elements = scattered_floats(150'000);
  directory.write("x.npy", float32_file(elements));
  directory.write("expected.npy", float32_file(clipped(elements, 0, 6)));
  constexpr int kCannotMount = 99;
  // Copies x.npy `count` times to a disk with room for `room` bytes more, and runs clipper on all of them.
  const auto run = [&](int count, int room, const char* checks, const Words& options) {
    const auto on_a_small_disk = [&] {
      const std::string size = fmt::format("size={}", count * 602'112 + room);
      if (!has_own_mounts() || ::mount("small", "small", "tmpfs", 0, size.c_str()) != 0)
        ::_exit(kCannotMount);
    };
    Words words = joined({"--chunk-size", "4096", "--threads", "4"}, options);
    std::string copies;
    for (int i = 0; i < count; ++i) {
      words.push_back(fmt::format("small/{}.npy", i));
      copies += fmt::format("cp x.npy small/{}.npy && ", i);
    }
    const std::string script = fmt::format(
        "{}\"$@\"; code=$?; test $(ls -A small | wc -l) = {} && for f in small/*; do {} || exit 98; "
        "done; exit $code",
        copies, count, checks);
    return run_in_shell(script, words, {directory.path(), on_a_small_disk});
  };
  const char* const kOld = "cmp x.npy $f";
  const char* const kNew = "cmp expected.npy $f";
  const Words to_6 = clip({"-i"});
  const Result refused = run(1, 400'000, kOld, to_6);
  if (refused.exit_code == kCannotMount) return skip_unless_possible("mounting a small disk");
  check_refused(refused, 5, "small/0.npy: --in-place needs 600000 free bytes, found ");
  CHECK_FALSE(contains(refused.error, "direct"));
  check_refused(run(1, 400'000, kOld, joined(to_6, {"--dry-run", "--quiet"})), 5, "needs 600000 free bytes");
  check_refused(run(1, 700'000, kOld, joined(to_6, {"--to", "float64"})), 5, "needs 1200000 free bytes");
  check_done(run(1, 400'000, "true", joined(to_6, {"--to", "float16"})));
  check_done(run(1, 0, kOld, {"--min", "-1e9", "-i"}));
  check_done(run(1, 0, kOld, {"--min", "-1e9", "-i", "--dry-run", "--quiet"}));
  check_done(run(1, 0, kOld, {"--min", "-1e9", "-i", "--dry-run", "--quiet", "--fail-if-clipped", "0"}));
  check_done(run(12, 700'000, kNew, to_6));
  check_refused(run(12, 400'000, kOld, to_6), 5, "needs 600000 free bytes, found ");
}

}  // namespace clipper::testing::in_place_test
