#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "contract/plan.hpp"
#include "contract/profile.hpp"
#include "element/tensor_layout.hpp"
#include "engine/engine.hpp"
#include "files/input_file.hpp"
#include "flows/clip_file.hpp"
#include "flows/memory_clip.hpp"
#include "os/os.hpp"
#include "statistics/groups.hpp"
#include "statistics/percentiles.hpp"
#include "statistics/statistics.hpp"

/// Tensors whose elements can be read several times: one, or all of a run; their statistics and percentiles.
namespace clipper {

/// A tensor whose elements can be read several times.
struct TensorSource {
  TensorLayout layout;
  std::string path;  ///< for errors; empty for elements in memory

  using Wanted = Engine::Wanted;
  using Look = std::function<void(std::uint64_t, std::span<const std::byte>)>;

  /// Calls `look` with the index of the first of some elements in this machine's byte order, and with these:
  /// in any order and from many threads. Reads only the parts that `wanted` chooses: see Engine::read().
  std::function<void(const Wanted& wanted, const Look& look)> read;

  /// Sets the flags of elements from an index on: those count for figures whose flag is not 0. Callable from
  /// many threads. Empty: all count.
  std::function<void(std::uint64_t position, std::span<std::byte> flags)> flag{};

  /// The flags of `count` elements; none if all count.
  [[nodiscard]] std::vector<std::byte> flags(std::uint64_t position, std::size_t count) const {
    std::vector<std::byte> flags(flag ? count : 0);
    if (flag) flag(position, flags);
    return flags;
  }
};

/// The elements of a file, which must be open while the result is used. Error{io} if the file changes while
/// it is read.
[[nodiscard]] TensorSource source_of(const TensorLayout& layout, Engine& engine, InputFile& input);

/// The elements of a tensor in memory; they and the engine must live as long as the result is used.
[[nodiscard]] TensorSource source_of(const TensorLayout& layout, const void* elements, Engine& engine,
                                     const Workers& workers);

/// Chooses the parts with elements of these groups. `groups` must outlive the result.
[[nodiscard]] TensorSource::Wanted parts_of(const Groups& groups, const GroupRange& range);

/// The elements of all sources that count, without NaT and nodata, as the groups of each source divide them.
/// `sources` and `groups` must outlive the result.
[[nodiscard]] ElementSource elements_of(std::span<const TensorSource> sources, std::span<const Groups> groups,
                                        const Nodata& nodata, SimdLevel level);

/// The statistics of all elements of a tensor whose header has been read, except nodata, in one pass. `below`
/// and `above` count the elements beyond the limits, which are compared exactly as given. Error{usage} for
/// NaN in an array that is a limit; Error{input} if a stream is shorter or longer than its header says;
/// Error{io} if a file changes while it is read.
[[nodiscard]] ElementStatistics read_statistics(Engine& engine, InputFile& input, const TensorLayout& layout,
                                                const std::optional<Limit>& min,
                                                const std::optional<Limit>& max, const Nodata& nodata = {});

/// For each group of the sources' elements its statistics and percentiles, as read_statistics() and
/// read_percentiles() would find them. The limits are numbers. Calls `found` for one group after the other.
using GroupFigures = std::function<void(std::uint64_t group, const ElementStatistics&, const Percentiles&)>;
void read_statistics_of_groups(std::span<const TensorSource> sources, std::span<const Groups> groups,
                               const std::optional<Limit>& min, const std::optional<Limit>& max,
                               std::span<const Number> percentages, const Nodata& nodata, SimdLevel level,
                               const GroupFigures& found);

/// For each percentage, a number from 0 to 100, the exact value below which this share of the tensor's
/// elements, except nodata, lies: see percentiles_of(). Of dates, durations and flags it is always an
/// element; NaT is a NaN. Reads the elements one to four times; the header has been read. Error{usage} for a
/// number that is_percentile() refuses, and for a stream; Error{io} if the file changes meanwhile.
[[nodiscard]] std::vector<std::optional<Number>> read_percentiles(Engine& engine, InputFile& input,
                                                                  const TensorLayout& layout,
                                                                  std::span<const Number> percentages,
                                                                  const Nodata& nodata = {});

[[nodiscard]] ElementStatistics statistics_in_memory(const TensorLayout& layout, const void* elements,
                                                     const Workers& workers);

[[nodiscard]] std::vector<std::optional<Number>> percentiles_in_memory(const TensorLayout& layout,
                                                                       const void* elements,
                                                                       std::span<const Number> percentages,
                                                                       const Workers& workers);

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
