#include <filesystem>
#include <limits>
#include <string>
#include <vector>

#include "flows/archive_scene.hpp"

namespace clipper::testing {

TEST_CASE("An archive of which nothing can be clipped is refused, unless it has no members") {
  Scene scene({bools("mask.npy")});
  CHECK(scene.failure(ErrorKind::input) ==
        fmt::format("{0}: no member can be clipped (the first, {0}:mask: bool)", scene.in));
  Scene empty({});
  empty.clip();
  CHECK(read_file(empty.out) == npz_file({}));
}

TEST_CASE("A chosen member that does not exist or cannot be clipped is refused") {
  Scene scene({tensor("a.npy", {9}), bools("mask.npy")});
  scene.settings.members.names = {"a", "b"};
  CHECK(scene.failure(ErrorKind::usage) == scene.in + ": no member 'b'; it has a, mask");
  scene.settings.members.names = {"a", "mask"};
  CHECK(scene.failure(ErrorKind::input).starts_with(scene.in + ":mask: dtype '|b1' (bool) is not supported"));
}

TEST_CASE("A member with the name of a .npy file that is none is refused") {
  Scene scene({tensor("a.npy", {9}), {"b.npy", "text", false}});
  CHECK(scene.failure(ErrorKind::input).starts_with(scene.in + ":b: not a .npy file"));
}

TEST_CASE("Damaged contents of a clipped member are refused, whatever its size and compression") {
  for (const std::size_t count : {std::size_t{3}, kLarge})
    for (const bool is_deflated : {false, true}) {
      CAPTURE(count, is_deflated);
      Scene scene({tensor("a.npy", {1}), tensor("w.npy", std::vector<float>(count, 3), is_deflated)});
      flip(scene.in, read_file(scene.in).size() / 2);
      CHECK(scene.failure(ErrorKind::input).starts_with(scene.in + ":w: "));
      CHECK(refusal(ErrorKind::input, [&] { scene.dry_run(); }).starts_with(scene.in + ":w: "));
    }
}

TEST_CASE("Of several members that cannot be clipped, the error names the first one") {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  std::vector<float> slow(60'000, 1);
  slow.back() = nan;
  std::vector<NpzMember> members{tensor("first.npy", slow, true)};
  for (int i = 0; i < 200; ++i) members.push_back(tensor(fmt::format("{}.npy", i), {nan}));
  members.push_back(tensor("large.npy", std::vector<float>(kLarge, nan)));
  Scene scene(members);
  scene.settings.request = {.min = Given::percentile(1), .nan = OnNan::error};  // reads `slow` several times
  scene.options.threads = 4;
  CHECK(refusal(ErrorKind::input, [&] { scene.clip(); }) ==
        scene.in + ":first: NaN at [59999] (element 59999)");
}

TEST_CASE("A NaN in a large member is refused after other members were written, and nothing is left") {
  for (const bool is_deflated : {false, true}) {
    std::vector<float> elements(kLarge, 9);
    elements[200'000] = std::numeric_limits<float>::quiet_NaN();
    Scene scene({tensor("a.npy", {9}), tensor("w.npy", elements, is_deflated)});
    scene.settings.request.nan = OnNan::error;
    CHECK(scene.failure(ErrorKind::input) == scene.in + ":w: NaN at [200000] (element 200000)");
  }
}

TEST_CASE("The limit of clipped elements applies to each member") {
  Scene scene({tensor("a.npy", {1, 2, 3, 9}), tensor("b.npy", {9, 9})});
  scene.settings.max_clipped = Percentage::parse("50");
  CHECK(scene.failure(ErrorKind::different) == scene.in + ":b: 100 % would be clipped, more than 50 %");
  scene.settings.members.names = {"a"};
  scene.clip();
  CHECK(scene.result.counts->lowered == 1);
}

TEST_CASE("Names and ways that do not fit an archive or a tensor are refused, also by checks and dry runs") {
  Scene scene({tensor("w.npy", {9})});
  const std::string npy = scene.directory / "x.npy";
  write_file(npy, float32_file({9}));
  const auto refused = [&](ErrorKind kind, const std::string& in, const std::string& out) {
    const auto prepare = [&](const Clipping& c) {
      static_cast<void>(prepare_to_file(c, in, out, OutputFile::Existing::replace));
    };
    const std::string message = refusal(kind, [&] { scene.run(prepare); });
    for (const Purpose purpose : {Purpose::check, Purpose::dry_run})
      CHECK(message == refusal(kind, [&] { scene.run(prepare, purpose); }));
    return message;
  };
  CHECK(refused(ErrorKind::usage, scene.in, npy).starts_with(npy + ": " + scene.in + " is an archive"));
  const std::string masks = scene.directory / "masks.npz";
  write_file(masks, npz_file({bools("mask.npy")}));
  CHECK(refused(ErrorKind::usage, masks, npy).starts_with(npy + ": " + masks + " is an archive"));
  CHECK(refused(ErrorKind::usage, npy, scene.out).starts_with(scene.out + ": " + npy + " is not an archive"));
  CHECK(refused(ErrorKind::usage, scene.in + ":w", scene.out).starts_with(scene.out));
  CHECK(refused(ErrorKind::usage, scene.in, "-").ends_with("cannot be written to a stream; write to a file"));
  CHECK(refused(ErrorKind::usage, npy, scene.in + ":w").starts_with(scene.in + ":w: a member cannot be"));
  std::filesystem::create_symlink(scene.in, scene.directory / "link.npy");
  CHECK(
      refused(ErrorKind::refused, scene.in + ":w", scene.directory / "link.npy").ends_with("is its archive"));
  scene.settings.members.names = {"w"};
  CHECK(refused(ErrorKind::usage, npy, scene.directory / "y.npy") ==
        npy + ": a choice of members needs an .npz archive");
  CHECK(refusal(ErrorKind::usage, [&] {
          scene.run([&](const Clipping& c) { prepare_direct(c, scene.in)->write(); });
        }) == scene.in + ": is an archive, which a direct change does not take; replace the file");
}

}  // namespace clipper::testing
