#include "clipper.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cerrno>
#include <exception>
#include <filesystem>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "clip/strided_copy.hpp"
#include "compare/compare_files.hpp"
#include "compare/comparison_text.hpp"
#include "compare/tolerance.hpp"
#include "contract/plan.hpp"
#include "counts.hpp"
#include "element/number.hpp"
#include "element/tensor_layout.hpp"
#include "engine/engine.hpp"
#include "files/container.hpp"
#include "files/formats.hpp"
#include "files/parameter_file.hpp"
#include "files/place.hpp"
#include "flows/clip_file.hpp"
#include "flows/memory_clip.hpp"
#include "flows/saved_figures.hpp"
#include "flows/tensor_pool.hpp"
#include "flows/tensor_statistics.hpp"
#include "os/os.hpp"
#include "request_text.hpp"

namespace clipper {
namespace {

namespace fs = std::filesystem;
using Existing = OutputFile::Existing;

Counts counts_of(const ElementCounts& counts, std::uint64_t elements) {
  Counts told{.elements = elements, .changed = counts.changed};
  for (const CountedElements& row : kCountedElements) told.*row.told = counts.*row.found;
  return told;
}

/// Counts the elements of the tensors that were clipped.
class ElementCount : public ClipObserver {
 public:
  void planned(const ClipResult& result) override { elements_ += result.plan->slice.count; }

  [[nodiscard]] Counts counts_of(const ClipResult& result) const {
    return clipper::counts_of(result.counts.value_or(ElementCounts{}), elements_);
  }

 private:
  std::uint64_t elements_ = 0;
};

const Request& checked(const Request& request) {
  expect_understood(request);
  if (request.profile != nullptr) return request;
  throw Error(ErrorKind::usage, Term{"profile", "profile"} +
                                    Message(" is null; profile_named() returns null for unknown names"));
}

/// Error{usage} if the result would replace a file that a parameter reads, or one behind it or behind the
/// input: external data of a TensorProto, or a file of a set.
void expect_unread(const std::string& in, const std::string& out, const Request& request,
                   const FileOptions& options) {
  const auto check = [&](const std::vector<std::string>& files, const Message& reader) {
    if (std::ranges::any_of(files, [&](const std::string& file) { return is_same_file(out, file); }))
      throw Error(ErrorKind::usage, in + " would be written to " + out + ", which " + reader + " reads");
  };
  check(files_behind(reading_of(options), in), in);
  for (const Field* const field : fields::kNumbers) {
    const std::string path = parameter_path(request.*field->number());
    if (path.empty()) continue;
    std::vector<std::string> files = files_behind(reading_of(options, true), path);
    const std::optional<MemberPath> member = member_path(path);
    files.push_back(member ? member->archive : path);
    check(files, Term{field->name, field->name});
  }
}

/// `paths` are those of the input and the output.
ClipSettings settings_of(const Request& request, const FileOptions& options,
                         const std::vector<std::string>& paths) {
  ClipSettings settings{
      .request = checked(request),
      .reading = reading_of(options),
      .to_raw = options.to_raw,
      .durability = options.sync ? OutputFile::Durability::on_disk : OutputFile::Durability::none,
      .counting = true,
      .max_clipped = std::nullopt,
      .selection = {{options.members, options.exclude_members}, types_of(options), Selection::Other::copy}};
  if (options.save_figures.empty()) return settings;
  settings.saved = std::make_shared<SavedFigures>(options.save_figures, request.pooled,
                                                  options.overwrite ? Existing::replace : Existing::refuse,
                                                  settings.durability);
  settings.saved->expect_other_than(paths, request);
  return settings;
}

Engine::Options engine_options(const FileOptions& options) {
  return {.threads = options.threads, .stop = options.stop};
}

[[noreturn]] void refuse_shape(const Tensor& tensor, std::string_view why) {
  throw Error(ErrorKind::usage, "shape " + shape_text(tensor.shape) + " " + std::string(why));
}

TensorLayout layout_of_any(const Tensor& tensor) {
  if (tensor.shape.size() > kMaxRank) throw Error(ErrorKind::usage, "a tensor has max 64 dimensions");
  TensorLayout layout;
  layout.meaning = tensor.meaning;
  layout.dtype = tensor.dtype;
  layout.order = tensor.order;
  layout.fortran_order = tensor.fortran_order;
  layout.shape = tensor.shape;
  auto bytes = static_cast<std::int64_t>(layout.element_size());
  for (const std::int64_t size : tensor.shape) {
    if (size < 0) refuse_shape(tensor, "has a negative size");
    // An axis of size 0 makes none of the others small: copies of elements calculate with all of them.
    if (__builtin_mul_overflow(bytes, std::max<std::int64_t>(size, 1), &bytes))
      refuse_shape(tensor, "exceeds the address space");
    layout.count *= static_cast<std::uint64_t>(size);
  }
  return layout;
}

TensorLayout layout_of_numbers(const Tensor& tensor) {
  if (tensor.meaning.kind == Meaning::Kind::number) return layout_of_any(tensor);
  throw Error(ErrorKind::usage,
              "elements in memory are numbers, not " + type_name(tensor.dtype, tensor.meaning));
}

TensorLayout layout_of(const Tensor& tensor) {
  if (tensor.strides.empty()) return layout_of_numbers(tensor);
  throw Error(ErrorKind::usage, "a tensor with strides must be copied first");
}

/// The strides of a tensor with this layout.
std::vector<std::int64_t> strides_of(const Tensor& tensor, const TensorLayout& layout) {
  if (tensor.strides.empty())
    return strides_without_gaps(tensor.shape, layout.element_size(), tensor.fortran_order);
  if (tensor.strides.size() != tensor.shape.size()) refuse_shape(tensor, "needs a stride for each axis");
  return tensor.strides;
}

/// The elements of a view without gaps: a copy if it has some.
class Packed {
 public:
  Packed(const TensorView& view, TensorLayout layout)
      : layout_(std::move(layout)), elements_(static_cast<const std::byte*>(view.elements)) {
    if (layout_.count != 0 && elements_ == nullptr) throw Error(ErrorKind::usage, "the elements are null");
    if (view.tensor.strides.empty()) return;
    const std::size_t size = layout_.element_size();
    const std::vector<std::int64_t> strides = strides_of(view.tensor, layout_);
    for (const bool fortran_order : {false, true}) {
      layout_.fortran_order = fortran_order;
      if (lie_alike(layout_.shape, strides, strides_without_gaps(layout_.shape, size, fortran_order))) return;
    }
    layout_.fortran_order = false;
    copy_.resize(layout_.data_size());
    StridedCopy(layout_.shape, size, strides, strides_without_gaps(layout_.shape, size, false))(
        elements_, copy_.data(), 0, layout_.count);
    elements_ = copy_.data();
  }

  [[nodiscard]] const TensorLayout& layout() const { return layout_; }
  [[nodiscard]] const std::byte* elements() const { return elements_; }

 private:
  TensorLayout layout_;
  const std::byte* elements_;
  std::vector<std::byte> copy_;
};

/// An open file and its header.
struct Opened {
  Opened(const std::string& path, const Reading& how, npy::Types types)
      : input(open_as(how, path)),
        header(read_header(input, how, nullptr, std::nullopt, npy::Opaque::refused, types)) {}

  InputFile input;
  npy::Header header;
};

/// The path of an input for the rooms below, where "-" and FILE:MEMBER mean what they mean to the program.
std::string input_named(const fs::path& file, const FileOptions& options) {
  std::string path = os::text_of(file);
  if (options.special_paths) return path;
  if (path == "-") return "./-";
  if (member_path(path))
    throw Error(ErrorKind::io,
                path + ": cannot be opened: " + os::error_text(ENOENT) +
                    "; to read a member of an archive, set special_paths",
                ENOENT);
  return path;
}

/// The same for an output, which is never a member.
std::string output_named(const fs::path& file, const FileOptions& options) {
  std::string path = os::text_of(file);
  return path == "-" && !options.special_paths ? "./-" : path;
}

void check_tolerance(std::string_view field, const Number& number) {
  if (!is_tolerance(number))
    throw Error(ErrorKind::usage, Term{field, field} + Message(" " + decimal_text(number) +
                                                               ": must be a finite number, 0 or more"));
}

void expect_no_contradiction(const CompareOptions& compare) {
  const auto refuse = [](std::string_view one, std::string_view other) {
    throw Error(ErrorKind::usage,
                Term{one, one} + Message(" and ") + Term{other, other} + " cannot be used together");
  };
  if (compare.any_dtype && compare.bits) refuse("any_dtype", "bits");
  if (compare.tolerance.empty()) return;
  if (compare.rtol != Number()) refuse("tolerance", "rtol");
  if (compare.atol != Number()) refuse("tolerance", "atol");
  if (compare.bits) refuse("tolerance", "bits");
}

ComparisonRule rule_of(const CompareOptions& compare) {
  check_tolerance("rtol", compare.rtol);
  check_tolerance("atol", compare.atol);
  expect_no_contradiction(compare);
  ComparisonRule rule{.bits = compare.bits,
                      .tolerance = {compare.atol, compare.rtol},
                      .ulps = compare.ulps,
                      .listed = std::max<std::size_t>(compare.max_listed, 1)};
  if (!compare.tolerance.empty())
    rule.preset = static_cast<TolerancePreset>(place_of_text("tolerance", compare.tolerance, kPresetWords));
  rule.nan_equal = compare.nan_equal.value_or(!rule.preset || nan_equal(*rule.preset));
  return rule;
}

bool takes_any_dtype(const CompareOptions& compare, const ComparisonRule& rule) {
  return compare.any_dtype || rule.preset == TolerancePreset::allclose;
}

Comparison comparison_of(const FileComparison& result, const ComparisonRule& rule,
                         const CompareOptions& compare) {
  const Difference largest = result.comparison.largest;
  const bool is_compared = result.reason.empty();
  const DType dtype = is_compared ? result.comparison.dtype : result.layout.dtype;
  Comparison comparison{.reason = result.reason,
                        .dtype = dtype,
                        .actual_dtype = result.comparison.actual_dtype.value_or(dtype),
                        .meaning = is_compared ? result.comparison.meaning : result.layout.meaning,
                        .shape = result.layout.shape,
                        .compared = result.comparison.compared,
                        .mismatches = result.comparison.mismatches,
                        .first = {},
                        .largest = result.comparison.has_float_differences() ? float_difference(largest)
                                                                             : static_cast<double>(largest),
                        .summary = result.reason,
                        .report = result.reason};
  if (result.comparison.mismatches != 0) {
    constexpr ToleranceNames kNames{"atol=", "ulp=", "rtol="};
    comparison.summary = summary_text(result, rule.bits ? Compared::bits : Compared::values, kNames);
    comparison.report = report_text(result, rule, kNames);
  }
  for (const Mismatch& mismatch : result.comparison.first)
    comparison.first.push_back({index_of(result.layout, mismatch.position), mismatch.actual,
                                mismatch.expected, mismatch.actual_imaginary, mismatch.expected_imaginary});
  if (compare.max_listed == 0) comparison.first.clear();
  return comparison;
}

}  // namespace

std::string_view version() noexcept {
  return CLIPPER_VERSION;
}

Given from_file(const fs::path& path, const FileOptions& options) {
  return read_parameter(input_named(path, options), reading_of(options));
}

Counts clip_file(const fs::path& in_path, const fs::path& out_path, const Request& request,
                 const FileOptions& options) {
  const std::string in = input_named(in_path, options);
  const std::string out = output_named(out_path, options);
  const Existing existing = options.overwrite ? Existing::replace : Existing::refuse;
  if (is_in_place(in, out, existing)) return clip_in_place(in_path, request, options);
  expect_unread(in, out, request, options);
  ClipSettings settings = settings_of(request, options, {in, out});
  Engine engine(engine_options(options));
  const ClipSettings given = settings;
  TensorPool pool(engine, given);
  if (request.pooled) pool.add(in, true);
  std::vector<LostBound> lost;
  if (request.pooled) settings.request = pool.request(lost);
  if (request.pooled) pool.expect_unchanged(in);
  ElementCount observer;
  ClipResult result;
  prepare_to_file({settings, engine, observer, result}, in, out, existing)->write();
  if (settings.saved) settings.saved->write();
  return observer.counts_of(result);
}

Counts clip_in_place(const fs::path& file, const Request& request, const FileOptions& options) {
  const std::string path = output_named(file, options);
  expect_unread(path, path, request, options);
  const ClipSettings settings = settings_of(request, options, {path});
  Engine engine(engine_options(options));
  ElementCount observer;
  ClipResult result;
  if (options.direct) {
    prepare_direct({settings, engine, observer, result}, path)->write();
    if (settings.saved) settings.saved->write();
    return observer.counts_of(result);
  }
  std::exception_ptr failure;
  ReplacementBatch batch;
  const auto done = [&](std::exception_ptr why) { failure = std::move(why); };
  prepare_in_place({settings, engine, observer, result}, path, batch, done)->write();
  batch.commit();
  if (failure) std::rethrow_exception(failure);
  if (settings.saved) settings.saved->write();
  return observer.counts_of(result);
}

void check_elements(DType in, DType out, const Request& request) {
  const DType result = request.to.value_or(in);
  if (out == result) return;
  const Message why = request.to ? Term{"to", "to"} + Message(" is ") : Message("the result is ");
  throw Error(ErrorKind::usage, why + std::string(traits(result).name) + ", but out has elements of " +
                                    std::string(traits(out).name));
}

Counts clip(DType dtype, const void* in, void* out, std::size_t count, const Request& request,
            unsigned threads) {
  const std::size_t size = std::max(traits(dtype).size, traits(request.to.value_or(dtype)).size);
  if (count > static_cast<std::size_t>(std::numeric_limits<std::ptrdiff_t>::max()) / size)
    throw Error(ErrorKind::usage, std::to_string(count) + " elements exceed the address space");
  const Tensor tensor{dtype, {static_cast<std::int64_t>(count)}};
  return PreparedClip(request, tensor, in, threads).clip_and_count(in, out, count, threads);
}

Counts clip(const TensorView& in, const WritableTensor& out, const Request& request, unsigned threads,
            const std::atomic<bool>* stop) {
  const Packed from(in, layout_of_numbers(in.tensor));
  const TensorLayout& layout = from.layout();
  const TensorLayout result = layout_of_numbers(out.tensor);
  if (layout.shape != result.shape)
    throw Error(ErrorKind::usage, "in has shape " + shape_text(layout.shape) + ", but out has shape " +
                                      shape_text(result.shape));
  check_elements(layout.dtype, result.dtype, request);
  const std::size_t size = result.element_size();
  if (layout.order != result.order && size > 1)
    throw Error(ErrorKind::usage, "in and out have different byte orders");
  if (result.count != 0 && out.elements == nullptr) throw Error(ErrorKind::usage, "the elements are null");
  auto* to = static_cast<std::byte*>(out.elements);
  const std::vector<std::int64_t> strides = strides_of(out.tensor, result);
  if (!out.tensor.strides.empty() && overlap_each_other(result.shape, strides, size))
    throw Error(ErrorKind::usage, "elements of out overlap, by their strides");
  const std::vector<std::int64_t> packed = strides_without_gaps(layout.shape, size, layout.fortran_order);
  std::vector<std::byte> copy;
  const bool has_gaps = !lie_alike(layout.shape, strides, packed);
  if (has_gaps) {
    copy.resize(result.data_size());
    to = copy.data();
  }
  const PreparedClip clip(request, {layout.dtype, layout.shape, layout.fortran_order, layout.order},
                          from.elements(), threads, stop);
  const Counts counts = clip.clip_and_count(from.elements(), to, layout.count, threads, stop);
  if (has_gaps)
    StridedCopy(layout.shape, size, packed, strides)(copy.data(), static_cast<std::byte*>(out.elements), 0,
                                                     layout.count);
  return counts;
}

Tensor tensor_in(const fs::path& path, const FileOptions& options) {
  const npy::Header header =
      Opened(input_named(path, options), reading_of(options), npy::Types::comparable).header;
  return {header.dtype, header.shape, header.fortran_order, header.order, header.meaning, {}};
}

Given from_memory(const Tensor& tensor, const void* elements) {
  return parameter_in_memory(layout_of(tensor), static_cast<const std::byte*>(elements));
}

PreparedClip::PreparedClip(const Request& request, const Tensor& tensor, const void* elements,
                           unsigned threads, const std::atomic<bool>* stop)
    : plan_(std::make_shared<Plan>(
          plan_in_memory(checked(request), layout_of(tensor), elements, {threads, stop}))) {}

void PreparedClip::clip(const void* in, void* out, std::size_t count, unsigned threads,
                        const std::atomic<bool>* stop) const {
  clip_in_memory(*plan_, {in, out, count}, {threads, stop}, Counting::off);
}

void PreparedClip::clip(const TensorView& in, void* out, unsigned threads,
                        const std::atomic<bool>* stop) const {
  const TensorLayout layout = layout_of_numbers(in.tensor);
  const std::size_t size = layout.element_size();
  const StridedCopy gather(layout.shape, size, strides_of(in.tensor, layout),
                           strides_without_gaps(layout.shape, size, false));
  clip_in_memory(*plan_, {in.elements, out, layout.count, &gather}, {threads, stop}, Counting::off);
}

Counts PreparedClip::clip_and_count(const void* in, void* out, std::size_t count, unsigned threads,
                                    const std::atomic<bool>* stop) const {
  return counts_of(clip_in_memory(*plan_, {in, out, count}, {threads, stop}, Counting::on), count);
}

bool PreparedClip::clip_to(const BoundArrays& bounds, const void* in, void* out, std::size_t count,
                           unsigned threads, const std::atomic<bool>* stop) const {
  return clip_to_bounds(*plan_, {in, out, count}, {bounds.min, bounds.max, bounds.may_spoil_out},
                        {threads, stop});
}

Comparison compare_files(const fs::path& actual_path, const fs::path& expected_path,
                         const CompareOptions& compare, const FileOptions& options) {
  const std::string actual = input_named(actual_path, options);
  const std::string expected = input_named(expected_path, options);
  if (actual == "-" && expected == "-") throw Error(ErrorKind::usage, "standard input cannot be both files");
  CompareSettings settings;
  settings.reading = reading_of(options, true);
  settings.rule = rule_of(compare);
  settings.any_dtype = takes_any_dtype(compare, settings.rule);
  Engine engine(engine_options(options));
  InputFile actual_file = open_as(settings.reading, actual);
  InputFile expected_file = open_as(settings.reading, expected);
  FileComparison result;
  compare_files(engine, settings, actual_file, expected_file, result);
  return comparison_of(result, settings.rule, compare);
}

Comparison compare_memory(const TensorView& actual, const TensorView& expected, const CompareOptions& compare,
                          unsigned threads, const std::atomic<bool>* stop) {
  const ComparisonRule rule = rule_of(compare);
  const Packed first(actual, layout_of_any(actual.tensor));
  const Packed second(expected, layout_of_any(expected.tensor));
  FileComparison result;
  result.layout = second.layout();
  result.reason = difference_as_whole(first.layout(), result.layout, takes_any_dtype(compare, rule));
  if (result.reason.empty()) {
    Engine engine({.threads = threads, .stop = stop});
    result.comparison = clipper::compare(engine, {first.elements(), first.layout()},
                                         {second.elements(), result.layout}, rule);
  }
  return comparison_of(result, rule, compare);
}

std::vector<std::optional<Scalar>> percentiles(const fs::path& path, std::span<const Number> percentages,
                                               const FileOptions& options) {
  auto [input, header] = Opened(input_named(path, options), reading_of(options), npy::Types::clipped);
  Engine engine(engine_options(options));
  return as_scalars(header.dtype, read_percentiles(engine, input, header, percentages));
}

std::vector<std::optional<Scalar>> percentiles(const TensorView& tensor, std::span<const Number> percentages,
                                               unsigned threads, const std::atomic<bool>* stop) {
  const Packed packed(tensor, layout_of_numbers(tensor.tensor));
  return as_scalars(packed.layout().dtype,
                    percentiles_in_memory(packed.layout(), packed.elements(), percentages, {threads, stop}));
}

namespace {

Statistics statistics_from(const TensorLayout& layout, const ElementStatistics& read,
                           std::optional<Scalar> median) {
  const bool has_mean = layout.meaning.kind != Meaning::Kind::datetime;  // the zero of dates is arbitrary
  return {.dtype = layout.dtype,
          .meaning = layout.meaning,
          .shape = layout.shape,
          .count = read.count,
          .nan = read.nan,
          .positive_infinite = read.positive_infinite,
          .negative_infinite = read.negative_infinite,
          .min = read.min(),
          .max = read.max(),
          .mean = has_mean ? read.mean() : std::nullopt,
          .standard_deviation = has_mean ? read.standard_deviation() : std::nullopt,
          .median = median};
}

}  // namespace

Statistics statistics(const TensorView& tensor, unsigned threads, const std::atomic<bool>* stop) {
  const Packed packed(tensor, layout_of_numbers(tensor.tensor));
  const Workers workers{threads, stop};
  const std::vector found =
      percentiles_in_memory(packed.layout(), packed.elements(), std::array{Number(50)}, workers);
  return statistics_from(packed.layout(), statistics_in_memory(packed.layout(), packed.elements(), workers),
                         as_scalars(packed.layout().dtype, found).front());
}

Statistics statistics(const fs::path& path, const FileOptions& options) {
  auto [input, header] = Opened(input_named(path, options), reading_of(options), npy::Types::clipped);
  Engine engine(engine_options(options));
  std::optional<Scalar> median;
  if (input.is_regular())
    median =
        as_scalars(header.dtype, read_percentiles(engine, input, header, std::array{Number(50)})).front();
  return statistics_from(header, read_statistics(engine, input, header, std::nullopt, std::nullopt), median);
}

}  // namespace clipper
