#pragma once

#include <cstddef>
#include <deque>
#include <memory_resource>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace clipper {

/// One input and where its result goes; without an output, in its own place.
struct Job {
  std::string input;
  std::optional<std::string> output;
  bool output_is_new = false;  ///< nothing had its name when many jobs were checked
};

/// The jobs of a run, of which there may be millions: a name takes its characters, one byte and 24 for the
/// job, and an output that ends like its input takes no more.
class Jobs {
 public:
  void add(std::string_view input);

  /// The output of a job is `directory`, the same for all jobs and perhaps empty, and `path`.
  void set_directory(std::string directory) { directory_ = std::move(directory); }
  void set_output(std::size_t job, std::string_view path);
  void set_output_is_new(std::size_t job) { jobs_[job].output_is_new = true; }

  /// Forgets the jobs for which there is a 0.
  void keep(const std::vector<char>& kept);

  [[nodiscard]] std::size_t size() const noexcept { return jobs_.size(); }
  [[nodiscard]] Job operator[](std::size_t job) const;

 private:
  struct Entry {
    const char* input = nullptr;
    const char* output = nullptr;  ///< without the directory
    bool output_is_new = false;
  };

  [[nodiscard]] const char* kept_text(std::string_view text);

  std::pmr::monotonic_buffer_resource memory_;
  std::deque<Entry> jobs_;
  std::string directory_;
};

/// Makes the directories of the outputs. Error{io} if one cannot be made.
void make_directories(const Jobs& jobs);

}  // namespace clipper
