
#include "cli/clipper.hpp"
#include "element/element.hpp"
#include "element/number.hpp"

/// The manual's tables of elements, options and results.
namespace clipper::testing::manual_table_test {
namespace {

/// A file with these elements: "uint8", "0 100 255".
std::string file_of(const std::string& name, const std::string& elements) {
  const DType dtype = dtype_named(name).value();
  std::string bytes;
  std::size_t count = 0;
  std::istringstream words(elements);
  for (std::string word; words >> word; ++count)
    with_type(dtype, [&]<class T>() {
      const Number number = parse_number(word).value();
      T element{};
      if constexpr (std::is_integral_v<T>)
        element = static_cast<T>(to_integer(number, Rounding::toward_zero));
      else
        element = round_to<T>(number);
      bytes += bytes_of(std::vector<T>{element});
    });
  const DTypeTraits& row = traits(dtype);
  return npy_file((row.size == 1 ? "|" : "<") + std::string(row.descr), "False", fmt::format("({},)", count),
                  bytes);
}

Words words_of(const std::string& text) {
  std::istringstream stream(text);
  return {std::istream_iterator<std::string>(stream), {}};
}

/// The cells of a line, between which are two blanks or more.
Words cells_of(std::string line) {
  Words cells;
  while (!line.empty()) {
    const std::size_t end = std::min(line.find("  "), line.size());
    cells.push_back(line.substr(0, end));
    line.erase(0, std::min(line.find_first_not_of(' ', end), line.size()));
  }
  return cells;
}

/// The rows of the last table of a manual's section: dtype, elements, options, elements of the result.
std::vector<Words> manual_rows(const std::string& page, std::string_view section) {
  const std::string manual = read_file(source_path("app/generate/clipper-" + page + ".7.in"));
  const std::size_t title = manual.find(section);
  const std::size_t begin = manual.rfind(".nf\n", manual.find("\n.S", title)) + 4;
  std::string table = manual.substr(begin, manual.find(".fi\n", begin) - begin);
  std::erase(table, '\\');
  std::vector<Words> rows;
  for (const std::string& line : lines_of(table)) rows.push_back(cells_of(line));
  return rows;
}

}  // namespace

TEST_CASE("the manual's tables of casts, nodata and steps after the clip are what clipper does") {
  for (const auto& [page, section, count] : {std::tuple("bounds", ".SS Other dtypes", 13),
                                             {"statistics", ".SH NODATA", 7},
                                             {"bounds", ".SS After the clip", 13}}) {
    const WorkingDirectory dir;
    const std::vector<Words> rows = manual_rows(page, section);
    CHECK(rows.size() == static_cast<std::size_t>(count));
    for (const Words& row : rows) {
      CAPTURE(row);
      const Words options = words_of(row.at(2));
      const auto to = std::ranges::find(options, "--to");
      dir.write("in.npy", file_of(row.at(0), row.at(1)));
      dir.done(joined(options, {"--quiet", "in.npy", "out.npy"}));
      CHECK(dir.read("out.npy") == file_of(to == options.end() ? row.at(0) : *std::next(to), row.at(3)));
    }
  }
}

}  // namespace clipper::testing::manual_table_test
