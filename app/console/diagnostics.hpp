#pragma once

#include <exception>
#include <string>
#include <string_view>

#include "error.hpp"

/// The lines for people on standard error: errors, warnings, and what -v tells. One spdlog logger prints
/// them, in place of the progress line.
namespace clipper {

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
void print_note(std::string_view line) noexcept;

}  // namespace clipper
