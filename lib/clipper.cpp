#include "clipper.hpp"

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <exception>
#include <filesystem>
#include <functional>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "clipper_input.hpp"
#include "contract/fields.hpp"
#include "contract/plan.hpp"
#include "counts.hpp"
#include "element/tensor_layout.hpp"
#include "engine/engine.hpp"
#include "error.hpp"
#include "files/place.hpp"
#include "flows/clip_file.hpp"
#include "flows/figure_requests.hpp"
#include "flows/figures.hpp"
#include "flows/memory_clip.hpp"
#include "flows/saved_figures.hpp"
#include "flows/tensor_sources.hpp"
#include "formats/container.hpp"
#include "formats/formats.hpp"
#include "formats/parameter_file.hpp"
#include "memory/elements.hpp"
#include "os/os.hpp"
#include "request_text.hpp"

namespace clipper {

// What clipper_compare.cpp is given as well: clipper_input.hpp.

namespace {

[[noreturn]] void refuse_shape(const Tensor& tensor, std::string_view why) {
  throw Error(ErrorKind::usage, "shape " + shape_text(tensor.shape) + " " + std::string(why));
}

}  // namespace

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
  if (tensor.meaning.kind == LogicalType::Kind::number) return layout_of_any(tensor);
  throw Error(ErrorKind::usage,
              "elements in memory are numbers, not " + type_name(tensor.dtype, tensor.meaning));
}

std::vector<std::int64_t> strides_of(const Tensor& tensor, const TensorLayout& layout) {
  if (tensor.strides.empty())
    return strides_without_gaps(tensor.shape, layout.element_size(), tensor.fortran_order);
  if (tensor.strides.size() != tensor.shape.size()) refuse_shape(tensor, "needs a stride for each axis");
  return tensor.strides;
}

Packed::Packed(const TensorView& view, TensorLayout layout)
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

Opened::Opened(const std::string& path, const Reading& how, npy::Types types)
    : input(open_as(how, path)),
      header(read_header(input, how, nullptr, std::nullopt, npy::Opaque::refused, types)) {}

std::string input_named(const std::filesystem::path& file, const FileOptions& options) {
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

Engine::Options engine_options(const FileOptions& options) {
  return {.threads = options.threads, .stop = options.stop};
}

namespace {

namespace fs = std::filesystem;
using Existing = OutputFile::Existing;

Counts counts_of(const ElementCounts& counts, std::uint64_t elements) {
  Counts reported{.elements = elements, .changed = counts.changed};
  for (const CountedElements& row : kCountedElements) reported.*row.in_cpp = counts.*row.counted;
  return reported;
}

Counts counts_of(const StageCounts& counts, std::uint64_t elements) {
  Counts reported = counts_of(static_cast<const ElementCounts&>(counts), elements);
  for (const ElementCounts& later : counts.then) reported.then.push_back(counts_of(later, elements));
  return reported;
}

/// Counts the elements of the tensors that were clipped, and tells FileOptions::progress how far the work is.
class FileWork : public ClipObserver {
 public:
  explicit FileWork(const FileOptions& options) : progress_(options.progress), engine_(with_look(options)) {}

  [[nodiscard]] Engine& engine() { return engine_; }
  [[nodiscard]] Counts counts_of(const ClipResult& result) const {
    return clipper::counts_of(result.counts.value_or(StageCounts{}), elements_);
  }

 private:
  using Clock = std::chrono::steady_clock;

  Engine::Options with_look(const FileOptions& options) {
    Engine::Options result = engine_options(options);
    if (progress_) result.look = [this] { look(); };
    return result;
  }

  void look() {
    constexpr std::chrono::milliseconds kBetween{100};
    if (const auto now = Clock::now(); now - last_ >= kBetween) {
      last_ = now;
      progress_(std::min(engine_.done().load(), bytes_), bytes_);
    }
  }

  void sized(std::uint64_t bytes) override { bytes_ = bytes; }
  void planned(const ClipResult& result) override {
    elements_ += result.plan->slice.count;
    if (bytes_ == 0) bytes_ = result.plan->input_size();
  }
  void complete(const ClipResult& /*result*/) override {
    if (progress_) progress_(bytes_, bytes_);
  }

  std::function<void(std::uint64_t, std::uint64_t)> progress_;
  std::uint64_t elements_ = 0;
  std::uint64_t bytes_ = 0;
  Clock::time_point last_ = Clock::now();
  Engine engine_;
};

const Request& checked(const Request& request) {
  expect_understood(request);
  if (!any_stage(request, [](const Request& stage) { return stage.profile == nullptr; })) return request;
  throw Error(ErrorKind::usage, Term{"profile", "profile"} +
                                    Message(" is null; profile_named() returns null for unknown names"));
}

/// Error{usage} if the result would replace a file that a parameter reads, or one behind it or behind the
/// input: external data of a TensorProto, or a file of a set.
void expect_unread(const std::string& in, const std::string& out, const Request& request,
                   const FileOptions& options) {
  const auto check = [&](const std::vector<std::string>& files, const Message& reader) {
    if (std::ranges::any_of(files,
                            [&](const std::string& file) { return is_same_file(output_path(out), file); }))
      throw Error(ErrorKind::usage, in + " would be written to " + out + ", which " + reader + " reads");
  };
  check(files_behind(reading_of(options), in), in);
  const auto check_number = [&](const Request& stage, const Field& field) {
    const std::string path = parameter_path(stage.*field.number());
    if (path.empty()) return;
    std::vector<std::string> files = files_behind(reading_of(options, true), path);
    const std::optional<MemberPath> member = member_path(path);
    files.push_back(member ? member->archive : path);
    check(files, Term{field.name, field.name});
  };
  for_each_stage(request, [&](const Request& stage) {
    for (const Field* const field : fields::kNumbers) check_number(stage, *field);
  });
}

/// `paths` are that of the input, and that of an output.
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
  if (options.fit.empty()) return settings;
  settings.saved = std::make_shared<SavedFigures>(options.fit, are_pooled(request),
                                                  options.overwrite ? Existing::replace : Existing::refuse,
                                                  settings.durability);
  std::vector<std::string> others = files_behind(settings.reading, paths.front());
  others.push_back(input_path(paths.front()));
  others.push_back(output_path(paths.back()));
  settings.saved->expect_other_than(others, request);
  return settings;
}

TensorLayout layout_of(const Tensor& tensor) {
  if (tensor.strides.empty()) return layout_of_numbers(tensor);
  throw Error(ErrorKind::usage, "a tensor with strides must be copied first");
}

/// Calls work(), which puts the result in place, and then puts the figures in place. A result that may not be
/// on the disk has them, too.
void with_figures(const ClipSettings& settings, const std::function<void()>& work) {
  const auto commit = [&] {
    if (settings.saved) settings.saved->commit();
  };
  try {
    work();
  } catch (const Error& error) {
    if (error.kind() == ErrorKind::not_durable) commit();
    throw;
  }
  try {
    commit();
  } catch (const Error& error) {
    throw Error(error.kind(), error.message() + "; the result is in place", error.system_error());
  }
}

/// As input_named() of an output, which is never a member.
std::string output_named(const fs::path& file, const FileOptions& options) {
  std::string path = os::text_of(file);
  return path == "-" && !options.special_paths ? "./-" : path;
}

}  // namespace

std::string_view version() noexcept {
  return CLIPPER_VERSION;
}

Parameter from_file(const fs::path& path, const FileOptions& options) {
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
  FileWork work(options);
  Engine& engine = work.engine();
  const ClipSettings given = settings;
  TensorPool pool(engine, given);
  if (is_pooled(request)) {
    std::vector<std::vector<LostBound>> lost;
    pool.add(in, true);
    settings.request = pool.request(lost);
    pool.expect_unchanged(in);
  }
  ClipResult result;
  with_figures(settings, [&] {
    prepare_to_file({settings, engine, work, result}, in, out, existing)->write();
  });
  return work.counts_of(result);
}

Counts clip_in_place(const fs::path& file, const Request& request, const FileOptions& options) {
  const std::string path = output_named(file, options);
  expect_unread(path, path, request, options);
  const ClipSettings settings = settings_of(request, options, {path});
  FileWork work(options);
  Engine& engine = work.engine();
  ClipResult result;
  if (options.direct) {
    with_figures(settings, [&] { prepare_direct({settings, engine, work, result}, path)->write(); });
    return work.counts_of(result);
  }
  std::exception_ptr failure;
  ReplacementBatch batch;
  const auto done = [&](std::exception_ptr why) { failure = std::move(why); };
  with_figures(settings, [&] {
    prepare_in_place({settings, engine, work, result}, path, batch, done)->write();
    batch.commit();
    if (failure) std::rethrow_exception(failure);
  });
  return work.counts_of(result);
}

namespace {

DType dtype_of_result(DType in, const Request& request) {
  for_each_stage(request, [&](const Request& stage) { in = stage.to.value_or(in); });
  return in;
}

}  // namespace

void check_elements(DType in, DType out, const Request& request) {
  const DType result = dtype_of_result(in, request);
  if (out == result) return;
  const Message why = has_cast(request) ? Term{"to", "to"} + Message(" is ") : Message("the result is ");
  throw Error(ErrorKind::usage, why + std::string(traits(result).name) + ", but out has elements of " +
                                    std::string(traits(out).name));
}

Counts clip(DType dtype, const void* in, void* out, std::size_t count, const Request& request,
            unsigned threads) {
  const std::size_t size = std::max(traits(dtype).size, traits(dtype_of_result(dtype, request)).size);
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

Parameter from_memory(const Tensor& tensor, const void* elements) {
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

bool PreparedClip::try_clip_with_arrays(const BoundArrays& bounds, const void* in, void* out,
                                        std::size_t count, unsigned threads,
                                        const std::atomic<bool>* stop) const {
  return clip_to_bounds(*plan_, {in, out, count}, {bounds.min, bounds.max, bounds.may_clobber_output},
                        {threads, stop});
}

}  // namespace clipper
