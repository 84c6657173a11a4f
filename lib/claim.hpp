#pragma once

#include <cstdint>
#include <optional>
#include <string>

/// What says, on the disk, which run of shards an output is of: a symbolic link that leads nowhere. It is
/// made with its text in one step, by the first of many that try.
namespace clipper {

/// "8 shards of ...", which is cut if it is too long for a link; a hash of all of it follows then.
[[nodiscard]] std::string claim_text(std::uint64_t shards, const std::string& description);

/// How many shards the claimed run has; 0 for a text that is no claim's.
[[nodiscard]] std::uint64_t shards_of(const std::string& text);

/// The text; nothing if there is no claim. Error{refused} for what make_claim() did not make.
[[nodiscard]] std::optional<std::string> read_claim(const std::string& path);

/// False if there is one already, or the directory has been removed. On the disk when it returns, with the
/// directory's own name.
[[nodiscard]] bool make_claim(const std::string& path, const std::string& text);

}  // namespace clipper
