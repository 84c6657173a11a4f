#include "clip/slabs.hpp"

#include <fmt/format.h>

#include <filesystem>
#include <nlohmann/json.hpp>
#include <span>

#include "error.hpp"
#include "files/place.hpp"

namespace clipper {

namespace fs = std::filesystem;

namespace {

std::string slab_index_path(const std::string& output) {
  return fs::path(output).replace_extension(".json");
}

}  // namespace

std::string slab_path(const std::string& output, const Shard& shard) {
  const fs::path path(output);
  const std::string name = fmt::format("{}.{:05}-of-{:05}{}", path.stem().string(), shard.index, shard.count,
                                       path.extension().string());
  return path.parent_path() / name;
}

void check_slab_index(const std::string& output, const Shard& shard, OutputFile::Existing existing,
                      const InputFile& input) {
  const std::string index = slab_index_path(output);
  if (find_file(index) == id_of(input.status()))
    throw Error(ErrorKind::usage,
                fmt::format("{}: IN is {}, which --split-output writes", input.path(), index));
  if (shard.index == 0) OutputFile::check(index, existing);
}

OutputFile write_slab_index(const std::string& output, const npy::Header& whole, std::uint64_t count,
                            OutputFile::Existing existing) {
  nlohmann::ordered_json index{{"version", 1}, {"dtype", traits(whole.dtype).name}, {"shape", whole.shape}};
  index["fortran_order"] = false;
  index["axis"] = 0;
  for (Shard shard{0, count}; shard.index < count; ++shard.index) {
    const Rows rows = rows_of(shard, whole);
    index["slabs"].push_back({{"file", fs::path(slab_path(output, shard)).filename().string()},
                              {"begin", rows.begin},
                              {"end", rows.begin + rows.count}});
  }
  const std::string text = index.dump(1, ' ', false, nlohmann::ordered_json::error_handler_t::replace) + "\n";
  OutputFile file = OutputFile::create(slab_index_path(output), existing, OutputFile::Durability::none);
  file.write(std::as_bytes(std::span(text)));
  return file;
}

}  // namespace clipper
