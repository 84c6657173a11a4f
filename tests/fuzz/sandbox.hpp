#pragma once

#include <filesystem>
#include <fstream>
#include <map>
#include <string_view>

#include "fuzz/require.hpp"

namespace clipper::fuzz {

/// A directory in $TMPDIR. The destructor removes it with all of its files.
class Sandbox {
 public:
  Sandbox() {
    path_ = std::filesystem::temp_directory_path() / "clipper-fuzz-XXXXXX";
    require(::mkdtemp(path_.data()) != nullptr, "the sandbox can be created");
  }
  Sandbox(Sandbox&&) = delete;
  Sandbox& operator=(Sandbox&&) = delete;
  ~Sandbox() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }

  [[nodiscard]] const std::string& path() const { return path_; }
  [[nodiscard]] std::string operator/(std::string_view name) const { return path_ + "/" + std::string(name); }

  void write(std::string_view name, std::string_view bytes) const {
    std::ofstream file(*this / name, std::ios::binary);
    file.write(bytes.data(), static_cast<std::streamsize>(bytes.size())).flush();
    require(file.good(), "a file in the sandbox can be written", std::string(name));
  }

  /// The relative paths and the contents of all files.
  [[nodiscard]] std::map<std::string, std::string> files() const {
    std::map<std::string, std::string> all;
    for (const auto& entry : std::filesystem::recursive_directory_iterator(path_)) {
      if (entry.is_directory()) continue;
      std::string& bytes = all[entry.path().lexically_relative(path_)];
      bytes.resize(entry.file_size());
      std::ifstream(entry.path(), std::ios::binary)
          .read(bytes.data(), static_cast<std::streamsize>(bytes.size()));
    }
    return all;
  }

  void clear() const {
    for (const auto& entry : std::filesystem::directory_iterator(path_)) std::filesystem::remove_all(entry);
  }

 private:
  std::string path_;
};

}  // namespace clipper::fuzz
