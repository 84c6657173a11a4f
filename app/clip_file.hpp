#pragma once

#include "cli.hpp"
#include "engine.hpp"
#include "jobs.hpp"
#include "plan.hpp"
#include "replacements.hpp"
#include "reporter.hpp"

namespace clipper {

/// What the files of a command have in common while they are clipped.
struct Clipping {
  const Command& command;
  Engine& engine;
  Replacements& replacements;
  Reporter& reporter;
};

/// Clips one file, and reports how that ended: a file in place perhaps only when it is committed with others.
/// Throws only what stop_after_failure() throws.
void clip_file(const Clipping& clipping, const Job& job);

/// The header of an input, and what the command does to it.
[[nodiscard]] Plan plan_for(const Command& command, InputFile& input);

/// Throws what clip_file() would report before it creates anything. Returns the bytes of the elements; 0 for
/// a stream, which is not touched.
[[nodiscard]] std::uint64_t check_file(const Command& command, const Job& job);

}  // namespace clipper
