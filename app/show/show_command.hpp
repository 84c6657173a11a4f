#pragma once

namespace clipper {

class RawOptions;
struct CommandSpec;

extern const CommandSpec kShowSpec;

/// `clipper show FILE [--at INDEX]`: prints elements as numpy prints an array, and reads no others. Returns
/// the exit status 0.
[[nodiscard]] int show_elements(const RawOptions& raw);

}  // namespace clipper
