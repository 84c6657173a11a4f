#include "flows/lost_figures.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "contract/bounds.hpp"
#include "contract/fields.hpp"
#include "element/element.hpp"

namespace clipper {
namespace {

constexpr std::string_view kAnd = " and --";

bool is_bound(std::string_view field) {
  return field.starts_with('m');
}

}  // namespace

void LostFigures::add(std::string_view field, const std::string& text, std::string place,
                      std::string_view why) {
  const auto entry = std::ranges::find(entries_, field, &Entry::field);
  if (entry == entries_.end())
    entries_.push_back({field, text, std::move(place), why});
  else
    ++entry->groups;
}

void LostFigures::move_to(std::vector<LostBound>& lost) {
  for (auto first = entries_.begin(); first != entries_.end();) {
    const auto other = std::find_if(first, entries_.end(), [&](const Entry& entry) {
      return is_bound(entry.field) != is_bound(first->field) || entry.place != first->place ||
             entry.groups != first->groups || entry.why != first->why;
    });
    std::string text = first->text;
    for (auto entry = first + 1; entry != other; ++entry)
      text += fmt::format("{}{} {}", kAnd, entry->field, entry->text);
    text += first->place;
    if (first->groups > 1)
      text += fmt::format(" and {} other {}", first->groups - 1, first->groups == 2 ? "index" : "indexes");
    lost.push_back({first->field, std::move(text), first->why});
    first = other;
  }
  entries_.clear();
}

std::string lost_text(const LostBound& lost) {
  const bool are_two = lost.text.find(kAnd) != std::string::npos;
  const std::string_view what = is_bound(lost.field) ? are_two ? "are no bounds" : "is no bound"
                                : are_two            ? "are left out"
                                                     : "is left out";
  return fmt::format("--{} {} {}: {}", lost.field, lost.text, what, lost.why);
}

Number widest(const Request& request, const TensorLayout& layout, bool is_min) {
  if (user_of_bounds(request) != nullptr) {
    const std::optional<Given>& other = is_min ? request.max : request.min;
    if (!other || other->percentage) return 1;
    if (other->array) return number_of(layout.dtype, (is_min ? lowest_finite : highest_finite)(layout.dtype));
    const std::optional<ElementBits> nearest =
        is_min ? greatest_to(layout.dtype, other->number) : least_from(layout.dtype, other->number);
    return nearest ? number_of(layout.dtype, *nearest) : other->number;
  }
  return number_of(layout.dtype, is_min ? lowest_element(layout.dtype) : highest_element(layout.dtype));
}

}  // namespace clipper
