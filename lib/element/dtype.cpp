#include "element/dtype.hpp"

#include <algorithm>

namespace clipper {

static_assert(
    [] {
      for (std::size_t i = 0; i < kDTypes.size(); ++i) {
        const DTypeTraits& row = kDTypes[i];
        if (static_cast<std::size_t>(row.dtype) != i) return false;
        if (has_kernels(row.dtype) && with_type(row.dtype, []<class T>() { return sizeof(T); }) != row.size)
          return false;
      }
      return true;
    }(),
    "kDTypes has one row for each DType, in its order");

namespace {

/// In front of DTypeCodes::words that have no prefix.
constexpr std::array<std::string_view, 9> kPrefixes{"torch.",     "np.",          "numpy.",
                                                    "ml_dtypes.", "jnp.",         "jax.numpy.",
                                                    "tf.",        "tensorproto.", "onnx.tensorproto."};

struct Ambiguous {
  std::string_view word;
  std::string_view objection;
};
constexpr std::array kAmbiguous{
    Ambiguous{"i8", "is int64 in numpy and int8 elsewhere; write one of these"},
    Ambiguous{"u8", "is uint64 in numpy and uint8 elsewhere; write one of these"},
    Ambiguous{"f8", "is float64 in numpy and a float8 dtype elsewhere; write its full name"},
    Ambiguous{"float", "is float64 in numpy and float32 elsewhere; write one of these"},
    Ambiguous{"int", "is int64 in numpy and int32 elsewhere; write one of these"},
    Ambiguous{"uint", "is uint64 in numpy and uint32 elsewhere; write one of these"},
    Ambiguous{"byte", "is int8 in numpy and uint8 elsewhere; write one of these"},
    Ambiguous{"long", "is int64 in torch and on Linux, and int32 on Windows; write one of these"},
    Ambiguous{"ulong", "is uint64 on Linux and uint32 on Windows; write one of these"}};

bool has_word(std::string_view words, std::string_view word) {
  if (word.empty() || word.find(' ') != word.npos) return false;
  for (std::size_t at = words.find(word); at != words.npos; at = words.find(word, at + 1)) {
    const std::size_t end = at + word.size();
    if ((at == 0 || words[at - 1] == ' ') && (end == words.size() || words[end] == ' ')) return true;
  }
  return false;
}

/// The dtype that follows a mark for the byte order in .npy headers, unless several have its descriptor.
std::optional<DType> dtype_described(std::string_view descr) {
  for (const DTypeTraits& row : kDTypes)
    if (row.descr == descr && !descr.starts_with('V')) return row.dtype;
  return std::nullopt;
}

DTypeWord marked_dtype(char mark, std::string_view descr) {
  const std::optional<DType> dtype = dtype_described(descr);
  if (!dtype || mark == '|' || traits(*dtype).size == 1) return {dtype};
  return {OrderedDType(*dtype, mark == '<'   ? ByteOrder::little
                               : mark == '>' ? ByteOrder::big
                                             : kNativeOrder)};
}

DTypeWord word_in_lower_case(std::string_view word) {
  if (const std::optional<DType> dtype = dtype_named(word)) return {dtype};
  for (const DTypeTraits& row : kDTypes)
    if (has_word(codes_of(row.dtype).words, word)) return {row.dtype};
  const auto* const found = std::ranges::find(kAmbiguous, word, &Ambiguous::word);
  return {std::nullopt, found == kAmbiguous.end() ? "" : found->objection};
}

}  // namespace

std::optional<DType> dtype_named(std::string_view name) noexcept {
  for (const DTypeTraits& row : kDTypes)
    if (row.name == name) return row.dtype;
  return std::nullopt;
}

std::string text_of(const OrderedDType& dtype) {
  const DTypeTraits& row = traits(dtype);
  if (!dtype.order || is_foreign(dtype)) return std::string(row.name);
  return (*dtype.order == ByteOrder::little ? "<" : ">") + std::string(row.descr);
}

DTypeWord dtype_word(std::string_view word) {
  constexpr std::string_view kMarks = "<>=|";
  if (!word.empty() && kMarks.find(word.front()) != kMarks.npos) return marked_dtype(word[0], word.substr(1));
  std::string lower(word);
  for (char& c : lower)
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  const DTypeWord found = word_in_lower_case(lower);
  if (found.dtype || !found.objection.empty()) return found;
  for (const std::string_view prefix : kPrefixes) {
    const std::string_view rest = std::string_view(lower).substr(std::min(prefix.size(), lower.size()));
    if (lower.starts_with(prefix) && rest.find('.') == rest.npos) return word_in_lower_case(rest);
  }
  return {};
}

}  // namespace clipper
