#pragma once

#include <span>

#include "command_line/command_spec.hpp"
#include "console/error_line.hpp"

namespace clipper {

/// Prints {"version":2,"status":2,"error":"..."} if --json is among the words of a command line that failed.
/// The words need not be valid. The object goes to standard output, or to standard error if the tensor would
/// go to standard output. Ignores errors while printing: the exit status is that of `failure`.
void print_json_failure(const CommandSpec& spec, std::span<const char* const> words, const Failure& failure);

}  // namespace clipper
