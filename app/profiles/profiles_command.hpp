#pragma once

namespace clipper {

class RawOptions;
struct CommandSpec;

extern const CommandSpec kProfilesSpec;

/// `clipper profiles [--json]`: prints the table of contracts. Returns the exit status.
int list_profiles(const RawOptions& raw);

}  // namespace clipper
