#include "files/name_choice.hpp"

#include <algorithm>
#include <cstddef>
#include <string_view>
#include <utility>

#include "error.hpp"
#include "os/os.hpp"

namespace clipper {
namespace {

/// Calls `take` with the index of each member that the pattern stands for. Returns whether there is one.
template <class Take>
bool for_each_match(const Container& archive, const std::string& pattern, const Take& take) {
  if (const Entry* const named = archive.find(pattern)) {
    take(archive.index_of(*named), NameChoice::How::by_name);
    return true;
  }
  bool found = false;
  const std::vector<Entry>& members = archive.entries();
  for (std::size_t i = 0; i < members.size(); ++i) {
    if (!matches(pattern, std::string(members[i].key())) && !matches(pattern, members[i].name)) continue;
    found = true;
    take(i, NameChoice::How::by_pattern);
  }
  return found;
}

}  // namespace

bool matches(const std::string& pattern, const std::string& text) {
  return os::fnmatch(pattern.c_str(), text.c_str(), 0) == 0;
}

bool matches_any(const std::vector<std::string>& patterns, const std::string& text) {
  return std::ranges::any_of(patterns, [&](const std::string& pattern) { return matches(pattern, text); });
}

NameChoice::NameChoice(std::vector<std::string> patterns, std::vector<std::string> excluded, Needed needed)
    : patterns_(std::move(patterns)),
      excluded_(std::move(excluded)),
      needed_(needed),
      used_(std::make_shared<std::deque<std::atomic<bool>>>(patterns_.size())) {}

std::vector<NameChoice::How> NameChoice::of(const Container& archive) const {
  std::vector<How> chosen(archive.entries().size(), has_patterns() ? How::not_chosen : How::by_pattern);
  for (std::size_t i = 0; i < patterns_.size(); ++i) {
    const bool found = for_each_match(archive, patterns_[i], [&](std::size_t member, How how) {
      chosen[member] = std::max(chosen[member], how);
    });
    if (found) (*used_)[i] = true;
    if (!found && needed_ == Needed::in_each) static_cast<void>(archive.named(patterns_[i]));  // throws
  }
  for (const std::string& pattern : excluded_)
    for_each_match(archive, pattern,
                   [&](std::size_t member, How /*how*/) { chosen[member] = How::not_chosen; });
  return chosen;
}

void NameChoice::expect_used() const {
  if (needed_ == Needed::in_each) return;
  for (std::size_t i = 0; i < patterns_.size(); ++i)
    if (!(*used_)[i])
      throw Error(ErrorKind::usage, Term{"member", "a choice of members"} +
                                        (": no archive has a member '" + patterns_[i] + "'"));
}

}  // namespace clipper
