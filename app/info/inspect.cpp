#include "info/inspect.hpp"

#include <cstddef>
#include <utility>
#include <vector>

#include "contract/plan.hpp"
#include "error.hpp"
#include "files/container.hpp"
#include "flows/tensor_statistics.hpp"

namespace clipper {
namespace {

void add_header(npy::Header header, const std::vector<std::byte>& bytes, TensorInfo& tensor) {
  tensor.header = std::move(header);
  tensor.version_major = std::to_integer<int>(bytes[npy::kVersionAt]);
  tensor.version_minor = std::to_integer<int>(bytes[npy::kVersionAt + 1]);
}

/// Reads the median and the percentiles that the command asks for, of a file.
void add_percentiles(const InfoCommand& command, Engine& engine, InputFile& input, TensorInfo& tensor) {
  std::vector<Number> percentages{50};
  percentages.insert(percentages.end(), command.percentages.begin(), command.percentages.end());
  const auto values =
      as_elements(tensor.header.dtype, read_percentiles(engine, input, tensor.header, percentages));
  tensor.median = values.front();
  for (std::size_t i = 1; i < values.size(); ++i) tensor.percentiles.push_back({percentages[i], values[i]});
}

void add_statistics(const InfoCommand& command, Engine& engine, InputFile& input, TensorInfo& tensor) {
  const npy::Header& header = tensor.header;
  with_path(input.path(), [&] {
    tensor.min = min_limit(command.bounds, header);
    tensor.max = max_limit(command.bounds, header);
  });
  tensor.is_file = input.is_regular();
  if (tensor.is_file)
    add_percentiles(command, engine, input, tensor);
  else if (!command.percentages.empty())
    throw Error(ErrorKind::usage,
                input.path() + ": must be a file, not a stream: for --percentile it needs to be read twice");
  tensor.statistics = read_statistics(engine, input, header, tensor.min, tensor.max);
}

/// Reads the member's header into `tensor`, or what the member is instead of a tensor.
void add_member_header(const InfoCommand& command, const Container& archive, const Entry& member,
                       TensorInfo& tensor) {
  try {
    EntryHeader read = archive.header(member, command.dtype,
                                      command.ignore_trailing ? Trailing::ignored : Trailing::refused);
    tensor.archived->other = read.other;
    if (read.header) add_header(*std::move(read.header), read.bytes, tensor);
  } catch (const Error& error) {
    if (error.field() != "dtype" || command.dtype) throw;
    tensor.archived->other = "|V2 (bfloat16?)";
  }
}

}  // namespace

TensorInfo inspect(const InfoCommand& command, Engine& engine, InputFile& input, const std::string& name,
                   FileTally& tally) {
  if (command.ignore_trailing) input.ignore_trailing();
  TensorInfo tensor;
  tensor.input = name;
  tensor.path = input.path();
  std::vector<std::byte> bytes;
  npy::Header header = read_header(input, command.dtype, &bytes);
  add_header(std::move(header), bytes, tensor);
  if (!command.statistics) return tensor;
  tally.expect(tensor.header.data_size());
  add_statistics(command, engine, input, tensor);
  return tensor;
}

TensorInfo inspect_member(const InfoCommand& command, Engine& engine, const Container& archive,
                          const Entry& member) {
  TensorInfo tensor;
  tensor.input = archive.file().path();
  tensor.path = archive.path_of(member);
  tensor.archived = Archived{member.name, member.method, member.contents, {}};
  add_member_header(command, archive, member, tensor);
  if (!command.statistics || !tensor.archived->other.empty()) return tensor;
  InputFile input = archive.open(member);
  input.set_data_begin(tensor.header.data_offset);
  if (command.ignore_trailing) input.ignore_trailing();
  add_statistics(command, engine, input, tensor);
  return tensor;
}

}  // namespace clipper
