#pragma once

#include <linux/fs.h>
#include <sys/ioctl.h>

#include "files/descriptor.hpp"
#include "support/catch.hpp"

namespace clipper::testing {

/// Makes a directory append-only during the object's lifetime, if the system allows it.
class AppendOnly {
 public:
  explicit AppendOnly(const std::string& path) : directory_(::open(path.c_str(), O_RDONLY | O_DIRECTORY)) {
    done_ = ::ioctl(directory_.get(), FS_IOC_GETFLAGS, &flags_) == 0 && set(flags_ | FS_APPEND_FL);
  }
  AppendOnly(const AppendOnly&) = delete;
  AppendOnly& operator=(const AppendOnly&) = delete;
  ~AppendOnly() {
    if (done_) CHECK(set(flags_));
  }
  explicit operator bool() const { return done_; }

 private:
  [[nodiscard]] bool set(unsigned flags) const {
    return ::ioctl(directory_.get(), FS_IOC_SETFLAGS, &flags) == 0;
  }

  Descriptor directory_;
  unsigned flags_ = 0;
  bool done_ = false;
};

}  // namespace clipper::testing
