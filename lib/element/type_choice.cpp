#include "element/type_choice.hpp"

#include <optional>

namespace clipper {
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

bool TypeChoice::contains(DType dtype, const Meaning& meaning) const {
  switch (meaning.kind) {
    case Meaning::Kind::number: return (dtypes_ >> static_cast<unsigned>(dtype) & 1U) != 0;
    case Meaning::Kind::boolean: return bool_;
    case Meaning::Kind::datetime:
    case Meaning::Kind::timedelta: return date_;
    case Meaning::Kind::complex: break;
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
