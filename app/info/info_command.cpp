#include "info/info_command.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <exception>
#include <functional>
#include <span>
#include <utility>

#include "command_line/command_line.hpp"
#include "command_line/shared_options.hpp"
#include "error.hpp"
#include "files/output_file.hpp"
#include "files/place.hpp"
#include "flows/figures.hpp"
#include "flows/tensor_sources.hpp"
#include "os/os.hpp"
#include "statistics/percentiles.hpp"

namespace clipper {
namespace {

/// Without a .npy header the elements begin at byte `begin` of the file.
void add_header(npy::Header header, std::span<const std::byte> bytes, std::uint64_t begin,
                TensorInfo& tensor) {
  tensor.header = std::move(header);
  tensor.has_npy_header = !bytes.empty();
  tensor.header_bytes = tensor.has_npy_header ? bytes.size() : begin;
  if (!tensor.has_npy_header) return;
  tensor.version_major = std::to_integer<int>(bytes[npy::kVersionAt]);
  tensor.version_minor = std::to_integer<int>(bytes[npy::kVersionAt + 1]);
}

using Use = std::function<void(const TensorInfo&)>;

/// The median and the percentiles that the command asks for.
std::vector<Number> percentages_of(const InfoCommand& command) {
  std::vector<Number> percentages{50};
  percentages.insert(percentages.end(), command.percentages.begin(), command.percentages.end());
  return percentages;
}

void set_percentiles(const InfoCommand& command, const Percentiles& found, TensorInfo& tensor) {
  const auto values = as_scalars(tensor.header.dtype, found);
  tensor.median = values.front();
  tensor.percentiles.clear();
  for (std::size_t i = 1; i < values.size(); ++i)
    tensor.percentiles.push_back({command.percentages[i - 1], values[i]});
}

/// Sets the limits of a tensor. Returns its nodata.
Nodata set_limits(const InfoCommand& command, TensorInfo& tensor) {
  const npy::Header& header = tensor.header;
  // As for a clip, bounds of a whole archive are those of its numbers.
  if (tensor.member != nullptr && header.meaning.kind != LogicalType::Kind::number) return {};
  return with_path(tensor.path, [&] {
    Request nodata{.nodata = command.bounds.nodata};
    set_units(nodata, header);
    tensor.min = min_limit(command.bounds, header);
    tensor.max = max_limit(command.bounds, header);
    return nodata_of(command.bounds, header.dtype);
  });
}

/// The name of some elements in numpy: "[:, 3]".
std::string selection_text(const std::vector<std::optional<std::int64_t>>& index) {
  std::string text;
  for (const std::optional<std::int64_t>& each : index)
    text += (text.empty() ? "" : ", ") + (each ? std::to_string(*each) : ":");
  return "[" + text + "]";
}

/// The values that the command asks for, of each group.
std::vector<std::vector<FoundValue>> find_values(const InfoCommand& command,
                                                 std::span<const TensorSource> sources,
                                                 std::span<const Groups> groups, const Nodata& nodata,
                                                 SimdLevel level) {
  std::vector<Expression> expressions;
  for (const Parameter& value : command.values) expressions.push_back(value.expression);
  std::vector<TensorSource> masked(sources.begin(), sources.end());
  for (TensorSource& source : masked) {
    if (source.layout.meaning.kind != LogicalType::Kind::number)
      throw Error(ErrorKind::input, "--value is of numbers, but the tensor is " + type_name(source.layout));
    if (!command.bounds.mask) continue;
    Request of_source{.mask = command.bounds.mask};
    read_mask(of_source, source.path, command.reading);
    check_shape("mask", *of_source.mask, source.layout.shape);
    source.flag = flags_of(*of_source.mask, source.layout);
  }
  std::vector<std::vector<FoundValue>> found;
  figures_of_groups(elements_of(masked, groups, nodata, level), expressions, level,
                    [&](std::uint64_t /*group*/, const GroupNumbers& numbers) {
                      found.emplace_back();
                      for (std::size_t i = 0; i < command.values.size(); ++i)
                        found.back().push_back({command.values[i].text, numbers.figures[i]});
                    });
  return found;
}

/// Uses what info prints about each group of the sources' elements: all that `tensor` says of the first one.
void use_groups(const InfoCommand& command, std::span<const TensorSource> sources, SimdLevel level,
                TensorInfo tensor, const Use& use) {
  const Nodata nodata = set_limits(command, tensor);
  const auto axes = with_path(tensor.path, [&] { return axes_of(command.bounds, tensor.header); });
  const auto groups = with_path(tensor.path, [&] { return groups_of(command.bounds, sources); });
  for (const TensorSource& source : sources) tensor.count += source.layout.count;
  tensor.count /= std::max<std::uint64_t>(groups.front().count(), 1);
  const std::vector<std::int64_t> shape = groups.front().shape();
  const std::string path = tensor.path;
  std::vector<std::vector<FoundValue>> values;
  if (!command.values.empty())
    values = with_path(path, [&] { return find_values(command, sources, groups, nodata, level); });
  const auto found = [&](std::uint64_t group, const ElementStatistics& statistics,
                         const Percentiles& percentiles) {
    tensor.statistics = statistics;
    tensor.statistics->histogram.merge_rows(command.bins);
    set_percentiles(command, percentiles, tensor);
    if (!values.empty()) tensor.values = std::move(values[group]);
    if (!command.bounds.nodata.empty()) tensor.nodata = tensor.count - statistics.count;
    tensor.index.assign(axes.empty() ? 0 : shape.size(), std::nullopt);
    for (std::size_t axis = tensor.index.size(); axis-- != 0;) {
      const auto size = static_cast<std::uint64_t>(shape[axis]);
      if (std::ranges::find(axes, axis) != axes.end())
        tensor.index[axis] = static_cast<std::int64_t>(group % size);
      group /= size;
    }
    if (!axes.empty()) tensor.path = path + selection_text(tensor.index);
    use(tensor);
  };
  read_statistics_of_groups(sources, groups, tensor.min, tensor.max, percentages_of(command), nodata, level,
                            found);
}

void use_statistics(const InfoCommand& command, Engine& engine, InputFile& input, TensorInfo& tensor,
                    const Use& use) {
  const npy::Header& header = tensor.header;
  tensor.is_file = input.is_regular();
  const bool has_groups = command.is_divided() || !command.values.empty();
  if (!tensor.is_file && (!command.percentages.empty() || has_groups))
    refuse(fmt::format("{}: must be a file, not a stream: for {} it needs to be read twice", input.path(),
                       command.is_divided() ? "--per-axis"
                       : has_groups         ? "--value"
                                            : "--percentile"));
  if (has_groups) {
    const TensorSource source = source_of(header, engine, input);
    return use_groups(command, {&source, 1}, engine.level(), tensor, use);
  }
  const Nodata nodata = set_limits(command, tensor);
  if (tensor.is_file)
    set_percentiles(command, read_percentiles(engine, input, header, percentages_of(command), nodata),
                    tensor);
  tensor.statistics = read_statistics(engine, input, header, tensor.min, tensor.max, nodata);
  tensor.statistics->histogram.merge_rows(command.bins);
  if (!command.bounds.nodata.empty()) tensor.nodata = header.count - tensor.statistics->count;
  use(tensor);
}

/// Whether the elements have an order.
bool has_statistics(const TensorInfo& tensor) {
  return tensor.other.empty() && !tensor.header.other && !tensor.header.meaning.is_complex();
}

/// Uses what info prints about a file, whose name on the command line was `name`. Reads the elements if the
/// command asks for statistics, and tells the tally how many bytes they have.
void inspect(const InfoCommand& command, Engine& engine, InputFile& input, const std::string& name,
             FileTally& tally, const Use& use) {
  TensorInfo tensor;
  tensor.input = name;
  tensor.path = input.path();
  std::vector<std::byte> bytes;
  npy::Header header =
      read_header(input, command.reading, &bytes, std::nullopt, npy::Opaque::refused, npy::Types::all);
  add_header(std::move(header), bytes, input.source() != nullptr ? input.source()->contents.begin() : 0,
             tensor);
  if (!command.statistics || !has_statistics(tensor)) return use(tensor);
  tally.expect(tensor.header.data_size());
  use_statistics(command, engine, input, tensor, use);
}

/// The same for a member of an archive. Without statistics, reads only the start of the member.
void inspect_member(const InfoCommand& command, Engine& engine, const Container& archive, const Entry& member,
                    const Use& use) {
  TensorInfo tensor;
  tensor.input = archive.file().path();
  tensor.path = archive.path_of(member);
  tensor.member = &member;
  EntryHeader read = archive.header(member, command.reading.dtype, npy::Types::all);
  tensor.other = read.other;
  if (read.header) add_header(*std::move(read.header), read.bytes, member.data, tensor);
  if (!command.statistics || !has_statistics(tensor)) return use(tensor);
  InputFile input = archive.open(member);
  input.set_data_begin(tensor.header.data_offset);
  use_statistics(command, engine, input, tensor, use);
}

/// The bytes of all members.
std::uint64_t contents_of(const Container& archive) {
  std::uint64_t bytes = 0;
  for (const Entry& member : archive.entries()) bytes += member.contents.size;
  return bytes;
}

/// Whether a file below a directory is shown. A file that cannot be read is, so that its error is printed.
bool is_chosen(const InfoCommand& command, const std::string& path) {
  if (command.choice.takes_all()) return true;
  try {
    InputFile input = open_as(command.reading, path, Streams::refused);
    return is_archive(input) || command.choice.has(input, command.reading, false);
  } catch (const Error&) {
    return true;
  }
}

/// Replaces each directory among the inputs by the files that the walk takes below it, sorted by path, except
/// those that are not chosen and those of sets, for which their index stands. Returns the exit status of
/// directories that cannot be read.
int expand_directories(InfoCommand& command) {
  int status = 0;
  TensorWalk walk = command.walk;
  walk.failed = [&](const std::string& path) {
    const Failure failure = explained(std::current_exception());
    status = std::max(status, static_cast<int>(failure.kind));
    print_error(failure);
    if (command.json) print(as_json(path, nullptr, failure));
  };
  std::vector<std::string> files;
  for (const std::string& input : command.inputs) {
    const auto first = static_cast<std::ptrdiff_t>(files.size());
    if (input == "-" || !is_directory(input)) {
      command.named.insert(input);
      files.push_back(input);
      continue;
    }
    for_each_tensor(input, walk, [&](const std::string& path) {
      if (is_chosen(command, path)) files.push_back(path);
    });
    const std::set<std::string> parts = files_of_sets({files.begin() + first, files.end()});
    const auto is_part = [&](const std::string& file) { return parts.contains(file); };
    files.erase(std::remove_if(files.begin() + first, files.end(), is_part), files.end());
    std::sort(files.begin() + first, files.end());
  }
  command.inputs = std::move(files);
  return status;
}

void expect_place_for_picture(const InfoCommand& command) {
  if (!command.svg) return;
  const SideFiles files({{"--histogram-svg", *command.svg}});
  FilesRead read(command.bounds, command.reading, number_files(command.bounds));
  for (const std::string& input : command.inputs) {
    files.expect_other_than(input_path(input), "an input");
    read.add_behind(input);
    read.add_masks(input);
  }
  files.expect_other_than(read.all());
}

/// The facts that a row of the table has, without those of --value.
std::vector<std::string> facts_of(const InfoCommand& command) {
  if (!command.statistics) return {};
  std::vector<std::string> facts{"min", "max", "mean", "std", "median"};
  for (const Number& each : command.percentages) facts.push_back("percentile " + decimal_text(each));
  if (!command.bounds.nodata.empty()) facts.emplace_back("nodata");
  facts.insert(facts.end(), {"NaN", "inf", "-inf"});
  if (command.bounds.min) facts.emplace_back("below");
  if (command.bounds.max) facts.emplace_back("above");
  return facts;
}

/// With the values that the command asks for.
std::vector<std::string> columns_of(std::vector<std::string> facts, const InfoCommand& command) {
  for (const Parameter& value : command.values) facts.push_back(value.text);
  return facts;
}

/// Shows one file after the other.
class Display {
 public:
  explicit Display(const InfoCommand& command)
      : command_(command),
        is_list_(!command.json && (command.table || (!command.statistics && command.inputs.size() > 1))),
        engine_(command.engine),
        tally_(engine_.done(), command.inputs.size(),
               [&](std::size_t i) { return command.statistics ? expected_bytes(command.inputs[i]) : 0; }),
        progress_(command.progress, [this] { return tally_.extent(); }) {}

  void show(const std::string& path) {
    attempt(path, nullptr, [&] {
      InputFile input =
          open_as(command_.reading, path, command_.named.contains(path) ? Streams::taken : Streams::refused);
      if (is_archive(input))
        show_archive(Container(input, KeptFor::reading));
      else if (command_.choice.has(input, command_.reading, true))
        show_tensor(input, path);
      else
        throw Error(ErrorKind::usage, path + ": " + command_.choice.members.term() + " needs an archive");
    });
    tally_.next();
  }

  /// Shows all tensors of all files together.
  void show_total() {
    ClipSettings settings;
    settings.request.max = Parameter::percentile(50.0);  // the median
    settings.request.per_axis = command_.bounds.per_axis;
    settings.request.nodata = command_.bounds.nodata;
    settings.request.pooled = true;
    settings.reading = command_.reading;
    settings.selection.members = command_.choice.members;
    settings.selection.only = command_.choice.only;
    TensorPool pool(engine_, settings);
    for (const std::string& path : command_.inputs) {
      os::Status status{};
      if (path == "-" || (os::stat(path.c_str(), &status) == 0 && !S_ISREG(status.st_mode)))
        refuse(path + ": must be a file, not a stream: for --total it needs to be read twice");
      pool.add(path, true);
    }
    if (pool.sources().empty()) return;
    TensorInfo tensor;
    tensor.total = pool.sources().size();
    tensor.input = command_.inputs.front();
    tensor.path = fmt::format("{} tensor{}", *tensor.total, *tensor.total == 1 ? "" : "s");
    static_cast<TensorLayout&>(tensor.header) = pool.sources().front().layout;
    use_groups(command_, pool.sources(), engine_.level(), tensor,
               [&](const TensorInfo& part) { print_tensor(part); });
  }

  /// Prints the page of the only tensor, or the rows that are not printed yet.
  void end() {
    if (listed_ == 1 && !is_list_)
      print_result(page_);
    else if (listed_ != 0 || is_list_)
      list_.print("", [&](const std::string& part) { print_result(part); });
  }

  /// The highest exit status of all files and members.
  [[nodiscard]] int status() const { return status_; }

 private:
  /// Prints the error if the work fails.
  template <class Work>
  void attempt(const std::string& path, const Entry* member, Work work) {
    Failure failure{};
    try {
      work();
      return;
    } catch (const Unprintable&) {
      throw;
    } catch (...) {
      failure = explained(std::current_exception());
    }
    status_ = std::max(status_, static_cast<int>(failure.kind));
    print_error(failure);
    if (command_.json) print_result(as_json(path, member, failure));
  }

  void show_tensor(InputFile& input, const std::string& path) {
    inspect(command_, engine_, input, path, tally_, [&](const TensorInfo& tensor) {
      print_tensor(tensor);
      if (command_.svg) write_svg(tensor);
    });
  }

  void write_svg(const TensorInfo& tensor) {
    if (!tensor.statistics) throw Error(ErrorKind::input, tensor.path + ": its elements have no histogram");
    OutputFile file =
        OutputFile::create(*command_.svg, OutputFile::Existing::replace, OutputFile::Durability::none);
    const std::string picture = histogram_svg(tensor);
    file.write(std::as_bytes(std::span(picture)));
    file.commit();
  }

  void print_tensor(const TensorInfo& tensor) {
    if (command_.json) return print_result(as_json(tensor));
    if (listed_ == 0 && !is_list_) page_ = as_text(tensor, width_, paint_);
    add_to_list(as_row(tensor, facts_));
  }

  void add_to_list(Table::Row row) {
    row.resize(std::max(row.size(), 3 + columns_.size()), "-");  // after file, dtype and shape
    list_.add(row);
    ++listed_;
    if (list_.is_large()) end();
  }

  /// Without statistics, shows a table; a small one is printed when the widths of all its cells are known.
  void show_archive(const Container& archive) {
    if (command_.svg)
      refuse(archive.file().path() +
             ": is an archive; --histogram-svg takes one tensor, "
             "FILE:NAME");
    const bool is_table = !command_.json && !command_.statistics && !is_list_;
    Table table = member_table();
    bool has_title = false;
    const auto print_table = [&] {
      if (!std::exchange(has_title, true)) print_result(escape_for_terminal(archive.file().path()) + "\n");
      table.print("  ", [&](const std::string& part) { print_result(part); });
    };
    if (command_.statistics) tally_.expect(contents_of(archive));
    const std::vector<bool> chosen = command_.choice.of(archive, command_.reading);
    for (const Entry& member : archive.entries()) {
      if (!chosen[archive.index_of(member)]) continue;
      attempt(archive.file().path(), &member, [&] {
        inspect_member(command_, engine_, archive, member, [&](const TensorInfo& tensor) {
          if (is_table)
            table.add(as_row(tensor, member.key()));
          else
            print_tensor(tensor);
        });
        if (table.is_large()) print_table();
      });
    }
    if (command_.json && archive.entries().empty()) print_result(empty_archive_json(archive.file().path()));
    if (is_list_ && archive.entries().empty())
      add_to_list(
          {escape_for_terminal(archive.file().path()), "no members", "-", facts_.empty() ? "0" : "-"});
    const bool is_shown = archive.entries().empty() || std::ranges::count(chosen, true) != 0;
    if (is_table && is_shown) print_table();
  }

  const InfoCommand& command_;
  const bool is_list_;  ///< a row for each tensor, also if there is only one
  const std::vector<std::string> facts_ = facts_of(command_);
  const std::vector<std::string> columns_ = columns_of(facts_, command_);
  Table list_ = tensor_table(columns_, command_.table.value_or(Table::Format::text));
  std::size_t listed_ = 0;
  std::string page_;  ///< of the first tensor
  const std::size_t width_ = terminal_columns(STDOUT_FILENO);
  const Paint paint_ = paint_for(STDOUT_FILENO);
  Engine engine_;
  FileTally tally_;
  Progress progress_;
  int status_ = 0;
};

}  // namespace

int show_info(const RawOptions& raw) {
  InfoCommand command = validate_info(raw);
  const int status = expand_directories(command);
  if (command.svg && command.inputs.size() != 1)
    refuse(fmt::format("--histogram-svg takes one tensor, not {}", command.inputs.size()));
  expect_place_for_picture(command);
  Display display(command);
  if (command.bounds.pooled)
    display.show_total();
  else
    for (const std::string& path : command.inputs) display.show(path);
  display.end();
  if (status == 0 && display.status() == 0) command.choice.members.expect_used();
  return std::max(status, display.status());
}

}  // namespace clipper
