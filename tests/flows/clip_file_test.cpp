#include "flows/clip_file.hpp"

#include <stdexcept>

#include "formats/parameter_file.hpp"
#include "support/files.hpp"
#include "support/refusal.hpp"
#include "support/tensors.hpp"

namespace clipper::testing {
namespace {

using Existing = OutputFile::Existing;

/// Records the events in order, and throws at a given one.
class FileWitness : public ClipObserver {
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
struct FileScene {
  TemporaryDirectory directory;
  std::string in = directory / "x.npy";
  std::string out = directory / "y.npy";
  ClipSettings settings{.request = {.min = 0, .max = 6}, .max_clipped = std::nullopt};
  Engine engine{{}};
  FileWitness witness;
  ClipResult result;
  ReplacementBatch batch;
  std::string ended;  ///< the result that prepare_in_place() passed to `done`

  explicit FileScene(const std::vector<float>& elements) { write_file(in, float32_file(elements)); }

  [[nodiscard]] Clipping clipping(Purpose purpose = Purpose::run) {
    result = {};
    return {settings, engine, witness, result, purpose};
  }
  void clip() { prepare_to_file(clipping(), in, out, Existing::replace)->write(); }
  void rewrite() { prepare_direct(clipping(), in)->write(); }
  void replace() {
    const auto done = [this](const std::exception_ptr& failure) { ended += failure ? "failed" : "done"; };
    prepare_in_place(clipping(), in, batch, done)->write();
  }
};

}  // namespace

TEST_CASE("an observer sees the plan before anything is created, and the result before it is in place") {
  FileScene scene({-1, 3, 9});
  class Absent : public FileWitness {
   public:
    explicit Absent(std::string path) : path_(std::move(path)) {}
    void complete(const ClipResult& result) override {
      FileWitness::complete(result);
      CHECK_FALSE(std::filesystem::exists(path_));
    }

   private:
    std::string path_;
  } witness(scene.out);
  prepare_to_file({scene.settings, scene.engine, witness, scene.result}, scene.in, scene.out,
                  Existing::replace)
      ->write();
  CHECK(witness.seen == "planned written ");
  CHECK(read_file(scene.out) == float32_file({0, 3, 6}));
}

TEST_CASE("an observer that throws when the result is complete prevents the commit") {
  FileScene scene({-1, 3, 9});
  scene.witness.fails_when_complete = true;
  CHECK_THROWS_AS(scene.clip(), std::runtime_error);
  CHECK_FALSE(std::filesystem::exists(scene.out));
  CHECK_THROWS_AS(scene.replace(), std::runtime_error);
  scene.batch.commit();
  CHECK(read_file(scene.in) == float32_file({-1, 3, 9}));
  CHECK(scene.ended.empty());
}

TEST_CASE("a rewrite whose observer throws is finished by the same call") {
  FileScene scene({-1, 3, 9});
  scene.witness.fails_when_complete = true;
  CHECK_THROWS_AS(scene.rewrite(), std::runtime_error);
  CHECK_THROWS_AS(scene.clip(), Error);  // no reader accepts it
  scene.witness.fails_when_complete = false;
  scene.rewrite();
  CHECK(scene.result.resumed);
  CHECK(read_file(scene.in) == float32_file({0, 3, 6}));
}

TEST_CASE("a replacement is in place after its batch is committed, and an unchanged file is not written") {
  FileScene scene({-1, 3, 9});
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
  FileScene scene({-1, 3, 9, 4});
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
  FileScene scene({-1, 3, 9});
  scene.settings.counting = true;
  prepare_to_file(scene.clipping(Purpose::dry_run), scene.in, scene.out, Existing::replace)->count();
  CHECK(scene.result.counts->raised == 1);
  prepare_direct(scene.clipping(Purpose::dry_run), scene.in)->count();
  prepare_in_place(scene.clipping(Purpose::dry_run), scene.in, scene.batch, {})->count();
  CHECK(scene.directory.entries() == std::vector<std::string>{"x.npy"});
  write_file(scene.out, "there");
  CHECK_THROWS_AS(prepare_to_file(scene.clipping(Purpose::dry_run), scene.in, scene.out, Existing::refuse),
                  Error);
}

TEST_CASE("a direct change is refused if the file is its own array of bounds, also by its trial") {
  FileScene scene({1, 3, 9});
  scene.settings.request = {.min = read_parameter(scene.in)};
  for (const Purpose purpose : {Purpose::run, Purpose::dry_run, Purpose::check})
    CHECK(refusal(ErrorKind::usage, [&] { return prepare_direct(scene.clipping(purpose), scene.in); }) ==
          scene.in + ": min @" + scene.in + " is the file that would be changed");
  prepare_in_place(scene.clipping(Purpose::dry_run), scene.in, scene.batch, {})->count();  // stays open
}

TEST_CASE("elements are counted only on request") {
  FileScene scene({-1, 3, 9});
  scene.clip();
  CHECK_FALSE(scene.result.counts.has_value());
  scene.settings.counting = true;
  scene.clip();
  CHECK(scene.result.counts->lowered == 1);
}

TEST_CASE("clipping between two names of one file is in place, unless the output must be new") {
  FileScene scene({1});
  CHECK_FALSE(is_in_place(scene.in, scene.out, Existing::replace));
  std::filesystem::create_symlink(scene.in, scene.out);
  CHECK(is_in_place(scene.in, scene.out, Existing::replace));
  CHECK_FALSE(is_in_place(scene.in, scene.out, Existing::refuse));
}

}  // namespace clipper::testing
