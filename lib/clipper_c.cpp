#include <algorithm>
#include <array>
#include <atomic>
#include <cmath>
#include <cstddef>
#include <cstring>
#include <limits>
#include <map>
#include <memory>
#include <new>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "clipper.h"
#include "clipper.hpp"
#include "contract/fields.hpp"
#include "counts.hpp"
#include "element/element.hpp"
#include "element/number.hpp"
#include "element/text.hpp"
#include "flows/saved_figures.hpp"
#include "request_text.hpp"

// NOLINTNEXTLINE(readability-identifier-naming): the type of C.
struct clipper_request {
  clipper::Request request;
  clipper::FileOptions files;
  clipper::CompareOptions compare;

  /// The elements of numbers that are arrays, by the stage and the name.
  std::map<std::pair<std::size_t, std::string>, std::shared_ptr<const std::vector<std::byte>>> arrays;
  bool is_applied = false;  ///< whether figures were set
  std::shared_ptr<std::atomic<bool>> stop = std::make_shared<std::atomic<bool>>(false);
};

// NOLINTNEXTLINE(readability-identifier-naming): the type of C.
struct clipper_prepared {
  clipper::PreparedClip clip;
  decltype(clipper_request::arrays) arrays;
  std::shared_ptr<const std::atomic<bool>> stop;
  unsigned threads;
};

namespace clipper {
namespace {

struct LastError {
  int kind = CLIPPER_OK;
  bool has_texts = true;  ///< there was memory for them
  std::string message;
  std::string field;
};

LastError& last_error() noexcept {
  thread_local LastError error;
  return error;
}

int fail(int kind, std::string_view message, std::string_view field) noexcept {
  LastError& error = last_error();
  error.kind = kind;
  error.has_texts = false;
  try {
    error.message = message;
    error.field = field;
    error.has_texts = true;
  } catch (const std::bad_alloc&) {  // the function that failed has a result all the same
  }
  return kind;
}

/// The result of work(), or that of its exception.
template <class Work>
int run(Work work) noexcept {
  try {
    return work();
  } catch (const Error& error) {
    return fail(static_cast<int>(error.kind()), error.what(), error.field());
  } catch (const std::bad_alloc&) {
    return fail(CLIPPER_IO, "out of memory", "");
  } catch (const std::exception& error) {
    return fail(CLIPPER_IO, error.what(), "");
  }
}

[[noreturn]] void refuse_argument(std::string_view name, const std::string& why) {
  throw Error(ErrorKind::usage, std::string(name) + " " + why);
}

template <class T>
T& expect(T* pointer, std::string_view name) {
  if (pointer == nullptr) refuse_argument(name, "is null");
  return *pointer;
}

std::string text_of(const char* text, std::string_view name) {
  return &expect(text, name);
}

/// The structure, which must be as large as in the first version of this library.
template <class T>
T& expect_sized(T* structure, std::string_view name, std::size_t first_size = sizeof(T)) {
  if (expect(structure, name).size < first_size)
    refuse_argument(name, "has size " + std::to_string(structure->size) + ": must be that of its type, " +
                              std::to_string(sizeof(T)));
  return *structure;
}

template <class T>
void check_result(T* structure, std::string_view name) {
  if (structure != nullptr) static_cast<void>(expect_sized(structure, name));
}

/// Writes a structure of the caller, who may not want it.
template <class T>
void give(T* structure, T values) noexcept {
  if (structure == nullptr) return;
  values.size = structure->size;
  *structure = values;
}

/// Of a clipper_tensor or a clipper_writable_tensor.
template <class Structure>
Tensor tensor_of(const Structure* given, std::string_view name) {
  const Structure& tensor = expect_sized(given, name);
  const std::string dtype = text_of(tensor.dtype, std::string(name) + "->dtype");
  constexpr std::size_t kMaxRank = 64;
  if (tensor.rank > kMaxRank) refuse_argument(name, "has a rank greater than 64");
  if (tensor.rank != 0) static_cast<void>(expect(tensor.shape, std::string(name) + "->shape"));
  Tensor result;
  const OrderedDType type = dtype_of_text("dtype", dtype);
  result.dtype = type;
  result.order = type.order.value_or(kNativeOrder);
  result.shape.assign(tensor.shape, tensor.shape + tensor.rank);
  if (tensor.strides != nullptr) result.strides.assign(tensor.strides, tensor.strides + tensor.rank);
  return result;
}

/// Null is the request that changes nothing.
const clipper_request& or_default(const clipper_request* request) {
  static const clipper_request nothing;
  return request != nullptr ? *request : nothing;
}

clipper_element element_of(DType dtype, const std::optional<ElementBits>& bits) {
  if (!bits) return {std::numeric_limits<double>::quiet_NaN(), 0};
  return {round_to<double>(number_of(dtype, *bits)), *bits};
}

clipper_element element_of(const std::optional<Scalar>& scalar) {
  return scalar ? element_of(scalar->dtype, scalar->bits) : element_of(DType::float32, std::nullopt);
}

/// The name as it is in the tables.
std::string name_of(const char* given) {
  std::string name = text_of(given, "name");
  std::ranges::replace(name, '-', '_');
  return name;
}

constexpr const char* kApply = "apply";  // sets several numbers of the request

const char* request_name(std::size_t index) noexcept {
  constexpr std::size_t kFields = fields::kAll.size();
  if (index < kFields) return fields::kAll[index].name.data();
  if (index < kFields + other_texts().size()) return other_texts()[index - kFields].name.data();
  return index == kFields + other_texts().size() ? kApply : nullptr;
}

[[noreturn]] void refuse_name(const std::string& name) {
  std::vector<std::string_view> names;
  for (std::size_t i = 0; request_name(i) != nullptr; ++i) names.emplace_back(request_name(i));
  static_cast<void>(place_of_text("name", name, names));
  refuse_argument(name, "has no text");
}

/// Calls set(stage) for the last stage, which errors name.
template <class Set>
void set_in_stage(clipper_request& request, const Set& set) {
  std::vector<Request>& then = request.request.then;
  with_path(stage_name(then.size()), [&] { set(then.empty() ? request.request : then.back()); });
}

void set_text(clipper_request& request, const std::string& name, const std::string& text) {
  if (const Field* const field = field_named(name))
    return set_in_stage(request, [&](Request& stage) { set_text(*field, stage, text, {}); });
  if (name == kApply) {
    set_figures(request.request, text, {});
    request.is_applied = true;
    return;
  }
  const auto other = std::ranges::find(other_texts(), name, &OtherText::name);
  if (other == other_texts().end()) refuse_name(name);
  other->set(request.files, request.compare, other->name, text);
}

void set_array(clipper_request& request, const std::string& name, const clipper_tensor* array) {
  const Field* const field = field_named(name);
  if (field == nullptr || field->number() == nullptr)
    refuse_argument(name, "is no number of a request that may be an array");
  const Tensor tensor = tensor_of(array, "array");
  const Tensor packed{tensor.dtype, tensor.shape, false, tensor.order};
  std::size_t bytes = traits(tensor.dtype).size;
  for (const std::int64_t size : tensor.shape)
    if (size < 0 || __builtin_mul_overflow(bytes, static_cast<std::size_t>(size), &bytes))
      refuse_argument("array", "has a shape that no memory has");
  const auto elements = std::make_shared<std::vector<std::byte>>(bytes);
  clip({tensor, array->data}, {packed, elements->data()}, {});
  Parameter given = from_memory(packed, elements->data());
  request.arrays[{request.request.then.size(), name}] = elements;
  set_in_stage(request, [&](Request& stage) { stage.*field->number() = std::move(given); });
}

/// The structures that are linked, each with the counts of its stage.
std::vector<clipper_counts*> counts_by_stage(clipper_counts* counts, std::size_t stages) {
  std::vector<clipper_counts*> all;
  while (counts != nullptr && all.size() < stages) {
    all.push_back(&expect_sized(counts, "counts", offsetof(clipper_counts, next)));
    counts = counts->size < sizeof *counts ? nullptr : counts->next;
  }
  return all;
}

/// Calls work(request), whose result is Counts.
template <class Work>
int count(const clipper_request* request, clipper_counts* counts, Work work) noexcept {
  return run([&] {
    const clipper_request& r = or_default(request);
    const std::vector<clipper_counts*> stages = counts_by_stage(counts, 1 + r.request.then.size());
    check_texts(r.request);
    const Counts result = work(r);
    for (std::size_t i = 0; i < stages.size(); ++i) {
      const Counts& found = i == 0 ? result : i <= result.then.size() ? result.then[i - 1] : Counts{};
      stages[i]->elements = found.elements;
      stages[i]->changed = found.changed ? 1 : 0;
      for (const CountedElements& row : kCountedElements) stages[i]->*row.in_c = found.*row.in_cpp;
    }
    return CLIPPER_OK;
  });
}

/// Calls work(request), whose result is a Comparison.
template <class Work>
int compare(const clipper_request* request, clipper_comparison* comparison, Work work) noexcept {
  return run([&] {
    check_result(comparison, "comparison");
    const Comparison result = work(or_default(request));
    give(comparison, {0, result.compared, result.mismatches, result.largest});
    return result.equal() ? CLIPPER_OK : fail(CLIPPER_DIFFERENT, result.report, "");
  });
}

/// Calls work(request), whose result is Statistics.
template <class Work>
int describe(const clipper_request* request, clipper_statistics* statistics, Work work) noexcept {
  return run([&] {
    static_cast<void>(expect_sized(statistics, "statistics"));
    const Statistics result = work(or_default(request));
    constexpr double kNone = std::numeric_limits<double>::quiet_NaN();
    give(statistics,
         {0, result.count, result.nan, result.positive_infinite, result.negative_infinite,
          element_of(result.dtype, result.min), element_of(result.dtype, result.max),
          element_of(result.median), result.mean.value_or(kNone), result.standard_deviation.value_or(kNone)});
    return CLIPPER_OK;
  });
}

/// Calls work(request, percentages), whose result are scalars.
template <class Work>
int find(const clipper_request* request, const char* const* percentages, std::size_t count,
         clipper_element* elements, Work work) noexcept {
  return run([&] {
    if (count != 0) static_cast<void>((expect(percentages, "percentages"), expect(elements, "percentiles")));
    std::vector<Number> numbers;
    for (std::size_t i = 0; i < count; ++i) {
      const std::string text = text_of(percentages[i], "a percentage");
      const std::optional<Number> number =
          parse_number(text.substr(0, text.size() - (text.ends_with('%') ? 1 : 0)));
      if (!number) refuse_argument("'" + text + "'", "is not a percentage");
      numbers.push_back(*number);
    }
    const std::vector<std::optional<Scalar>> found = work(or_default(request), numbers);
    std::ranges::transform(found, elements, [](const auto& scalar) { return element_of(scalar); });
    return CLIPPER_OK;
  });
}

}  // namespace
}  // namespace clipper

using namespace clipper;

const char* clipper_version(void) {
  return version().data();
}

int clipper_version_number(void) {
  return CLIPPER_VERSION_NUMBER;
}

int clipper_last_error_kind(void) {
  return last_error().kind;
}

const char* clipper_last_error_message(void) {
  return last_error().has_texts ? last_error().message.c_str() : "out of memory";
}

const char* clipper_last_error_field(void) {
  return last_error().has_texts ? last_error().field.c_str() : "";
}

const char* clipper_profile_name(size_t index) {
  return index < profiles().size() ? profiles()[index].name.data() : nullptr;
}

const char* clipper_dtype(const char* name, size_t* size) {
  const DTypeTraits* row = nullptr;
  static_cast<void>(run([&] {
    row = &traits(dtype_of_text("dtype", text_of(name, "name")));
    if (size != nullptr) *size = row->size;
    return CLIPPER_OK;
  }));
  return row != nullptr ? row->name.data() : nullptr;
}

clipper_request* clipper_request_new(void) {
  clipper_request* request = nullptr;
  static_cast<void>(run([&] {
    request = new clipper_request;
    request->files.stop = request->stop.get();
    return CLIPPER_OK;
  }));
  return request;
}

void clipper_request_free(clipper_request* request) {
  delete request;
}

int clipper_request_set(clipper_request* request, const char* name, const char* text) {
  return run([&] {
    set_text(expect(request, "request"), name_of(name), text_of(text, "text"));
    return CLIPPER_OK;
  });
}

int clipper_request_set_array(clipper_request* request, const char* name, const clipper_tensor* array) {
  return run([&] {
    set_array(expect(request, "request"), name_of(name), array);
    return CLIPPER_OK;
  });
}

int clipper_request_then(clipper_request* request) {
  return run([&] {
    clipper_request& r = expect(request, "request");
    if (r.is_applied) refuse_argument(kApply, "must be set after clipper_request_then()");
    r.request.then.emplace_back();
    return CLIPPER_OK;
  });
}

const char* clipper_request_name(size_t index) {
  return request_name(index);
}

void clipper_request_on_progress(clipper_request* request,
                                 void (*progress)(std::uint64_t, std::uint64_t, void*), void* data) {
  if (request == nullptr) return;
  request->files.progress = nullptr;
  if (progress != nullptr)
    request->files.progress = [=](std::uint64_t done, std::uint64_t all) { progress(done, all, data); };
}

void clipper_request_stop(clipper_request* request, int stop) {
  if (request != nullptr) *request->stop = stop != 0;
}

clipper_prepared* clipper_prepare(const clipper_request* request, const clipper_tensor* tensor) {
  clipper_prepared* prepared = nullptr;
  static_cast<void>(run([&] {
    const clipper_request& r = or_default(request);
    check_texts(r.request);
    const Tensor kind = tensor_of(tensor, "tensor");
    prepared =
        new clipper_prepared{PreparedClip(r.request, kind, tensor->data, r.files.threads, r.files.stop),
                             r.arrays, r.stop, r.files.threads};
    return CLIPPER_OK;
  }));
  return prepared;
}

int clipper_prepared_clip(const clipper_prepared* prepared, const void* in, void* out, size_t count) {
  return run([&] {
    const clipper_prepared& p = expect(prepared, "prepared");
    if (in == nullptr && count != 0) refuse_argument("in", "is null");
    if (out == nullptr && count != 0) refuse_argument("out", "is null");
    p.clip.clip(in, out, count, p.threads, p.stop.get());
    return CLIPPER_OK;
  });
}

void clipper_prepared_free(clipper_prepared* prepared) {
  delete prepared;
}

int clipper_clip(const clipper_request* request, const clipper_tensor* in, const clipper_writable_tensor* out,
                 clipper_counts* counts) {
  return count(request, counts, [&](const clipper_request& r) {
    return clip({tensor_of(in, "in"), in->data}, {tensor_of(out, "out"), out->data}, r.request,
                r.files.threads, r.files.stop);
  });
}

int clipper_clip_file(const clipper_request* request, const char* in, const char* out,
                      clipper_counts* counts) {
  return count(request, counts, [&](const clipper_request& r) {
    return clip_file(text_of(in, "in"), text_of(out, "out"), r.request, r.files);
  });
}

int clipper_clip_in_place(const clipper_request* request, const char* path, clipper_counts* counts) {
  return count(request, counts, [&](const clipper_request& r) {
    return clip_in_place(text_of(path, "path"), r.request, r.files);
  });
}

int clipper_compare(const clipper_request* request, const clipper_tensor* actual,
                    const clipper_tensor* expected, clipper_comparison* comparison) {
  return compare(request, comparison, [&](const clipper_request& r) {
    return compare_memory(TensorView{tensor_of(actual, "actual"), actual->data},
                          TensorView{tensor_of(expected, "expected"), expected->data}, r.compare,
                          r.files.threads, r.files.stop);
  });
}

int clipper_compare_files(const clipper_request* request, const char* actual, const char* expected,
                          clipper_comparison* comparison) {
  return compare(request, comparison, [&](const clipper_request& r) {
    return compare_files(text_of(actual, "actual"), text_of(expected, "expected"), r.compare, r.files);
  });
}

int clipper_layout_of_file(const clipper_request* request, const char* path, clipper_layout* layout) {
  return run([&] {
    static_cast<void>(expect_sized(layout, "layout"));
    const Tensor tensor = tensor_in(text_of(path, "path"), or_default(request).files);
    clipper_layout values{};
    const std::string dtype = type_name(tensor.dtype, tensor.meaning);
    dtype.copy(values.dtype, sizeof values.dtype - 1);
    values.rank = tensor.shape.size();
    std::ranges::copy(tensor.shape, values.shape);
    values.elements = 1;
    for (const std::int64_t size : tensor.shape) values.elements *= static_cast<std::uint64_t>(size);
    values.fortran_order = tensor.fortran_order ? 1 : 0;
    values.big_endian = tensor.order == ByteOrder::big && traits(tensor.dtype).size > 1 ? 1 : 0;
    give(layout, values);
    return CLIPPER_OK;
  });
}

int clipper_describe(const clipper_request* request, const clipper_tensor* tensor,
                     clipper_statistics* statistics) {
  return describe(request, statistics, [&](const clipper_request& r) {
    return clipper::statistics(TensorView{tensor_of(tensor, "tensor"), tensor->data}, r.files.threads,
                               r.files.stop);
  });
}

int clipper_describe_file(const clipper_request* request, const char* path, clipper_statistics* statistics) {
  return describe(request, statistics, [&](const clipper_request& r) {
    return clipper::statistics(text_of(path, "path"), r.files);
  });
}

int clipper_percentiles(const clipper_request* request, const clipper_tensor* tensor,
                        const char* const* percentages, size_t count, clipper_element* percentiles) {
  return find(request, percentages, count, percentiles,
              [&](const clipper_request& r, const std::vector<Number>& numbers) {
                return clipper::percentiles(TensorView{tensor_of(tensor, "tensor"), tensor->data}, numbers,
                                            r.files.threads, r.files.stop);
              });
}

int clipper_percentiles_of_file(const clipper_request* request, const char* path,
                                const char* const* percentages, size_t count, clipper_element* percentiles) {
  return find(request, percentages, count, percentiles,
              [&](const clipper_request& r, const std::vector<Number>& numbers) {
                return clipper::percentiles(text_of(path, "path"), numbers, r.files);
              });
}
