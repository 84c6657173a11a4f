#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "contract/profile.hpp"

/// Numbers on the command line.
namespace clipper {

class RawOptions;
struct Option;

/// A number or @FILE.npy: a number or an array, see read_parameter(), whose errors get the flag. `flag` is
/// for messages: "--min". Throws Error{usage} for any other text.
[[nodiscard]] Given parse_given(std::string_view flag, const std::string& text);

/// A bound of a clip: what parse_given() accepts, or a percentile of the tensor's elements ("1%").
[[nodiscard]] Given parse_bound(std::string_view flag, const std::string& text);

/// A scale: what parse_given() accepts, or 1/ and that.
[[nodiscard]] Given parse_scale(std::string_view flag, const std::string& text);

/// Whether the text is that of a number or array in a file.
[[nodiscard]] bool names_file(std::string_view text);

/// parse_given() of the option's value; nothing if the option was not given.
[[nodiscard]] std::optional<Given> given(const RawOptions& raw, const Option& option);

/// The same for a number of elements of any type, which may be a date, true or false.
[[nodiscard]] std::optional<Given> given_limit(const RawOptions& raw, const Option& option);

/// One of kNanWords, or a number. Throws Error{usage} for any other text.
[[nodiscard]] OnNan parse_on_nan(const std::string& text);

/// A file that is the value of an option.
struct OptionFile {
  std::string_view option;  ///< "--min"
  std::string path;
};

/// The files of the request's numbers and arrays.
[[nodiscard]] std::vector<OptionFile> number_files(const Request& request);

}  // namespace clipper
