#include "flows/archive_scene.hpp"

namespace clipper::testing {

TEST_CASE("A stored archive becomes the archive that np.savez would write of the clipped arrays") {
  const std::vector<float> large = scattered_floats(kLarge);
  Scene scene({tensor("a.npy", {-1, 3, 9}), tensor("large.npy", large), bools("mask.npy"),
               tensor("empty.npy", {}), tensor("z.npy", {7})});
  const std::string expected =
      npz_file({tensor("a.npy", {0, 3, 6}), tensor("large.npy", clipped(large, 0, 6)), bools("mask.npy"),
                tensor("empty.npy", {}), tensor("z.npy", {6})});
  scene.clip();
  CHECK((read_file(scene.out) == expected));
  CHECK(scene.witness.seen ==
        "1200016 bytes planned a.npy clipped planned large.npy clipped mask.npy copied (bool) planned "
        "empty.npy clipped planned z.npy clipped written");
  scene.replace();
  CHECK((read_file(scene.in) == expected));
}

TEST_CASE("Deflated members stay deflated, and every number of threads and chunk size gives the same bytes") {
  const std::vector<float> large = scattered_floats(kLarge);
  Scene scene({tensor("a.npy", {-1, 3, 9}, true), tensor("large.npy", large, true),
               tensor("stored.npy", large), tensor("b.npy", {8}, true)});
  scene.options.threads = 1;
  scene.clip();
  const std::string bytes = read_file(scene.out);
  CHECK((contents(scene.out, "a") == float32_file({0, 3, 6})));
  CHECK((contents(scene.out, "large") == float32_file(clipped(large, 0, 6))));
  CHECK((contents(scene.out, "stored") == float32_file(clipped(large, 0, 6))));
  CHECK((contents(scene.out, "b") == float32_file({6})));
  CHECK(bytes.size() < std::filesystem::file_size(scene.in));
  for (const unsigned threads : {2U, 5U, 40U})
    for (const std::size_t chunk_size : {std::size_t{4096}, 256UL << 10, 1UL << 20}) {
      CAPTURE(threads, chunk_size);
      scene.options.threads = threads;
      scene.options.chunk_size = chunk_size;
      scene.clip();
      CHECK((read_file(scene.out) == bytes));
    }
}

TEST_CASE("Many small members come out in the archive's order") {
  std::vector<NpzMember> members;
  std::vector<NpzMember> expected;
  for (int i = 0; i < 3000; ++i) {
    const std::string name = fmt::format("{}.npy", i * 7 % 3000);
    const auto value = static_cast<float>(i % 10);
    members.push_back(i % 50 == 0 ? bools(name) : tensor(name, {value, -1}));
    expected.push_back(i % 50 == 0 ? bools(name) : tensor(name, {std::min(value, 6.0F), 0}));
  }
  Scene scene(members);
  scene.options.threads = 4;
  scene.settings.counting = true;
  scene.clip();
  CHECK((read_file(scene.out) == npz_file(expected)));
  CHECK(scene.result.counts->raised == 2940);
  CHECK(scene.result.counts->lowered == 900);
}

TEST_CASE(
    "Members that were not chosen, and members that are no tensors of the profile, are copied or dropped") {
  Scene scene({tensor("a.npy", {9}), bools("mask.npy"), tensor("b.npy", {9}), {"notes", "text", false}});
  scene.settings.selection.members = NameChoice({"b"}, {});
  scene.clip();
  CHECK(
      (read_file(scene.out) ==
       npz_file({tensor("a.npy", {9}), bools("mask.npy"), tensor("b.npy", {6}), {"notes", "text", false}})));
  CHECK(scene.witness.seen ==
        "4 bytes a.npy copied (not chosen) mask.npy copied (not chosen) planned b.npy clipped notes copied "
        "(not chosen) written");
  scene.settings.selection = {{}, {}, Selection::Other::drop};
  scene.clip();
  CHECK((read_file(scene.out) == npz_file({tensor("a.npy", {6}), tensor("b.npy", {6})})));
  CHECK(
      scene.witness.seen ==
      "8 bytes planned a.npy clipped mask.npy dropped (bool) planned b.npy clipped notes dropped (not .npy) "
      "written");
  scene.settings.selection.other = Selection::Other::error;
  CHECK(scene.failure(ErrorKind::input).starts_with(scene.in + ":mask: would not be clipped (bool)"));
}

TEST_CASE("An archive that does not change is not replaced, unless members are dropped") {
  Scene scene({tensor("a.npy", {1}), bools("mask.npy"), tensor("large.npy", std::vector<float>(kLarge, 3))});
  const auto before = scene.directory.snapshot();
  scene.replace();
  CHECK((scene.directory.snapshot() == before));
  CHECK(scene.result.counts == ElementCounts{});
  CHECK(scene.witness.seen ==
        "1200004 bytes planned a.npy clipped mask.npy copied (bool) planned large.npy clipped unchanged");
  scene.settings.selection = {{}, {}, Selection::Other::drop};
  scene.replace();
  CHECK(scene.witness.seen.ends_with("written"));
  CHECK((read_file(scene.in) ==
         npz_file({tensor("a.npy", {1}), tensor("large.npy", std::vector<float>(kLarge, 3))})));
}

TEST_CASE("In place, members keep their header bytes; another file gets those of np.save") {
  const auto member = [](float value, std::size_t alignment) {
    const std::vector<float> elements(kLarge, value);
    return std::vector<NpzMember>{
        {"small.npy", npy_file("<f4", "False", "(1,)", bytes_of<float>({value}), alignment), false},
        {"large.npy", npy_file("<f4", "False", fmt::format("({},)", kLarge), bytes_of(elements), alignment),
         false}};
  };
  Scene scene(member(9, 1));
  scene.clip();
  CHECK((read_file(scene.out) == npz_file(member(6, 64))));
  scene.replace();
  CHECK((read_file(scene.in) == npz_file(member(6, 1))));
}

TEST_CASE("A dry run counts all members and writes nothing") {
  Scene scene(
      {tensor("a.npy", {9, 1}, true), bools("mask.npy"), tensor("large.npy", scattered_floats(kLarge))});
  const auto before = scene.directory.snapshot();
  scene.dry_run();
  CHECK((scene.directory.snapshot() == before));
  const ElementCounts counts = *scene.result.counts;
  CHECK(scene.witness.seen ==
        "1200008 bytes planned a.npy clipped mask.npy copied (bool) planned large.npy clipped unchanged");
  scene.settings.counting = true;
  scene.clip();
  CHECK(scene.result.counts == counts);
}

TEST_CASE("Percentiles are those of each member") {
  Scene scene({tensor("a.npy", {1, 2, 3, 4, 5}), tensor("b.npy", {10, 20, 30, 40, 50}, true)});
  scene.settings.request = {.min = Parameter::percentile(25), .max = Parameter::percentile(75)};
  scene.clip();
  CHECK((contents(scene.out, "a") == float32_file({2, 2, 3, 4, 4})));
  CHECK((contents(scene.out, "b") == float32_file({20, 20, 30, 40, 40})));
}

TEST_CASE("A batch of archives in many threads gives the same bytes as one after the other") {
  std::vector<NpzMember> members;
  for (int i = 0; i < 20; ++i)
    members.push_back(
        tensor(fmt::format("{}.npy", i), scattered_floats(i % 7 == 0 ? kLarge : 100), i % 2 == 0));
  Scene scene(members);
  scene.clip();
  const std::string expected = read_file(scene.out);
  scene.options.threads = 4;
  Engine engine(scene.options);
  engine.for_each(6, [&](std::size_t i) {
    ClipResult result;
    ClipObserver observer;
    prepare_to_file({scene.settings, engine, observer, result}, scene.in,
                    scene.directory / fmt::format("{}.npz", i), OutputFile::Existing::replace)
        ->write();
  });
  for (int i = 0; i < 6; ++i) CHECK((read_file(scene.directory / fmt::format("{}.npz", i)) == expected));
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
  scene.settings.request = {.min = Parameter::percentile(1),
                            .nan = OnNan::error};  // reads `slow` several times
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
