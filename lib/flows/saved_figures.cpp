#include "flows/saved_figures.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <span>
#include <utility>

#include "clip/convert.hpp"
#include "contract/bounds.hpp"
#include "contract/exact_bounds.hpp"
#include "contract/fields.hpp"
#include "contract/steps.hpp"
#include "element/element.hpp"
#include "element/number.hpp"
#include "element/text.hpp"
#include "error.hpp"
#include "files/place.hpp"
#include "flows/figure_requests.hpp"
#include "flows/figures.hpp"
#include "formats/container.hpp"
#include "formats/parameter_file.hpp"
#include "memory/elements.hpp"
#include "npy/header.hpp"
#include "npz/archive.hpp"
#include "safetensors/header.hpp"
#include "simd/levels.hpp"

namespace clipper {
namespace {

constexpr std::uint64_t kReadAtOnce = 32UL << 10;  // elements

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

/// Writes `divisor` in place of each 0 of float64 elements.
void replace_zeros(double divisor, std::span<std::byte> elements) {
  for (std::size_t at = 0; at < elements.size(); at += sizeof(double)) {
    double number = 0;
    std::memcpy(&number, &elements[at], sizeof(number));
    if (number == 0) std::memcpy(&elements[at], &divisor, sizeof(divisor));
  }
}

/// Refuses to save what has not been found.
[[noreturn]] void refuse_lost(const LostBound& lost) {
  throw Error(ErrorKind::input,
              parameter(lost.field) + fmt::format(" {} is not saved: {}", lost.text, lost.why));
}

/// What a plan does with its numbers; arrays are the same in all plans that are compared.
std::string without_arrays(Plan plan) {
  plan.arrays.reset();
  plan.others.clear();
  return plan.fingerprint();
}

/// Whether a member says what the stage gives: not what elements become, unless that is a figure.
bool is_saved(const Request& stage, const Field& field) {
  if (field.replaces()) return is_figure(field.number_in(stage));
  const bool is_of_range = stage.stretch_from && field.grammar == Field::Grammar::factor;
  return field.broadcasts && (is_of_range || field.is_given(stage));
}

/// Whether a stage has what members say.
bool has_members(const Request& stage) {
  return std::ranges::any_of(fields::kParameters,
                             [&](const Field* field) { return is_saved(stage, *field); });
}

[[noreturn]] void refuse_nothing() {
  Message why = "nothing to save without ";
  for (const Field* const field : fields::kBroadcasting)
    why += Message(field == fields::kBroadcasting.front()  ? ""
                   : field == fields::kBroadcasting.back() ? " or "
                                                           : ", ") +
           parameter(field->name);
  refuse_request(why);
}

/// Error{usage} for what the members of a file do not say.
void check_saved(const Request& request, const Plan& plan) {
  if (request.profile->family != "clipper")
    refuse_request(
        fmt::format("figures are not saved of {}, only of profile clipper", request.profile->system));
  if (plan.input.meaning.kind != LogicalType::Kind::number)
    refuse_request(fmt::format("figures are saved of numbers, but the tensor is {}", type_name(plan.input)));
  if (divides(request)) refuse_request("cannot say " + label("scale", *request.scale) + ", which divides");
  if (is_figure(request.mask_to))
    refuse_request("cannot say " + label("mask_to", *request.mask_to) + ", which is found in the elements");
  const auto& step = plan.operation.normalization;
  if (request.stretch_from && step && (step->low != 0 || step->high != 1))
    refuse_request(parameter("stretch_from") + " is saved as subtract and divide, which needs " +
                   parameter("stretch") + " 0:1");
}

/// Says how many stages a file of several has.
constexpr std::string_view kStages = "stages";

/// In front of the members of a stage.
std::string stage_prefix(std::size_t stage) {
  return stage == 0 ? "" : fmt::format("{}/", stage + 1);
}

/// Error{usage} for a header of more than figures, before it is read.
void expect_few(const InputFile& file, const Format& format) {
  constexpr std::uint64_t kMaxHeader = 1UL << 20;
  if (format.suffix() != ".safetensors") return;
  std::array<std::byte, safetensors::kLengthSize> start{};
  file.read_at(start, 0);
  const std::uint64_t size =
      with_path(file.path(), [&] { return safetensors::header_size(start, file.file_size()); });
  if (size > kMaxHeader)
    refuse_request(fmt::format("{}: is no file of figures: its header has {} bytes, at most {} are read",
                               file.path(), size, kMaxHeader));
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
    refuse_request(path_ + ": the name of a file of figures ends in .npz");
  expect_no_member(path_);
  OutputFile::check(path_, existing_);
  if (backup_ && find_file(path_)) check_backup(Place::resolved(path_), *backup_);
}

void SavedFigures::expect_other_than(const std::vector<std::string>& paths, const Request& request) const {
  const auto check_path = [&](const std::string& path, const Message& why) {
    const std::optional<MemberPath> member = member_path(path);
    if (is_same_target(path_, member ? member->archive : path)) refuse_request(path_ + ": is also " + why);
  };
  for_each_stage(request, [&](const Request& stage) {
    for (const Field* const field : fields::kNumbers)
      if (const std::string path = parameter_path(stage.*field->number()); !path.empty())
        check_path(path, "read by " + parameter(field->name));
  });
  for (const std::string& path : paths) check_path(path, "an input or an output");
}

/// Calls use(bytes) for the elements of a member, a few at a time.
template <class Use>
void SavedFigures::for_each_block(const Member& member, const Use& use) {
  if (!member.array) return use(std::span<const std::byte>(member.elements));
  const TensorLayout& from = member.array->layout();
  const std::size_t size = traits(from.dtype).size;
  const bool is_converted = member.zero || from.dtype != member.layout.dtype;
  const Operation operation = conversion(from.dtype, member.layout.dtype);
  std::vector<std::byte> block;
  std::vector<std::byte> converted;
  for (std::uint64_t at = 0; at < from.count; at += block.size() / size) {
    block.resize(std::min<std::uint64_t>(kReadAtOnce, from.count - at) * size);
    member.array->read(at, block);
    if (is_converted) {
      const std::size_t count = block.size() / size;
      converted.resize(count * traits(member.layout.dtype).size);
      decode(from, block);
      static_cast<void>(
          convert(operation, {}, block.data(), converted.data(), count, Counting::off, simd_levels().back()));
      if (member.zero) replace_zeros(*member.zero, converted);
    }
    use(std::span<const std::byte>(is_converted ? converted : block));
  }
  member.array->expect_unwritten();
}

/// Adds the number of a parameter, if the plan has one: a float of its own dtype, an exact number of the
/// first dtype that has it.
void SavedFigures::add_number(const Field& field, const Plan& plan) {
  const std::optional<PlannedNumber> planned = planned_number(plan, *field.parameter);
  if (!planned) return;
  Number number = planned->number;
  DType dtype = planned->dtype.value_or(DType::int64);
  const bool is_bound = field.grammar == Field::Grammar::bound;
  const bool is_cast = field.replaces() && *field.parameter != ParameterId::nodata_to && plan.operation.cast;
  if (is_cast && !is_floating(dtype)) number = difference(number, number_of(plan.operation.cast->zero_point));
  if (!is_floating(dtype))
    dtype = dtype_for(number, {is_bound ? plan.input.dtype : DType::int64, DType::int64, DType::uint64});
  Member& member = stages_.back().emplace_back(Member{.name = field.name});
  member.layout.dtype = numpy_dtype(dtype);
  append(member.layout.dtype, element_of(member.layout.dtype, number), member.elements);
  member.number = std::move(number);
}

void SavedFigures::add_array(const ArrayParameter& row, const Plan& plan) {
  const auto& found = row.given ? row.given : row.array;
  const ParameterArray& array = *found;
  Member& member = stages_.back().emplace_back(
      Member{.name = name_of(row.parameter), .layout = array.layout(), .array = found});
  const bool is_bound = row.parameter == ParameterId::min || row.parameter == ParameterId::max;
  // x * scale + bias may be beyond the element that stands for no bound.
  const bool may_be_beyond =
      plan.operation.arithmetic != Arithmetic::none && !traits(plan.input.dtype).has_infinity;
  const bool is_needed = plan.arrays->nan == row.parameter || plan.operation.uses_bounds() || may_be_beyond;
  if (((is_bound && is_needed) || row.given) && !array.lost().empty())
    throw Error(ErrorKind::input, parameter(name_of(row.parameter)) + " " + row.text +
                                      ": an index has none, which a file of figures cannot say");
  if (row.parameter == ParameterId::divide) member.zero = plan.arrays->zero_divisor;
  const DType to = member.zero ? DType::float64 : numpy_dtype(array.layout().dtype);
  if (to == array.layout().dtype && !member.zero) return;
  member.layout.dtype = to;
  member.layout.order = kNativeOrder;
  member.layout.stored_as = {};
}

/// The request that takes the saved parameters from the file.
Request SavedFigures::applied(const Request& request, const Plan& plan) const {
  Request result = without_groups(request);
  if (request.stretch_from) result.stretch.reset();
  result.stretch_from.reset();
  for (const Field* const field : fields::kParameters) {
    const bool is_own = field->broadcasts;
    if (!is_own && !(field->replaces() && is_saved(request, *field))) continue;
    std::optional<Parameter>& given = field->number_in(result);
    const std::vector<Member>& members = stages_.back();
    const auto member = std::ranges::find(members, field->name, &Member::name);
    if (is_own)
      given.reset();
    else if (member == members.end())
      field->copy({}, result);
    if (member == members.end()) continue;
    given.emplace(Number(), "", member->layout.dtype);
    if (const ArrayParameter* const row = plan.array(*field->parameter)) {
      given->array = row->given ? row->given : row->array;
      given->dtype = given->array->layout().dtype;
      given->shape = given->array->layout().shape;
      if (!is_own) given->found = "found";
    } else {
      given->element = bits_in(member->elements, kNativeOrder);
      given->number = number_of(*given->dtype, given->element);
    }
  }
  if (!result.divide) result.divide_zero.reset();
  if (!plan.norms)
    for (const std::string_view field : {"max_norm", "norm"}) field_named(field)->copy({}, result);
  if (!result.max_norm) return result;
  result.max_norm->found = "found";
  result.max_norm->array = plan.norms;
  return result;
}

/// Refuses figures that another run would not apply as they were used.
void SavedFigures::expect_same_result(const Request& request, const Plan& plan) const {
  try {
    if (without_arrays(make_plan_in_units(applied(request, plan), plan.input)) == without_arrays(plan))
      return;
  } catch (const Error&) {
    // The file is of no use.
  }
  if (!plan.lost.empty()) refuse_lost(plan.lost.front());
  for (const Member& member : stages_.back()) {
    if (member.name == "nan") continue;
    const auto& given = request.*field_named(member.name)->number();
    const DType dtype = member.layout.dtype;
    if (member.array || !given || number_of(dtype, bits_in(member.elements, kNativeOrder)) == member.number)
      continue;
    refuse_request(label(member.name, *given) +
                   fmt::format(": no dtype that {} elements take has this number", type_name(plan.input)));
  }
  refuse_request("applied, these figures would not give the bytes of this run");
}

void SavedFigures::add(const std::string& name, const Request& request, const Plan& plan) {
  const std::lock_guard lock(mutex_);
  if (!tensor_.empty()) {
    if (is_pooled_ || tensor_ == name) return;
    if (!any_stage(request, needs_elements))
      refuse_request(fmt::format("{}: typed numbers are saved in the dtype of one tensor, not of {} and {}",
                                 path_, tensor_, name));
    refuse_request(fmt::format("{}: {} and {} have figures of their own; ", path_, tensor_, name) +
                   parameter("pooled") + " finds those of all together");
  }
  if (!any_stage(request, has_members)) with_path(path_, refuse_nothing);
  stages_.clear();  // of a tensor that found no room, and is tried again
  for_each_stage(plan, [&](const Plan& stage, std::size_t i) {
    stages_.emplace_back();
    with_path(stage_name(i, path_), [&] { add_stage(stage_of(request, i), stage); });
  });
  if (examine(path_, existing_).kind != OutputTarget::Kind::stream) {
    OutputFile output = create();
    write(output);
    is_there_ = output.is_there_already();
    if (!is_there_) output.flush();
    output_.emplace(std::move(output));
  }
  tensor_ = name;
}

void SavedFigures::add_stage(const Request& request, const Plan& plan) {
  if (!has_members(request)) return;
  check_saved(request, plan);
  for (const Field* const field : fields::kParameters) {
    if (!is_saved(request, *field)) continue;
    if (const ArrayParameter* const row = plan.array(*field->parameter))
      add_array(*row, plan);
    else
      add_number(*field, plan);
  }
  if (stages_.back().empty() && plan.lost.empty()) refuse_nothing();
  if (stages_.back().empty()) refuse_lost(plan.lost.front());
  expect_same_result(request, plan);
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
  const auto write_member = [&](const std::string& name, const Member& member) {
    const std::string header = npy::format(member.layout);
    const auto for_each = [&](const auto& use) {
      use(std::as_bytes(std::span(header)));
      for_each_block(member, use);
    };
    Contents contents;
    for_each([&](std::span<const std::byte> bytes) {
      contents.crc = npz::crc32(bytes, contents.crc);
      contents.size = contents.stored_size += bytes.size();
    });
    const npz::Member record = npz::new_member(fmt::format("{}.npy", name));
    const std::uint64_t begin = at;
    write_text(npz::ArchiveWriter::local_header(record, contents));
    for_each(write);
    archive.add(record, contents, begin);
  };
  for (std::size_t i = 0; i < stages_.size(); ++i)
    for (const Member& member : stages_[i]) write_member(stage_prefix(i) + std::string(member.name), member);
  if (stages_.size() > 1) {
    Member count{.name = kStages};
    count.layout.dtype = DType::int64;
    append(DType::int64, stages_.size(), count.elements);
    write_member(std::string(kStages), count);
  }
  const std::uint64_t end = at;
  write_text(archive.list());
  write_text(archive.end_records(end));
}

void set_figures(Request& request, const std::string& path, const Reading& how) {
  const InputFile file = InputFile::open_regular(path);
  const Format* const format = archive_format(file);
  if (format == nullptr || !member_path(path + ":"))
    refuse_request(path + ": is no archive of figures, such as an .npz file");
  std::vector<std::string_view> names;
  for (const Field* const field : fields::kParameters)
    if (field->broadcasts || field->replaces()) names.push_back(field->name);
  expect_few(file, *format);
  const Container archive(file, *format, KeptFor::reading);
  if (archive.entries().empty()) refuse_request(path + ": has no figures");
  const auto count = std::ranges::find(archive.entries(), kStages, &Entry::key);
  const Number stages =
      count == archive.entries().end() ? 1 : read_parameter(archive.path_of(*count), how).number;
  if (stages != Number(1 + request.then.size()))
    refuse_request(fmt::format("{}: has the figures of {} stage{}, not of {}", path, round_to<double>(stages),
                               stages == Number(1) ? "" : "s", 1 + request.then.size()));
  Request found = request;
  for (const Entry& entry : archive.entries()) {
    if (entry.key() == kStages) continue;
    std::size_t at = request.then.size();
    while (!entry.key().starts_with(stage_prefix(at))) --at;
    Request& stage = at == 0 ? found : found.then[at - 1];
    const std::string name(entry.key().substr(stage_prefix(at).size()));
    if (std::ranges::find(names, name) == names.end())
      refuse_request(fmt::format("{}: is no parameter; the members of a file of figures are {}",
                                 archive.path_of(entry), joined(names, ", ")));
    const Field& field = *field_named(name);
    if (field.is_given(stage)) continue;
    Parameter given = read_parameter(archive.path_of(entry), how);
    if (!field.broadcasts && given.array) given.found = "found";
    if (field.number() == nullptr)
      stage.nan = std::move(given);
    else
      stage.*field.number() = std::move(given);
  }
  request = std::move(found);
}

}  // namespace clipper
