#pragma once

#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "contract/profile.hpp"
#include "engine/engine.hpp"
#include "flows/clip_file.hpp"
#include "flows/figures.hpp"
#include "os/os.hpp"

namespace clipper {

/// All tensors that a run clips, for Request::pooled: of files, and of archives those members that the
/// settings select.
class TensorPool {
 public:
  /// Both must outlive this.
  TensorPool(Engine& engine, const ClipSettings& settings);
  TensorPool(const TensorPool&) = delete;
  TensorPool& operator=(const TensorPool&) = delete;
  ~TensorPool();

  /// Reads the headers. `is_named`: see Clipping. Error{usage} for a stream; Error{input} for a tensor of
  /// another dtype than the one before, or of another length along Request::per_axis.
  void add(const std::string& path, bool is_named);

  /// The request with the figures of all tensors; the settings' request if there is no tensor. Adds to `lost`
  /// those of each stage that are dropped because all elements are nodata.
  [[nodiscard]] Request request(std::vector<std::vector<LostBound>>& lost);

  /// All tensors, in the order in which they were added; none after request().
  [[nodiscard]] std::span<const TensorSource> sources() const noexcept { return sources_; }

  /// Error{io} if the file was written to, or replaced, since it was added.
  void expect_unchanged(const std::string& path) const;

 private:
  struct Opened;

  /// Where a source is.
  struct Origin {
    const std::string* file;  ///< a key of files_
    std::size_t member;       ///< of an archive
  };

  void expect_alike(const Request& stage, const TensorLayout& layout, const std::string& path,
                    const TensorLayout& first) const;
  [[nodiscard]] Request with_figures_of_all(const Request& stage, std::span<const TensorSource> sources,
                                            std::vector<LostBound>& lost) const;
  void find_after(const Request& before, Request& stage, const std::string& name,
                  std::vector<LostBound>& lost) const;
  void expect_same(const std::string& path, const os::Status& now) const;
  void add_tensor(const Origin& origin, const std::string& path, TensorLayout layout);
  void read(std::size_t source, const TensorSource::Wanted& wanted, const TensorSource::Look& look);

  Engine& engine_;
  const ClipSettings& settings_;
  std::map<std::string, os::Status> files_;  ///< as they were added
  std::unique_ptr<Opened> opened_;           ///< the file that was read last
  std::vector<TensorSource> sources_;
  std::vector<Origin> origins_;      ///< of sources_
  std::vector<TensorLayout> first_;  ///< of the first source, as each stage takes it
};

/// What was typed as a pooled figure of a stage and what was found: "--min 1% is 0.25, --subtract mean is
/// [1, 2]"; empty if there is none. Each number, typed, gives the same bytes.
[[nodiscard]] std::string figures_text(const Request& figures, const Request& found);

}  // namespace clipper
