#include "clip/slabs.hpp"

#include <filesystem>
#include <utility>

#include "console/json.hpp"
#include "shards/clip_shard.hpp"

namespace clipper {

namespace {

/// The member `version` of OUT.json. Readers of the file may check it: only a new meaning of a member raises
/// it.
constexpr int kIndexVersion = 1;

}  // namespace

std::string slab_index_text(const Plan& plan, const std::string& output, std::uint64_t count) {
  const TensorLayout& whole = plan.input;
  Json slabs = Json::list();
  for (Shard shard{0, count}; shard.index < count; ++shard.index) {
    const Rows rows = rows_of(shard, whole);
    const std::string file = std::filesystem::path(slab_path(output, shard)).filename();
    Json slab = Json::object();
    slab.add_name("file", file).add("begin", rows.begin).add("end", rows.begin + rows.count);
    slabs.add(std::move(slab));
  }
  const Json index{{"version", kIndexVersion},
                   {"dtype", traits(whole.dtype).name},
                   {"shape", whole.shape},
                   {"fortran_order", false},
                   {"axis", 0},
                   {"plan", plan.fingerprint()},
                   {"slabs", std::move(slabs)}};
  return index.dump(1) + "\n";
}

}  // namespace clipper
