#pragma once

namespace clipper {

/// `clipper profiles [--json]`: prints the table of contracts. argv[0] is the word "profiles".
void list_profiles(int argc, const char* const* argv);

}  // namespace clipper
