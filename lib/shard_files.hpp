#pragma once

#include <sys/stat.h>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

/// The files beside an output that shards write, among which anybody may have put others. Every failure is an
/// Error that names the path: {io} if nothing else is said.
namespace clipper {

/// What their names begin with, or are, but for the inode.
inline constexpr std::string_view kClaim = "run";
inline constexpr std::string_view kPlaced = "placed";
inline constexpr std::string_view kLink = "link-";

/// Counts what is tried again because other processes have changed the files meanwhile.
class Tries {
 public:
  static constexpr int kMost = 1000;  // each costs some ten system calls

  explicit Tries(std::string path, int most = kMost) : path_(std::move(path)), left_(most) {}

  /// Error{io} if there have been enough.
  void again();

 private:
  std::string path_;
  int left_;
};

/// What has the name, a symbolic link itself; nothing if nothing has.
[[nodiscard]] std::optional<struct stat> status_of(const std::string& path);

/// Error{refused} unless it is a file (S_IFREG) or directory (S_IFDIR) of this process's user, or of the
/// owner of the directory that it is in, who could replace it anyway.
void expect_own(const std::string& path, const struct stat& status, mode_t type);

/// Makes an empty file, unless something has the name. False, with errno, if there is none then.
[[nodiscard]] bool create_empty(const std::string& path);

/// Whether shards give that name to a file in their directory, whatever inode it names: see
/// shared_output.hpp.
[[nodiscard]] bool is_shard_file(std::string_view name);

/// "1, 4 to 7"
[[nodiscard]] std::string list_text(const std::vector<std::uint64_t>& numbers);

}  // namespace clipper
