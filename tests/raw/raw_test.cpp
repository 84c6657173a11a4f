#include "raw/raw.hpp"

#include "support/refusal.hpp"

/// What --raw says, and which tensor is in a file of some size.
namespace clipper {
namespace {

std::string read(std::string_view text, std::uint64_t size, bool may_be_longer = false) {
  const TensorLayout layout = raw::tensor_in(raw::parse(text), size, may_be_longer);
  return fmt::format("{} {} {}", layout.order == ByteOrder::big ? '>' : '<', type_name(layout),
                     shape_text(layout.shape));
}

}  // namespace

TEST_CASE("a raw layout has a dtype in either byte order, a shape and an offset") {
  CHECK(read("uint8", 5) == "< uint8 (5,)");
  CHECK(read("uint8", 0) == "< uint8 (0,)");
  CHECK(read("float32:2,3", 24) == "< float32 (2, 3)");
  CHECK(read(">i2:3,-1@8", 20) == "> int16 (3, 2)");
  CHECK(read("<f8:1", 8) == "< float64 (1,)");
  CHECK(read(">u1", 3) == "< uint8 (3,)");
  CHECK(read("bfloat16:-1,2", 8) == "< bfloat16 (2, 2)");
  CHECK(read("float8_e4m3fn", 2) == "< float8_e4m3fn (2,)");
  CHECK(read("torch.half:0,4", 0) == "< float16 (0, 4)");
  CHECK(read("force:uint8@3", 5) == "< uint8 (2,)");
  CHECK(read("float32:2", 9, true) == "< float32 (2,)");
  CHECK(raw::parse("force:uint8").forced);
}

TEST_CASE("a raw file of another size is refused with both sizes and the nearest shape") {
  const auto why = [](std::string_view text, std::uint64_t size) {
    return refusal(ErrorKind::input, [&] { static_cast<void>(read(text, size)); });
  };
  CHECK(
      why("float32:2,3,5", 96) ==
      "has 96 bytes for elements, but float32:2,3,5 takes 120; the nearest is float32:2,3,4, which takes 96");
  CHECK(why("uint8:3,-1", 10) ==
        "has 10 bytes for elements, but uint8:3,3 takes 9; the nearest is uint8:3,3, which takes 9");
  CHECK(why("float64", 93) ==
        "has 93 bytes for elements, no multiple of 8, the size of float64; float64@5 leaves out the first 5");
  CHECK(why("float32:1@8", 15) ==
        "has 7 bytes for elements, no multiple of 4, the size of float32; float32@11 leaves out the first 3");
  CHECK(why("uint8@4", 3) == "has 3 bytes, fewer than the 4 before the first element");
  CHECK(why("uint8:0,-1", 3) ==
        "has 3 bytes for elements, but uint8:0,0 takes 0; the nearest is uint8:3, which takes 3");
}

TEST_CASE("a text that is no raw layout is a usage error") {
  for (const std::string_view text : {"", "float", "i3", ":2", "float32:", "float32:2,", "float32:-2",
                                      "float32:-1,-1", "float32:a", "float32@", "float32@-1", "float32@1x",
                                      "float32:4294967296,4294967296", "uint8@9223372036854775808", "force:"})
    CHECK(refusal(ErrorKind::usage, [&] { static_cast<void>(raw::parse(text)); }).starts_with("raw: '"));
}

}  // namespace clipper
