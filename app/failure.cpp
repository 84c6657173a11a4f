#include "failure.hpp"

#include <fmt/format.h>

#include <new>

#include "printable.hpp"

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
  return fmt::format("clipper: {}\n", printable(failure.message));
}

std::string warning_line(std::string_view message) {
  return fmt::format("clipper: warning: {}\n", printable(message));
}

}  // namespace clipper
