#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "cli/clipper.hpp"
#include "simd/levels.hpp"
#include "support/paths.hpp"
#include "support/tensors.hpp"
#include "support/tsv.hpp"

namespace clipper::testing {
namespace {

/// A cell of data/arrays/cases.tsv, "pool;descr;fortran_order;shape;begin;count", as a file.
std::string file_of(const std::string& cell) {
  static std::map<std::string, std::string> pools;
  const std::vector<std::string> parts = tsv::split(cell, ';');
  REQUIRE(parts.size() == 6);
  std::string& pool = pools[parts[0]];
  if (pool.empty()) {
    const std::string file = read_file(source_path("data/arrays/" + parts[0] + ".npy"));
    pool = file.substr(file.find('\n') + 1);
  }
  const std::string& descr = parts[1];
  const std::size_t size = std::stoul(descr.substr(2));
  std::string elements = pool.substr(std::stoul(parts[4]) * size, std::stoul(parts[5]) * size);
  if (descr.front() == '>') elements = byte_swapped(std::move(elements), size);
  return npy_file(descr, parts[2], parts[3], elements);
}

/// The settings of case `number`, none of which may change the result.
Words settings(std::size_t number) {
  const auto levels = simd_levels();
  const std::string level(to_string(levels[number % levels.size()]));
  return {"--simd", level, "--threads", std::to_string(number % 3 + 1), "--chunk-size", "4096"};
}

}  // namespace

TEST_CASE("arrays give numpy's bytes as a file, through pipes, in place and with --direct") {
  const std::vector<std::string> names{"min.npy", "max.npy", "scale.npy", "bias.npy"};
  std::size_t number = 0;
  for (const auto& row : tsv::read("arrays/cases.tsv")) {
    const WorkingDirectory directory;
    const std::string input = file_of(row[2]);
    const std::string expected = file_of(row.back());
    directory.write("in.npy", input);
    for (std::size_t i = 0; i < names.size(); ++i)
      if (!row[3 + i].empty()) directory.write(names[i], file_of(row[3 + i]));
    const Words words = joined(tsv::split(row[1], ' '), settings(number));
    INFO(row[0] << " case " << number << ": " << row[1] << "; in " << row[2]);

    directory.done(joined(words, {"in.npy", "out.npy"}));
    CHECK((directory.read("out.npy") == expected));
    const Result piped = directory.run(joined(words, {"-", "-"}), input);
    check_done(piped);
    CHECK((piped.output == expected));
    ++number;
    if (number % 4 != 0) continue;  // these flush the disk
    Words in_place{"--in-place", "in.npy"};
    if (number % 8 == 0) in_place.insert(in_place.begin(), "--direct");
    directory.done(joined(words, in_place));
    CHECK((directory.read("in.npy") == expected));
  }
  CHECK(number > 300);
}

}  // namespace clipper::testing
