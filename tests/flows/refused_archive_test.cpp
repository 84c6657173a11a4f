#include <limits>
#include <vector>

#include "flows/archive_scene.hpp"

namespace clipper::testing {

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

}  // namespace clipper::testing
