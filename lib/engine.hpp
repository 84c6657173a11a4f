#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "input_file.hpp"
#include "output_file.hpp"
#include "plan.hpp"
#include "simd.hpp"

namespace clipper {

/// A Plan over chunks and threads: read, clip, write.
///
/// Memory is bounded by threads and chunk size, whatever the tensor's size. It is had by the constructor, so
/// that an engine is made before the output exists. Every thread count and chunk size gives the same bytes.
class Engine {
 public:
  struct Options {
    unsigned threads = 0;                   ///< at the most; 0: available_threads()
    std::size_t chunk_size = 256UL * 1024;  ///< bytes that a thread handles at a time; at least 4096
    SimdLevel level = simd_levels().back();
  };

  Engine(const Options& options, const Plan& plan);

  /// Writes `header`, then every element of the input, which stands behind its own header. The output is not
  /// committed. Error{input} if a stream is shorter or longer than its header says, or for a NaN with
  /// plan.refuse_nan.
  void run(const Plan& plan, InputFile& input, OutputFile& output, std::span<const std::byte> header);

  [[nodiscard]] unsigned threads() const noexcept { return threads_; }

 private:
  struct Free {
    void operator()(std::byte* memory) const noexcept;
  };
  using Buffer = std::unique_ptr<std::byte[], Free>;

  std::size_t chunk_size_;
  SimdLevel level_;
  unsigned threads_ = 1;
  std::vector<Buffer> buffers_;
};

}  // namespace clipper
