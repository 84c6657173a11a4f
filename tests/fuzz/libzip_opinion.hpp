#pragma once

#include <fmt/format.h>
#include <zip.h>

#include <algorithm>
#include <cstdint>
#include <string>
#include <string_view>

#include "npz/archive.hpp"

/// libzip as a second opinion: what clipper accepts, libzip must read in the same way.
namespace clipper::zip {

inline bool is_same(zip_t* opened, std::uint64_t index, const npz::Member& member) {
  const char* const name = zip_get_name(opened, index, ZIP_FL_ENC_RAW);
  zip_stat_t found;
  zip_stat_init(&found);
  return name != nullptr && name == member.name && zip_stat_index(opened, index, 0, &found) == 0 &&
         found.size == member.contents.size && found.comp_size == member.contents.stored_size &&
         found.crc == member.contents.crc && found.comp_method == static_cast<std::uint16_t>(member.method);
}

/// What libzip says against `archive`, which clipper reads in `bytes`. Empty if it reads the same members.
inline std::string libzip_objection(std::string_view bytes, const npz::Archive& archive) {
  // ZIP_CHECKCONS refuses data descriptors if the local headers have sizes, too, as by Info-ZIP.
  const bool has_descriptors = std::ranges::any_of(archive.members, [](const npz::Member& member) {
    return (get(member.listed, npz::ListEntry::kFlags) & npz::kHasDescriptor) != 0;
  });
  zip_error_t error;
  zip_error_init(&error);
  zip_source_t* const source = zip_source_buffer_create(bytes.data(), bytes.size(), 0, &error);
  zip_t* const opened =
      zip_open_from_source(source, has_descriptors ? ZIP_RDONLY : ZIP_RDONLY | ZIP_CHECKCONS, &error);
  std::string objection;
  if (opened == nullptr) {
    objection = fmt::format("libzip refuses it: {}", zip_error_strerror(&error));
    zip_source_free(source);
  } else {
    if (zip_get_num_entries(opened, 0) != static_cast<zip_int64_t>(archive.members.size()))
      objection = "libzip finds another number of members";
    for (std::uint64_t i = 0; objection.empty() && i < archive.members.size(); ++i)
      if (!is_same(opened, i, archive.members[i]))
        objection = fmt::format("libzip reads member {} differently", i);
    zip_discard(opened);
  }
  zip_error_fini(&error);
  return objection;
}

}  // namespace clipper::zip
