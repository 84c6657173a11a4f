#pragma once

#include <span>
#include <string>
#include <string_view>

namespace clipper {

class RawOptions;
struct CommandSpec;

extern const CommandSpec kProfilesSpec;

/// A line of headings and a line for each profile. The headings are those of `clipper profiles`, or STANDS
/// FOR: the name of the system.
[[nodiscard]] std::string profile_table(std::span<const std::string_view> headings);

/// `clipper profiles`: prints the tables of profiles, or what they make of bounds for a file. Returns the
/// exit status.
int list_profiles(const RawOptions& raw);

}  // namespace clipper
