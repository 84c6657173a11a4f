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

constexpr Term kMembers{"member", "a choice of members"};
constexpr Term kExcluded{"exclude_member", "an exclusion of members"};

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
      used_(std::make_shared<std::deque<std::atomic<bool>>>(patterns_.size() + excluded_.size())) {}

std::vector<NameChoice::How> NameChoice::of(const Container& archive) const {
  std::vector<How> chosen(archive.entries().size(), has_patterns() ? How::not_chosen : How::by_pattern);
  auto used = used_->begin();
  const auto match = [&](const std::string& pattern, const auto& take) {
    const bool found = for_each_match(archive, pattern, take);
    if (found) *used = true;
    if (!found && needed_ == Needed::in_each) static_cast<void>(archive.named(pattern));  // throws
    ++used;
  };
  for (const std::string& pattern : patterns_)
    match(pattern, [&](std::size_t member, How how) { chosen[member] = std::max(chosen[member], how); });
  for (const std::string& pattern : excluded_)
    match(pattern, [&](std::size_t member, How /*how*/) { chosen[member] = How::not_chosen; });
  return chosen;
}

Term NameChoice::term() const {
  return has_patterns() ? kMembers : kExcluded;
}

void NameChoice::expect_used() const {
  if (needed_ == Needed::in_each) return;
  auto used = used_->begin();
  for (const auto& [patterns, term] : {std::pair(&patterns_, kMembers), std::pair(&excluded_, kExcluded)})
    for (const std::string& pattern : *patterns)
      if (!*used++)
        throw Error(ErrorKind::usage, term + Message(": no archive has a member '" + pattern + "'"));
}

}  // namespace clipper
