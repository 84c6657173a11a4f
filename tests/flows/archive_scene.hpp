#pragma once

#include "flows/clip_file.hpp"
#include "formats/formats.hpp"
#include "support/archives.hpp"
#include "support/files.hpp"
#include "support/refusal.hpp"
#include "support/tensors.hpp"

namespace clipper::testing {
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
  ClipSettings settings{.request = {.min = 0, .max = 6}, .max_clipped = std::nullopt};
  Engine::Options options;
  Witness witness;
  ClipResult result;

  explicit Scene(const std::vector<NpzMember>& members) { write_file(in, npz_file(members)); }

  void clip() {
    run([&](const Clipping& c) { prepare_to_file(c, in, out, OutputFile::Existing::replace)->write(); });
  }
  void replace() {
    ReplacementBatch batch;
    run([&](const Clipping& c) {
      prepare_in_place(c, in, batch, [](const std::exception_ptr&) {})->write();
    });
    batch.commit();
  }
  void dry_run() {
    run([&](const Clipping& c) { prepare_to_file(c, in, out, OutputFile::Existing::replace)->count(); },
        Purpose::dry_run);
  }
  template <class Work>
  void run(const Work& work, Purpose purpose = Purpose::run) {
    Engine engine(options);
    result = {};
    witness.seen.clear();
    work(Clipping{settings, engine, witness, result, purpose});
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

inline NpzMember tensor(const std::string& name, const std::vector<float>& elements,
                        bool is_deflated = false) {
  return {name, float32_file(elements), is_deflated};
}

inline NpzMember bools(const std::string& name) {
  return {name, npy_file("|b1", "False", "(2,)", std::string("\0\1", 2)), false};
}

/// The contents of a member of an archive.
inline std::string contents(const std::string& archive, const std::string& member) {
  InputFile file = open_input(archive + ":" + member);
  std::string bytes(file.size(), '\0');
  file.read_at(std::as_writable_bytes(std::span(bytes)), 0);
  return bytes;
}

}  // namespace clipper::testing
