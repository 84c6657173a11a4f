#pragma once

#include <exception>
#include <string>
#include <string_view>

#include "error.hpp"

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

/// The message and exit status for any exception. The message is "out of memory" if there is none for it.
[[nodiscard]] Failure explained(const std::exception_ptr& exception) noexcept;

/// "clipper: message\n" for standard error, with control characters escaped.
[[nodiscard]] std::string line_of(const Failure& failure);

/// "clipper: warning: message\n" for standard error, with control characters escaped.
[[nodiscard]] std::string warning_line(std::string_view message);

}  // namespace clipper
