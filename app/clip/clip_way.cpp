#include "clip/clip_way.hpp"

#include <filesystem>
#include <utility>

#include "clip/layout.hpp"
#include "console/json.hpp"
#include "shards/clip_shard.hpp"

namespace clipper {
namespace {

/// The member `version` of OUT.json. Readers of the file may check it: only a new meaning of a member raises
/// it.
constexpr int kIndexVersion = 1;

/// The content of OUT.json, which lists the files of --split-output: the object `slabs` of
/// data/clipper.schema.json. `count` is the number of files.
std::string slab_index_text(const Plan& plan, const std::string& output, std::uint64_t count) {
  const TensorLayout& whole = plan.output;
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

}  // namespace

ClipWay way_to(const ToFile& to) {
  ClipWay way;
  way.name_outputs = [to](Jobs& jobs) {
    const bool is_given_up = jobs.size() == 0;  // IN is a directory, and --keep-going is given
    if (!is_given_up) jobs.set_output(0, to.path);
  };
  return way;
}

ClipWay way_to(const IntoDirectory& to) {
  ClipWay way;
  way.directories = Directory::made_by_run;
  way.root = std::make_shared<OutputRoot>(to.path);
  way.keeps_inputs = true;
  way.name_outputs = [to](Jobs& jobs) { write_below(to, jobs); };
  return way;
}

ClipWay way_to(const ByTemplate& to) {
  ClipWay way;
  if (has_placeholder(to.text))
    way.directories = Directory::made_by_run;  // without one, it is a path like OUT
  way.name_outputs = [to](Jobs& jobs) { write_named(to.text, jobs); };
  return way;
}

ClipWay way_to(const InPlace& /*to*/) {
  return {};
}

ClipWay way_to(const Direct& /*to*/) {
  ClipWay way;
  way.is_direct = true;
  return way;
}

ClipWay way_to(const PartOf& to) {
  ClipWay way = way_to(ToFile{to.path});
  way.shard = to.shard;
  way.waits = true;
  way.prepare = [to](const Clipping& clipping, const Job& job, OutputFile::Existing existing) {
    return prepare_part(clipping, {job.input, to.path, to.shard, existing});
  };
  return way;
}

ClipWay way_to(const SlabOf& to) {
  ClipWay way = way_to(ToFile{slab_path(to.path, to.shard)});
  way.shard = to.shard;
  way.prepare = [to](const Clipping& clipping, const Job& job, OutputFile::Existing existing) {
    const auto index_text = [&](const Plan& whole) {
      return slab_index_text(whole, to.path, to.shard.count);
    };
    return prepare_slab(clipping, {job.input, to.path, to.shard, existing}, index_text);
  };
  return way;
}

}  // namespace clipper
