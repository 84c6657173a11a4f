#include "clip/clip_way.hpp"

#include "clip/layout.hpp"
#include "clip/slabs.hpp"
#include "shards/clip_shard.hpp"

namespace clipper {

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
  way.makes_directories = true;
  way.keeps_inputs = true;
  way.name_outputs = [to](Jobs& jobs) { write_below(to, jobs); };
  return way;
}

ClipWay way_to(const ByTemplate& to) {
  ClipWay way;
  way.makes_directories = has_placeholder(to.text);  // a template without a placeholder is a path like OUT
  way.name_outputs = [to](Jobs& jobs) { write_named(to.text, jobs); };
  return way;
}

ClipWay way_to(const InPlace& /*to*/) {
  return {};
}

ClipWay way_to(const Direct& /*to*/) {
  ClipWay way;
  way.rewriting = Rewriting::direct;
  return way;
}

ClipWay way_to(const PartOf& to) {
  const auto shard_job = [to](const Job& job, OutputFile::Existing existing) {
    return ShardJob{job.input, to.path, to.shard, existing};
  };
  ClipWay way = way_to(ToFile{to.path});
  way.shard = to.shard;
  way.waits = true;
  way.narrow = [=](const Job& job, OutputFile::Existing existing) {
    return narrow_to_part(shard_job(job, existing));
  };
  way.write = [=](const Clipping& clipping, const Job& job, OutputFile::Existing existing,
                  ClipResult& result) { clip_shard(clipping, shard_job(job, existing), result); };
  return way;
}

ClipWay way_to(const SlabOf& to) {
  const auto shard_job = [to](const Job& job, OutputFile::Existing existing) {
    return ShardJob{job.input, to.path, to.shard, existing};
  };
  const auto index_text = [to](const Plan& whole) { return slab_index_text(whole, to.path, to.shard.count); };
  ClipWay way = way_to(ToFile{slab_path(to.path, to.shard)});
  way.shard = to.shard;
  way.narrow = [=](const Job& job, OutputFile::Existing existing) {
    return narrow_to_slab(shard_job(job, existing));
  };
  way.write = [=](const Clipping& clipping, const Job& job, OutputFile::Existing existing,
                  ClipResult& result) { clip_slab(clipping, shard_job(job, existing), index_text, result); };
  return way;
}

}  // namespace clipper
