#pragma once

#include <algorithm>
#include <cstdint>
#include <exception>
#include <string>
#include <string_view>

#include "error.hpp"

/// The lines for people: errors, warnings, and what -v tells. One spdlog logger gives them to standard error,
/// where they take the place of the progress line, and to the file of --log-file.
namespace clipper {

/// How much a message matters, in the order of kLogLevel's words after the default.
enum class Level : std::uint8_t { error, warning, info, debug, trace };

/// The levels that --quiet, -v, --log-level and --log-file ask for.
struct LogLevels {
  Level shown = Level::info;  ///< on standard error
  Level kept = Level::info;   ///< in the file

  /// Whether anything shows or keeps messages of this level.
  [[nodiscard]] bool want(Level level) const { return level <= std::max(shown, kept); }
};

/// The message for an exception, and the exit status.
struct Failure {
  ErrorKind kind;
  std::string message;  ///< one line
};

/// A failure that was printed as JSON, but not yet as a line on standard error.
class Reported : public Error {
 public:
  explicit Reported(const Failure& failure) : Error(failure.kind, failure.message) {}
};

/// The message with the names of options in place of those of parameters.
[[nodiscard]] std::string with_options(const Message& message);

/// The message and exit status for any exception. The message is "out of memory" if there is none for it.
[[nodiscard]] Failure explained(const std::exception_ptr& exception) noexcept;

/// Prints "clipper: message", with control characters escaped.
void print_error(const Failure& failure);

/// Prints "clipper: warning: message", with control characters escaped.
void print_warning(std::string_view message);

/// Prints "clipper: line". The line's control characters must be escaped already: this needs no memory, so
/// that what is done can be told.
void print_note(std::string_view line, Level level = Level::info) noexcept;

/// Standard error gets messages of this level and of those that matter more; until this is called, info.
void set_log_level(Level level);

/// A file gets messages, too: each line by one write() at its end, so that lines of several processes stay
/// whole. If that fails, one warning says so. Error{io} if the file cannot be opened.
void open_log(const std::string& path, Level level);

}  // namespace clipper
