#include <sys/mman.h>

#include <random>

#include "clip/clip.hpp"
#include "clip/clip_cases.hpp"
#include "clip/clip_check.hpp"
#include "clip/vectors_check.hpp"
#include "engine/engine.hpp"
#include "formats/formats.hpp"
#include "fuzz/bytes.hpp"
#include "fuzz/require.hpp"
#include "fuzz/sandbox.hpp"
#include "support/tensors.hpp"

/// The input is an operation, offsets in memory, and elements. Random elements and neighbours of the bounds
/// follow.
///
/// An operation and elements -> every SIMD level, at any offset in memory, in place and from one place to
/// another, with and without counting. One input in 64 also goes through the engine with 1 and 2 threads,
/// from a file and from a pipe. Bytes and counts are those of reference_clip.hpp
/// libFuzzer tries kernels and engine against the naive rule: -max_len=256
/// torture: 10000 | 300000 | 10000000
namespace clipper::fuzz {
namespace {

/// Any element that can be a bound. A NaN becomes infinity: its payload is removed.
ElementBits take_bound(Bytes& input, DType dtype) {
  const ElementBits bits = input.take() % 2 == 0 ? input.one_of(cases::bounds_of(dtype))
                                                 : input.take<ElementBits>() & reference::all_ones(dtype);
  if (!reference::is_nan(dtype, bits)) return bits;
  return bits & (reference::sign_bit(dtype) | reference::infinity(dtype));
}

double take_factor(Bytes& input, Arithmetic arithmetic) {
  const bool usual = input.take() % 2 == 0;
  double factor = usual ? input.one_of(cases::factors_of(arithmetic)).scale : input.take<double>();
  if (arithmetic == Arithmetic::float32 && std::abs(factor) > std::numeric_limits<float>::max()) factor = 1;
  if (arithmetic == Arithmetic::float32) factor = static_cast<float>(factor);
  return std::isfinite(factor) ? factor : 1;
}

DoubleDouble take_integer(Bytes& input) {
  if (input.take() % 2 == 0) return input.one_of(cases::integers());
  const SignedInteger integer{input.take() % 2 == 1, input.take<std::uint64_t>() >> input.take() % 64};
  return DoubleDouble::of(integer.value());
}

Operation take_operation(Bytes& input) {
  Operation op;
  op.dtype = kKernelDTypes[input.take() % kKernelDTypes.size()].dtype;
  op.lo = take_bound(input, op.dtype);
  op.hi = take_bound(input, op.dtype);
  if (is_floating(op.dtype) && input.take() % 2 == 1) op.nan = take_bound(input, op.dtype);
  op.arithmetic = input.one_of(cases::arithmetics_of(op.dtype));
  if (op.arithmetic == Arithmetic::integer) {
    op.scale = take_integer(input);
    op.bias = take_integer(input);
  } else if (op.arithmetic != Arithmetic::none) {
    op.scale = take_factor(input, op.arithmetic);
    op.bias = take_factor(input, op.arithmetic);
  }
  return op;
}

/// The elements in the rest of the input, then random elements and neighbours of the bounds.
cases::Elements take_elements(Bytes& input, const Operation& op, std::size_t count) {
  std::mt19937_64 random(input.take<std::uint32_t>());
  cases::Elements elements(count);
  for (ElementBits& element : elements) {
    const std::uint64_t number = random();
    if (!input.empty())
      element = input.take<ElementBits>();
    else if (number % 4 == 0)
      element = (number % 8 == 0 ? op.lo : op.hi) + (number >> 8) % 3 - 1;
    else
      element = random() >> (number % 4 == 1 ? 0 : (number >> 8) % 64);
    element &= reference::all_ones(op.dtype);
  }
  return elements;
}

void check_kernels(const cases::Case& test, std::size_t from, std::size_t to) {
  const cases::Memory source{test.op, test.elements, from};
  const ElementCounts counts = reference::count(test.op, test.elements, test.expected);
  for (const SimdLevel level : simd_levels()) {
    for (const bool in_place : {false, true}) {
      const cases::Memory expected{test.op, test.expected, in_place ? from : to};
      for (const bool counting : {false, true}) {
        cases::Memory read = source;
        cases::Memory apart{test.op, test.elements.size(), to};
        cases::Memory& written = in_place ? read : apart;
        ElementCounts found = counts;
        if (counting)
          found = clip_and_count(test.op, read.data(), written.data(), test.elements.size(), level);
        else
          clip(test.op, read.data(), written.data(), test.elements.size(), level);
        const std::string wrong = what_is_wrong(test, level, written, expected);
        require(wrong == "nothing", "every SIMD level writes what the naive rule gives", wrong);
        const std::string miscounted = what_is_wrong(test, level, found, counts);
        require(miscounted == "nothing", "every SIMD level counts right", miscounted);
        require(in_place || read == source, "the source does not change");
      }
    }
  }
}

/// The operation of each element: `op`, with its bounds exchanged or with other parameters.
cases::Operations operations_of_each(const Operation& op, std::size_t count, std::uint32_t seed) {
  std::mt19937_64 random(seed);
  const cases::Elements bounds = cases::bounds_of(op.dtype);
  const std::vector<cases::Factors> factors = cases::factors_of(op.arithmetic);
  const std::vector<DoubleDouble> integers = cases::integers();
  cases::Operations result(count, op);
  for (Operation& each : result) {
    const std::uint64_t number = random();
    if (number % 2 == 0) std::swap(each.lo, each.hi);
    if (number % 3 == 0) each.lo = bounds[(number >> 8) % bounds.size()];
    if (number % 5 == 0) each.hi = bounds[(number >> 16) % bounds.size()];
    if (number % 7 == 0 && each.nan) each.nan = each.lo;
    if (number % 3 != 1) continue;
    if (op.arithmetic == Arithmetic::integer) {
      each.scale = integers[(number >> 24) % integers.size()];
      each.bias = integers[(number >> 32) % integers.size()];
    } else if (op.arithmetic != Arithmetic::none) {
      each.scale = factors[(number >> 24) % factors.size()].scale;
      each.bias = factors[(number >> 32) % factors.size()].bias;
    }
  }
  return result;
}

void check_kernels_for_vectors(const cases::Case& test, std::size_t from, std::size_t to) {
  const std::size_t count = test.elements.size();
  const auto seed = static_cast<std::uint32_t>(test.op.lo + count);
  const cases::Operations ops = operations_of_each(test.op, count, seed);
  const std::string wrong =
      cases::what_is_wrong_with_vectors(ops, test.elements, {from, to, (from + to) % 64});
  require(wrong == "nothing", "the kernels for vectors do what the naive rule gives", wrong);
}

std::string in_file(DType dtype, ByteOrder order, const cases::Elements& elements) {
  const std::vector<std::byte> bytes = reference::in_file(dtype, order, elements);
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size() - 1};
}

std::string by_number(const Descriptor& file) {
  return fmt::format("/proc/self/fd/{}", file.get());
}

/// Clips a file, or a stream if `stream`, to a file.
void check_engine(const cases::Case& test, ByteOrder order, const Engine::Options& options, bool stream,
                  std::size_t alignment) {
  static const Sandbox sandbox;
  const Operation& op = test.op;
  const std::string descr =
      fmt::format("{}{}", order == ByteOrder::little ? '<' : '>', traits(op.dtype).descr);
  const std::string shape = fmt::format("({},)", test.elements.size());
  const std::string file =
      testing::npy_file(descr, "False", shape,
                        in_file(op.dtype, order, {test.elements.begin(), test.elements.end()}), alignment);

  std::array<int, 2> ends{};
  require(::pipe2(ends.data(), O_CLOEXEC) == 0, "a pipe");
  const Descriptor pipe_out(ends[0]);
  Descriptor pipe_in(ends[1]);
  const Descriptor memory(::memfd_create("in", MFD_CLOEXEC));
  const int to = stream ? pipe_in.get() : memory.get();
  require(::write(to, file.data(), file.size()) == static_cast<ssize_t>(file.size()), "the input is written",
          file.substr(0, 128));
  pipe_in = Descriptor();

  InputFile input = InputFile::open(by_number(stream ? pipe_out : memory));
  Plan plan;
  plan.input = plan.output = read_header(input, std::nullopt);
  plan.slice = {0, plan.input.count};
  plan.operation = op;
  Engine engine(options);
  engine.prepare(plan.input.data_size());
  OutputFile output =
      OutputFile::create(sandbox / "out", OutputFile::Existing::replace, OutputFile::Durability::none);
  const std::string header(alignment, 'h');
  ElementCounts found = engine.run(plan, input, output, std::as_bytes(std::span(header)), Counting::on);
  found.became_infinite = found.became_zero = 0;  // which clips_vs_exact.py checks
  output.commit();

  const std::string expected =
      header + in_file(op.dtype, order, {test.expected.begin(), test.expected.end()});
  require(sandbox.files().at("out") == expected, "the engine writes what the naive rule gives",
          reference::text(op));
  require(found == reference::count(op, test.elements, test.expected), "the engine counts right",
          reference::text(op));
}

}  // namespace
}  // namespace clipper::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace clipper;
  fuzz::Bytes input({data, size});
  const Operation op = fuzz::take_operation(input);
  const std::size_t from = input.take() % 64;
  const std::size_t to = input.take() % 64;
  const ByteOrder order = input.take() % 2 == 0 ? ByteOrder::little : ByteOrder::big;
  const bool through_engine = input.take() % 64 == 1;
  const std::size_t count =
      through_engine ? input.take<std::uint16_t>() % (12'500 / traits(op.dtype).size) : input.take();
  const cases::Elements elements = fuzz::take_elements(input, op, count);
  const cases::Elements expected = reference::clip(op, elements);
  const cases::Case test{op, elements, expected};
  fuzz::check_kernels(test, from, to);
  fuzz::check_kernels_for_vectors(test, from, to);
  if (!through_engine) return 0;
  for (const unsigned threads : {1U, 2U})
    for (const bool stream : {false, true})
      fuzz::check_engine(test, order, {.threads = threads, .chunk_size = 4096}, stream, from + 1);
  return 0;
}
