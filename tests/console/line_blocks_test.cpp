#include "console/line_blocks.hpp"

#include <string>
#include <vector>

#include "support/catch.hpp"

namespace clipper {

namespace {

std::vector<std::string> lines_in(const LineBlocks& blocks) {
  std::vector<std::string> lines;
  blocks.for_each([&](std::string_view begin, std::string_view middle, std::string_view end) {
    lines.push_back(std::string(begin).append(middle).append(end));
  });
  return lines;
}

}  // namespace

TEST_CASE("lines of any number and length come back in order") {
  std::vector<std::string> lines{"", "one", std::string(200'000, 'x'), ""};
  for (int i = 0; i < 20'000; ++i) lines.push_back("line " + std::to_string(i));
  LineBlocks blocks;
  CHECK_FALSE(blocks.is_large());
  for (const std::string& line : lines) blocks.add(line);
  CHECK(blocks.is_large());
  CHECK(lines_in(blocks) == lines);
}

TEST_CASE("successive lines with the same middle come back complete, in any number of blocks") {
  LineBlocks blocks;
  std::vector<std::string> lines;
  for (int i = 0; i < 20'000; ++i) {
    const std::string number = std::to_string(i);
    const std::string middle = i % 7 == 0 ? "" : "-" + std::to_string(i / 10) + "-";
    blocks.add(number, middle, "end" + number);
    lines.push_back(number + middle + "end" + number);
  }
  CHECK(lines_in(blocks) == lines);
}

}  // namespace clipper
