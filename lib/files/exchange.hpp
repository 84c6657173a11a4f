#pragma once

#include <cstdint>
#include <functional>

#include "files/place.hpp"

namespace clipper {

enum class Exchanged : std::uint8_t {
  done,         ///< the old file has the hidden name
  taken_back,   ///< another file had the name: the newest of the others' files has it again
  stranded,     ///< another file had the name, and may not have it again: it has the hidden name
  unsupported,  ///< the file system cannot exchange names: every name is as before
  failed,       ///< every name is as before, and errno has the reason
};

/// Exchanges the names `hidden` and `place` in one directory, then checks which file came out before anybody
/// removes it. (If the check came first and a rename second, another program could put its own file there in
/// between.) `is_right` is called when the old file has the hidden name, and returns whether that is the file
/// to be replaced. `replacement` is the file that has the hidden name before the exchange. A file that
/// another program renames to `place` meanwhile stays there. After taken_back the hidden name may belong to
/// a third file, which was renamed to `place` before that one: the caller must keep every file but its own.
/// Neither this function nor `is_right` may use the heap: see without_cleanup().
[[nodiscard]] Exchanged exchange(const Place& hidden, const Place& place, const FileId& replacement,
                                 const std::function<bool()>& is_right) noexcept;

}  // namespace clipper
