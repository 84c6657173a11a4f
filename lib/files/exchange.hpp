#pragma once

#include <cstdint>
#include <functional>

#include "files/place.hpp"

namespace clipper {

enum class Exchanged : std::uint8_t {
  done,         ///< what was to be replaced has the hidden name now
  taken_back,   ///< it was something else: every name is as it was
  stranded,     ///< it was something else, has the hidden name now, and could not get its own again
  unsupported,  ///< the file system cannot exchange names: every name is as it was
  failed,       ///< every name is as it was, and errno says why
};

/// Exchanges the names of two files in one directory, and looks at what has come out before anybody removes
/// it: between a look at a name and a rename over it, another program could have put its own file there.
/// `is_right` is called when the old file has the hidden name; `replacement` is the file that has `hidden`
/// now. Whatever another program renames to `place` meanwhile is what stays there. Does not use the heap,
/// which `is_right` must not do either: see without_cleanup().
[[nodiscard]] Exchanged exchange(const Place& hidden, const Place& place, const FileId& replacement,
                                 const std::function<bool()>& is_right) noexcept;

}  // namespace clipper
