#include "clip/slabs.hpp"

#include <filesystem>
#include <nlohmann/json.hpp>

#include "shards/clip_shard.hpp"

namespace clipper {

std::string slab_index_text(const npy::Header& whole, const std::string& output, std::uint64_t count) {
  nlohmann::ordered_json index{{"version", 1}, {"dtype", traits(whole.dtype).name}, {"shape", whole.shape}};
  index["fortran_order"] = false;
  index["axis"] = 0;
  for (Shard shard{0, count}; shard.index < count; ++shard.index) {
    const Rows rows = rows_of(shard, whole);
    const std::string file = std::filesystem::path(slab_path(output, shard)).filename();
    index["slabs"].push_back({{"file", file}, {"begin", rows.begin}, {"end", rows.begin + rows.count}});
  }
  return index.dump(1, ' ', false, nlohmann::ordered_json::error_handler_t::replace) + "\n";
}

}  // namespace clipper
