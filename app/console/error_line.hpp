#pragma once

#include <exception>
#include <string>
#include <string_view>

#include "error.hpp"

namespace clipper {

/// What is said of an exception, and the exit status.
struct Failure {
  ErrorKind kind;
  std::string message;  ///< one line
};

/// A failure that was printed as JSON. What is missing is the line on standard error.
class Reported : public Error {
 public:
  explicit Reported(const Failure& failure) : Error(failure.kind, failure.message) {}
};

/// The failure that any exception stands for.
[[nodiscard]] Failure explained(const std::exception_ptr& exception);

/// "clipper: message\n" for standard error, with control characters escaped.
[[nodiscard]] std::string line_of(const Failure& failure);

/// "clipper: warning: message\n" for standard error, with control characters escaped.
[[nodiscard]] std::string warning_line(std::string_view message);

}  // namespace clipper
