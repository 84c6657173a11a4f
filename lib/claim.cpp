#include "claim.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <array>
#include <charconv>
#include <string_view>
#include <system_error>

#include "descriptor.hpp"
#include "directory.hpp"
#include "error.hpp"
#include "shard.hpp"

namespace clipper {
namespace {

/// What a symbolic link can hold on every file system; XFS has the least, 1024 bytes.
constexpr std::size_t kMost = 1000;
constexpr std::string_view kOf = " shards of ";
constexpr std::string_view kBytes = " bytes, ";
constexpr std::size_t kHash = 20;  // "... " and 16 digits

/// FNV-1a: the same on every machine, unlike std::hash.
std::uint64_t hash_of(std::string_view text) {
  std::uint64_t hash = 0xcbf29ce484222325;
  for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3;
  return hash;
}

/// The number that the text begins with, and then `word`, both of which are taken off it.
std::optional<std::uint64_t> take_number(std::string_view& text, std::string_view word) {
  std::uint64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  text.remove_prefix(static_cast<std::size_t>(end - text.data()));
  if (error != std::errc() || !text.starts_with(word)) return std::nullopt;
  text.remove_prefix(word.size());
  return number;
}

std::optional<Claim> parsed(std::string_view text) {
  std::string_view rest = text;
  const std::optional<std::uint64_t> shards = take_number(rest, kOf);
  const std::optional<std::uint64_t> size = shards ? take_number(rest, kBytes) : std::nullopt;
  if (!size || *shards == 0 || *shards > kMostShards) return std::nullopt;
  return Claim{*shards, *size, std::string(text)};
}

}  // namespace

std::string claim_text(std::uint64_t shards, std::uint64_t size, const std::string& description) {
  std::string text = fmt::format("{}{}{}{}{}", shards, kOf, size, kBytes, description);
  if (text.size() <= kMost) return text;
  return fmt::format("{}... {:016x}", text.substr(0, kMost - kHash), hash_of(text));
}

std::optional<Claim> read_claim(const std::string& path) {
  std::array<char, kMost + 1> target{};
  const ssize_t size = ::readlink(path.c_str(), target.data(), target.size());
  if (size < 0 && errno == ENOENT) return std::nullopt;
  if (size < 0 && errno != EINVAL) throw_system_error(path, "cannot be read");
  std::optional<Claim> claim = parsed({target.data(), size < 0 ? 0 : static_cast<std::size_t>(size)});
  if (!claim) refuse(path, "not made by a shard; remove it");
  return claim;
}

bool make_claim(const std::string& path, const std::string& text) {
  if (::symlink(text.c_str(), path.c_str()) != 0) {
    if (errno == EEXIST || errno == ENOENT) return false;
    if (errno == EPERM || errno == EOPNOTSUPP || errno == ENOSYS)
      refuse(path, "shards of one tensor need symbolic links, which this file system has not");
    throw_system_error(path, "cannot be created");
  }
  // Lost at a power cut, it would leave a file behind that nobody knows.
  const std::string directory = directory_of(path);
  for (const std::string& each : {directory, directory_of(directory)})
    if (!sync_directory(each)) {
      if (errno == ENOENT) return false;
      throw_system_error(each, "cannot be written to the disk");
    }
  return true;
}

}  // namespace clipper
