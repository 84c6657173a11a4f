#pragma once

#include <string>
#include <string_view>

#include "error.hpp"
#include "npz/member_name.hpp"

namespace clipper::npz {

/// Throws Error{input}.
[[noreturn]] inline void refuse(const std::string& message) {
  throw Error(ErrorKind::input, message);
}

/// Returns work(). If work() refuses the archive, the error gets the member's name in front. Errors of
/// reading pass.
template <class Work>
auto about_member(std::string_view name, Work work) {
  try {
    return work();
  } catch (const Error& error) {
    if (error.kind() != ErrorKind::input) throw;
    refuse(member_text(name) + ": " + error.what());
  }
}

}  // namespace clipper::npz
