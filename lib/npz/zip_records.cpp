#include "npz/zip_records.hpp"

#include <fmt/format.h>

#include "error.hpp"

namespace clipper::npz {

void refuse(const std::string& message) {
  throw Error(ErrorKind::input, message);
}

std::optional<std::string_view> extra_field(std::string_view extras, std::uint16_t id) {
  std::optional<std::string_view> found;
  while (extras.size() >= kExtraPreamble) {
    const std::size_t length = get(extras, Field16{2});
    if (length > extras.size() - kExtraPreamble) refuse("its extra fields are malformed");
    if (get(extras, Field16{0}) == id) {
      if (found) refuse(fmt::format("it has two extra fields {:#06x}", id));
      found = extras.substr(kExtraPreamble, length);
    }
    extras.remove_prefix(kExtraPreamble + length);
  }
  // Programs that align the data pad extra fields with zeros.
  if (extras.find_first_not_of('\0') != std::string_view::npos) refuse("its extra fields are malformed");
  return found;
}

}  // namespace clipper::npz
