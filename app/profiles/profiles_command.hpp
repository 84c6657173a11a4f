#pragma once

#include "command_line/command_line.hpp"

namespace clipper {

/// `clipper profiles [--json]`: prints the table of contracts. Returns the exit status.
int list_profiles(const Parse& parse);

}  // namespace clipper
