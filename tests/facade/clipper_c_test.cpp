
#include "clipper.h"
#include "clipper.hpp"
#include "support/archives.hpp"
#include "support/files.hpp"
#include "support/tensors.hpp"

/// The interface for C. tests/install compiles programs in C and other languages with it.
namespace clipper::testing {
namespace {

/// A request that is freed.
class CRequest {
 public:
  CRequest(std::initializer_list<std::pair<const char*, const char*>> texts) {
    for (const auto& [name, text] : texts) {
      INFO(name << " " << text);
      REQUIRE(clipper_request_set(get(), name, text) == CLIPPER_OK);
    }
  }
  CRequest(const CRequest&) = delete;
  CRequest& operator=(const CRequest&) = delete;
  ~CRequest() { clipper_request_free(request_); }
  [[nodiscard]] clipper_request* get() const { return request_; }

 private:
  clipper_request* request_ = clipper_request_new();
};

/// float32 elements of shape (count,).
template <std::size_t kCount>
struct Elements {
  std::array<float, kCount> values;
  std::array<std::int64_t, 1> shape{kCount};
  [[nodiscard]] clipper_tensor tensor() {
    return {sizeof(clipper_tensor), "float32", 1, shape.data(), nullptr, values.data()};
  }
  [[nodiscard]] clipper_writable_tensor writable() {
    return {sizeof(clipper_writable_tensor), "float32", 1, shape.data(), nullptr, values.data()};
  }
};

std::string said(int result) {
  CHECK(clipper_last_error_kind() == result);
  return std::to_string(result) + " " + clipper_last_error_message();
}

}  // namespace

TEST_CASE("the C interface clips, compares and describes memory") {
  const CRequest request{{"min", "0"}, {"max", "75%"}, {"threads", "1"}};
  Elements<5> in{{-1, 2, 4, 6, 800}};
  Elements<5> out{};
  const clipper_tensor from = in.tensor();
  const clipper_tensor to = out.tensor();
  const clipper_writable_tensor written = out.writable();
  clipper_counts counts{};
  counts.size = sizeof counts;
  REQUIRE(clipper_clip(request.get(), &from, &written, &counts) == CLIPPER_OK);
  CHECK(out.values == std::array<float, 5>{0, 2, 4, 6, 6});
  CHECK((counts.elements == 5 && counts.raised == 1 && counts.lowered == 1 && counts.changed == 1));

  clipper_comparison comparison{};
  comparison.size = sizeof comparison;
  CHECK(clipper_compare(request.get(), &to, &from, &comparison) == CLIPPER_DIFFERENT);
  CHECK((comparison.compared == 5 && comparison.mismatches == 2 && comparison.largest == 794));
  CHECK(said(CLIPPER_DIFFERENT).starts_with("1 2 of 5 differ"));
  CHECK(clipper_compare(CRequest{{"atol", "794"}}.get(), &to, &from, nullptr) == CLIPPER_OK);

  clipper_statistics statistics{};
  statistics.size = sizeof statistics;
  REQUIRE(clipper_describe(request.get(), &to, &statistics) == CLIPPER_OK);
  CHECK((statistics.count == 5 && statistics.min.value == 0 && statistics.max.value == 6));
  CHECK((statistics.median.value == 4 && statistics.mean == 3.6));
  const std::array percentages{"0", "12.5", "100"};
  std::array<clipper_element, 3> found{};
  REQUIRE(clipper_percentiles(request.get(), &to, percentages.data(), 3, found.data()) == CLIPPER_OK);
  CHECK((found[0].value == 0 && found[1].value == 1 && found[2].value == 6));
  CHECK(found[2].bits == to_bits(6.F));
}

TEST_CASE("the C interface clips views with strides and broadcasts arrays that it has copied") {
  std::array<float, 6> values{-9, -9, -9, 9, 9, 9};
  const std::array<std::int64_t, 2> shape{3, 2};
  const std::array<std::int64_t, 2> transposed{4, 12};
  const clipper_tensor view{sizeof view, "<f4", 2, shape.data(), transposed.data(), values.data()};
  const std::array<std::int64_t, 2> backwards{-8, 4};  // rows of another tensor, the last one first
  std::array<float, 6> rows{};
  const clipper_writable_tensor same{sizeof view, "<f4", 2, shape.data(), transposed.data(), values.data()};
  const clipper_writable_tensor reversed{sizeof view,  "float32",        2,
                                         shape.data(), backwards.data(), rows.data() + 4};
  const CRequest request{{"max", "100"}};
  {
    Elements<3> bounds{{1, 2, 3}};
    const std::array<std::int64_t, 2> column{3, 1};
    clipper_tensor array = bounds.tensor();
    array.rank = 2;
    array.shape = column.data();
    REQUIRE(clipper_request_set_array(request.get(), "max", &array) == CLIPPER_OK);
    bounds.values.fill(0);
  }
  REQUIRE(clipper_clip(request.get(), &view, &reversed, nullptr) == CLIPPER_OK);
  CHECK(rows == std::array<float, 6>{-9, 3, -9, 2, -9, 1});
  REQUIRE(clipper_clip(request.get(), &view, &same, nullptr) == CLIPPER_OK);
  CHECK(values == std::array<float, 6>{-9, -9, -9, 1, 2, 3});
}

TEST_CASE("the C interface takes masks, and what elements outside become") {
  const std::array<std::int64_t, 2> shape{2, 3};
  const std::array<std::int64_t, 1> row{3};
  const std::array<std::uint8_t, 3> flags{1, 0, 1};
  const clipper_tensor mask{sizeof mask, "uint8", 1, row.data(), nullptr, flags.data()};
  const std::array<float, 6> given{1, 2, 3, 4, 5, 6};
  std::array<float, 6> values = given;
  const clipper_tensor view{sizeof view, "float32", 2, shape.data(), nullptr, values.data()};
  const clipper_writable_tensor same{sizeof same, "float32", 2, shape.data(), nullptr, values.data()};
  const CRequest request{{"max", "4"}, {"mask_to", "-1"}};
  CHECK(clipper_clip(request.get(), &view, &same, nullptr) == CLIPPER_USAGE);  // without a mask
  REQUIRE(clipper_request_set_array(request.get(), "mask", &mask) == CLIPPER_OK);
  REQUIRE(clipper_clip(request.get(), &view, &same, nullptr) == CLIPPER_OK);
  CHECK(values == std::array<float, 6>{1, -1, 3, 4, -1, 4});

  values = given;
  REQUIRE(clipper_request_set(request.get(), "mask_to", "10*max") == CLIPPER_OK);
  REQUIRE(clipper_request_set(request.get(), "replace_above", "min") == CLIPPER_OK);
  REQUIRE(clipper_request_set(request.get(), "per_axis", "0") == CLIPPER_OK);
  REQUIRE(clipper_clip(request.get(), &view, &same, nullptr) == CLIPPER_OK);
  CHECK(values == std::array<float, 6>{1, 30, 3, 4, 60, 4});
}

TEST_CASE("the C and C++ interfaces take lists of numbers along an axis") {
  const std::array<std::int64_t, 2> shape{2, 3};
  const std::array<float, 6> expected{0.5F, -1, 0, 2, 0, 1};
  std::array<float, 6> values{1, 2, 3, 4, 5, 6};
  const clipper_tensor view{sizeof view, "float32", 2, shape.data(), nullptr, values.data()};
  const clipper_writable_tensor same{sizeof same, "float32", 2, shape.data(), nullptr, values.data()};
  const CRequest request{{"subtract", "0,5,3"}, {"divide", "2,3,3"}, {"per_axis", "1"}};
  REQUIRE(clipper_clip(request.get(), &view, &same, nullptr) == CLIPPER_OK);
  CHECK(values == expected);

  values = {1, 2, 3, 4, 5, 6};
  const Tensor tensor{DType::float32, {2, 3}};
  static_cast<void>(clip({tensor, values.data()}, {tensor, values.data()},
                         {.subtract = "0,5,3", .divide = "2,3,3", .per_axis = {-1}}));
  CHECK(values == expected);
}

TEST_CASE("the C interface clips in stages, and counts each") {
  Elements<3> in{{-4, 1, 9}};
  Elements<3> out{};
  Elements<3> highs{{9, 1, 3}};
  const clipper_tensor from = in.tensor();
  const clipper_tensor bounds = highs.tensor();
  const clipper_writable_tensor to = out.writable();
  clipper_counts third{};
  third.size = sizeof third;
  third.next = &third;  // of a fourth stage, which there is not
  clipper_counts second{};
  second.size = sizeof second;
  second.next = &third;
  clipper_counts first{};
  first.size = sizeof first;
  first.next = &second;
  const CRequest request{{"min", "0"}, {"threads", "1"}};
  REQUIRE(clipper_request_set_array(request.get(), "max", &bounds) == CLIPPER_OK);  // 0 1 3
  REQUIRE(clipper_request_then(request.get()) == CLIPPER_OK);
  REQUIRE(clipper_request_set(request.get(), "scale", "3") == CLIPPER_OK);  // 0 3 9
  REQUIRE(clipper_request_then(request.get()) == CLIPPER_OK);
  highs.values = {-1, 9, 9};
  REQUIRE(clipper_request_set_array(request.get(), "max", &bounds) == CLIPPER_OK);
  REQUIRE(clipper_request_set(request.get(), "subtract", "min") == CLIPPER_OK);  // -1 3 9 and -1
  REQUIRE(clipper_clip(request.get(), &from, &to, &first) == CLIPPER_OK);
  CHECK(out.values == std::array<float, 3>{0, 4, 10});
  CHECK((first.raised == 1 && first.lowered == 1 && second.raised == 0 && second.lowered == 0));
  CHECK((third.raised == 0 && third.lowered == 1 && third.elements == 3 && third.changed == 1));
  first.size = offsetof(clipper_counts, next);
  third.elements = 0;
  REQUIRE(clipper_clip(request.get(), &from, &to, &first) == CLIPPER_OK);
  CHECK((first.lowered == 1 && third.elements == 0));
  second.size = 8;
  first.size = sizeof first;
  CHECK(said(clipper_clip(request.get(), &from, &to, &first)).starts_with("2 counts has size 8"));

  CHECK(said(clipper_request_set(request.get(), "max", "O")) == "2 stage 3: max: 'O' is not a number");
  CHECK(clipper_last_error_field() == std::string("max"));
  const CRequest contradicts{{"min", "0"}};
  REQUIRE(clipper_request_then(contradicts.get()) == CLIPPER_OK);
  for (const auto& [name, text] : {std::pair{"nan", "keep"}, {"to", "uint8"}})
    REQUIRE(clipper_request_set(contradicts.get(), name, text) == CLIPPER_OK);
  CHECK(said(clipper_clip(contradicts.get(), &from, &to, nullptr)).starts_with("2 stage 2: nan keep and to"));
}

TEST_CASE("the C interface takes arrays of every dtype as exact bounds, but not of bool and dates") {
  const std::array<std::int64_t, 1> shape{3};
  std::array<std::int64_t, 3> values{1, 9007199254740993, 9007199254740993};
  std::array<double, 3> results{};
  const clipper_tensor from{sizeof from, "int64", 1, shape.data(), nullptr, values.data()};
  const clipper_writable_tensor to{sizeof to, "float64", 1, shape.data(), nullptr, results.data()};
  const CRequest request{{"to", "float64"}, {"subtract", "9007199254740993"}};
  std::array<double, 3> highs{0.25, 4, 1e300};
  const clipper_tensor fractions{sizeof fractions, "float64", 1, shape.data(), nullptr, highs.data()};
  REQUIRE(clipper_request_set_array(request.get(), "max", &fractions) == CLIPPER_OK);
  REQUIRE(clipper_clip(request.get(), &from, &to, nullptr) == CLIPPER_OK);
  CHECK(results == std::array<double, 3>{-9007199254740992.0, -9007199254740989.0, 0});
  std::array<std::uint64_t, 3> lows{3, 9007199254740995, 0};
  const clipper_tensor integers{sizeof integers, "uint64", 1, shape.data(), nullptr, lows.data()};
  const CRequest raised{{"to", "float64"}, {"subtract", "9007199254740993"}};
  REQUIRE(clipper_request_set_array(raised.get(), "min", &integers) == CLIPPER_OK);
  REQUIRE(clipper_clip(raised.get(), &from, &to, nullptr) == CLIPPER_OK);
  CHECK(results == std::array<double, 3>{-9007199254740990.0, 2, 0});

  std::array<std::int64_t, 3> dates{};
  for (const char* const dtype : {"|b1", "<M8[D]", "<m8[s]", "<c8"}) {
    const clipper_tensor other{sizeof other, dtype, 1, shape.data(), nullptr, dates.data()};
    CAPTURE(dtype);
    CHECK(clipper_request_set_array(raised.get(), "max", &other) == CLIPPER_USAGE);
  }
}

TEST_CASE(
    "the C interface takes every name and text of the command line, and says what is wrong with others") {
  std::size_t names = 0;
  for (; clipper_request_name(names) != nullptr; ++names) {
    const CRequest request{};
    CHECK(clipper_request_set(request.get(), clipper_request_name(names), nullptr) == CLIPPER_USAGE);
  }
  CHECK(names >= 32);
  const CRequest request{{"min-above-max", "max"},
                         {"nan_differ", "true"},
                         {"member", "w"},
                         {"exclude-member", "v"},
                         {"only", "i1"},
                         {"scale", "1/3"},
                         {"stretch", "0:255"},
                         {"to", "torch.uint8"},
                         {"max", "mean+1std"},
                         {"divide-zero", "keep"},
                         {"max_norm", "2.5"},
                         {"norm", "inf"},
                         {"stretch_from", "1%:75%+1.5iqr"}};
  const auto refused = [&](const char* name, const char* text) {
    return said(clipper_request_set(request.get(), name, text));
  };
  CHECK(refused("mim", "0") == "2 name: unknown value 'mim'; did you mean 'min'?");
  CHECK(refused("min", "O") == "2 min: 'O' is not a number");
  CHECK(clipper_last_error_field() == std::string("min"));
  CHECK(refused("bias", "1%") == "2 bias: '1%' is not a number, and cannot be a percentile");
  CHECK(refused("min", "@none.npy").starts_with("4 min @none.npy: "));
  CHECK(refused("to", "i8").starts_with("2 to: 'i8' is int64 in numpy"));
  CHECK(refused("profile", "onx") == "2 profile: unknown value 'onx'; did you mean 'onnx'?");
  CHECK(refused("threads", "0") == "2 threads: '0' is not a whole number from 1 to 1024");
  CHECK(refused("saturate", "yes").starts_with("2 saturate: unknown value 'yes'"));
  CHECK(clipper_request_set(nullptr, "min", "0") == CLIPPER_USAGE);
  CHECK(clipper_dtype("float", nullptr) == nullptr);
  std::size_t size = 0;
  CHECK(clipper_dtype("BF16", &size) == std::string("bfloat16"));
  CHECK(size == 2);
  CHECK(clipper_profile_name(0) != nullptr);
  CHECK(clipper_profile_name(1000) == nullptr);
}

TEST_CASE("the C interface refuses what is null, has a wrong size or a wrong shape") {
  const CRequest request{{"max", "6"}};
  Elements<2> elements{{7, 8}};
  const clipper_tensor good = elements.tensor();
  const clipper_writable_tensor out = elements.writable();
  const auto refused = [&](auto change) {
    clipper_tensor bad = good;
    change(bad);
    return said(clipper_clip(request.get(), &bad, &out, nullptr));
  };
  CHECK(refused([](auto& bad) { bad.size = 8; }) == "2 in has size 8: must be that of its type, 48");
  CHECK(refused([](auto& bad) { bad.dtype = nullptr; }) == "2 in->dtype is null");
  CHECK(refused([](auto& bad) { bad.shape = nullptr; }) == "2 in->shape is null");
  CHECK(refused([](auto& bad) { bad.data = nullptr; }) == "2 the elements are null");
  CHECK(refused([](auto& bad) { bad.rank = 65; }) == "2 in has a rank greater than 64");
  CHECK(refused([](auto& bad) { bad.rank = 0; }) == "2 in has shape (), but out has shape (2,)");
  CHECK(refused([](auto& bad) { bad.dtype = "f8"; }).starts_with("2 dtype: 'f8' is"));
  constexpr std::array<std::int64_t, 1> kNegative{-1};
  constexpr std::array<std::int64_t, 1> kHuge{std::int64_t{1} << 62};
  CHECK(refused([&](auto& bad) { bad.shape = kNegative.data(); }) == "2 shape (-1,) has a negative size");
  CHECK(refused([&](auto& bad) { bad.shape = kHuge.data(); }).ends_with(" exceeds the address space"));
  CHECK(clipper_clip(request.get(), nullptr, &out, nullptr) == CLIPPER_USAGE);
  clipper_counts counts{};
  CHECK(clipper_clip(request.get(), &good, &out, &counts) == CLIPPER_USAGE);
  CHECK(elements.values == std::array<float, 2>{7, 8});
}

TEST_CASE("each function of the C interface refuses null, and the thread that calls it has the error") {
  const CRequest request{{"max", "6"}};
  clipper_request* const r = request.get();
  Elements<2> elements{{7, 8}};
  const clipper_tensor good = elements.tensor();
  const clipper_writable_tensor out = elements.writable();
  const std::array<const char*, 2> texts{"1", nullptr};
  std::array<clipper_element, 2> found{};
  clipper_statistics statistics{};
  statistics.size = sizeof statistics;
  clipper_layout layout{};
  layout.size = sizeof layout;
  const std::array results{clipper_request_set(nullptr, "min", "0"),
                           clipper_request_then(nullptr),
                           clipper_request_set(r, nullptr, "0"),
                           clipper_request_set(r, "min", nullptr),
                           clipper_request_set_array(nullptr, "min", &good),
                           clipper_request_set_array(r, nullptr, &good),
                           clipper_request_set_array(r, "min", nullptr),
                           clipper_clip(r, nullptr, &out, nullptr),
                           clipper_clip(r, &good, nullptr, nullptr),
                           clipper_clip_file(r, nullptr, "b.npy", nullptr),
                           clipper_clip_file(r, "a.npy", nullptr, nullptr),
                           clipper_clip_in_place(r, nullptr, nullptr),
                           clipper_compare(r, nullptr, &good, nullptr),
                           clipper_compare(r, &good, nullptr, nullptr),
                           clipper_compare_files(r, nullptr, "b.npy", nullptr),
                           clipper_compare_files(r, "a.npy", nullptr, nullptr),
                           clipper_layout_of_file(r, nullptr, &layout),
                           clipper_layout_of_file(r, "a.npy", nullptr),
                           clipper_describe(r, nullptr, &statistics),
                           clipper_describe(r, &good, nullptr),
                           clipper_describe_file(r, nullptr, &statistics),
                           clipper_describe_file(r, "a.npy", nullptr),
                           clipper_percentiles(r, nullptr, texts.data(), 1, found.data()),
                           clipper_percentiles(r, &good, nullptr, 1, found.data()),
                           clipper_percentiles(r, &good, texts.data(), 2, found.data()),
                           clipper_percentiles(r, &good, texts.data(), 1, nullptr),
                           clipper_percentiles_of_file(r, nullptr, texts.data(), 1, found.data()),
                           clipper_prepared_clip(nullptr, texts.data(), found.data(), 1)};
  CHECK(std::ranges::count(results, CLIPPER_USAGE) == std::ssize(results));
  CHECK(clipper_prepare(r, nullptr) == nullptr);
  clipper_prepared_free(nullptr);
  clipper_request_stop(nullptr, 1);
  CHECK(clipper_dtype(nullptr, nullptr) == nullptr);
  CHECK(said(CLIPPER_USAGE) == "2 name is null");
  CHECK(clipper_percentiles(r, &good, nullptr, 0, nullptr) == CLIPPER_OK);
  clipper_request_free(nullptr);
  CHECK(elements.values == std::array<float, 2>{7, 8});
  int kind = -1;
  std::string message = "none";
  std::thread([&] {
    kind = clipper_last_error_kind();
    message = clipper_last_error_message();
  }).join();
  CHECK((kind == CLIPPER_OK && message.empty()));
  CHECK(said(CLIPPER_USAGE) == "2 name is null");
}

TEST_CASE("a null request of the C interface changes nothing and has the defaults") {
  Elements<2> in{{7, -8}};
  Elements<2> out{};
  const clipper_tensor from = in.tensor();
  const clipper_writable_tensor to = out.writable();
  REQUIRE(clipper_clip(nullptr, &from, &to, nullptr) == CLIPPER_OK);
  CHECK(out.values == in.values);
  clipper_statistics statistics{};
  statistics.size = sizeof statistics;
  CHECK(clipper_describe(nullptr, &from, &statistics) == CLIPPER_OK);
  CHECK(clipper_compare(nullptr, &from, &from, nullptr) == CLIPPER_OK);
  CHECK(clipper_percentiles(nullptr, &from, nullptr, 0, nullptr) == CLIPPER_OK);
  CHECK(clipper_clip_in_place(nullptr, "none.npy", nullptr) == CLIPPER_IO);
  CHECK(clipper_prepare(nullptr, nullptr) == nullptr);
}

TEST_CASE("a prepared clip of the C interface outlives its request and the arrays in it") {
  Elements<3> bounds{{1, 2, 3}};
  Elements<3> in{{9, 9, 9}};
  const clipper_tensor array = bounds.tensor();
  const clipper_tensor kind = in.tensor();
  clipper_prepared* prepared = nullptr;
  {
    const CRequest request{};
    REQUIRE(clipper_request_set_array(request.get(), "max", &array) == CLIPPER_OK);
    prepared = clipper_prepare(request.get(), &kind);
  }
  REQUIRE(prepared != nullptr);
  CHECK(clipper_prepared_clip(prepared, in.values.data(), in.values.data(), 3) == CLIPPER_OK);
  CHECK(in.values == bounds.values);
  CHECK(
      said(clipper_prepared_clip(prepared, in.values.data(), in.values.data(), 2)).starts_with("2 another"));
  CHECK(said(clipper_prepared_clip(prepared, nullptr, in.values.data(), 3)) == "2 in is null");
  clipper_prepared_free(prepared);

  const CRequest found{{"max", "50%"}};
  Elements<3> values{{1, 2, 3}};
  const clipper_tensor read = values.tensor();
  prepared = clipper_prepare(found.get(), &read);
  REQUIRE(prepared != nullptr);
  std::array<float, 5> many{0, 1, 2, 3, 4};
  CHECK(clipper_prepared_clip(prepared, many.data(), many.data(), 5) == CLIPPER_OK);
  CHECK(many == std::array<float, 5>{0, 1, 2, 2, 2});
  clipper_prepared_free(prepared);
}

TEST_CASE("clipper_request_on_progress() tells the calling thread all bytes, and may stop the call") {
  const TemporaryDirectory directory{{"in.npy", float32_file({7, 8})}};
  const std::string in = directory / "in.npy";
  const std::string out = directory / "out.npy";
  const CRequest request{{"max", "6"}};
  struct Told {
    clipper_request* stopped = nullptr;
    std::vector<std::uint64_t> numbers{};
    std::thread::id thread{};
  } told;
  const auto tell = [](std::uint64_t done, std::uint64_t all, void* data) {
    auto& to = *static_cast<Told*>(data);
    to.numbers.insert(to.numbers.end(), {done, all});
    to.thread = std::this_thread::get_id();
    clipper_request_stop(to.stopped, 1);
  };
  clipper_request_on_progress(request.get(), tell, &told);
  CHECK(clipper_clip_file(request.get(), in.c_str(), out.c_str(), nullptr) == CLIPPER_OK);
  CHECK(told.numbers == std::vector<std::uint64_t>{8, 8});
  CHECK(told.thread == std::this_thread::get_id());
  clipper_request_on_progress(request.get(), nullptr, nullptr);
  needs_posix("to replace an open file");
  CHECK(clipper_clip_in_place(request.get(), in.c_str(), nullptr) == CLIPPER_OK);
  CHECK(told.numbers.size() == 2);
}

TEST_CASE("clipper_request_stop() ends what uses the request, until it is taken back") {
  const TemporaryDirectory directory{{"in.npy", float32_file({7})}};
  const std::string in = directory / "in.npy";
  const CRequest request{{"max", "6"}};
  Elements<2> elements{{7, 8}};
  const clipper_tensor from = elements.tensor();
  const clipper_writable_tensor to = elements.writable();
  clipper_prepared* const prepared = clipper_prepare(request.get(), &from);
  clipper_statistics statistics{};
  statistics.size = sizeof statistics;
  clipper_request_stop(request.get(), 1);
  const std::array results{
      clipper_clip(request.get(), &from, &to, nullptr),
      clipper_compare(request.get(), &from, &from, nullptr),
      clipper_describe(request.get(), &from, &statistics),
      clipper_prepared_clip(prepared, elements.values.data(), elements.values.data(), 2),
      clipper_clip_file(request.get(), in.c_str(), (directory / "out.npy").c_str(), nullptr),
      clipper_clip_in_place(request.get(), in.c_str(), nullptr),
      clipper_describe_file(request.get(), in.c_str(), &statistics),
      clipper_compare_files(request.get(), in.c_str(), in.c_str(), nullptr)};
  CHECK(std::ranges::count(results, CLIPPER_CANCELLED) == std::ssize(results));
  CHECK(said(CLIPPER_CANCELLED) == "7 cancelled");
  CHECK(elements.values == std::array<float, 2>{7, 8});
  CHECK(directory.entries() == std::vector<std::string>{"in.npy"});
  clipper_request_stop(request.get(), 0);
  CHECK(clipper_prepared_clip(prepared, elements.values.data(), elements.values.data(), 2) == CLIPPER_OK);
  CHECK(elements.values == std::array<float, 2>{6, 6});
  clipper_prepared_free(prepared);
}

TEST_CASE("the C interface refuses an output whose elements overlap") {
  const std::array<std::int64_t, 2> shape{3, 2};
  std::array<float, 12> memory{};
  const clipper_tensor from{sizeof from, "float32", 2, shape.data(), nullptr, memory.data() + 6};
  const auto result = [&](std::int64_t rows, std::int64_t columns) {
    const std::array<std::int64_t, 2> strides{rows, columns};
    const clipper_writable_tensor to{sizeof to, "float32", 2, shape.data(), strides.data(), memory.data()};
    return clipper_clip(nullptr, &from, &to, nullptr);
  };
  for (const auto& [rows, columns] : {std::pair{0, 4}, {4, 0}, {4, 4}, {8, 2}, {4, 8}})
    CHECK(said(result(rows, columns)) == "2 elements of out overlap, by their strides");
  for (const auto& [rows, columns] : {std::pair{8, 4}, {4, 12}, {8, 12}, {12, 4}})
    CHECK(result(rows, columns) == 0);
}

TEST_CASE("the C interface says what a file's header says, and takes special paths only if asked to") {
  const TemporaryDirectory directory{{"in.npy", float32_file({-1, 7})},
                                     {"x.npz", npz_file({{"w.npy", float32_file({3})}})}};
  clipper_layout layout{};
  layout.size = sizeof layout;
  REQUIRE(clipper_layout_of_file(nullptr, (directory / "in.npy").c_str(), &layout) == CLIPPER_OK);
  CHECK((layout.dtype == std::string("float32") && layout.rank == 1 && layout.shape[0] == 2));
  CHECK((layout.elements == 2 && layout.fortran_order == 0 && layout.big_endian == 0));
  const std::string member = directory / "x.npz:w";
  CHECK(clipper_layout_of_file(nullptr, member.c_str(), &layout) == CLIPPER_IO);
  CHECK(
      said(CLIPPER_IO) ==
      "4 " + member +
          ": cannot be opened: No such file or directory; to read a member of an archive, set special_paths");
  CHECK(clipper_layout_of_file(nullptr, "-", &layout) == CLIPPER_IO);
  REQUIRE(clipper_layout_of_file(CRequest{{"special-paths", "true"}}.get(), member.c_str(), &layout) ==
          CLIPPER_OK);
  CHECK((layout.rank == 1 && layout.shape[0] == 1));
}

TEST_CASE("the version of the C interface is that of the library") {
  const int number = clipper_version_number();
  CHECK(number == CLIPPER_VERSION_NUMBER);
  CHECK(fmt::format("{}.{}.{}", number / 10000, number / 100 % 100, number % 100) == clipper_version());
}

TEST_CASE("the C interface saves figures and takes them, and what is set besides wins") {
  const TemporaryDirectory directory{{"in.npy", float32_file({1, 3, 8})}};
  const std::string in = directory / "in.npy";
  const std::string out = directory / "out.npy";
  const std::string fit = directory / "fit.npz";
  const CRequest saves{{"max", "50%"}, {"subtract", "min"}, {"fit", fit.c_str()}};
  REQUIRE(clipper_clip_file(saves.get(), in.c_str(), out.c_str(), nullptr) == CLIPPER_OK);
  const CRequest first{{"max", "7"}, {"apply", fit.c_str()}};
  const CRequest last{{"apply", fit.c_str()}, {"max", "7"}};
  for (clipper_request* const applies : {first.get(), last.get()}) {
    REQUIRE(clipper_clip_file(applies, in.c_str(), out.c_str(), nullptr) == CLIPPER_OK);
    CHECK(read_file(out) == float32_file({0, 2, 6}));
  }
  CHECK(said(clipper_request_then(last.get())) == "2 apply must be set after clipper_request_then()");
}

TEST_CASE("the C interface clips, compares and describes files") {
  const TemporaryDirectory directory{{"in.npy", float32_file({-1, 7})}};
  const std::string in = directory / "in.npy";
  const std::string out = directory / "out.npy";
  const CRequest request{{"max", "6"}, {"nodata", "-1"}};
  clipper_counts counts{};
  counts.size = sizeof counts;
  REQUIRE(clipper_clip_file(request.get(), in.c_str(), out.c_str(), &counts) == CLIPPER_OK);
  CHECK((counts.lowered == 1 && counts.nodata == 1));
  CHECK(read_file(out) == float32_file({-1, 6}));
  CHECK(clipper_compare_files(request.get(), out.c_str(), in.c_str(), nullptr) == CLIPPER_DIFFERENT);
  write_file(directory / "whole.npy", tensor_of<std::int32_t>("<i4", {-1, 6}));
  const std::string whole = directory / "whole.npy";
  CHECK(clipper_compare_files(nullptr, out.c_str(), whole.c_str(), nullptr) == CLIPPER_DIFFERENT);
  for (const CRequest& any : {CRequest{{"any-dtype", "true"}}, CRequest{{"tolerance", "allclose"}}})
    CHECK(clipper_compare_files(any.get(), out.c_str(), whole.c_str(), nullptr) == CLIPPER_OK);
  needs_posix("to replace an open file");
  REQUIRE(clipper_clip_in_place(request.get(), in.c_str(), nullptr) == CLIPPER_OK);
  CHECK(clipper_compare_files(request.get(), out.c_str(), in.c_str(), nullptr) == CLIPPER_OK);
  const std::array percentages{"100"};
  clipper_element highest{};
  REQUIRE(clipper_percentiles_of_file(request.get(), in.c_str(), percentages.data(), 1, &highest) ==
          CLIPPER_OK);
  CHECK((highest.value == 6 && highest.bits == to_bits(6.F)));
  clipper_statistics statistics{};
  statistics.size = sizeof statistics;
  REQUIRE(clipper_describe_file(request.get(), in.c_str(), &statistics) == CLIPPER_OK);
  CHECK(statistics.mean == 2.5);
  CHECK(clipper_clip_in_place(CRequest{{"no-clobber", "true"}}.get(), (in + "x").c_str(), nullptr) ==
        CLIPPER_IO);
  CHECK(said(CLIPPER_IO).find(in + "x: ") == 2);
}

}  // namespace clipper::testing
