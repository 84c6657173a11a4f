#include "exchange.hpp"

#include <fcntl.h>

#include <cerrno>
#include <cstdio>
#include <exception>

namespace clipper {
namespace {

constexpr int kMaxTries = 1000;  // each needs another program that renames in the same microseconds

bool swap(const Place& a, const Place& b) {
  return ::renameat2(a.directory(), a.name(), b.directory(), b.name(), RENAME_EXCHANGE) == 0;
}

/// `otherwise` if it cannot be examined.
bool holds(const std::function<bool()>& condition, bool otherwise) {
  try {
    return condition();
  } catch (const std::exception&) {
    return otherwise;
  }
}

/// If something else than the replacement comes out when the stranger's file gets its name again, then that
/// is newer, and is what has to stay.
Exchanged take_back(const Place& hidden, const Place& place, const FileId& replacement) {
  for (int tries = 0; tries < kMaxTries; ++tries) {
    if (!swap(hidden, place)) {
      const bool nothing_there = ::renameat2(hidden.directory(), hidden.name(), place.directory(),
                                             place.name(), RENAME_NOREPLACE) == 0;
      return nothing_there ? Exchanged::taken_back : Exchanged::stranded;
    }
    if (holds([&] { return hidden.is(replacement); }, true)) return Exchanged::taken_back;
  }
  return Exchanged::stranded;
}

}  // namespace

Exchanged exchange(const Place& hidden, const Place& place, const FileId& replacement,
                   const std::function<bool()>& is_right) {
  if (!swap(hidden, place)) {
    const bool unsupported = errno == EINVAL || errno == ENOSYS || errno == EOPNOTSUPP;
    return unsupported ? Exchanged::unsupported : Exchanged::failed;
  }
  return holds(is_right, false) ? Exchanged::done : take_back(hidden, place, replacement);
}

}  // namespace clipper
