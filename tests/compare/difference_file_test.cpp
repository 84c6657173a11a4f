
#include "clip/clip_cases.hpp"
#include "compare/compare_files.hpp"
#include "compare/reference_comparison.hpp"
#include "support/files.hpp"
#include "support/proc.hpp"
#include "support/tensors.hpp"

namespace clipper::testing {
namespace {

using cases::Elements;
using reference::Pairs;

DType difference_dtype(DType dtype) {
  if (dtype == DType::float64) return dtype;
  if (is_floating(dtype)) return DType::float32;
  return *dtype_named(fmt::format("uint{}", 8 * traits(dtype).size));
}

/// |a - e| as an element of the difference's dtype, with one bit pattern for all NaNs.
ElementBits expected_difference(DType dtype, ElementBits a, ElementBits e, bool nan_equal) {
  if (!is_floating(dtype))
    return static_cast<ElementBits>(
        reference::distance_of(reference::integer(dtype, a), reference::integer(dtype, e)));
  const bool equal_nan = nan_equal && reference::is_nan(dtype, a) && reference::is_nan(dtype, e);
  const double x = reference::value(dtype, a);
  const double y = reference::value(dtype, e);
  const double difference = equal_nan || x == y ? 0 : std::fabs(x - y);
  if (dtype == DType::float64) return to_bits(std::isnan(difference) ? std::nan("") : difference);
  return to_bits(std::isnan(difference) ? std::nanf("") : narrow<float>(difference));
}

Pairs pairs_of(DType dtype) {
  const Elements elements = cases::elements_of(dtype, 500);
  Pairs pairs{dtype, {}, {}};
  std::mt19937_64 random{1};
  for (int i = 0; i < 20'000; ++i) {
    pairs.actual.push_back(elements[random() % elements.size()]);
    pairs.expected.push_back(i % 10 == 0 ? pairs.actual.back() : elements[random() % elements.size()]);
  }
  return pairs;
}

/// The difference file of pairs that are written in parts: these begin at `cuts`, and the last is written
/// first.
std::string written(const Pairs& pairs, const std::vector<std::size_t>& cuts, bool nan_equal) {
  const TemporaryDirectory directory;
  TensorLayout header;
  header.dtype = pairs.dtype;
  header.shape = {static_cast<std::int64_t>(pairs.actual.size())};
  header.count = pairs.actual.size();
  DifferenceFile file(
      OutputFile::create(directory / "d.npy", OutputFile::Existing::replace, OutputFile::Durability::none),
      header, nan_equal);
  std::vector<std::byte> actual = reference::in_memory(pairs.dtype, pairs.actual);
  std::vector<std::byte> expected = reference::in_memory(pairs.dtype, pairs.expected);
  const std::size_t size = traits(pairs.dtype).size;
  std::size_t end = pairs.actual.size();
  for (auto cut = cuts.rbegin(); cut != cuts.rend(); end = *cut++)
    file.write({pairs.dtype, actual.data() + *cut * size, expected.data() + *cut * size, end - *cut, *cut});
  CHECK((directory.entries().empty() || !has_proc()));
  file.commit();
  return directory.read("d.npy");
}

std::string expected_file(const Pairs& pairs, bool nan_equal) {
  const DType dtype = difference_dtype(pairs.dtype);
  Elements differences;
  for (std::size_t i = 0; i < pairs.actual.size(); ++i)
    differences.push_back(expected_difference(pairs.dtype, pairs.actual[i], pairs.expected[i], nan_equal));
  const std::vector<std::byte> bytes = reference::in_memory(dtype, differences);
  std::string elements(reinterpret_cast<const char*>(bytes.data()), bytes.size() - 1);
  const std::string descr = fmt::format("{}{}", traits(dtype).size == 1 ? "|" : "<", traits(dtype).descr);
  return npy_file(descr, "False", fmt::format("({},)", differences.size()), elements);
}

/// Replaces all NaNs by one bit pattern, because their bits depend on the CPU.
std::string with_one_nan(DType dtype, std::string file) {
  const std::size_t size = traits(dtype).size;
  for (std::size_t at = 128; is_floating(dtype) && at < file.size(); at += size) {
    ElementBits bits = 0;
    std::memcpy(&bits, &file[at], size);
    if (reference::is_nan(dtype, bits)) file.replace(at, size, size, 'n');
  }
  return file;
}

}  // namespace

TEST_CASE("the difference file is what np.save writes for |a - e|, whatever parts are written") {
  for (const DTypeTraits& row : kDTypes)
    for (const bool nan_equal : {true, false}) {
      const Pairs pairs = pairs_of(row.dtype);
      const DType dtype = difference_dtype(row.dtype);
      const std::string expected = with_one_nan(dtype, expected_file(pairs, nan_equal));
      // Near the number of elements that are written at a time.
      for (const std::vector<std::size_t>& cuts :
           {std::vector<std::size_t>{0}, {0, 1}, {0, 8191, 8192, 8193}, {0, 5, 5, 11'000, 19'999}}) {
        CAPTURE(row.name, nan_equal, cuts);
        const std::string file = written(pairs, cuts, nan_equal);
        CHECK((with_one_nan(dtype, file) == expected));
      }
    }
}

TEST_CASE("a difference file has the shape and memory order of the expected tensor") {
  const TemporaryDirectory directory;
  TensorLayout header;
  header.dtype = DType::int16;
  header.order = ByteOrder::big;
  header.fortran_order = true;
  header.shape = {2, 3};
  header.count = 6;
  DifferenceFile file(
      OutputFile::create(directory / "d.npy", OutputFile::Existing::replace, OutputFile::Durability::none),
      header, true);
  file.commit();
  CHECK(directory.read("d.npy").substr(0, 128) == npy_file("<u2", "True", "(2, 3)", ""));
}

}  // namespace clipper::testing
