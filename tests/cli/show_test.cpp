#include "cli/clipper.hpp"
#include "files/descriptor.hpp"
#include "support/archives.hpp"

/// clipper show. What it prints of integers is what numpy.array2string gives.
namespace clipper::testing {
namespace {

std::string counted(const std::string& shape, std::int32_t count, bool fortran_order = false) {
  std::vector<std::int32_t> elements;
  for (std::int32_t i = 0; i < count; ++i) elements.push_back(i);
  return npy_file("<i4", fortran_order ? "True" : "False", shape, bytes_of(elements));
}

}  // namespace

TEST_CASE("show prints elements as numpy does, in every memory order and byte order") {
  const WorkingDirectory directory{
      {"c.npy", counted("(3, 4)", 12)},
      {"f.npy", counted("(3, 4)", 12, true)},
      {"deep.npy", counted("(2, 2, 2)", 8)},
      {"big.npy", npy_file(">f8", "False", "(2,)", byte_swapped(bytes_of<double>({0.1, -1e300}), 8))},
      {"half.npy", npy_file("<V2", "False", "(1,)", std::string("\x80\x3f", 2))},
      {"scalar.npy", npy_file("<f4", "False", "()", bytes_of<float>({1.5F}))},
      {"empty.npy", npy_file("<f4", "False", "(0, 3)", "")},
      {"a.npz", npz_file({{"w.npy", counted("(3,)", 3)}})}};
  const auto shown = [&](Words words) {
    words.insert(words.begin(), "show");
    const Result result = directory.run(words);
    CAPTURE(words, result.error);
    CHECK(result.exit_code == 0);
    return result.output;
  };
  CHECK(shown({"c.npy"}) == "[[ 0  1  2  3]\n [ 4  5  6  7]\n [ 8  9 10 11]]\n");
  CHECK(shown({"f.npy"}) == "[[ 0  3  6  9]\n [ 1  4  7 10]\n [ 2  5  8 11]]\n");
  CHECK(shown({"deep.npy"}) == "[[[0 1]\n  [2 3]]\n\n [[4 5]\n  [6 7]]]\n");
  CHECK(shown({"big.npy"}) == "[    0.1 -1e+300]\n");
  CHECK(shown({"half.npy"}) == "[1]\n");
  CHECK(shown({"scalar.npy"}) == "1.5\n");
  CHECK(shown({"empty.npy"}) == "[]\n");
  CHECK(shown({"a.npz:w", "--at", "-1"}) == "2\n");
  CHECK(shown({"c.npy", "--at", "0, :2"}) == "[0 1]\n");
  CHECK(shown({"f.npy", "--at", "0,:2"}) == "[0 3]\n");
  CHECK(shown({"c.npy", "--at", "..., -1"}) == "[ 3  7 11]\n");
  CHECK(shown({"c.npy", "--at", "::-2, 1:3"}) == "[[ 9 10]\n [ 1  2]]\n");
  CHECK(shown({"c.npy", "--at", "1:99"}) == "[[ 4  5  6  7]\n [ 8  9 10 11]]\n");
  CHECK(shown({"c.npy", "--at", "2:1"}) == "[]\n");
  CHECK(shown({"c.npy", "--at", "1, 2"}) == "6\n");
}

TEST_CASE("show reads and prints only the edges of many elements") {
  WorkingDirectory directory;
  const std::string header = npy_file("<i4", "False", "(1000000000,)", "");
  directory.write("large.npy", header);  // its elements are a hole
  const Descriptor large(os::open((directory / "large.npy").c_str(), O_WRONLY | O_CLOEXEC));
  REQUIRE(os::ftruncate(large.get(), static_cast<off_t>(header.size()) + 4'000'000'000) == 0);
  CHECK(directory.run({"show", "large.npy"}).output == "[0 0 0 ... 0 0 0]\n");
  CHECK(directory.run({"show", "large.npy", "--at", "999999999"}).output == "0\n");
  directory.write("wide.npy", counted("(40, 30)", 1200));
  CHECK(directory.run({"show", "wide.npy"}).output ==
        "[[   0    1    2 ...   27   28   29]\n"
        " [  30   31   32 ...   57   58   59]\n"
        " [  60   61   62 ...   87   88   89]\n"
        " ...\n"
        " [1110 1111 1112 ... 1137 1138 1139]\n"
        " [1140 1141 1142 ... 1167 1168 1169]\n"
        " [1170 1171 1172 ... 1197 1198 1199]]\n");
}

}  // namespace clipper::testing
