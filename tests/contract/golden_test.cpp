#include <exception>

#include "clip/clip_option_table.hpp"
#include "clip/clip_options.hpp"
#include "clip/reference_clip.hpp"
#include "command_line/command_line.hpp"
#include "console/diagnostics.hpp"
#include "contract/plan.hpp"
#include "contract/profile.hpp"
#include "error.hpp"
#include "files/input_file.hpp"
#include "formats/formats.hpp"
#include "memory/elements.hpp"
#include "simd/levels.hpp"
#include "support/tsv.hpp"

namespace clipper {
namespace {

struct Tensor {
  TensorLayout header;
  std::vector<std::byte> elements;
};

Tensor read_tensor(const std::string& name) {
  InputFile file = InputFile::open(testing::source_path("data/" + name));
  Tensor tensor{read_header(file, std::nullopt), {}};
  tensor.elements.resize(tensor.header.data_size());
  file.read_exactly(tensor.elements);
  return tensor;
}

void reverse_each(std::span<std::byte> elements, std::size_t size) {
  for (std::size_t i = 0; i < elements.size(); i += size) std::ranges::reverse(elements.subspan(i, size));
}

/// The first elements of a tensor in another shape and byte order.
Tensor reshaped(Tensor tensor, const std::vector<std::int64_t>& shape, ByteOrder order) {
  TensorLayout& header = tensor.header;
  const std::size_t size = traits(header.dtype).size;
  if (header.order != order) reverse_each(tensor.elements, size);
  header.order = order;
  header.shape = shape;
  header.count = 1;
  for (const std::int64_t dimension : shape) header.count *= static_cast<std::uint64_t>(dimension);
  REQUIRE(header.data_size() <= tensor.elements.size());
  tensor.elements.resize(header.data_size());
  return tensor;
}

/// The command line of a row's arguments; paths in them start at the project's root.
Request parse(const std::string& profile, const std::string& arguments) {
  constexpr std::string_view kData = "@data";
  if (arguments.empty()) {  // allowed on the command line only if the profile has default bounds
    Request request;
    request.profile = profile_named(profile);
    return request;
  }
  std::vector<std::string> words{"clipper", "--profile", profile};
  for (const std::string& word : tsv::split(arguments, ' '))
    words.push_back(word.starts_with(kData) ? "@" + testing::source_path("data") + word.substr(kData.size())
                                            : word);
  words.insert(words.end(), {"in.npy", "out.npy"});
  std::vector<const char*> argv;
  for (const std::string& word : words) argv.push_back(word.c_str());
  return validate_clip(parse(CommandLine(kClipSpec, argv)).value()).settings.request;
}

std::vector<std::byte> clipped(const Plan& plan, const Tensor& input, SimdLevel level) {
  std::vector<std::byte> output = input.elements;
  decode(input.header, output, level);
  clip(plan.operation, output.data(), output.data(), input.header.count, level);
  encode(input.header, output.data(), output, level);
  return output;
}

/// The first element that differs from the golden, or nothing.
std::string difference(const Tensor& input, std::span<const std::byte> golden,
                       std::span<const std::byte> output) {
  const TensorLayout& header = input.header;
  const std::size_t size = traits(header.dtype).size;
  for (std::size_t at = 0; at < output.size(); at += size) {
    if (std::ranges::equal(golden.subspan(at, size), output.subspan(at, size))) continue;
    const auto text = [&](std::span<const std::byte> elements) {
      return reference::text(header.dtype, reference::load(header.dtype, header.order, &elements[at]));
    };
    return fmt::format("element {}, {}, must become {} and is {}", at / size, text(input.elements),
                       text(golden), text(output));
  }
  return "";
}

/// A row of goldens/cases.tsv.
struct Case {
  std::string profile;
  std::string dtype;
  std::size_t row;
  std::string arguments;
  std::string shape;
};

std::vector<Case> read_cases() {
  std::vector<Case> cases;
  for (const auto& row : tsv::read("goldens/cases.tsv"))
    cases.push_back({row[0], row[1], std::stoul(row[2]), row[4], row[5]});
  return cases;
}

/// The tensor in a row of `goldens`: the expected results for the edge elements.
Tensor golden_of(const Tensor& edge, const Tensor& goldens, std::size_t row) {
  const std::size_t size = edge.elements.size();
  const auto elements = std::span(goldens.elements).subspan(row * size, size);
  return {edge.header, {elements.begin(), elements.end()}};
}

/// The first difference from the golden at any level, in any byte order; or nothing.
std::string departure(const Case& golden_case, const Tensor& edge, const Tensor& golden) {
  const std::vector<std::int64_t> shape =
      golden_case.shape.empty() ? edge.header.shape : tsv::shape(golden_case.shape);
  try {
    const Request request = parse(golden_case.profile, golden_case.arguments);
    for (const ByteOrder order : {ByteOrder::little, ByteOrder::big}) {
      const Tensor input = reshaped(edge, shape, order);
      const Tensor expected = reshaped(golden, shape, order);
      const Plan plan = make_plan(request, input.header);
      for (const SimdLevel level : simd_levels()) {
        const std::string found = difference(input, expected.elements, clipped(plan, input, level));
        if (!found.empty())
          return fmt::format("{}-endian, {}: {}", order == ByteOrder::little ? "little" : "big",
                             to_string(level), found);
      }
    }
  } catch (const Error& error) {
    return fmt::format("refused: {}", error.what());
  }
  return "";
}

/// A row of goldens/refused.tsv.
struct Refusal {
  std::string profile;
  std::string dtype;
  std::string shape;
  std::string exit_code;
  std::string arguments;
  std::string word;
};

std::vector<Refusal> read_refusals() {
  std::vector<Refusal> refusals;
  for (const auto& row : tsv::read("goldens/refused.tsv"))
    refusals.push_back({row[0], row[1], row[2], row[3], row[4], row[5]});
  return refusals;
}

/// Describes what is wrong with the refusal of a row, or nothing.
std::string wrong_refusal(const Refusal& refusal, const Tensor& edge) {
  try {
    const Tensor input = reshaped(edge, tsv::shape(refusal.shape), edge.header.order);
    const Plan plan = make_plan(parse(refusal.profile, refusal.arguments), input.header);
    if (!plan.refuse_nan) return "not refused";
    // The engine refuses a NaN that is left, with this position.
    std::vector<std::byte> output = clipped(plan, input, SimdLevel::baseline);
    decode(input.header, output);
    const auto first = find_nan(input.header.dtype, output.data(), input.header.count);
    return first && std::to_string(*first) == refusal.word ? "" : "no NaN at this position";
  } catch (const Error& error) {
    const std::string message = explained(std::current_exception()).message;  // in the words of the program
    const int exit_code = static_cast<int>(error.kind());
    if (std::to_string(exit_code) != refusal.exit_code)
      return fmt::format("exit code {}: {}", exit_code, message);
    return message.find(refusal.word) != std::string::npos ? "" : fmt::format("not named: {}", message);
  }
}

using Count = std::map<std::pair<std::string, std::string>, std::size_t>;

}  // namespace

TEST_CASE("every golden is reproduced, at every level, in both byte orders") {
  std::size_t tried = 0;
  for (const Case& golden_case : read_cases()) {
    const Tensor edge = read_tensor("edge/" + golden_case.dtype + ".npy");
    const Tensor goldens = read_tensor("goldens/" + golden_case.profile + "/" + golden_case.dtype + ".npy");
    INFO(golden_case.profile << " " << golden_case.dtype << " row " << golden_case.row << ": "
                             << golden_case.arguments);
    CHECK(departure(golden_case, edge, golden_of(edge, goldens, golden_case.row)) == "");
    ++tried;
  }
  REQUIRE(tried > 5000);
}

TEST_CASE("every refusal has its exit code and names its reason") {
  std::size_t tried = 0;
  for (const Refusal& refusal : read_refusals()) {
    INFO(refusal.profile << " " << refusal.dtype << " (" << refusal.shape << ") " << refusal.arguments << ": "
                         << refusal.word << ", exit code " << refusal.exit_code);
    CHECK(wrong_refusal(refusal, read_tensor("edge/" + refusal.dtype + ".npy")) == "");
    ++tried;
  }
  REQUIRE(tried > 1500);
}

TEST_CASE("every profile has goldens for the dtypes that it takes and refusals for the others") {
  Count goldens;
  Count refused_dtypes;
  for (const Case& row : read_cases()) ++goldens[{row.profile, row.dtype}];
  for (const Refusal& row : read_refusals())
    if (row.exit_code == "3") ++refused_dtypes[{row.profile, row.dtype}];

  for (const Profile& profile : profiles()) {
    for (const DTypeTraits& dtype : tsv::kGoldenDTypes) {
      const std::pair key{std::string(profile.name), std::string(dtype.name)};
      INFO(profile.name << " " << dtype.name);
      if (profile.dtypes.contains(dtype.dtype)) {
        CHECK(goldens[key] >= 14);
        CHECK(read_tensor("goldens/" + key.first + "/" + key.second + ".npy").header.shape[0] ==
              static_cast<std::int64_t>(goldens[key]));
      } else {
        CHECK(goldens[key] == 0);
        CHECK(refused_dtypes[key] >= 1);
      }
    }
  }
}

}  // namespace clipper
