#include <algorithm>
#include <array>
#include <cerrno>
#include <utility>

#include "clip/run_log.hpp"
#include "console/json.hpp"
#include "console/progress.hpp"

namespace clipper {
namespace {

bool print_values(const ParameterArray& array, AboveProgress& line) noexcept {
  const std::uint64_t count = array.layout().count;
  Json::NumberText room;
  for (std::size_t i = 0; i < count; ++i)
    if ((i != 0 && !line.add(",")) ||
        !line.add(array.is_lost(i) ? "null"
                                   : Json::print(array.layout().dtype, found_element(array, i), room)))
      return false;
  return true;
}

/// Prints the text, and for each kValues of it the elements of the next array, which `next` is.
template <class Next>
bool print_plan(std::string_view text, Next next, AboveProgress& line) noexcept {
  for (;; ++next) {
    const std::size_t end = std::min(text.find(kValues), text.size());
    if (!line.add(text.substr(0, end))) return false;
    if (end == text.size()) return true;
    if (!print_values(**next, line)) return false;
    text.remove_prefix(end + 1);
  }
}

}  // namespace

void JsonLines::add(JsonRest json) {
  const auto last = found_.end() - static_cast<std::ptrdiff_t>(plan_found_);
  const bool is_same =
      json.plan == plan_ && std::equal(last, found_.end(), json.found.begin(), json.found.end());
  texts_.add(json.member);
  texts_.add(is_same ? kSame : json.plan);
  texts_.add(json.result);
  if (is_same) return;
  for (const auto& array : json.found) found_size_ += array->held().size();
  found_.insert(found_.end(), json.found.begin(), json.found.end());
  plan_found_ = json.found.size();
  plan_ = std::move(json.plan);
}

int JsonLines::print(std::FILE* stream) const noexcept {
  std::array<std::string_view, 3> texts;
  std::size_t count = 0;
  std::string_view plan;
  auto next = found_.begin();
  int error = 0;
  texts_.for_each([&](std::string_view text) {
    texts.at(count) = text;
    if (++count < texts.size()) return;
    count = 0;
    if (texts[1] != kSame) {
      next += std::ranges::count(plan, kValues);
      plan = texts[1];
    }
    AboveProgress line(stream);
    const bool is_printed = line.add(start_) && line.add(texts[0]) && print_plan(plan, next, line) &&
                            line.add(texts[2]) && line.add("\n") && line.finish();
    if (!is_printed) error = errno;
  });
  return error;
}

}  // namespace clipper
