#include <array>
#include <initializer_list>

#include "clipper.h"
#include "fuzz/bytes.hpp"
#include "fuzz/sandbox.hpp"
#include "support/tensors.hpp"

/// The input is a sequence of calls, each a byte, and the bytes that choose its arguments.
///
/// Calls of the functions for C with one request: known and unknown names and texts, null pointers, tensors
/// with any size of structure, dtype, rank, shape and strides whose elements are in memory that was allocated
/// for them. Every function returns one of its results, and a failure has a message
/// libFuzzer tries call sequences of the C interface: -max_len=512
/// torture: 5000 | 200000 | 5000000
namespace clipper::fuzz {
namespace {

const Sandbox& sandbox() {
  static const Sandbox the_sandbox;
  return the_sandbox;
}

/// Null, one of the texts, or a few bytes of the input.
class TextOf {
 public:
  TextOf(Bytes& input, const std::vector<std::string>& usual) {
    const auto choice = input.take();
    is_null_ = choice == 255;
    if (choice < 224) {
      text_ = usual[choice % usual.size()];
      return;
    }
    for (std::size_t size = choice % 8; size != 0; --size) text_ += static_cast<char>(input.take());
  }
  [[nodiscard]] const char* get() const { return is_null_ ? nullptr : text_.c_str(); }

 private:
  bool is_null_ = false;
  std::string text_;
};

const std::vector<std::string>& names() {
  static const std::vector<std::string> all = [] {
    std::vector<std::string> every{"min", "max", "to", "nan", "profile", "min-above-max", "unknown"};
    for (std::size_t i = 0; clipper_request_name(i) != nullptr; ++i)
      every.emplace_back(clipper_request_name(i));
    return every;
  }();
  return all;
}

const std::vector<std::string>& texts() {
  static const std::vector<std::string> all{
      "0",      "1",      "-1.5",    "6",          "1e400",       "nan",     "inf",   "1%",
      "99.9%",  "200%",   "1/3",     "0:255",      "1:",          "true",    "false", "error",
      "min",    "max",    "keep",    "half-even",  "i8",          "uint8",   "<f4",   "float16",
      "bf16",   "onnx",   "pytorch", "2020-01-01", "w",           "all",     "@-",    "@",
      "@a.npy", "ignore", "3",       "int8",       "f8_e4m3fnuz", "clipper", "1/0",   "float64"};
  return all;
}

/// A tensor whose elements are in memory with exactly their bytes, so that a sanitizer sees an access beyond
/// them.
class TensorOf {
 public:
  explicit TensorOf(Bytes& input)
      : dtype_(input, {"float32", "uint8", "int64", "float16", "<f4", "bfloat16", "float8_e5m2", "f8", ""}) {
    std::size_t size = 0;
    const bool is_known = clipper_dtype(dtype_.get(), &size) != nullptr;
    const std::size_t rank = input.take() % 4;
    std::int64_t lowest = 0;
    std::int64_t highest = is_known ? static_cast<std::int64_t>(size) : 0;
    bool is_empty = false;
    for (std::size_t axis = 0; axis < rank; ++axis) {
      shape_.push_back(input.take() % 5);
      strides_.push_back(static_cast<std::int8_t>(input.take()) % 48);
      is_empty = is_empty || shape_.back() == 0;
      (strides_.back() < 0 ? lowest : highest) +=
          std::max<std::int64_t>(shape_.back() - 1, 0) * strides_.back();
    }
    has_strides_ = input.take() % 2 == 0;
    if (!has_strides_) {
      lowest = 0;
      for (const std::int64_t each : shape_)
        highest = (&each == shape_.data() ? static_cast<std::int64_t>(size) : highest) * each;
    }
    memory_.assign(is_empty ? 0 : static_cast<std::size_t>(highest - lowest), input.take());
    for (std::uint8_t& byte : memory_)
      if (input.take() % 2 == 0) byte = input.take();
    tensor_ = {sizeof tensor_,
               dtype_.get(),
               rank,
               shape_.data(),
               has_strides_ ? strides_.data() : nullptr,
               memory_.empty() ? nullptr : memory_.data() - lowest};
    spoil(input);
  }
  [[nodiscard]] const clipper_tensor* get() const { return is_null_ ? nullptr : &tensor_; }
  [[nodiscard]] const clipper_writable_tensor* writable() {
    writable_ = {tensor_.size,  tensor_.dtype,   tensor_.rank,
                 tensor_.shape, tensor_.strides, const_cast<void*>(tensor_.data)};
    return is_null_ ? nullptr : &writable_;
  }

 private:
  /// Makes one field wrong or unusual, once in a while.
  void spoil(Bytes& input) {
    switch (input.take()) {
      case 1: tensor_.size = input.take(); break;
      case 2: tensor_.rank = 65 + input.take<std::size_t>() % 1000; break;
      case 3: tensor_.shape = nullptr; break;
      case 4: tensor_.data = nullptr; break;
      case 5: is_null_ = true; break;
      case 6:
        if (!shape_.empty()) shape_.front() = -1 - input.take();
        break;
      case 7:
        if (shape_.size() < 2) break;
        shape_[0] = std::int64_t{1} << 62;
        shape_[1] = 4;
        break;
      case 8:  // no element is that far away
        for (std::size_t axis = 0; axis < shape_.size(); ++axis)
          if (shape_[axis] < 2 || memory_.empty()) strides_[axis] = input.take<std::int64_t>();
        break;
      default: break;
    }
  }

  TextOf dtype_;
  std::vector<std::int64_t> shape_;
  std::vector<std::int64_t> strides_;
  bool has_strides_ = false;
  std::vector<std::uint8_t> memory_;
  clipper_tensor tensor_{};
  clipper_writable_tensor writable_{};
  bool is_null_ = false;
};

/// A structure, or null, or one whose size is wrong.
template <class T>
class Result {
 public:
  explicit Result(Bytes& input) : choice_(input.take()) {
    value_.size = choice_ == 1 ? input.take() : sizeof value_;
  }
  [[nodiscard]] T* get() { return choice_ == 0 ? nullptr : &value_; }

 private:
  std::uint8_t choice_;
  T value_{};
};

void expect_result(int result) {
  require(result >= CLIPPER_OK && result <= CLIPPER_CANCELLED, "a function returns one of its results",
          std::to_string(result));
  if (result == CLIPPER_OK) return;
  require(clipper_last_error_kind() == result, "the last error is that of the function");
  require(clipper_last_error_message()[0] != '\0', "a failure has a message");
  require(clipper_last_error_field() != nullptr, "a failure has a field");
}

/// The path of a file that calls read and write, or of none; or null.
class PathOf {
 public:
  explicit PathOf(Bytes& input)
      : choice_(input.take()), path_(sandbox() / (choice_ == 1 ? "none" : "file.npy")) {}
  [[nodiscard]] const char* get() const { return choice_ == 0 ? nullptr : path_.c_str(); }

 private:
  std::uint8_t choice_;
  std::string path_;
};

int find(Bytes& input, const clipper_request* request) {
  const TextOf text(input, {"0", "50", "99.9", "100", "-1", "1e-20", "x"});
  const std::array<const char*, 2> texts{"25", text.get()};
  std::array<clipper_element, 2> elements{};
  const auto* const percentages = input.take() == 0 ? nullptr : texts.data();
  auto* const percentiles = input.take() == 0 ? nullptr : elements.data();
  if (input.take() % 2 == 0)
    return clipper_percentiles_of_file(request, PathOf(input).get(), percentages, 2, percentiles);
  return clipper_percentiles(request, TensorOf(input).get(), percentages, 2, percentiles);
}

int describe(Bytes& input, const clipper_request* request) {
  switch (input.take() % 6) {
    case 0: {
      const TensorOf tensor(input);
      Result<clipper_statistics> statistics(input);
      return clipper_describe(request, tensor.get(), statistics.get());
    }
    case 1: return find(input, request);
    case 2: {
      Result<clipper_counts> counts(input);
      return clipper_clip_in_place(request, PathOf(input).get(), counts.get());
    }
    case 3: {
      Result<clipper_statistics> statistics(input);
      return clipper_describe_file(request, PathOf(input).get(), statistics.get());
    }
    case 4: {
      const PathOf in(input);
      Result<clipper_counts> counts(input);
      return clipper_clip_file(request, in.get(), PathOf(input).get(), counts.get());
    }
    default: {
      const PathOf actual(input);
      Result<clipper_comparison> comparison(input);
      return clipper_compare_files(request, actual.get(), PathOf(input).get(), comparison.get());
    }
  }
}

/// Clips a few elements with a request that may be stopped, or looks at a file.
int prepare(Bytes& input, clipper_request* request) {
  if (input.take() % 4 == 0) {
    Result<clipper_layout> layout(input);
    return clipper_layout_of_file(request, PathOf(input).get(), layout.get());
  }
  const TensorOf kind(input);
  clipper_prepared* const prepared = clipper_prepare(request, kind.get());
  if (prepared == nullptr) return clipper_last_error_kind();
  clipper_request_stop(request, input.take() % 8 == 0 ? 1 : 0);
  std::array<double, 4> elements{};
  std::array<double, 4> results{};
  const int result = clipper_prepared_clip(prepared, elements.data(), results.data(), input.take() % 5);
  clipper_request_stop(request, 0);
  clipper_prepared_free(prepared);
  return result;
}

int call(Bytes& input, clipper_request* request) {
  switch (input.take() % 10) {
    case 0:
    case 1:
    case 2: {
      const TextOf name(input, names());
      const TextOf text(input, texts());
      return clipper_request_set(request, name.get(), text.get());
    }
    case 3: {
      const TextOf name(input, names());
      const TensorOf array(input);
      return clipper_request_set_array(request, name.get(), array.get());
    }
    case 4: {
      TensorOf in(input);
      TensorOf out(input);
      Result<clipper_counts> counts(input);
      return clipper_clip(request, in.get(), input.take() % 2 == 0 ? in.writable() : out.writable(),
                          counts.get());
    }
    case 5: {
      const TensorOf actual(input);
      const TensorOf expected(input);
      Result<clipper_comparison> comparison(input);
      return clipper_compare(request, actual.get(), input.take() % 4 == 0 ? actual.get() : expected.get(),
                             comparison.get());
    }
    case 8: return input.take() % 2 == 0 ? clipper_request_then(request) : describe(input, request);
    case 9: return prepare(input, request);
    default: return describe(input, request);
  }
}

}  // namespace
}  // namespace clipper::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace clipper::fuzz;
  sandbox().write("file.npy", clipper::testing::float32_file({7}));
  Bytes input({data, size});
  clipper_request* const request = clipper_request_new();
  require(request != nullptr, "there is memory for a request");
  require(clipper_request_set(request, "threads", "1") == CLIPPER_OK, "calls start no threads");
  while (!input.empty()) expect_result(call(input, input.take() == 255 ? nullptr : request));
  clipper_request_free(request);
  return 0;
}
