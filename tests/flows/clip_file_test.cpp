#include "flows/clip_file.hpp"

#include <filesystem>
#include <limits>
#include <stdexcept>
#include <string>
#include <vector>

#include "error.hpp"
#include "files/parameter_file.hpp"
#include "support/catch.hpp"
#include "support/files.hpp"
#include "support/refusal.hpp"
#include "support/tensors.hpp"

namespace clipper::testing {
namespace {

using Existing = OutputFile::Existing;

/// Records the events in order, and throws at a given one.
class Witness : public ClipObserver {
 public:
  std::string seen;
  bool fails_when_complete = false;

  void planned(const ClipResult& result) override {
    seen += "planned ";
    CHECK(result.plan.has_value());
    CHECK_FALSE(result.counts.has_value());
  }
  void complete(const ClipResult& result) override {
    seen += result.written ? "written " : "unchanged ";
    if (fails_when_complete) throw std::runtime_error("no memory for the report");
  }
  void warn(const std::string& line) override { seen += "warning: " + line + " "; }
};

/// A directory with "x.npy", and an engine to clip it.
struct Scene {
  TemporaryDirectory directory;
  std::string in = directory / "x.npy";
  std::string out = directory / "y.npy";
  ClipSettings settings{.request = {.min = 0, .max = 6}, .dtype = std::nullopt, .max_clipped = std::nullopt};
  Engine engine{{}};
  Witness witness;
  ClipResult result;
  ReplacementBatch batch;
  std::string ended;  ///< the result that replace_file() passed to `done`

  explicit Scene(const std::vector<float>& elements) { write_file(in, float32_file(elements)); }

  [[nodiscard]] Clipping clipping() { return {settings, engine, witness}; }
  void clip() {
    result = {};
    clip_to_file(clipping(), in, out, Existing::replace, result);
  }
  void replace() {
    result = {};
    const auto done = [this](const std::exception_ptr& failure) { ended += failure ? "failed" : "done"; };
    replace_file(clipping(), in, batch, done, result);
  }
};

}  // namespace

TEST_CASE("an observer sees the plan before anything is created, and the result before it is in place") {
  Scene scene({-1, 3, 9});
  class Absent : public Witness {
   public:
    explicit Absent(std::string path) : path_(std::move(path)) {}
    void complete(const ClipResult& result) override {
      Witness::complete(result);
      CHECK_FALSE(std::filesystem::exists(path_));
    }

   private:
    std::string path_;
  } witness(scene.out);
  clip_to_file({scene.settings, scene.engine, witness}, scene.in, scene.out, Existing::replace, scene.result);
  CHECK(witness.seen == "planned written ");
  CHECK(read_file(scene.out) == float32_file({0, 3, 6}));
}

TEST_CASE("an observer that throws when the result is complete prevents the commit") {
  Scene scene({-1, 3, 9});
  scene.witness.fails_when_complete = true;
  CHECK_THROWS_AS(scene.clip(), std::runtime_error);
  CHECK_FALSE(std::filesystem::exists(scene.out));
  CHECK_THROWS_AS(scene.replace(), std::runtime_error);
  scene.batch.commit();
  CHECK(read_file(scene.in) == float32_file({-1, 3, 9}));
  CHECK(scene.ended.empty());
}

TEST_CASE("a rewrite whose observer throws is finished by the same call") {
  Scene scene({-1, 3, 9});
  scene.witness.fails_when_complete = true;
  CHECK_THROWS_AS(rewrite_file(scene.clipping(), scene.in, scene.result), std::runtime_error);
  CHECK_THROWS_AS(scene.clip(), Error);  // no reader accepts it
  scene.witness.fails_when_complete = false;
  rewrite_file(scene.clipping(), scene.in, scene.result);
  CHECK(scene.result.resumed);
  CHECK(read_file(scene.in) == float32_file({0, 3, 6}));
}

TEST_CASE("a replacement is in place after its batch is committed, and an unchanged file is not written") {
  Scene scene({-1, 3, 9});
  scene.replace();
  CHECK(scene.ended.empty());
  CHECK(read_file(scene.in) == float32_file({-1, 3, 9}));
  scene.batch.commit();
  CHECK(scene.ended == "done");
  CHECK(read_file(scene.in) == float32_file({0, 3, 6}));
  const auto before = status_of(scene.in);
  scene.replace();
  CHECK(scene.ended == "donedone");
  CHECK(scene.witness.seen == "planned written planned unchanged ");
  CHECK(status_of(scene.in).st_ino == before.st_ino);
}

TEST_CASE("more clipped elements than the settings allow are an error, and nothing is written") {
  Scene scene({-1, 3, 9, 4});
  scene.settings.max_clipped = Percentage::parse("49.9");
  for (const bool in_place : {false, true}) {
    try {
      in_place ? scene.replace() : scene.clip();
      FAIL("no error");
    } catch (const Error& error) {
      CHECK(error.kind() == ErrorKind::different);
    }
    CHECK(scene.result.counts->raised + scene.result.counts->lowered == 2);
  }
  CHECK_FALSE(std::filesystem::exists(scene.out));
  scene.settings.max_clipped = Percentage::parse("50");
  scene.clip();
  CHECK(read_file(scene.out) == float32_file({0, 3, 6, 4}));
}

TEST_CASE("a trial counts the elements to be clipped and creates nothing") {
  Scene scene({-1, 3, 9});
  scene.settings.counting = true;
  try_to_file(scene.clipping(), scene.in, scene.out, Existing::replace, false, scene.result);
  CHECK(scene.result.counts->raised == 1);
  for (const Rewriting rewriting : {Rewriting::direct, Rewriting::with_second_file}) {
    scene.result = {};
    try_in_place(scene.clipping(), scene.in, rewriting, scene.result);
  }
  CHECK(scene.directory.entries() == std::vector<std::string>{"x.npy"});
  write_file(scene.out, "there");
  scene.result = {};
  CHECK_THROWS_AS(try_to_file(scene.clipping(), scene.in, scene.out, Existing::refuse, false, scene.result),
                  Error);
}

TEST_CASE("a direct change is refused if the file is its own array of bounds, also by its trial") {
  Scene scene({1, 3, 9});
  scene.settings.request = {.min = read_parameter(scene.in)};
  const auto refused = [&](const auto& work) {
    return refusal(ErrorKind::usage, [&] {
      scene.result = {};
      work();
    });
  };
  const std::string message = refused([&] { rewrite_file(scene.clipping(), scene.in, scene.result); });
  CHECK(message == scene.in + ": min @" + scene.in + " is the file that would be changed");
  CHECK(refused([&] { try_in_place(scene.clipping(), scene.in, Rewriting::direct, scene.result); }) ==
        message);
  scene.result = {};
  try_in_place(scene.clipping(), scene.in, Rewriting::with_second_file,
               scene.result);  // the array stays open
}

TEST_CASE("elements are counted only on request") {
  Scene scene({-1, 3, 9});
  scene.clip();
  CHECK_FALSE(scene.result.counts.has_value());
  scene.settings.counting = true;
  scene.clip();
  CHECK(scene.result.counts->lowered == 1);
}

TEST_CASE("clipping between two names of one file is in place, unless the output must be new") {
  Scene scene({1});
  CHECK_FALSE(is_in_place(scene.in, scene.out, Existing::replace));
  std::filesystem::create_symlink(scene.in, scene.out);
  CHECK(is_in_place(scene.in, scene.out, Existing::replace));
  CHECK_FALSE(is_in_place(scene.in, scene.out, Existing::refuse));
}

}  // namespace clipper::testing
