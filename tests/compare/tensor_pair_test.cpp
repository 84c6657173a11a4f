#include <mutex>

#include "clip/clip_cases.hpp"
#include "compare/compare_files.hpp"
#include "compare/reference_comparison.hpp"
#include "formats/formats.hpp"
#include "support/files.hpp"
#include "support/refusal.hpp"
#include "support/tensors.hpp"

namespace clipper::testing {
namespace {

using cases::Elements;
using reference::Pairs;
using Shape = std::vector<std::int64_t>;

/// How a tensor is stored in its file.
struct Layout {
  ByteOrder order = ByteOrder::little;
  bool fortran_order = false;
};

constexpr Layout kLayouts[]{
    {ByteOrder::little, false}, {ByteOrder::little, true}, {ByteOrder::big, false}, {ByteOrder::big, true}};

/// Reorders elements from C order to Fortran order.
Elements in_fortran_order(const Shape& shape, const Elements& elements) {
  Elements result(elements.size());
  for (std::size_t i = 0; i < elements.size(); ++i) {
    std::size_t rest = i;
    std::size_t place = 0;  // in Fortran order the last axis is the slowest
    std::size_t stride = elements.size();
    for (std::size_t axis = shape.size(); axis-- > 0;) {
      const auto extent = static_cast<std::size_t>(shape[axis]);
      stride /= extent;
      place += rest % extent * stride;
      rest /= extent;
    }
    result[place] = elements[i];
  }
  return result;
}

/// Two files of the same shape. Elements are given in C order.
struct Files {
  TemporaryDirectory directory;

  void write(const std::string& name, DType dtype, const Shape& shape, const Layout& layout,
             const Elements& elements) const {
    const std::vector<std::byte> bytes = reference::in_file(
        dtype, layout.order, layout.fortran_order ? in_fortran_order(shape, elements) : elements);
    const char order = traits(dtype).size == 1 ? '|' : layout.order == ByteOrder::little ? '<' : '>';
    directory.write(name, npy_file(fmt::format("{}{}", order, traits(dtype).descr),
                                   layout.fortran_order ? "True" : "False", shape_text(shape),
                                   {reinterpret_cast<const char*>(bytes.data()), bytes.size() - 1}));
  }

  [[nodiscard]] ElementComparison compare(const Engine::Options& options, const ComparisonRule& rule,
                                          const BeforeComparison& before = {}) const {
    Engine engine(options);
    InputFile actual = InputFile::open(directory / "a.npy");
    InputFile expected = InputFile::open(directory / "e.npy");
    const TensorLayout actual_header = read_header(actual, std::nullopt);
    const TensorLayout expected_header = read_header(expected, std::nullopt);
    return clipper::compare(engine, {actual, actual_header}, {expected, expected_header}, rule, before);
  }
};

/// Edge elements with few differences, in C order.
Pairs pairs_of(DType dtype, const Shape& shape, std::mt19937_64& random) {
  std::size_t count = 1;
  for (const std::int64_t extent : shape) count *= static_cast<std::size_t>(extent);
  const Elements some = cases::elements_of(dtype, 100);
  Pairs pairs{dtype, {}, {}};
  for (std::size_t i = 0; i < count; ++i) {
    pairs.expected.push_back(some[random() % some.size()]);
    pairs.actual.push_back(random() % 5 == 0 ? some[random() % some.size()] : pairs.expected.back());
  }
  return pairs;
}

constexpr DType kSome[]{DType::int16, DType::float32};

}  // namespace

TEST_CASE("tensors of any memory orders and sizes are compared index by index") {
  std::mt19937_64 random{1};
  const std::vector<Shape> shapes{{},       {0},         {3, 0, 2}, {1},       {5000},        {70, 70},
                                  {1, 900}, {3, 1, 700}, {2, 3000}, {3000, 2}, {13, 7, 11, 3}};
  for (const DType dtype : kSome)
    for (const Shape& shape : shapes) {
      const Files files;
      const Pairs pairs = pairs_of(dtype, shape, random);
      for (const Layout& actual : kLayouts)
        for (const Layout& expected : kLayouts) {
          files.write("a.npy", dtype, shape, actual, pairs.actual);
          files.write("e.npy", dtype, shape, expected, pairs.expected);
          Pairs in_file = pairs;  // positions are those of the expected file
          if (expected.fortran_order && !pairs.actual.empty())
            in_file = {dtype, in_fortran_order(shape, pairs.actual), in_fortran_order(shape, pairs.expected)};
          ElementComparison oracle = reference::compare(in_file, {.absolute = {1}});
          for (const unsigned threads : {1U, 3U}) {
            CAPTURE(traits(dtype).name, shape, actual.fortran_order, expected.fortran_order, threads);
            const ElementComparison found = files.compare({.threads = threads, .chunk_size = 4096},
                                                          reference::Rule{.absolute = {1}}.rule());
            reference::copy_rounded(found, oracle);  // comparison_test checks the rounding
            CHECK(found == oracle);
          }
        }
    }
}

TEST_CASE("BeforeComparison gets every pair once, and may change the actual element") {
  const Shape shape{50, 3, 40};
  std::mt19937_64 random{2};
  Pairs pairs = pairs_of(DType::uint8, shape, random);
  for (const bool fortran_order : {false, true}) {
    const Files files;
    files.write("a.npy", DType::uint8, shape, {.fortran_order = fortran_order}, pairs.actual);
    files.write("e.npy", DType::uint8, shape, {}, pairs.expected);
    std::mutex mutex;
    std::vector<int> seen(pairs.actual.size());
    const auto make_equal = [&](const ElementPairs& part, const std::byte* /*read*/) {
      std::copy(part.expected, part.expected + part.count, part.actual);
      const std::lock_guard lock(mutex);
      for (std::size_t i = 0; i < part.count; ++i) ++seen[part.position + i];
    };
    CHECK(files.compare({.threads = 3, .chunk_size = 4096}, {}, make_equal).mismatches == 0);
    CHECK((seen == std::vector(seen.size(), 1)));
  }
}

TEST_CASE("difference_as_whole() names a different dtype first, then a different shape") {
  const auto header = [](DType dtype, const Shape& shape) {
    TensorLayout result;
    result.dtype = dtype;
    result.shape = shape;
    return result;
  };
  const TensorLayout some = header(DType::int8, {2});
  CHECK(difference_as_whole(some, header(DType::uint8, {1, 2})) == "dtype int8, expected uint8");
  CHECK(difference_as_whole(some, header(DType::int8, {1, 2})) == "shape (2,), expected (1, 2)");
  CHECK(difference_as_whole(header(DType::int8, {}), header(DType::int8, {1})) == "shape (), expected (1,)");
  CHECK(difference_as_whole(some, some).empty());
}

TEST_CASE("a file that changes while it is compared is an I/O error") {
  const Shape shape{100};
  for (const char* written : {"a.npy", "e.npy"}) {
    const Files files;
    for (const char* name : {"a.npy", "e.npy"}) files.write(name, DType::uint8, shape, {}, Elements(100));
    CHECK(refusal(ErrorKind::io, [&] {
            static_cast<void>(
                files.compare({.threads = 1}, {}, [&](const ElementPairs&, const std::byte* /*read*/) {
                  write_file(files.directory / written, "x");
                }));
          }).starts_with(files.directory / written));
  }
}

}  // namespace clipper::testing
