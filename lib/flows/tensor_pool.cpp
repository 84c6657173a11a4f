#include "flows/tensor_pool.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <utility>

#include "contract/bounds.hpp"
#include "contract/steps.hpp"
#include "error.hpp"
#include "files/container.hpp"
#include "files/descriptor.hpp"
#include "files/formats.hpp"
#include "files/place.hpp"
#include "flows/figure_parts.hpp"
#include "flows/figure_requests.hpp"
#include "flows/selection.hpp"
#include "statistics/groups.hpp"

namespace clipper {

namespace {

/// What Selection::only chooses of two dtypes: floats rather than integers.
std::string_view one_of(DType dtype, DType first) {
  if (is_floating(dtype) != is_floating(first)) return "float";
  return traits(first).name;
}

/// Whether nothing is found that is a number of the tensors' dtype.
bool finds_only_norm(const Request& request) {
  return percentiles_in(request).empty() && statistics_in(request).empty() && !has_range_figure(request) &&
         replacements_in(request).empty();
}

}  // namespace

struct TensorPool::Opened {
  Opened(const std::string& path, const ClipSettings& settings)
      : file(open_as(settings.reading, path, Streams::refused)) {
    if (const Format* const format = archive_format(file)) archive.emplace(file, *format, KeptFor::reading);
  }

  InputFile file;
  std::optional<Container> archive;
};

TensorPool::TensorPool(Engine& engine, const ClipSettings& settings) : engine_(engine), settings_(settings) {}

TensorPool::~TensorPool() = default;

void TensorPool::add(const std::string& path, bool is_named) {
  os::Status named{};
  if (path == "-" || (os::stat(path.c_str(), &named) == 0 && !S_ISREG(named.st_mode)))
    with_path(path, [&] { expect_no_figures_of_stream(settings_.request); });
  opened_ = std::make_unique<Opened>(path, settings_);
  InputFile& file = opened_->file;
  const std::string* const name = &files_.emplace(path, file.status()).first->first;
  const auto header_of = [&](InputFile& input) {
    return read_header(input, settings_.reading, nullptr, std::nullopt, npy::Opaque::refused,
                       npy::Types::clipped);
  };
  const Container* const archive = opened_->archive ? &*opened_->archive : nullptr;
  expect_archive(settings_, file, archive != nullptr ? &archive->format() : nullptr, is_named);
  if (archive == nullptr) {
    const bool may_be_other = !is_named && !file.is_member();
    if (may_be_other && !why_other(settings_, file).empty()) return;
    file.rewind();
    return add_tensor({name, 0}, path, header_of(file).layout());
  }
  for (const MemberUse& use : member_uses(settings_, *archive)) {
    if (use.action != MemberAction::clipped) continue;
    InputFile member = archive->open(*use.member);
    add_tensor({name, archive->index_of(*use.member)}, member.path(), header_of(member).layout());
  }
}

void TensorPool::add_tensor(const Origin& origin, const std::string& path, TensorLayout layout) {
  static_cast<void>(with_path(path, [&] { return plan_before_reading(settings_.request, layout); }));
  if (!sources_.empty()) {
    const TensorSource& first = sources_.front();
    const bool may_differ =
        is_floating(layout.dtype) && is_floating(first.layout.dtype) && finds_only_norm(settings_.request);
    if (layout.dtype != first.layout.dtype && !may_differ)
      throw Error(ErrorKind::input,
                  fmt::format("{}: is {}, but {} is {}; all inputs must have one dtype: ", path,
                              traits(layout.dtype).name, first.path, traits(first.layout.dtype).name) +
                      Term{"only", "only="} +
                      Message(std::string(one_of(layout.dtype, first.layout.dtype)) + " chooses one"));
    if (lengths_of_groups(settings_.request, layout) != lengths_of_groups(settings_.request, first.layout))
      throw Error(ErrorKind::input,
                  fmt::format("{}: has shape {}, but {} has {}; ", path, shape_text(layout.shape), first.path,
                              shape_text(first.layout.shape)) +
                      parameter("per_axis") + " needs equal lengths along the axis");
  }
  origins_.push_back(origin);
  sources_.push_back(
      {std::move(layout), path,
       [this, source = sources_.size()](const TensorSource::Wanted& wanted, const TensorSource::Look& look) {
         read(source, wanted, look);
       }});
}

void TensorPool::read(std::size_t source, const TensorSource::Wanted& wanted,
                      const TensorSource::Look& look) {
  const auto& [file, member] = origins_[source];
  if (!opened_ || opened_->file.path() != *file) {
    opened_.reset();
    opened_ = std::make_unique<Opened>(*file, settings_);
    expect_same(*file, opened_->file.status());
  }
  const std::optional<Container>& archive = opened_->archive;
  std::optional<InputFile> entry;
  if (archive) entry = archive->open(archive->entries().at(member));
  InputFile& input = entry ? *entry : opened_->file;
  input.rewind();
  static_cast<void>(read_header(input, settings_.reading, nullptr, std::nullopt, npy::Opaque::refused,
                                npy::Types::clipped));
  source_of(sources_[source].layout, engine_, input).read(wanted, look);
}

/// A norm of all that is NaN or infinite is reported of the first tensor that has one alone.
Request TensorPool::with_figures_of_all(std::vector<LostBound>& lost) const {
  const KernelOptions options = engine_.kernel_options();
  try {
    return with_figures(settings_.request, sources_, options, lost);
  } catch (const Error& error) {
    if (error.field() == "max_norm")
      for (const TensorSource& source : sources_)
        static_cast<void>(with_figures(settings_.request, {&source, 1}, options, lost));
    throw;
  }
}

Request TensorPool::request(std::vector<LostBound>& lost) {
  if (sources_.empty()) return settings_.request;
  Request found = with_figures_of_all(lost);
  opened_.reset();
  sources_ = {};
  origins_ = {};
  return found;
}

void TensorPool::expect_same(const std::string& path, const os::Status& now) const {
  const auto file = files_.find(path);
  if (file == files_.end()) return;
  const os::Status& before = file->second;
  if (id_of(before) != id_of(now) || is_written(before, now) || !has_same_attributes(before, now))
    throw_changed(path);
}

void TensorPool::expect_unchanged(const std::string& path) const {
  const std::optional<MemberPath> member = member_path(path);
  os::Status now{};
  if (os::stat(member ? member->archive.c_str() : path.c_str(), &now) != 0) throw_changed(path);
  expect_same(path, now);
}

std::string figures_text(const Request& figures, const Request& found) {
  std::string text;
  for (const Field& field : fields::kAll) {
    if (field.number() == nullptr) continue;
    const std::optional<Given>& figure = figures.*field.number();
    const std::optional<Given>& its = found.*field.number();
    const bool is_norm = figure && field.number() == &Request::max_norm;
    if (!is_figure(figure) && !is_norm) continue;
    text += fmt::format("{}{} {} {} ", text.empty() ? "" : ", ", field.option, figure->text,
                        is_norm ? "limits norm" : "is");
    if (!its)
      text += "none";
    else if (its->array)
      text += found_text(*its->array, its->array->layout().count);
    else
      text += its->found;
  }
  return text;
}

}  // namespace clipper
