#include "flows/saved_figures.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <span>
#include <utility>

#include "contract/bounds.hpp"
#include "contract/exact_bounds.hpp"
#include "contract/fields.hpp"
#include "contract/steps.hpp"
#include "element/element.hpp"
#include "element/joined.hpp"
#include "element/number.hpp"
#include "error.hpp"
#include "files/container.hpp"
#include "files/parameter_file.hpp"
#include "files/place.hpp"
#include "flows/figure_parts.hpp"
#include "npy/header.hpp"
#include "npz/archive_writer.hpp"
#include "npz/codecs.hpp"

namespace clipper {
namespace {

constexpr std::size_t kReadAtOnce = 256UL << 10;  // bytes

/// The dtype that numpy has for elements of a float dtype.
DType numpy_dtype(DType dtype) {
  return is_foreign(dtype) ? DType::float32 : dtype;
}

/// A dtype that has the number: the first of these, or float64, which has -0.
DType dtype_for(const Number& number, std::initializer_list<DType> integers) {
  const bool is_minus_zero = number.negative && number == Number(0);
  const auto* const found = std::ranges::find_if(integers, [&](DType dtype) {
    return !is_floating(dtype) && has_integer(dtype, number) && !is_minus_zero;
  });
  return found != integers.end() ? *found : DType::float64;
}

ElementBits element_of(DType dtype, const Number& number) {
  return is_floating(dtype) ? nearest_element(dtype, number) : integer_element(dtype, number);
}

/// Calls use(bytes) for the elements of an array as they are in its file.
template <class Use>
void for_each_block(const ParameterArray& array, const Use& use) {
  std::vector<std::byte> block(std::min<std::uint64_t>(kReadAtOnce, array.layout().data_size()));
  const std::size_t size = traits(array.layout().dtype).size;
  for (std::uint64_t at = 0; at < array.layout().count; at += block.size() / size) {
    block.resize(std::min<std::uint64_t>(block.size(), (array.layout().count - at) * size));
    array.read(at, block);
    use(std::span<const std::byte>(block));
  }
  array.expect_unwritten();
}

/// The elements of an array in another dtype, with `zero` in place of 0.
std::vector<std::byte> converted(const ParameterArray& array, DType to, const std::optional<Number>& zero) {
  const TensorLayout& layout = array.layout();
  const std::size_t size = traits(layout.dtype).size;
  std::vector<std::byte> elements;
  for_each_block(array, [&](std::span<const std::byte> block) {
    for (std::size_t at = 0; at < block.size(); at += size) {
      const Number number = number_of(layout.dtype, bits_in(block.subspan(at, size), layout.order));
      append(to, element_of(to, zero && number == Number(0) ? *zero : number), elements);
    }
  });
  return elements;
}

/// Whether both lead to one file, or to one name that no file has.
bool leads_to(const std::string& a, const std::string& b) {
  if (find_file(a) || find_file(b)) return is_same_file(a, b);
  const auto directory = find_file(directory_of(a));
  return directory && directory == find_file(directory_of(b)) &&
         a.substr(a.rfind('/') + 1) == b.substr(b.rfind('/') + 1);
}

[[noreturn]] void refuse_figures(const Message& why) {
  throw Error(ErrorKind::usage, why);
}

/// Error{usage} for what the members of a file do not say.
void check_saved(const std::string& path, const Request& request, const Plan& plan) {
  if (request.profile->family != "native")
    refuse_figures(fmt::format("{}: figures are not saved of {}, only of profile native", path,
                               request.profile->system));
  if (plan.input.meaning.kind != Meaning::Kind::number)
    refuse_figures(
        fmt::format("{}: figures are saved of numbers, but the tensor is {}", path, type_name(plan.input)));
  if (request.scale && request.scale->divides)
    refuse_figures(path + ": cannot say " + label("scale", *request.scale) + ", which divides");
  const auto& step = plan.operation.normalization;
  if (request.stretch_from && step && (step->low != 0 || step->high != 1))
    refuse_figures(path + ": " + parameter("stretch_from") +
                   " is saved as subtract and divide, which needs " + parameter("stretch") + " 0:1");
}

}  // namespace

SavedFigures::SavedFigures(std::string path, bool is_pooled, OutputFile::Existing existing,
                           OutputFile::Durability durability, std::optional<Backup> backup)
    : path_(std::move(path)),
      is_pooled_(is_pooled),
      existing_(existing),
      durability_(durability),
      backup_(std::move(backup)) {
  const Format* const format = format_named(path_);
  if (format == nullptr || format->suffix() != ".npz")
    refuse_figures(path_ + ": the name of a file of figures ends in .npz");
  OutputFile::check(path_, existing_);
  if (backup_ && find_file(path_)) check_backup(Place::resolved(path_), *backup_);
}

void SavedFigures::expect_other_than(const std::vector<std::string>& paths, const Request& request) const {
  const auto check_path = [&](const std::string& path, const Message& why) {
    const std::optional<MemberPath> member = member_path(path);
    if (leads_to(path_, member ? member->archive : path)) refuse_figures(path_ + ": is also " + why);
  };
  for (const Field* const field : fields::kNumbers)
    if (const std::string path = parameter_path(request.*field->number()); !path.empty())
      check_path(path, "read by " + parameter(field->name));
  for (const std::string& path : paths) check_path(path, "an input or an output");
}

void SavedFigures::add_number(Parameter parameter, DType dtype, const Number& number) {
  Member& member = members_.emplace_back(Member{name_of(parameter)});
  member.layout.dtype = numpy_dtype(dtype);
  member.layout.order = kNativeOrder;
  member.layout.count = 1;
  append(member.layout.dtype, element_of(member.layout.dtype, number), member.elements);
}

void SavedFigures::add_array(const ArrayParameter& row, const Plan& plan) {
  const ParameterArray& array = *row.array;
  Member& member = members_.emplace_back(Member{name_of(row.parameter), array.layout(), {}, row.array});
  const bool is_bound = row.parameter == Parameter::min || row.parameter == Parameter::max;
  const bool is_needed = plan.arrays->nan == row.parameter || plan.operation.uses_bounds();
  if (is_bound && is_needed && !array.lost().empty())
    throw Error(ErrorKind::input, fmt::format("{}: ", path_) + parameter(name_of(row.parameter)) + " " +
                                      row.text + ": an index has none, which a file of figures cannot say");
  std::optional<Number> zero;
  if (row.parameter == Parameter::divide && plan.arrays->zero_divisor) zero = *plan.arrays->zero_divisor;
  const DType to = zero ? DType::float64 : numpy_dtype(array.layout().dtype);
  if (to == array.layout().dtype && !zero) return;
  member.layout.dtype = to;
  member.layout.order = kNativeOrder;
  member.layout.stored_as = {};
  member.elements = converted(array, to, zero);
  member.array.reset();
}

void SavedFigures::add_bound(Parameter bound, const Given& given, const Plan& plan) {
  const std::optional<Number>& exact = bound == Parameter::min ? plan.exact_min : plan.exact_max;
  const Number used = exact ? *exact : *parse_number(bound_text(plan, bound));
  if (!exact && is_floating(plan.bound_dtype)) return add_number(bound, plan.bound_dtype, used);
  const DType dtype = dtype_for(used, {plan.input.dtype, DType::int64, DType::uint64});
  const auto nearest = round_to<double>(used);
  if (dtype == DType::float64 && std::fabs(nearest) >= kIntegersEnd && Number(nearest) != used)
    refuse_figures(path_ + ": " + label(name_of(bound), given) + ": no dtype has this number");
  add_number(bound, dtype, used);
}

void SavedFigures::add_scaling(Parameter factor, const Plan& plan) {
  const Operation& operation = plan.operation;
  const bool is_scale = factor == Parameter::scale;
  if (operation.arithmetic != Arithmetic::integer)
    return add_number(factor, operation.arithmetic == Arithmetic::float32 ? DType::float32 : DType::float64,
                      is_scale ? operation.scale : operation.bias);
  const Number number = *parse_number(text_of(is_scale ? operation.integer_scale : operation.integer_bias));
  add_number(factor, dtype_for(number, {DType::int64, DType::uint64}), number);
}

void SavedFigures::add_normalization(Parameter factor, const Plan& plan) {
  const Normalization& step = *plan.operation.normalization;
  if (factor == Parameter::divide) return add_number(factor, DType::float64, step.b);
  const Number subtrahend = step.a_rest == 0 ? Number(step.a) : *parse_number(subtrahend_text(step));
  const bool is_long = is_long_integer(plan.input.dtype) && step.a_rest != 0;
  add_number(factor, is_long ? dtype_for(subtrahend, {DType::int64, DType::uint64}) : DType::float64,
             subtrahend);
}

void SavedFigures::add(const std::string& name, const Request& request, const Plan& plan) {
  const std::lock_guard lock(mutex_);
  if (!tensor_.empty()) {
    if (is_pooled_ || tensor_ == name) return;
    refuse_figures(fmt::format("{}: {} and {} have figures of their own; ", path_, tensor_, name) +
                   parameter("pooled") + " finds those of all together");
  }
  check_saved(path_, request, plan);
  members_.clear();  // of a tensor that found no room, and is tried again
  add_members(request, plan);
  if (examine(path_, existing_).kind != OutputTarget::Kind::stream) {
    OutputFile output = create();
    write(output);
    is_there_ = output.is_there_already();
    if (!is_there_) output.flush();
    output_.emplace(std::move(output));
  }
  tensor_ = name;
}

void SavedFigures::add_members(const Request& request, const Plan& plan) {
  const bool has_numbers = plan.operation.normalization && !plan.operation.normalization->stretches;
  for (std::size_t i = 0; i < fields::kBroadcasting.size(); ++i) {
    const auto parameter = static_cast<Parameter>(i);
    const Field& field = *fields::kBroadcasting[i];
    const bool is_bound = field.grammar == Field::Grammar::bound;
    const bool is_before = field.stage == Field::Stage::before;
    const bool is_ranged = request.stretch_from && !is_bound && !is_before;
    if (!field.is_given(request) && !is_ranged) continue;
    if (const ArrayParameter* const row = plan.array(parameter))
      add_array(*row, plan);
    else if (is_bound)
      add_bound(parameter, *(request.*field.number()), plan);
    else if (is_before)
      add_scaling(parameter, plan);
    else if (has_numbers)
      add_normalization(parameter, plan);
  }
}

void SavedFigures::commit(const std::function<void()>& placing) {
  const std::lock_guard lock(mutex_);
  if (tensor_.empty())
    throw Error(ErrorKind::input, path_ + ": no tensor was clipped whose figures could be saved");
  if (!output_) {
    output_.emplace(create());
    write(*output_);
  }
  if (!is_there_) output_->commit(placing);
}

OutputFile SavedFigures::create() const {
  OutputFile output = OutputFile::create(path_, existing_, durability_);
  output.set_backup(backup_);
  return output;
}

void SavedFigures::write(OutputFile& output) const {
  npz::ArchiveWriter archive("");
  std::uint64_t at = 0;
  const auto write = [&](std::span<const std::byte> bytes) {
    output.write(bytes);
    at += bytes.size();
  };
  const auto write_text = [&](std::string_view text) { write(std::as_bytes(std::span(text))); };
  for (const Member& member : members_) {
    const std::string header = npy::format(member.layout);
    const auto for_each = [&](const auto& use) {
      use(std::as_bytes(std::span(header)));
      member.array ? for_each_block(*member.array, use) : use(member.elements);
    };
    Contents contents;
    for_each([&](std::span<const std::byte> bytes) {
      contents.crc = npz::crc32(bytes, contents.crc);
      contents.size = contents.stored_size += bytes.size();
    });
    const npz::Member record = npz::new_member(fmt::format("{}.npy", member.name));
    const std::uint64_t begin = at;
    write_text(npz::ArchiveWriter::local_header(record, contents));
    for_each(write);
    archive.add(record, contents, begin);
  }
  const std::uint64_t end = at;
  write_text(archive.list());
  write_text(archive.end_records(end));
}

void set_figures(Request& request, const std::string& path, const Reading& how) {
  const InputFile file = InputFile::open_regular_file(path);
  const Format* const format = archive_format(file);
  if (format == nullptr || !member_path(path + ":"))
    refuse_figures(path + ": is no archive of figures, such as an .npz file");
  std::vector<std::string_view> names;
  for (const Field* const field : fields::kBroadcasting) names.push_back(field->name);
  const Container archive(file, *format, KeptFor::reading);
  Request found = request;
  for (const Entry& entry : archive.entries()) {
    const auto* const field = std::ranges::find(fields::kBroadcasting, entry.key(), &Field::name);
    if (field == fields::kBroadcasting.end())
      refuse_figures(fmt::format("{}: is no parameter; the members of a file of figures are {}",
                                 archive.path_of(entry), joined(names, ", ")));
    if (!(*field)->is_given(found)) found.*(*field)->number() = read_parameter(archive.path_of(entry), how);
  }
  request = std::move(found);
}

}  // namespace clipper
