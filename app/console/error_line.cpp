#include "console/error_line.hpp"

#include <fmt/format.h>

#include <new>

#include "console/escape_for_terminal.hpp"

namespace clipper {

Failure explained(const std::exception_ptr& exception) {
  try {
    std::rethrow_exception(exception);
  } catch (const Error& error) {
    return {error.kind(), error.what()};
  } catch (const std::bad_alloc&) {
    return {ErrorKind::io, "out of memory"};
  } catch (const std::exception& error) {
    return {ErrorKind::io, error.what()};
  }
}

std::string line_of(const Failure& failure) {
  return fmt::format("clipper: {}\n", escape_for_terminal(failure.message));
}

std::string warning_line(std::string_view message) {
  return fmt::format("clipper: warning: {}\n", escape_for_terminal(message));
}

}  // namespace clipper
