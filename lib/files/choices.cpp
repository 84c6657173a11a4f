#include "files/choices.hpp"

#include <algorithm>
#include <cstddef>
#include <optional>
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

namespace {

TypeChoice choice_of(std::string_view word) {
  TypeChoice choice;
  static_cast<void>(choice.add(word));
  return choice;
}

}  // namespace

bool TypeChoice::add(std::string_view word) {
  const bool is_all = word == "all";
  bool is_known = is_all || word == "bool" || word == "date";
  const std::optional<DType> dtype = dtype_word(word).dtype;
  for (const DTypeTraits& row : kDTypes) {
    const bool is_kind = !row.only_if_named && word == (is_floating(row.dtype) ? "float" : "int");
    if (!is_all && !is_kind && dtype != row.dtype) continue;
    dtypes_ |= 1U << static_cast<unsigned>(row.dtype);
    is_known = true;
  }
  bool_ = bool_ || is_all || word == "bool";
  date_ = date_ || is_all || word == "date";
  other_ = other_ || is_all;
  return is_known;
}

bool TypeChoice::contains(DType dtype, const LogicalType& meaning) const {
  switch (meaning.kind) {
    case LogicalType::Kind::number: return (dtypes_ >> static_cast<unsigned>(dtype) & 1U) != 0;
    case LogicalType::Kind::boolean: return bool_;
    case LogicalType::Kind::datetime:
    case LogicalType::Kind::timedelta: return date_;
    case LogicalType::Kind::complex: break;
  }
  return other_;
}

TypeChoice TypeChoice::all() {
  return choice_of("all");
}

TypeChoice TypeChoice::floats() {
  static const TypeChoice choice = choice_of("float");
  return choice;
}

TypeChoice TypeChoice::numbers() {
  static const TypeChoice choice = [] {
    TypeChoice numbers = floats();
    static_cast<void>(numbers.add("int"));
    return numbers;
  }();
  return choice;
}

}  // namespace clipper
