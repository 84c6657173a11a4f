#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "engine/engine.hpp"
#include "files/container.hpp"
#include "files/output_file.hpp"
#include "npz/archive_writer.hpp"

namespace clipper {

/// Writes a new archive, member by member. Small members are written together.
class MemberWriter {
 public:
  /// `output` is empty and regular. It begins with `front`.
  MemberWriter(Engine& engine, const Container& from, OutputFile& output, std::span<const std::byte> front);

  /// Adds a member in place of `from`, with `data` as its bytes in the archive.
  void add(const Entry& from, const Contents& contents, std::span<const std::byte> data);

  /// Adds a member of `size` bytes in place of `from`. `write` writes its bytes to the output, where they
  /// begin at offset 0, and returns its contents.
  void add(const Entry& from, std::uint64_t size, const std::function<Contents(OutputFile&)>& write);

  /// Adds a member as it is.
  void copy(const Entry& from);

  /// Writes the list of members.
  void finish();

 private:
  [[nodiscard]] std::string record_before(const Entry& from, const Contents& contents) const;
  void add_to_list(const Entry& from, const Contents& contents, std::uint64_t begin);
  void append(std::span<const std::byte> bytes);
  void flush();

  Engine& engine_;
  const Container& from_;
  OutputFile& output_;
  std::optional<npz::ArchiveWriter> list_;  ///< of an .npz archive
  std::vector<std::byte> waiting_;          ///< the last bytes of the archive, not written yet
  std::uint64_t written_ = 0;               ///< bytes of the archive before them
};

}  // namespace clipper
