#include "console/line_blocks.hpp"

#include "support/catch.hpp"

namespace clipper {

TEST_CASE("lines of any number and length come back in order") {
  std::vector<std::string> lines{"", "one", std::string(200'000, 'x'), ""};
  for (int i = 0; i < 20'000; ++i) lines.push_back("line " + std::to_string(i));
  LineBlocks blocks;
  CHECK_FALSE(blocks.is_large());
  for (const std::string& line : lines) blocks.add(line);
  CHECK(blocks.is_large());
  std::vector<std::string> visited;
  blocks.for_each([&](std::string_view line) { visited.emplace_back(line); });
  CHECK(visited == lines);
}

}  // namespace clipper
