#include "npy/dict.hpp"

#include <cctype>

#include "support/refusal.hpp"

namespace clipper::npy {
namespace {

Fields read(const std::string& text, Python2 python2 = Python2::no) {
  return read_dict(text, 10, python2);
}

std::string why_not(const std::string& text, Python2 python2 = Python2::no) {
  return refusal(ErrorKind::input, [&] { return read(text, python2); });
}

void check_is(const Fields& fields, const std::vector<std::int64_t>& shape) {
  CHECK(fields.descr.value().text == "<f4");
  CHECK(fields.fortran_order == true);
  CHECK(fields.shape == shape);
}

}  // namespace

TEST_CASE("the keys of a dict are read in any order, with any white space between tokens") {
  std::vector<std::string> entries{"'descr' : '<f4'", "'fortran_order' : True", "\"shape\" : ( 3 , 40 )"};
  std::ranges::sort(entries);
  do {
    for (const std::string space : {"", " ", "\t", "\n", "\r\n", "\f", " # a comment\n"})
      for (const std::string comma : {"", ","}) {
        std::string text = "{ " + entries[0] + " , " + entries[1] + " , " + entries[2] + " " + comma + "}";
        for (std::size_t at = 0; (at = text.find(' ', at)) != std::string::npos; at += space.size())
          text.replace(at, 1, space);
        CAPTURE(text);
        check_is(read(text), {3, 40});
      }
  } while (std::ranges::next_permutation(entries).found);
}

TEST_CASE("a truncated dict, or one without one of its tokens, is refused") {
  const std::string text = "{'descr':'<f4','fortran_order':True,'shape':(3,40)}";
  check_is(read(text), {3, 40});
  for (std::size_t size = 0; size < text.size(); ++size) CHECK_FALSE(why_not(text.substr(0, size)).empty());
  for (std::size_t at = 0; at < text.size(); ++at) {
    if (std::string("{}:',()").find(text[at]) == std::string::npos) continue;
    std::string without = text;
    without.erase(at, 1);
    CAPTURE(without);
    if (text.substr(at).starts_with(",40"))
      CHECK(why_not(without).find("expected ','") != std::string::npos);  // (340), which is a number
    else
      CHECK_FALSE(why_not(without).empty());
  }
}

TEST_CASE("an error gives the position in the file at which the dict is wrong") {
  const std::string text = "{'descr': '<f4', 'fortran_order': True, 'shape': (3, 40)}";
  for (std::size_t at = 1; at < text.size(); ++at) {
    if (text[at] != ' ') continue;
    CAPTURE(at);
    CHECK(why_not(text.substr(0, at + 1) + "@" + text.substr(at + 1))
              .starts_with("malformed header at byte " + std::to_string(10 + at + 1) + ": expected "));
  }
}

TEST_CASE("each key must appear exactly once, and no other key may") {
  const std::vector<std::string> entries{"'descr': '<f4'", "'fortran_order': True", "'shape': ()"};
  const std::vector<std::string> keys{"descr", "fortran_order", "shape"};
  for (std::size_t i = 0; i < 3; ++i) {
    const std::string two = "{" + entries[(i + 1) % 3] + ", " + entries[(i + 2) % 3];
    CHECK(why_not(two + "}") == "the header has no '" + keys[i] + "'");
    CHECK(why_not(two + ", " + entries[(i + 1) % 3] + "}").find("unknown or repeated key") !=
          std::string::npos);
    CHECK(why_not(two + ", 'X': 1}").find("unknown or repeated key 'X'") != std::string::npos);
  }
}

TEST_CASE("a dimension is a plain decimal up to 2^63 - 1") {
  const auto text = [](const std::string& dimension) {
    return "{'descr': '<f4', 'fortran_order': True, 'shape': (" + dimension + ",)}";
  };
  for (const std::int64_t dimension : {std::int64_t{0}, std::int64_t{7}, std::int64_t{9223372036854775807}}) {
    const std::string digits = std::to_string(dimension);
    check_is(read(text(digits)), {dimension});
    check_is(read(text("np.int64(" + digits + ")")), {dimension});
    check_is(read(text(digits + "L"), Python2::yes), {dimension});
    CHECK_FALSE(why_not(text(digits + "L")).empty());
    CHECK_FALSE(why_not(text("np.int64(" + digits + "L)"), Python2::yes).empty());
  }
  for (const char* none : {"-1", "+1", "01", "00", "1.0", "1e3", "0x10", "1_000", "'1'", "True", "None", "",
                           "(1)", "np.float32(1)", "np.int64(1", "np.int64 1", "9223372036854775808"}) {
    CAPTURE(none);
    CHECK_FALSE(why_not(text(none)).empty());
  }
  CHECK(why_not("{'shape': (3)}").find("expected ','") != std::string::npos);  // a number, not a tuple
  std::string many = "0";
  for (int i = 1; i < 64; ++i) many += ",0";
  check_is(read(text(many)), std::vector<std::int64_t>(64));
  CHECK(why_not(text(many + ",0")) == "more than 64 dimensions");
}

TEST_CASE("an excerpt of any bytes is short and printable, and differs for different bytes") {
  std::vector<std::string> excerpts;
  for (int byte = 0; byte < 256; ++byte) excerpts.push_back(excerpt(std::string(1, static_cast<char>(byte))));
  for (const std::string& each : excerpts)
    CHECK(std::ranges::all_of(each, [](unsigned char c) { return std::isprint(c) != 0; }));
  CHECK(excerpts['\n'] == "\\x0a");
  CHECK(excerpts['\\'] == "\\x5c");
  CHECK(excerpts['a'] == "a");
  std::ranges::sort(excerpts);
  CHECK(std::ranges::adjacent_find(excerpts) == excerpts.end());
  CHECK(excerpt(std::string(48, 'x')) == std::string(48, 'x'));
  CHECK(excerpt(std::string(49, 'x')) == std::string(48, 'x') + "...");
}

}  // namespace clipper::npy
