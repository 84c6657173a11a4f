
#include "clip/clip_cases.hpp"
#include "contract/plan.hpp"
#include "contract/profile.hpp"
#include "engine/tensor_clip.hpp"
#include "error.hpp"
#include "support/catch.hpp"

/// What TensorClip does with elements in any byte order and at any address.
namespace clipper::testing {
namespace {

Plan plan_for(DType dtype, ByteOrder order, std::size_t count) {
  Plan plan;
  plan.input.dtype = dtype;
  plan.input.order = order;
  plan.input.shape = {static_cast<std::int64_t>(count)};
  plan.input.count = count;
  plan.output = plan.input;
  plan.slice = {0, count};
  plan.operation = cases::operation(dtype, cases::few_bounds_of(dtype)[2]);
  return plan;
}

/// The bytes after a gap, so that elements are not aligned if it is odd.
std::vector<std::byte> after_gap(std::size_t gap, const std::vector<std::byte>& bytes) {
  std::vector<std::byte> result(gap);
  result.insert(result.end(), bytes.begin(), bytes.end());
  return result;
}

}  // namespace

TEST_CASE("elements in any byte order and at any address are clipped and counted like others") {
  for (const DTypeTraits& row : kKernelDTypes) {
    cases::Elements elements = cases::elements_of(row.dtype, 5'000);
    elements.resize(std::max<std::size_t>(elements.size(), 3'000), cases::one(row.dtype));
    std::shuffle(elements.begin(), elements.end(), std::mt19937_64{});
    const cases::Elements expected =
        reference::clip(plan_for(row.dtype, kNativeOrder, 0).operation, elements);
    for (const ByteOrder order : {ByteOrder::little, ByteOrder::big})
      for (const SimdLevel level : simd_levels())
        for (const auto& [from, to] : {std::pair{0UL, 0UL}, {1UL, 0UL}, {0UL, 3UL}, {5UL, 1UL}}) {
          const Plan plan = plan_for(row.dtype, order, elements.size());
          TensorClip clip(plan, {level}, "");
          const std::vector<std::byte> in = after_gap(from, reference::in_file(row.dtype, order, elements));
          std::vector<std::byte> out(to + in.size() - from);
          const ElementCounts counts =
              clip.clip(0, in.data() + from, out.data() + to, elements.size(), Counting::on);
          CAPTURE(row.name, to_string(level), from, to);
          CHECK((out == after_gap(to, reference::in_file(row.dtype, order, expected))));
          CHECK(counts == reference::count(plan.operation, elements, expected));
        }
  }
}

TEST_CASE("many threads that clip the parts in any order find the first NaN that is refused") {
  constexpr std::size_t kPart = 100;
  constexpr std::size_t kParts = 30;
  std::mt19937 random{1};
  for (const DType dtype : {DType::float16, DType::bfloat16, DType::float32, DType::float64})
    for (const ByteOrder order : {ByteOrder::little, ByteOrder::big})
      for (int round = 0; round < 20; ++round) {
        cases::Elements elements(kParts * kPart, cases::one(dtype));
        std::vector<std::size_t> nans(static_cast<std::size_t>(round) % 6);
        for (std::size_t& nan : nans) elements[nan = random() % elements.size()] = reference::all_ones(dtype);
        std::vector<std::byte> bytes = reference::in_file(dtype, order, elements);
        Plan plan = plan_for(dtype, order, elements.size());
        plan.refuse_nan = true;
        TensorClip clip(plan, {simd_levels().back()}, "x.npy");
        std::vector<std::size_t> parts(kParts);
        for (std::size_t i = 0; i < kParts; ++i) parts[i] = i;
        std::ranges::shuffle(parts, random);
        std::vector<std::thread> threads;
        for (std::size_t thread = 0; thread < 3; ++thread)
          threads.emplace_back([&, thread] {
            for (std::size_t i = thread; i < kParts; i += 3) {
              std::byte* const at = &bytes[parts[i] * kPart * traits(dtype).size];
              clip.clip(parts[i] * kPart, at, at, kPart, i % 2 == 0 ? Counting::on : Counting::off);
            }
          });
        for (std::thread& thread : threads) thread.join();
        CAPTURE(traits(dtype).name, nans);
        if (nans.empty()) {
          CHECK_NOTHROW(clip.expect_valid());
          CHECK_FALSE(clip.is_refused_before(~std::uint64_t{0}));
          continue;
        }
        const std::size_t expected = *std::ranges::min_element(nans);
        CHECK_THROWS_WITH(clip.expect_valid(), fmt::format("x.npy: NaN at [{0}] (element {0})", expected));
        CHECK(clip.is_refused_before(expected + 1));
        CHECK_FALSE(clip.is_refused_before(expected));
      }
}

TEST_CASE("many bytes become what each of them does, with the same counts and refusals") {
  constexpr std::size_t kCount = 70'000;
  std::vector<std::byte> bytes(kCount);
  for (std::size_t i = 0; i < kCount; ++i) bytes[i] = static_cast<std::byte>(i * i / 7 + i);
  const auto request_of = [](const char* scale, std::optional<DType> to, OnNan on_nan) {
    Request request;
    request.profile = profile_named("clipper");
    request.min = Parameter{*parse_number("-3"), "-3"};
    request.max = Parameter{*parse_number("20"), "20"};
    if (scale != nullptr) request.scale = Parameter{*parse_number(scale), scale};
    request.to = to;
    request.nan = on_nan;
    return request;
  };
  for (const DTypeTraits& row : kDTypes)
    for (const char* const scale : {static_cast<const char*>(nullptr), "1.5"})
      for (const std::optional<DType> to : {std::optional<DType>(), std::optional(DType::float32),
                                            std::optional(DType::int64), std::optional(DType::float8_e4m3fn)})
        for (const OnNan on_nan : {OnNan::keep, OnNan::error}) {
          if (row.size != 1) continue;
          TensorLayout layout;
          layout.dtype = row.dtype;
          layout.shape = {kCount};
          layout.count = kCount;
          CAPTURE(row.name, scale == nullptr, to ? traits(*to).name : "");
          const Plan plan = [&] {
            try {
              return make_plan(request_of(scale, to, on_nan), layout);
            } catch (const Error&) {  // -3 is no bound of unsigned elements
              Request request = request_of(scale, to, on_nan);
              request.min.reset();
              return make_plan(request, layout);
            }
          }();
          const std::size_t size = traits(plan.output.dtype).size;
          TensorClip by_table(plan, {simd_levels().back()}, "x.npy");
          TensorClip one_by_one(plan, {simd_levels().back()}, "x.npy");
          std::vector<std::byte> found(kCount * size);
          std::vector<std::byte> expected(kCount * size);
          ElementCounts counts;
          constexpr std::size_t kPart = 100;
          for (std::size_t i = 0; i < kCount; i += kPart)
            counts += one_by_one.clip(i, &bytes[i], &expected[i * size], kPart, Counting::on);
          CHECK(by_table.clip(0, bytes.data(), found.data(), kCount, Counting::on) == counts);
          CHECK((found == expected));
          const auto refusal = [](const TensorClip& clip) -> std::string {
            try {
              clip.expect_valid();
            } catch (const Error& error) {
              return error.what();
            }
            return "none";
          };
          CHECK(refusal(by_table) == refusal(one_by_one));
        }
}

}  // namespace clipper::testing
