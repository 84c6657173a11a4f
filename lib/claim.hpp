#pragma once

#include <cstdint>
#include <optional>
#include <string>

/// What says, on the disk, which run of shards an output is of: a symbolic link that leads nowhere. It is
/// made with its text in one step, by the first of many that try.
namespace clipper {

struct Claim {
  std::uint64_t shards;
  std::uint64_t size;  ///< of the output, in bytes
  std::string text;
};

/// "8 shards of 1000 bytes, ...", which is cut if it is too long for a link; a hash of all of it follows
/// then.
[[nodiscard]] std::string claim_text(std::uint64_t shards, std::uint64_t size,
                                     const std::string& description);

/// Nothing if there is no claim. Error{refused} for what make_claim() did not make.
[[nodiscard]] std::optional<Claim> read_claim(const std::string& path);

/// False if there is one already, or the directory has been removed. On the disk when it returns, with the
/// directory's own name. Error{refused} on a file system without symbolic links.
[[nodiscard]] bool make_claim(const std::string& path, const std::string& text);

}  // namespace clipper
