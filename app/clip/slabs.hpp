#pragma once

#include <cstdint>
#include <string>

#include "contract/plan.hpp"

namespace clipper {

/// The content of OUT.json, which lists the files of --split-output: the object `slabs` of
/// data/clipper.schema.json. `count` is the number of files, `whole` the header of all of them together.
[[nodiscard]] std::string slab_index_text(const Plan& whole, const std::string& output, std::uint64_t count);

}  // namespace clipper
