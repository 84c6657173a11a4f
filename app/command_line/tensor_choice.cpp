#include "command_line/tensor_choice.hpp"

#include <cstddef>

#include "error.hpp"
#include "npy/header.hpp"

namespace clipper {

bool TensorChoice::takes_all() const {
  return !only && !members.has_patterns() && !members.has_excluded();
}

std::vector<bool> TensorChoice::of(const Container& archive, const npy::GivenDType& dtype) const {
  using How = NameChoice::How;
  const std::vector<How> chosen = members.of(archive);
  const auto has_kind = [&](const Entry& member) {
    try {
      const auto header = archive.header(member, dtype.dtype, npy::Types::all).header;
      return header && !header->other && only->contains(header->dtype, header->meaning);
    } catch (const Error&) {
      return true;
    }
  };
  std::vector<bool> result(chosen.size());
  for (std::size_t i = 0; i < chosen.size(); ++i)
    result[i] = chosen[i] == How::by_name ||
                (chosen[i] == How::by_pattern && (!only || has_kind(archive.entries()[i])));
  return result;
}

bool TensorChoice::has(InputFile& input, const npy::GivenDType& dtype, bool is_named) const {
  if (members.has_patterns() || (is_named && members.needs_archive())) return false;
  if (!only || is_named) return true;
  try {
    const npy::Header header =
        read_header(input, dtype, nullptr, std::nullopt, npy::Opaque::taken, npy::Types::all);
    return !header.other && only->contains(header.dtype, header.meaning);
  } catch (const Error&) {
    return true;
  }
}

}  // namespace clipper
