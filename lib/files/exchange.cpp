#include "files/exchange.hpp"

#include <cerrno>

#include "files/linux_calls.hpp"

namespace clipper {
namespace {

constexpr int kMaxTries = 1000;  // each try needs another program to rename within the same microseconds

bool swap(const Place& a, const Place& b) {
  return rename_with(RENAME_EXCHANGE, a.directory(), a.name(), b.directory(), b.name()) == 0;
}

bool give_back(const Place& hidden, const Place& place) {
  return rename_with(RENAME_NOREPLACE, hidden.directory(), hidden.name(), place.directory(), place.name()) ==
         0;
}

/// Puts back the file that came out. The second exchange should bring out the file put in last, the
/// replacement. If it brings out another file, a program has just renamed that over the replacement: it is
/// newer, so it is put back in turn.
Exchanged take_back(const Place& hidden, const Place& place, const FileId& replacement) {
  FileId put_last = replacement;
  bool has_put_back = false;
  for (int tries = 0; tries < kMaxTries; ++tries) {
    const auto going_back = hidden.id();
    if (!swap(hidden, place)) {
      has_put_back = give_back(hidden, place);
      if (has_put_back || errno != EEXIST) break;
      continue;  // somebody has just taken the name that nobody had
    }
    has_put_back = true;
    const auto came_out = hidden.id();
    if (!came_out || !going_back || *came_out == put_last) break;
    put_last = *going_back;
  }
  const auto named = place.id();
  const bool may_be_replacement = named ? *named == replacement : errno != ENOENT && !has_put_back;
  return may_be_replacement ? Exchanged::stranded : Exchanged::taken_back;
}

}  // namespace

Exchanged exchange(const Place& hidden, const Place& place, const FileId& replacement,
                   const std::function<bool()>& is_right) noexcept {
  if (!swap(hidden, place)) {
    return is_unsupported(errno) ? Exchanged::unsupported : Exchanged::failed;
  }
  return is_right() ? Exchanged::done : take_back(hidden, place, replacement);
}

}  // namespace clipper
