#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "files/descriptor.hpp"
#include "files/input_file.hpp"
#include "os/os.hpp"

/// What a replacement keeps from the file that it replaces. The permission bits are not included: the caller
/// sets them as the last step.
namespace clipper {

/// Gives `replacement` the POSIX access control list (ACL) of the file at `path`, or removes the ACL that it
/// inherited from its directory. Otherwise the old ACL's mask would become the permissions of the group.
/// Returns false, with errno, on failure.
[[nodiscard]] bool keep_access_list(const std::string& path, const Descriptor& replacement);

/// Gives `replacement` the owner, ACL, `user.` attributes and SELinux label of `input`. Error{refused} if the
/// user or the file system cannot keep one of them; Error{io} for any other failure, such as a full quota.
void keep_attributes(const InputFile& input, const Descriptor& replacement);

/// What keep_attributes() keeps, and the mode, as they are when this is made.
class KeptAttributes {
 public:
  /// Error{io} if they cannot be read.
  explicit KeptAttributes(const InputFile& input);

  /// Whether the input still has the same ones. Does not use the heap: see without_cleanup().
  [[nodiscard]] bool are_unchanged() noexcept;

 private:
  /// The attributes: room for all names, and each kept one as its size and its bytes.
  struct Attributes {
    std::vector<char> names;
    std::vector<char> kept;
  };
  [[nodiscard]] std::optional<std::size_t> read(Attributes& to) const noexcept;

  const InputFile& input_;
  os::Status status_{};
  Attributes before_;
  Attributes now_;
  std::size_t size_ = 0;  ///< of `kept` in before_
};

}  // namespace clipper
