#include <sched.h>
#include <sys/mount.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <string>
#include <vector>

#include "cli/clipper.hpp"
#include "support/attributes.hpp"
#include "support/mounts.hpp"
#include "support/tensors.hpp"

namespace clipper::testing {
namespace {

const std::string kInput = float32_file({-1, 0.5F, 9});
const std::string kOutput = float32_file({0, 0.5F, 6});

void clip_in_place(const WorkingDirectory& directory) {
  directory.done({"-i", "--min", "0", "--max", "6", "x.npy"});
  CHECK(directory.read("x.npy") == kOutput);
}

}  // namespace

TEST_CASE("--in-place keeps user.* attributes") {
  const WorkingDirectory directory{{"x.npy", kInput}};
  const std::string large(3000, 'v');
  if (!set_attribute(directory / "x.npy", "user.unit", "metres") ||
      !set_attribute(directory / "x.npy", "user.large", large) ||
      !set_attribute(directory / "x.npy", "user.empty", ""))
    return;
  clip_in_place(directory);
  CHECK(attribute_of(directory / "x.npy", "user.unit") == "metres");
  CHECK(attribute_of(directory / "x.npy", "user.large") == large);
  CHECK(attribute_of(directory / "x.npy", "user.empty").empty());
}

TEST_CASE("--in-place keeps the access control list") {
  const WorkingDirectory directory{{"x.npy", kInput}};
  if (!set_attribute(directory / "x.npy", kAccessList, access_list())) return;
  const unsigned mode = mode_of(directory / "x.npy");
  clip_in_place(directory);
  CHECK(attribute_of(directory / "x.npy", kAccessList) == access_list());
  CHECK(mode_of(directory / "x.npy") == mode);
}

TEST_CASE("--in-place does not apply the directory's default access control list") {
  const WorkingDirectory directory{{"x.npy", kInput}};
  if (!set_attribute(directory.path(), kDefaultList, access_list())) return;
  const unsigned mode = mode_of(directory / "x.npy");
  clip_in_place(directory);
  CHECK(attribute_of(directory / "x.npy", kAccessList) == "none");
  CHECK(mode_of(directory / "x.npy") == mode);
}

TEST_CASE("an output keeps the access control list of the file that it replaces") {
  const WorkingDirectory directory{{"x.npy", kInput}, {"y.npy", "old"}};
  const auto replace = [&] { directory.done({"--min", "0", "x.npy", "y.npy"}); };
  if (!set_attribute(directory / "y.npy", kAccessList, access_list())) return;
  replace();
  CHECK(attribute_of(directory / "y.npy", kAccessList) == access_list());

  REQUIRE(::removexattr((directory / "y.npy").c_str(), kAccessList) == 0);
  REQUIRE(set_attribute(directory.path(), kDefaultList, access_list()));
  const unsigned mode = mode_of(directory / "y.npy");
  replace();
  CHECK(attribute_of(directory / "y.npy", kAccessList) == "none");
  CHECK(mode_of(directory / "y.npy") == mode);
}

TEST_CASE("a new output gets the directory's default access control list") {
  const WorkingDirectory directory;
  if (!set_attribute(directory.path(), kDefaultList, access_list())) return;
  directory.write("x.npy", kInput);
  directory.done({"--min", "0", "x.npy", "y.npy"});
  CHECK(attribute_of(directory / "y.npy", kAccessList) == attribute_of(directory / "x.npy", kAccessList));
  CHECK(mode_of(directory / "y.npy") == mode_of(directory / "x.npy"));
}

TEST_CASE("--in-place needs space for a second file, --direct does not") {
  const WorkingDirectory directory;
  std::filesystem::create_directory(directory / "small");
  const std::vector<float> elements = scattered_floats(150'000);
  directory.write("x.npy", float32_file(elements));
  directory.write("expected.npy", float32_file(clipped(elements, 0, 6)));
  constexpr int kCannotMount = 99;
  const auto on_a_small_disk = [] {
    if (!has_own_mounts() || ::mount("small", "small", "tmpfs", 0, "size=1000k") != 0) ::_exit(kCannotMount);
  };
  const auto run = [&](const char* checks, const Words& options) {
    Words words = options;
    for (const char* word : {"--chunk-size", "4096", "--min", "0", "--max", "6", "small/x.npy"})
      words.emplace_back(word);
    const std::string script = "cp x.npy small && \"$@\"; code=$?; test $(ls -A small) = x.npy && ";
    return run_in_shell(script + checks + " && exit $code; exit 98", words,
                        {directory.path(), on_a_small_disk});
  };
  const Result refused = run("cmp x.npy small/x.npy", {"-i"});
  if (refused.exit_code == kCannotMount) return skip_unless_possible("mounting a small disk");
  check_refused(refused, 5, "small/x.npy: --in-place needs 600128 free bytes, found ");
  check_refused(refused, 5, "--in-place --direct needs only a small journal");
  check_done(run("cmp expected.npy small/x.npy", {"-i", "--direct"}));
}

}  // namespace clipper::testing
