#include "clipper.hpp"
#include "support/archives.hpp"
#include "support/files.hpp"
#include "support/refusal.hpp"
#include "support/tensors.hpp"

/// .npz archives for programs that include clipper.hpp.
namespace clipper::testing {
namespace {

std::string archive_of(const std::vector<float>& a, const std::vector<float>& b) {
  return npz_file({{"a.npy", float32_file(a)},
                   {"mask.npy", npy_file("|b1", "False", "(1,)", std::string(1, '\1'))},
                   {"b.npy", float32_file(b)}});
}

}  // namespace

TEST_CASE("clip_file() and clip_in_place() clip the members of an archive, and count all their elements") {
  const TemporaryDirectory directory{{"x.npz", archive_of({-1, 3, 9}, {7, 8})}};
  const std::string in = directory / "x.npz";
  const std::string out = directory / "y.npz";
  const Counts counts = clip_file(in, out, {.min = 0, .max = 6});
  CHECK(counts.elements == 5);
  CHECK(counts.raised == 1);
  CHECK(counts.lowered == 3);
  CHECK(counts.changed);
  CHECK((read_file(out) == archive_of({0, 3, 6}, {6, 6})));
  needs_posix("to replace an open file");
  CHECK(clip_in_place(in, {.min = 0, .max = 6}).lowered == 3);
  CHECK((read_file(in) == read_file(out)));
  CHECK_FALSE(clip_in_place(in, {.min = 0, .max = 6}).changed);
}

TEST_CASE("FileOptions::members chooses the members of an archive that are clipped") {
  const TemporaryDirectory directory{{"x.npz", archive_of({-1, 3, 9}, {7, 8})}};
  FileOptions options;
  options.members = {"b"};
  const Counts counts = clip_file(directory / "x.npz", directory / "y.npz", {.max = 6}, options);
  CHECK(counts.elements == 2);
  CHECK((directory.read("y.npz") == archive_of({-1, 3, 9}, {6, 6})));
  options.members = {"*"};
  options.exclude_members = {"a"};
  CHECK(clip_file(directory / "x.npz", directory / "y.npz", {.max = 5}, options).elements == 2);
  CHECK((directory.read("y.npz") == archive_of({-1, 3, 9}, {5, 5})));
  options.exclude_members = {};
  options.members = {"c"};
  const auto clip_c = [&] { clip_in_place(directory / "x.npz", {.max = 6}, options); };
  CHECK(refusal(ErrorKind::usage, clip_c) == directory / "x.npz: no member 'c'; it has a, mask, b");
}

TEST_CASE("All functions that read a file take FILE:MEMBER") {
  const TemporaryDirectory directory{{"x.npz", archive_of({-1, 3, 9}, {7, 9})},
                                     {"b.npy", float32_file({7, 9})}};
  const std::string member = directory / "x.npz:b";
  const FileOptions options{.special_paths = true};
  CHECK(compare_files(member, directory / "b.npy", {}, options).equal());
  CHECK(statistics(member, options).mean == 8.0);
  CHECK(from_bits<float>(percentiles(member, std::array{Number(50)}, options).front()->bits) == 8);
  CHECK(clip_file(member, directory / "y.npy", {.max = 8}, options).lowered == 1);
  CHECK((directory.read("y.npy") == float32_file({7, 8})));
  const std::string other = directory / "x.npz:a";
  CHECK(clip_file(other, directory / "y.npy", {.max = from_file(other, options)}, options).lowered == 0);
  for (const auto& read : {std::function<void()>([&] { static_cast<void>(statistics(member)); }),
                           std::function<void()>([&] { static_cast<void>(from_file(member)); }),
                           std::function<void()>([&] { static_cast<void>(compare_files("-", member)); })})
    CHECK(refusal(ErrorKind::io, read).find("cannot be opened: No such file or directory") !=
          std::string::npos);
}

TEST_CASE("clip_file() and clip_in_place() take no index of several files") {
  const TemporaryDirectory directory{{"x.safetensors.index.json", "{}"}};
  const std::string in = directory / "x.safetensors.index.json";
  for (const auto& clip_it : {std::function<void()>([&] { clip_file(in, directory / "y.npz", {.max = 6}); }),
                              std::function<void()>([&] { clip_file(in, directory / "y", {.max = 6}); }),
                              std::function<void()>([&] { clip_in_place(in, {.max = 6}); })})
    CHECK(refusal(ErrorKind::usage, clip_it).find("x.safetensors.index.json") != std::string::npos);
}

}  // namespace clipper::testing
