#pragma once

#include "console/error_line.hpp"

namespace clipper {

class CommandLine;

/// Prints {"version":2,"status":2,"error":"..."} if --json was typed on a command line that failed, which may
/// have mistakes. The object goes to standard output, or to standard error if the tensor would go to standard
/// output. Ignores errors while printing: the exit status is that of `failure`.
void print_json_failure(const CommandLine& line, const Failure& failure);

}  // namespace clipper
