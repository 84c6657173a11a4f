#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "command_line/command_line.hpp"
#include "command_line/command_spec.hpp"
#include "command_line/input_names.hpp"
#include "command_line/shared_options.hpp"
#include "console/terminal.hpp"
#include "element/logical_type.hpp"
#include "element/tensor_layout.hpp"
#include "element/text.hpp"
#include "error.hpp"
#include "files/input_file.hpp"
#include "formats/container.hpp"
#include "formats/formats.hpp"
#include "memory/elements.hpp"
#include "npy/dict.hpp"
#include "npy/header.hpp"

namespace clipper {
namespace {

/// The indexes of one axis that are shown, in order; an index without a slice takes the axis away.
struct AxisSelection {
  std::int64_t begin = 0;
  std::int64_t step = 1;
  std::int64_t count = 0;
  bool is_index = false;
};

constexpr std::string_view kEllipsis = "...";

std::string_view trimmed(std::string_view text) {
  while (text.starts_with(' ')) text.remove_prefix(1);
  while (text.ends_with(' ')) text.remove_suffix(1);
  return text;
}

std::vector<std::string_view> trimmed_parts(std::string_view text, char separator) {
  std::vector<std::string_view> parts = split(text, separator);
  for (std::string_view& part : parts) part = trimmed(part);
  return parts;
}

/// Refuses one index: "--at: '7' is out of range for axis 0 of shape (3, 4)".
[[noreturn]] void refuse_index(std::string_view index, std::string_view why) {
  refuse(fmt::format("--at: '{}' {}", index, why));
}

std::int64_t number(std::string_view text, std::string_view index) {
  const auto value = integer_in<std::int64_t>(text);
  constexpr std::int64_t kLimit = std::int64_t{1} << 62;  // sums with an extent do not overflow
  if (!value || *value <= -kLimit || *value >= kLimit)
    refuse_index(index, "is not an index; write numbers and slices, such as 0, :5 or ..., ::2");
  return *value;
}

/// The selection of an axis by "7" or "begin:end:step", where each number may be absent.
AxisSelection axis_selection(std::string_view text, std::int64_t extent, const std::string& place) {
  const std::vector<std::string_view> parts = trimmed_parts(text, ':');
  if (parts.size() > 3) refuse_index(text, "has too many colons");
  if (parts.size() == 1) {
    const std::int64_t value = number(text, text);
    if (value >= extent || value < -extent) refuse_index(text, "is out of range for " + place);
    return {value < 0 ? value + extent : value, 1, 1, true};
  }
  const std::int64_t step = parts.size() == 3 && !parts[2].empty() ? number(parts[2], text) : 1;
  if (step == 0) refuse_index(text, "has the step 0");
  const auto bound = [&](std::string_view part, std::int64_t absent) {
    if (part.empty()) return absent;
    const std::int64_t value = number(part, text);
    const std::int64_t from_begin = value < 0 ? value + extent : value;
    return std::clamp(from_begin, step > 0 ? std::int64_t{0} : std::int64_t{-1},
                      step > 0 ? extent : extent - 1);
  };
  const std::int64_t begin = bound(parts[0], step > 0 ? 0 : extent - 1);
  const std::int64_t end = bound(parts[1], step > 0 ? extent : -1);
  const std::int64_t length = step > 0 ? end - begin : begin - end;
  const std::int64_t stride = step > 0 ? step : -step;
  return {begin, step, length <= 0 ? 0 : (length - 1) / stride + 1, false};
}

/// What `text` selects of a tensor, as numpy understands it between brackets: "0, :5", "-1", "..., ::2".
/// Error{usage}, with the shape, if there are too many indexes, or if one is outside of its axis.
std::vector<AxisSelection> parse_selection(std::string_view text, std::span<const std::int64_t> shape) {
  std::vector<std::string_view> parts;
  if (!trimmed(text).empty()) parts = trimmed_parts(text, ',');
  if (!parts.empty() && parts.back().empty()) parts.pop_back();  // "0," as in Python
  const auto ellipses = std::ranges::count(parts, kEllipsis);
  const std::size_t given = parts.size() - static_cast<std::size_t>(ellipses);
  if (ellipses > 1) refuse_index(text, "has more than one ...");
  if (given > shape.size())
    refuse_index(text, fmt::format("has {} indexes, too many for shape {}", given,
                                   shape_text({shape.begin(), shape.end()})));
  auto rest = std::ranges::find(parts, kEllipsis);
  if (rest != parts.end()) rest = parts.erase(rest);
  parts.insert(rest, shape.size() - given, ":");
  std::vector<AxisSelection> selection;
  for (std::size_t axis = 0; axis < shape.size(); ++axis)
    selection.push_back(
        axis_selection(parts[axis], shape[axis],
                       fmt::format("axis {} of shape {}", axis, shape_text({shape.begin(), shape.end()}))));
  return selection;
}

constexpr std::string_view kDescription =
    "Prints elements of a tensor (.npy, .pb, raw), or of one in an archive, as numpy prints an array, and "
    "each in the fewest digits that convert back to it. Reads only what it prints.";

constexpr std::array<std::string_view, 1> kForms{"[OPTIONS] FILE"};

constexpr std::string_view kFooter = R"(
Examples:
  clipper show x.npy
  clipper show x.npy --at '0, :5'
  clipper show a.npz:weights --at '..., -1'
  clipper show a.npz --member 'layer.0.*' --at 0
)";

// clang-format off

constexpr Option kFile{
    .names = "FILE", .value = Value::tensor,
    .help = "A file, or a tensor ARCHIVE.npz:NAME",
    .details = R"(A file of one tensor, a tensor ARCHIVE.npz:NAME, or with `--member`, several tensors of an
archive, each below its path. It must be a file, not a stream.)"};

constexpr Option kAt{
    .names = "--at", .type = "INDEX",
    .help = "Elements by numpy's indexes and slices: '0, :5'",
    .details = R"(Print what numpy takes between brackets: numbers and slices separated by commas, `...` for all
other axes. An index outside of its axis is an error (2); a slice is cut. Of more than 1000 elements, the first
and last three of each axis are printed.)"};

// clang-format on

constexpr std::array kPositionals{Positional{&kFile, Arity::optional}};
constexpr auto kOptions = listed(std::array{&kAt}, kReadingOptions, std::array{&kHelp});

constexpr std::array kCommon{&kAt, &kMember, &kDtype, &kRaw};

constexpr std::int64_t kMaxElements = 1000;  ///< numpy's `threshold`
constexpr std::int64_t kEdge = 3;            ///< numpy's `edgeitems`

/// Prints the selected elements of an open tensor.
class Printer {
 public:
  Printer(InputFile& input, const TensorLayout& layout, const std::vector<AxisSelection>& selection)
      : input_(input), layout_(layout), selection_(selection) {
    std::int64_t stride = 1;
    strides_.resize(layout.shape.size());
    for (std::size_t i = 0; i < strides_.size(); ++i) {
      const std::size_t axis = layout.fortran_order ? i : strides_.size() - 1 - i;
      strides_[axis] = stride;
      stride *= layout.shape[axis];
    }
    std::uint64_t count = 1;
    for (std::size_t axis = 0; axis < selection.size(); ++axis) {
      if (!selection[axis].is_index) shown_.push_back(axis);
      count *= static_cast<std::uint64_t>(selection[axis].count);
    }
    is_short_ = count > kMaxElements;
    is_empty_ = count == 0;
  }

  [[nodiscard]] std::string text() {
    if (is_empty_) return "[]\n";
    std::int64_t first = 0;
    for (std::size_t axis = 0; axis < selection_.size(); ++axis)
      first += selection_[axis].begin * strides_[axis];
    collect(0, first);
    for (const std::string& element : elements_) width_ = std::max(width_, element.size());
    std::string text;
    next_ = 0;
    append(0, text);
    return text + "\n";
  }

 private:
  [[nodiscard]] std::int64_t extent(std::size_t depth) const { return selection_[shown_[depth]].count; }

  /// The indexes of an axis that are printed. -1 stands for "...".
  template <class Take>
  void for_each_index(std::size_t depth, const Take& take) const {
    const std::int64_t count = extent(depth);
    const bool is_cut = is_short_ && count > 2 * kEdge;
    for (std::int64_t i = 0; i < count; ++i) {
      if (is_cut && i == kEdge) {
        take(-1);
        i = count - kEdge;
      }
      take(i);
    }
  }

  void collect(std::size_t depth, std::int64_t position) {
    if (depth == shown_.size()) {
      const std::string text = element_at(position);
      const bool is_date = layout_.meaning.kind == LogicalType::Kind::datetime || text == "NaT";
      elements_.push_back(is_date && !shown_.empty() ? fmt::format("'{}'", text) : text);
      return;
    }
    const std::int64_t stride = selection_[shown_[depth]].step * strides_[shown_[depth]];
    for_each_index(depth, [&](std::int64_t i) {
      if (i >= 0) collect(depth + 1, position + i * stride);
    });
  }

  [[nodiscard]] std::string element_at(std::int64_t position) {
    return with_size(traits(layout_.dtype).size, [&]<std::size_t kSize>() {
      std::array<UnsignedOfSize<kSize>, 2> parts{};  // two of a complex number
      const std::size_t size = layout_.element_size();
      const std::span element = std::as_writable_bytes(std::span(parts)).first(size);
      input_.read_at(element, input_.data_begin() + static_cast<std::uint64_t>(position) * size);
      decode(layout_, element);
      return element_text(layout_.dtype, layout_.meaning, parts[0], parts[1]);
    });
  }

  /// As numpy: rows of the last axis in one line, an empty line for each further axis that ends.
  void append(std::size_t depth, std::string& text) {
    if (depth == shown_.size()) {
      text += fmt::format("{:>{}}", elements_[next_++], shown_.empty() ? 0 : width_);
      return;
    }
    const bool is_last = depth + 1 == shown_.size();
    const std::string between =
        is_last ? " " : std::string(shown_.size() - depth - 1, '\n') + std::string(depth + 1, ' ');
    text += '[';
    bool is_first = true;
    for_each_index(depth, [&](std::int64_t i) {
      if (!std::exchange(is_first, false)) text += between;
      if (i >= 0)
        append(depth + 1, text);
      else
        text += "...";
    });
    text += ']';
  }

  InputFile& input_;
  const TensorLayout& layout_;
  const std::vector<AxisSelection>& selection_;
  std::vector<std::int64_t> strides_;  ///< in elements
  std::vector<std::size_t> shown_;     ///< axes that an index does not take away
  bool is_short_ = false;              ///< only the edges of each axis are printed
  bool is_empty_ = false;
  std::vector<std::string> elements_;
  std::size_t next_ = 0;
  std::size_t width_ = 0;
};

void show_tensor(const RawOptions& raw, const Reading& how, InputFile& input) {
  const TensorLayout layout =
      read_header(input, how, nullptr, std::nullopt, npy::Opaque::refused, npy::Types::comparable).layout();
  const std::vector<AxisSelection> selection =
      with_path(input.path(), [&] { return parse_selection(raw.text(kAt), layout.shape); });
  print(Printer(input, layout, selection).text());
}

/// Shows the chosen members, each below its path.
void show_members(const RawOptions& raw, const Reading& how, const TensorChoice& choice,
                  const Container& archive) {
  const std::vector<bool> chosen = choice.of(archive, how);
  for (const Entry& member : archive.entries()) {
    if (!chosen[archive.index_of(member)]) continue;
    print(escape_for_terminal(archive.path_of(member)) + "\n");
    InputFile input = archive.open(member);
    show_tensor(raw, how, input);
  }
}

int show_elements(const RawOptions& raw) {
  if (!raw.has(kFile)) refuse_missing(raw, "FILE", "see clipper show --help");
  if (const std::string& path = raw.text(kFile); is_directory(path))
    refuse(fmt::format("{0}: is a directory; show takes one file, and clipper info {0} lists its tensors",
                       path));
  Reading how = parse_reading(raw);
  how.takes_integers = true;
  const TensorChoice choice = parse_choice(raw, false);
  InputFile input = open_as(how, raw.text(kFile));
  if (!choice.takes_all() && is_archive(input)) {
    show_members(raw, how, choice, Container(input, KeptFor::reading));
    return 0;
  }
  if (is_archive(input))
    refuse(fmt::format("{}: is an archive; name a tensor in it, {}:NAME, or choose some with --member",
                       input.path(), npy::name_for_commands(input.path())));
  if (const NameChoice& members = choice.members; members.needs_archive())
    throw Error(ErrorKind::usage, input.path() + ": " + members.term() + " needs an archive");
  if (!input.is_regular())
    throw Error(ErrorKind::input, input.path() + ": must be a file, not a stream, to show single elements");
  show_tensor(raw, how, input);
  return 0;
}

}  // namespace

constexpr CommandSpec kShowSpec{
    .run = &show_elements,
    .name = "show",
    .summary = "print elements of tensors",
    .description = kDescription,
    .forms = kForms,
    .footer = kFooter,
    .positionals = kPositionals,
    .options = kOptions,
    .common = kCommon,
};

}  // namespace clipper
