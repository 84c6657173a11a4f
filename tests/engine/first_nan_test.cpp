#include "engine/tensor_clip.hpp"

#include <random>

#include "clip/clip_cases.hpp"
#include "support/catch.hpp"

namespace clipper::testing {
namespace {

constexpr std::size_t kPart = 100;
constexpr std::size_t kParts = 30;

/// Numbers, with NaN at these positions.
std::vector<std::byte> elements_with(DType dtype, ByteOrder order, const std::vector<std::size_t>& nans) {
  const std::size_t size = traits(dtype).size;
  std::vector<std::byte> bytes(kParts * kPart * size);
  for (std::size_t i = 0; i < kParts * kPart; ++i)
    reference::store(dtype, order, cases::one(dtype), &bytes[i * size]);
  for (const std::size_t nan : nans)
    reference::store(dtype, order, reference::all_ones(dtype), &bytes[nan * size]);
  return bytes;
}

Operation operation_on(DType dtype, ByteOrder order) {
  Operation operation;
  operation.dtype = dtype;
  operation.order = order;
  return operation;
}

}  // namespace

TEST_CASE("many threads that search the parts in any order find the first NaN") {
  std::mt19937 random{1};
  for (const DType dtype : {DType::float16, DType::bfloat16, DType::float32, DType::float64})
    for (const ByteOrder order : {ByteOrder::little, ByteOrder::big})
      for (int round = 0; round < 20; ++round) {
        std::vector<std::size_t> nans(static_cast<std::size_t>(round) % 6);
        for (std::size_t& nan : nans) nan = random() % (kParts * kPart);
        const std::vector<std::byte> elements = elements_with(dtype, order, nans);
        std::vector<std::size_t> parts(kParts);
        for (std::size_t i = 0; i < kParts; ++i) parts[i] = i;
        std::ranges::shuffle(parts, random);
        FirstNan first;
        std::vector<std::thread> threads;
        for (std::size_t thread = 0; thread < 3; ++thread)
          threads.emplace_back([&, thread] {
            for (std::size_t i = thread; i < kParts; i += 3)
              first.look_at(operation_on(dtype, order), &elements[parts[i] * kPart * traits(dtype).size],
                            kPart, parts[i] * kPart);
          });
        for (std::thread& thread : threads) thread.join();
        CAPTURE(traits(dtype).name, nans);
        REQUIRE(first.position().has_value() == !nans.empty());
        if (nans.empty()) continue;
        const std::size_t expected = *std::ranges::min_element(nans);
        CHECK(*first.position() == expected);
        CHECK(first.is_before(expected + 1));
        CHECK_FALSE(first.is_before(expected));
      }
}

TEST_CASE("no integer is NaN, and without a NaN is_before() is false everywhere") {
  FirstNan first;
  const std::vector<std::byte> ones(800, std::byte{0xff});
  for (const DTypeTraits& row : kKernelDTypes)
    if (!is_floating(row.dtype)) first.look_at(operation_on(row.dtype, ByteOrder::big), ones.data(), 100, 0);
  CHECK_FALSE(first.position());
  CHECK_FALSE(first.is_before(~std::uint64_t{0}));
}

}  // namespace clipper::testing
