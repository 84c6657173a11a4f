#pragma once

#include "cli.hpp"

namespace clipper {

/// Does what was typed.
void clip_files(const Command& command);

}  // namespace clipper
