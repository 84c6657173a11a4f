#include "console/terminal.hpp"
#include "support/catch.hpp"

namespace clipper {
namespace {

using enum Table::Align;

}  // namespace

TEST_CASE("A table is as wide as its cells on a terminal, without blanks at the ends of lines") {
  Table table({{"NAME", left}, {"SIZE", right}, {"NOTE", left}});
  table.add({"größe", "7", ""});
  table.add({"重み", "12345", "last"});
  table.add({"", "", ""});
  CHECK(table.text() ==
        "NAME    SIZE  NOTE\n"
        "größe      7\n"
        "重み   12345  last\n"
        "\n");
}

TEST_CASE("A cell of more than 50 columns moves only its own line") {
  const std::string long_name(51, 'x');
  Table table({{"A", left}, {"B", left}});
  table.add({long_name, "1"});
  table.add({"y", "2"});
  CHECK(table.text() ==
        "A" + std::string(51, ' ') + "B\n" + long_name + "  1\ny" + std::string(51, ' ') + "2\n");
}

TEST_CASE("A large table is printed in parts, each of which ends with a line") {
  Table table({{"A", left}});
  std::string expected = "> A\n";
  for (int i = 0; i < 50'000; ++i) {
    table.add({std::to_string(i)});
    expected += "> " + std::to_string(i) + "\n";
  }
  std::vector<std::string> parts;
  table.print("> ", [&](const std::string& part) { parts.push_back(part); });
  CHECK(parts.size() > 1);
  std::string text;
  for (const std::string& part : parts) {
    CHECK(part.ends_with('\n'));
    text += part;
  }
  CHECK(text == expected);
}

TEST_CASE("rows after those that were printed have no headings, and columns as wide") {
  Table table({{"A", left}, {"B", left}});
  table.add({"12345", "1"});
  CHECK(table.text() == "A      B\n12345  1\n");
  table.add({"1", "2"});
  CHECK(table.text() == "1      2\n");
  CHECK(table.text().empty());
}

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
