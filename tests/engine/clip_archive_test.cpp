#include "engine/clip_archive.hpp"

#include <filesystem>
#include <limits>
#include <string>
#include <vector>

#include "error.hpp"
#include "support/archives.hpp"
#include "support/catch.hpp"
#include "support/files.hpp"
#include "support/refusal.hpp"
#include "support/tensors.hpp"

namespace clipper::testing {
namespace {

using Existing = OutputFile::Existing;
using Other = MemberChoice::Other;

constexpr std::size_t kLarge = 300'000;  // elements of a member that is not clipped in memory

/// Records what is done to the members, in order.
class Witness : public ClipObserver {
 public:
  std::string seen;

  void sized(std::uint64_t bytes) override { seen += fmt::format("{} bytes ", bytes); }
  void planned(const ClipResult& result) override {
    seen += "planned ";
    CHECK(result.plan.has_value());
    CHECK_FALSE(result.counts.has_value());
  }
  void member(const ClipResult& result) override {
    constexpr const char* kActions[] = {"clipped", "copied", "dropped"};
    seen += fmt::format("{} {} ", *result.member, kActions[static_cast<int>(result.action)]);
    if (!result.reason.empty()) seen += fmt::format("({}) ", result.reason);
  }
  void complete(const ClipResult& result) override {
    CHECK_FALSE(result.plan.has_value());
    seen += result.written ? "written" : "unchanged";
  }
};

/// A directory with "x.npz", and an engine to clip it.
struct Scene {
  TemporaryDirectory directory;
  std::string in = directory / "x.npz";
  std::string out = directory / "y.npz";
  ClipSettings settings{.request = {.min = 0, .max = 6}, .dtype = std::nullopt, .max_clipped = std::nullopt};
  Engine::Options options;
  Witness witness;
  ClipResult result;

  explicit Scene(const std::vector<NpzMember>& members) { write_file(in, npz_file(members)); }

  void clip() {
    run([&](const Clipping& c) { clip_to_file(c, in, out, Existing::replace, result); });
  }
  void replace() {
    ReplacementBatch batch;
    run([&](const Clipping& c) {
      replace_file(
          c, in, batch, [](const std::exception_ptr&) {}, result);
    });
    batch.commit();
  }
  void dry_run() {
    run([&](const Clipping& c) { try_to_file(c, in, out, Existing::replace, false, result); });
  }
  template <class Work>
  void run(const Work& work) {
    Engine engine(options);
    result = {};
    witness.seen.clear();
    work(Clipping{settings, engine, witness});
  }

  /// The error of clip(). Checks that nothing was written.
  std::string failure(ErrorKind kind) {
    const auto before = directory.snapshot();
    const std::string message = refusal(kind, [&] { clip(); });
    CHECK((directory.snapshot() == before));
    CHECK(refusal(kind, [&] { replace(); }) == message);
    CHECK((directory.snapshot() == before));
    return message;
  }
};

NpzMember tensor(const std::string& name, const std::vector<float>& elements, bool is_deflated = false) {
  return {name, float32_file(elements), is_deflated};
}

NpzMember bools(const std::string& name) {
  return {name, npy_file("|b1", "False", "(2,)", std::string("\0\1", 2)), false};
}

/// The contents of a member of an archive.
std::string contents(const std::string& archive, const std::string& member) {
  InputFile file = InputFile::open(archive + ":" + member);
  std::string bytes(file.size(), '\0');
  file.read_at(std::as_writable_bytes(std::span(bytes)), 0);
  return bytes;
}

}  // namespace

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
  scene.settings.members.names = {"b"};
  scene.clip();
  CHECK(
      (read_file(scene.out) ==
       npz_file({tensor("a.npy", {9}), bools("mask.npy"), tensor("b.npy", {6}), {"notes", "text", false}})));
  CHECK(scene.witness.seen ==
        "4 bytes a.npy copied (not chosen) mask.npy copied (not chosen) planned b.npy clipped notes copied "
        "(not chosen) written");
  scene.settings.members = {{}, Other::drop};
  scene.clip();
  CHECK((read_file(scene.out) == npz_file({tensor("a.npy", {6}), tensor("b.npy", {6})})));
  CHECK(
      scene.witness.seen ==
      "8 bytes planned a.npy clipped mask.npy dropped (bool) planned b.npy clipped notes dropped (not .npy) "
      "written");
  scene.settings.members.other = Other::error;
  CHECK(scene.failure(ErrorKind::input).starts_with(scene.in + ":mask: would not be clipped (bool)"));
}

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
  CHECK(scene.failure(ErrorKind::usage) == scene.in + ": the chosen member b does not exist");
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
  std::vector<NpzMember> members;
  for (int i = 0; i < 200; ++i)
    members.push_back(
        tensor(fmt::format("{}.npy", i), {i < 100 ? 1 : std::numeric_limits<float>::quiet_NaN()}));
  members.push_back(tensor("large.npy", std::vector<float>(kLarge, std::numeric_limits<float>::quiet_NaN())));
  Scene scene(members);
  scene.settings.request.nan = OnNan::error;
  scene.options.threads = 4;
  CHECK(refusal(ErrorKind::input, [&] { scene.clip(); }) == scene.in + ":100: NaN at [0] (element 0)");
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

TEST_CASE("An archive that does not change is not replaced, unless members are dropped") {
  Scene scene({tensor("a.npy", {1}), bools("mask.npy"), tensor("large.npy", std::vector<float>(kLarge, 3))});
  const auto before = scene.directory.snapshot();
  scene.replace();
  CHECK((scene.directory.snapshot() == before));
  CHECK(scene.result.counts == ElementCounts{});
  CHECK(scene.witness.seen ==
        "1200004 bytes planned a.npy clipped mask.npy copied (bool) planned large.npy clipped unchanged");
  scene.settings.members.other = Other::drop;
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
  scene.settings.request = {.min = Given::percentile(25), .max = Given::percentile(75)};
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
    clip_to_file({scene.settings, engine, observer}, scene.in, scene.directory / fmt::format("{}.npz", i),
                 Existing::replace, result);
  });
  for (int i = 0; i < 6; ++i) CHECK((read_file(scene.directory / fmt::format("{}.npz", i)) == expected));
}

TEST_CASE("Names and ways that do not fit an archive or a tensor are refused, also by checks and dry runs") {
  Scene scene({tensor("w.npy", {9})});
  const std::string npy = scene.directory / "x.npy";
  write_file(npy, float32_file({9}));
  const auto refused = [&](ErrorKind kind, const std::string& in, const std::string& out) {
    const auto run = [&](auto work) {
      return refusal(kind, [&] { scene.run([&](const Clipping& c) { work(c); }); });
    };
    const std::string message =
        run([&](const Clipping& c) { clip_to_file(c, in, out, Existing::replace, scene.result); });
    CHECK(message ==
          run([&](const Clipping& c) { try_to_file(c, in, out, Existing::replace, false, scene.result); }));
    CHECK(message == run([&](const Clipping& c) {
            static_cast<void>(check_to_file(c.settings, in, out, Existing::replace, false));
          }));
    return message;
  };
  CHECK(refused(ErrorKind::usage, scene.in, npy).starts_with(npy + ": " + scene.in + " is an archive"));
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
          scene.run([&](const Clipping& c) { rewrite_file(c, scene.in, scene.result); });
        }) == scene.in + ": is an archive, but a direct change needs a tensor");
}

}  // namespace clipper::testing
