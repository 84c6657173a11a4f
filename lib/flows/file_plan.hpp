#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "contract/plan.hpp"
#include "files/input_file.hpp"
#include "files/journaled_file.hpp"
#include "flows/clipping.hpp"

/// Plans for files.
namespace clipper {

/// The size of the elements. Throws the errors of planning that do not depend on the elements.
std::uint64_t check_plan(const ClipSettings& settings, InputFile& input,
                         std::optional<std::byte> version = std::nullopt);

/// Reads the input's header and makes the plan. Error{usage} for percentiles.
[[nodiscard]] Plan read_plan(const ClipSettings& settings, InputFile& input);

/// Reads the input's header and makes the plan, and reads the elements if a bound is a percentile. `header`
/// is that of read_header(). `changed` is the file if it is changed directly: an interrupted change goes on
/// with the bounds that its journal records.
[[nodiscard]] Plan read_plan(Engine& engine, const ClipSettings& settings, InputFile& input,
                             std::vector<std::byte>* header = nullptr,
                             const JournaledFile* changed = nullptr);

/// Reads the plan into `result`, notifies the observer, and prepares the engine for the tensor. Error{usage}
/// for percentiles of a part of a tensor.
void plan_file(const Clipping& clipping, InputFile& input, ClipResult& result,
               std::vector<std::byte>* header = nullptr, const JournaledFile* changed = nullptr);

}  // namespace clipper
