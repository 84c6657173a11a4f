#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "contract/plan.hpp"
#include "contract/profile.hpp"
#include "files/output_file.hpp"
#include "formats/formats.hpp"

/// Files of figures: .npz archives whose members are min, max, scale, bias, subtract and divide as a run has
/// used them, with the names of these members of Request. Those of stage 2 are `2/min`, and so on; `stages`
/// says how many there are, if there are several.
namespace clipper {

/// The parameters of a tensor, or of all tensors of a pool, until they are written to a file. May be called
/// from many threads.
class SavedFigures {
 public:
  /// `is_pooled`: whether all tensors have the same figures. Error{usage} for a name that does not end in
  /// .npz; the errors of OutputFile::check() and check_backup().
  SavedFigures(std::string path, bool is_pooled, OutputFile::Existing existing,
               OutputFile::Durability durability, std::optional<Backup> backup = std::nullopt);

  /// Error{usage} if the file is one of these, or one that a parameter reads.
  void expect_other_than(const std::vector<std::string>& paths, const Request& request) const;

  /// Keeps what the plan of the tensor, which `name` identifies, takes the request's parameters for: numbers
  /// in the dtype that is calculated with, in float32 those of float dtypes that numpy does not have; arrays;
  /// of stretch_from what is subtracted and what divides; what elements become, if it is a figure.
  /// Error{usage} for a second tensor with figures of its own, for another profile than clipper, for dates
  /// and flags, for a request without parameters, and for what no member says: a scale that divides, a number
  /// that no dtype has, a range that is stretched to others than 0:1. Error{input} for a bound that an index
  /// lacks and that replaces NaN, and for a figure that the tensor lacks, unless the file says that, too.
  /// Then writes the file, which has no name before commit(): what a full disk or another program prevents is
  /// known before the first result is in place.
  void add(const std::string& name, const Request& request, const Plan& plan);

  /// Puts the file in place, after the results; calls `placing` right before. A pipe or a device is opened
  /// and written now, and may wait for its reader. Error{input} if no tensor was added.
  void commit(const std::function<void()>& placing = [] {});

  [[nodiscard]] const std::string& path() const noexcept { return path_; }

 private:
  struct Member {
    std::string_view name;
    TensorLayout layout{};
    std::vector<std::byte> elements{};              ///< of a number
    Number number{};                                ///< as it was used
    std::shared_ptr<const ParameterArray> array{};  ///< whose numbers, as elements of `layout`, are written
    std::optional<double> zero{};                   ///< in place of 0
  };

  template <class Use>
  static void for_each_block(const Member& member, const Use& use);

  void add_number(const Field& field, const Plan& plan);
  void add_array(const ArrayParameter& row, const Plan& plan);
  [[nodiscard]] Request applied(const Request& request, const Plan& plan) const;
  void expect_same_result(const Request& request, const Plan& plan) const;
  void add_stage(const Request& request, const Plan& plan);
  [[nodiscard]] OutputFile create() const;
  void write(OutputFile& output) const;

  std::string path_;
  bool is_pooled_;
  OutputFile::Existing existing_;
  OutputFile::Durability durability_;
  std::optional<Backup> backup_;
  mutable std::mutex mutex_;
  std::string tensor_;                       ///< the first one
  std::vector<std::vector<Member>> stages_;  ///< the last one is being added, until all are there
  std::optional<OutputFile> output_;         ///< complete; nothing for a pipe or a device
  bool is_there_ = false;                    ///< the file has these bytes, and a backup
};

/// Gives the request the parameters that the members of a file have and that it lacks, as read_parameter()
/// reads PATH:NAME. Error{usage} for other members, for none, for a file of another number of stages, and for
/// one that is no archive of figures.
void set_figures(Request& request, const std::string& path, const Reading& how);

}  // namespace clipper
