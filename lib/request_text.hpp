#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "contract/fields.hpp"
#include "flows/selection.hpp"
#include "formats/formats.hpp"

/// A request from texts: those of the command line, which are also those of the C interface.
namespace clipper {

struct FileOptions;
struct CompareOptions;

/// How files are read, as the caller of clip_file() says, who names each file.
[[nodiscard]] Reading reading_of(const FileOptions& options, bool raw_if_needed = false);

/// FileOptions::only; nothing if it is empty.
[[nodiscard]] std::optional<TypeChoice> types_of(const FileOptions& options);

/// An option of the program that is no field of a request. set() throws Error{usage} as set_text() does.
struct OtherText {
  std::string_view name;
  void (*set)(FileOptions& files, CompareOptions& compare, std::string_view name, const std::string& text);
};

[[nodiscard]] std::span<const OtherText> other_texts() noexcept;

/// Interprets the text as the field's value, which of a list is one more element; reads the file of "@FILE".
/// Error{usage}, whose term is the field's name, unless the whole text is understood; the request then stays
/// as it was. `files` is for read_parameter().
void set_text(const Field& field, Request& request, const std::string& text, const Reading& files);

/// The texts that set_text() understands as the value of a field that is given; those of numbers are as
/// typed.
[[nodiscard]] std::vector<std::string> texts_of(const Field& field, const Request& request);

/// Error{usage} for texts that contradict each other.
void check_texts(const Request& request);

/// A number or @FILE.npy: a number or an array, see read_parameter(), whose errors get the name. Error{usage}
/// for any other text.
[[nodiscard]] Parameter number_of_text(std::string_view name, const std::string& text,
                                       const Reading& files = {});

/// An end of a range: a number, or if the field's grammar is figure an expression. Error{usage} for
/// any other text.
[[nodiscard]] Parameter end_of_text(const Field& field, const std::string& text);

/// A number, which is typed. Error{usage} for any other text.
[[nodiscard]] Parameter typed_number_of_text(std::string_view name, const std::string& text);

/// One of kNanWords, or a number.
[[nodiscard]] OnNan nan_of_text(const std::string& text);

/// Whether the text is that of a number or array in a file.
[[nodiscard]] bool names_file(std::string_view text);

/// The dtype that a word means: see dtype_word().
[[nodiscard]] OrderedDType dtype_of_text(std::string_view name, std::string_view text);

/// The place of the text among the words. Error{usage} for others names the nearest of them, or all.
[[nodiscard]] std::size_t place_of_text(std::string_view name, std::string_view text,
                                        std::span<const std::string_view> words);

/// A whole number, at most `highest`.
[[nodiscard]] std::size_t count_of_text(std::string_view name, std::string_view text, std::size_t lowest,
                                        std::size_t highest);

/// The number of an axis.
[[nodiscard]] std::int64_t axis_of_text(std::string_view name, const std::string& text);

/// "true" or "false".
[[nodiscard]] bool flag_of_text(std::string_view name, std::string_view text);

}  // namespace clipper
