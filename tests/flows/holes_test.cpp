
#include "error.hpp"
#include "files/input_file.hpp"
#include "flows/clip_file.hpp"
#include "support/files.hpp"
#include "support/tensors.hpp"

/// Sparse inputs: what stays zero takes up no disk space in the result.
namespace clipper::testing {
namespace {

constexpr std::size_t kBlock = 4096;
constexpr std::size_t kBlocks = 600;  // 2.4 MB: several chunks, and more than fallocate() needs

std::uint64_t stored(const std::string& path) {
  return static_cast<std::uint64_t>(status_of(path).st_blocks) * 512;
}

/// Writes the file so that only blocks with other bytes than zeros are stored. Returns their number.
std::size_t write_sparse(const std::string& path, std::string_view contents) {
  const Descriptor fd(::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600));
  REQUIRE(::ftruncate(fd.get(), static_cast<off_t>(contents.size())) == 0);
  std::size_t blocks = 0;
  for (std::size_t at = 0; at < contents.size(); at += kBlock) {
    const std::string_view block = contents.substr(at, kBlock);
    if (block.find_first_not_of('\0') == block.npos) continue;
    write_at(fd, bytes(block), at, path);
    ++blocks;
  }
  REQUIRE(::fsync(fd.get()) == 0);
  return blocks;
}

/// Runs of zeros and of elements from 1 to 9, each of up to 100 blocks, at any element.
std::vector<float> sparse_floats(std::mt19937& random) {
  std::vector<float> elements(kBlocks * kBlock / sizeof(float) - random() % 1000);
  for (std::size_t at = random() % 100'000; at < elements.size(); at += random() % 100'000)
    for (std::size_t end = std::min(elements.size(), at + random() % 30'000); at < end; ++at)
      elements[at] = static_cast<float>(1 + random() % 9);
  return elements;
}

/// Clips a file in every way, by a request that keeps zeros or does not.
struct SparseScene {
  TemporaryDirectory directory;
  std::string in = directory / "in.npy";
  std::string out = directory / "out.npy";
  ClipSettings settings{.request = {.max = 6}, .max_clipped = std::nullopt};
  Engine engine{{.threads = 2}};
  ClipObserver observer;

  /// Returns the path of the result.
  std::string clip(bool in_place) {
    ClipResult result;
    const Clipping clipping{settings, engine, observer, result};
    ReplacementBatch batch;
    if (!in_place) {
      prepare_to_file(clipping, in, out, OutputFile::Existing::replace)->write();
      return out;
    }
    prepare_in_place(clipping, in, batch, [](const std::exception_ptr& why) { CHECK_FALSE(why); })->write();
    batch.commit();
    return in;
  }

  /// The result of the same bytes in a dense file.
  std::string expected(const std::string& contents) {
    write_file(in, contents);
    return read_file(clip(false));
  }
};

}  // namespace

TEST_CASE("holes are found between any two bytes, and none in a dense file") {
  const TemporaryDirectory directory;
  std::string contents(10 * kBlock, '\0');
  contents[kBlock] = contents[7 * kBlock] = 'x';
  write_sparse(directory / "in", contents);
  const InputFile file = InputFile::open(directory / "in");
  if (!is_sparse(file)) return skip_unless_possible("files with holes");
  const auto found = [&](std::size_t from, std::size_t end) {
    const Hole hole = next_hole(file, from, end);
    return std::pair(hole.begin, hole.end);
  };
  CHECK(found(100, 10 * kBlock) == std::pair(100UL, kBlock));
  CHECK(found(kBlock, 10 * kBlock) == std::pair(2 * kBlock, 7 * kBlock));
  CHECK(found(kBlock, 3 * kBlock + 5) == std::pair(2 * kBlock, 3 * kBlock + 5));
  CHECK(found(8 * kBlock, 10 * kBlock) == std::pair(8 * kBlock, 10 * kBlock));
  CHECK(found(7 * kBlock, 8 * kBlock) == std::pair(8 * kBlock, 8 * kBlock));
  CHECK(found(10 * kBlock, 10 * kBlock) == std::pair(10 * kBlock, 10 * kBlock));
  directory.write("dense", "x");
  CHECK_FALSE(is_sparse(InputFile::open(directory / "dense")));
}

TEST_CASE("holes that stay zero stay holes, whatever lies between them and whatever the result's dtype is") {
  SparseScene scene;
  std::mt19937 random(20);  // NOLINT(cert-msc32-c,cert-msc51-cpp): the same cases each time
  for (std::size_t round = 0; round < 40; ++round) {
    const bool in_place = round % 2 != 0;
    Request request{.max = 6};
    if (round % 4 >= 2) request.to = std::array{DType::float64, DType::uint8, DType::float32}[round % 3];
    if (round % 8 == 7) request.scale = 3;
    scene.settings.request = request;
    scene.settings.durability =
        round % 5 == 0 ? OutputFile::Durability::on_disk : OutputFile::Durability::none;
    const std::string contents = float32_file(sparse_floats(random));
    const std::string expected = scene.expected(contents);
    const std::size_t needed = write_sparse(scene.directory / "needed", expected) + 64;
    write_sparse(scene.in, contents);
    if (stored(scene.in) >= contents.size()) return skip_unless_possible("files with holes");
    const std::string result = scene.clip(in_place);
    CAPTURE(round);
    CHECK(read_file(result) == expected);
    CHECK(stored(result) <= needed * kBlock);
  }
}

TEST_CASE("a hole that does not stay zero is written") {
  SparseScene scene;
  const std::string contents = float32_file(std::vector<float>(kBlocks * kBlock / sizeof(float)));
  for (const bool in_place : {false, true}) {
    scene.settings.request = {.min = 1};
    const std::string expected = scene.expected(contents);
    write_sparse(scene.in, contents);
    const std::string result = scene.clip(in_place);
    CHECK(read_file(result) == expected);
    CHECK(stored(result) >= contents.size() / kBlock * kBlock);
  }
}

}  // namespace clipper::testing
