#include "clipper.hpp"
#include "support/files.hpp"
#include "support/refusal.hpp"

/// Files without a header, and TensorProto files, through the library's entry point.
namespace clipper::testing {

TEST_CASE("FileOptions say what files without a header hold") {
  const TemporaryDirectory directory{{"in.raw", "head\x01\x07\x09\x02"}};
  const std::string in = directory / "in.raw";
  const std::string out = directory / "out.raw";
  CHECK(clip_file(in, out, {.max = 6}, {.raw = "uint8:2,-1@4"}).lowered == 2);
  CHECK(read_file(out) == "head\x01\x06\x06\x02");
  CHECK(tensor_in(in, {.raw = "uint8:2,-1@4"}).shape == std::vector<std::int64_t>{2, 2});
  CHECK(clip_file(in, directory / "out.pb", {.max = from_file(out, {.raw = "uint8"})}, {.raw = "uint8"})
            .lowered == 2);
  CHECK(clip_file(directory / "out.pb", directory / "bytes", {.min = 0}, {.to_raw = true}).elements == 8);
  CHECK(read_file(directory / "bytes") == "head\x01\x06\x06\x02");
  CHECK(clip_file(directory / "out.pb", directory / "any", {}, {}).elements == 8);
  CHECK(tensor_in(directory / "any", {.format = "pb"}).shape == std::vector<std::int64_t>{8});
  CHECK(refusal(ErrorKind::usage, [&] { static_cast<void>(tensor_in(in, {.format = "onnx"})); }) ==
        "format: unknown value 'onnx'; expected one of: auto, pb");
  CHECK(refusal(ErrorKind::usage, [&] {
          clip_in_place(out, {.max = 5}, {.raw = "uint8", .to_raw = true});
        }) == out + ": to_raw needs another file for the result");
}

}  // namespace clipper::testing
