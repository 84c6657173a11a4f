#include "error.hpp"
#include "shards/shard_files.hpp"
#include "support/catch.hpp"

namespace clipper {
namespace {

constexpr std::uint64_t kMebi = 1 << 20;

TensorLayout layout_of(DType dtype, std::vector<std::int64_t> shape) {
  TensorLayout layout;
  layout.dtype = dtype;
  layout.shape = std::move(shape);
  for (const std::int64_t extent : layout.shape) layout.count *= static_cast<std::uint64_t>(extent);
  return layout;
}

struct Size {
  DType dtype;
  std::int64_t elements;
};

}  // namespace

TEST_CASE("The parts cover the whole tensor, and each begins at a multiple of 1 MiB") {
  const Size size = GENERATE(values<Size>({{DType::float32, 0},
                                           {DType::float64, 1},
                                           {DType::uint8, 1048576 - 128},
                                           {DType::uint8, 1048576 - 127},
                                           {DType::float16, 3'000'001},
                                           {DType::float64, 1'000'000'000'000'007}}));
  const auto shards = GENERATE(values<std::uint64_t>({1, 2, 7, 1000, kMaxShards}));
  const TensorLayout header = layout_of(size.dtype, {size.elements});
  CAPTURE(size.elements, shards);
  constexpr std::uint64_t kHeader = 128;
  std::uint64_t elements = 0;
  std::uint64_t least = UINT64_MAX;
  std::uint64_t most = 0;
  for (Shard shard{0, shards}; shard.index < shards; ++shard.index) {
    const Slice part = slice_of(shard, header, kHeader);
    const std::uint64_t offset = part_range(shard, kHeader + header.data_size()).offset;
    const bool right = part.first == elements && (offset == 0) == (shard.index == 0);
    const std::uint64_t at = kHeader + part.first * traits(size.dtype).size;
    const bool aligned = offset % kMebi == 0 && (offset == at || shard.index == 0);
    if (!right || (part.count > 0 && !aligned)) FAIL("shard " << shard.index);
    elements += part.count;
    least = std::min(least, part.count);
    most = std::max(most, part.count);
  }
  CHECK(elements == header.count);
  CHECK(most - least <= 2 * kMebi / traits(size.dtype).size);
}

TEST_CASE("A part's plan begins at the part's offset") {
  Plan whole;
  whole.input = layout_of(DType::float32, {1000, 1000});
  Plan plan = whole;
  plan.slice = slice_of({1, 2}, whole.input, 128);
  CHECK(plan.slice.first == (2 * kMebi - 128) / 4);
  CHECK(plan.slice.count == 1'000'000 - plan.slice.first);
  CHECK(plan.slice_offset() == 2 * kMebi - 128);
  CHECK(plan.input_size() == 4 * plan.slice.count);
}

TEST_CASE("Slabs cover all rows, in order") {
  const std::int64_t rows = GENERATE(0, 1, 10, 1001);
  const auto shards = GENERATE(values<std::uint64_t>({1, 3, 10, 64}));
  Plan whole;
  whole.input = whole.output = layout_of(DType::int16, {rows, 3, 5});
  std::uint64_t next = 0;
  for (Shard shard{0, shards}; shard.index < shards; ++shard.index) {
    const Rows slab = rows_of(shard, whole.input);
    const Plan plan = slab_plan(whole, slab);
    CHECK(slab.begin == next);
    CHECK(plan.slice.first == next * 15);
    CHECK(plan.slice_offset() == next * 30);
    CHECK(plan.output.count == slab.count * 15);
    CHECK(plan.slice.count == plan.output.count);
    CHECK(plan.output.shape == std::vector<std::int64_t>{static_cast<std::int64_t>(slab.count), 3, 5});
    next += slab.count;
  }
  CHECK(next == static_cast<std::uint64_t>(rows));
}

TEST_CASE("Only tensors in C order have slabs along axis 0") {
  TensorLayout header = layout_of(DType::int8, {});
  CHECK_THROWS_AS(rows_of({0, 1}, header), Error);
  header = layout_of(DType::int8, {4, 2});
  header.fortran_order = true;
  CHECK_THROWS_AS(rows_of({0, 1}, header), Error);
  header = layout_of(DType::int8, {4});
  header.fortran_order = true;
  CHECK(rows_of({1, 2}, header).count == 2);
}

TEST_CASE("Every file belongs to one shard, and the bytes are distributed evenly") {
  std::vector<std::uint64_t> sizes;
  for (std::uint64_t i = 0; i < 1000; ++i) sizes.push_back(i * 7919 % 1009 * (i % 10 == 0 ? 1000 : 1));
  const auto shards = GENERATE(values<std::uint64_t>({1, 2, 7, 64}));
  std::vector<int> owners(sizes.size());
  std::uint64_t all = 0;
  std::uint64_t most = 0;
  for (Shard shard{0, shards}; shard.index < shards; ++shard.index) {
    std::uint64_t bytes = 0;
    const std::vector<std::size_t> files = files_of(shard, sizes);
    CHECK(std::is_sorted(files.begin(), files.end()));
    for (const std::size_t file : files) {
      ++owners[file];
      bytes += sizes[file];
    }
    all += bytes;
    most = std::max(most, bytes);
  }
  CHECK(owners == std::vector<int>(sizes.size(), 1));
  CHECK(most <= std::max(*std::max_element(sizes.begin(), sizes.end()), all / shards * 101 / 100));
}

TEST_CASE("Files without sizes are still divided") {
  const std::vector<std::uint64_t> sizes(6, 0);
  CHECK(files_of({0, 3}, sizes).size() + files_of({1, 3}, sizes).size() + files_of({2, 3}, sizes).size() ==
        6);
  CHECK(files_of({4, 5}, std::vector<std::uint64_t>{1, 2}).empty());
}

}  // namespace clipper
