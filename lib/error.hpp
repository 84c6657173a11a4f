#pragma once

#include <stdexcept>
#include <string>
#include <string_view>

namespace clipper {

/// What kind of trouble stopped the work. The values are the exit codes of the command line.
enum class ErrorKind : int {
  different = 1,    ///< the tensor is not as the request demands it
  usage = 2,        ///< the request itself is wrong: a flag, a bound, a combination
  input = 3,        ///< the input is malformed, or not something that the request can take
  io = 4,           ///< the system refused: a read, a write, memory
  refused = 5,      ///< it could be done, but something of the user's would be lost
  not_durable = 6,  ///< the output is in place, but not confirmed to survive a power cut
};

/// The one exception type of the library. `what()` is one complete line for the user: it names the file,
/// the problem and the offending value.
class Error : public std::runtime_error {
 public:
  Error(ErrorKind kind, const std::string& message) : std::runtime_error(message), kind_(kind) {}

  [[nodiscard]] ErrorKind kind() const noexcept { return kind_; }

 private:
  ErrorKind kind_;
};

/// Error{refused}: "out.npy: exists already".
[[noreturn]] inline void refuse(const std::string& path, std::string_view why) {
  throw Error(ErrorKind::refused, path + ": " + std::string(why));
}

/// The result of `work`; an Error that it throws gets the path in front.
template <class Work>
auto with_path(const std::string& path, Work work) {
  try {
    return work();
  } catch (const Error& error) {
    throw Error(error.kind(), path + ": " + error.what());
  }
}

}  // namespace clipper
