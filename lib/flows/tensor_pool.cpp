#include "flows/tensor_pool.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <utility>

#include "contract/bounds.hpp"
#include "contract/steps.hpp"
#include "engine/parameter_tile.hpp"
#include "error.hpp"
#include "files/descriptor.hpp"
#include "files/place.hpp"
#include "flows/figure_parts.hpp"
#include "flows/figure_plans.hpp"
#include "flows/figure_requests.hpp"
#include "flows/file_clip.hpp"
#include "flows/selection.hpp"
#include "formats/container.hpp"
#include "formats/formats.hpp"
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

/// The request with the masks of an input's own request where a stage still needs one.
Request with_masks(Request request, const Request& own) {
  if (request.mask) request.mask = own.mask;
  for (std::size_t i = 0; i < request.then.size(); ++i)
    if (request.then[i].mask) request.then[i].mask = own.then[i].mask;
  return request;
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
  const Container* const archive = opened_->archive ? &*opened_->archive : nullptr;
  expect_archive(settings_, file, archive != nullptr ? &archive->format() : nullptr, is_named);
  if (archive == nullptr) {
    const bool may_be_other = !is_named && !file.is_member();
    if (may_be_other && !why_other(settings_, file).empty()) return;
    return add_tensor({name, 0}, path, header_of(settings_, file).header.layout());
  }
  for (const MemberUse& use : member_uses(settings_, *archive)) {
    if (use.action != MemberAction::clipped) continue;
    InputFile member = archive->open(*use.member);
    add_tensor({name, archive->index_of(*use.member)}, member.path(),
               header_of(settings_, member).header.layout());
  }
}

/// Of tensors that a stage takes.
void TensorPool::expect_alike(const Request& stage, const TensorLayout& layout, const std::string& path,
                              const TensorLayout& first) const {
  const std::string& other = sources_.front().path;
  const bool may_differ = is_floating(layout.dtype) && is_floating(first.dtype) && finds_only_norm(stage);
  if (layout.dtype != first.dtype && !may_differ)
    throw Error(ErrorKind::input,
                fmt::format("{}: is {}, but {} is {}; all inputs must have one dtype: ", path,
                            traits(layout.dtype).name, other, traits(first.dtype).name) +
                    Term{"only", "only=", Says::setting} +
                    Message(std::string(one_of(layout.dtype, first.dtype)) + " chooses one"));
  if (lengths_of_groups(stage, layout) != lengths_of_groups(stage, first))
    throw Error(ErrorKind::input, fmt::format("{}: has shape {}, but {} has {}; ", path,
                                              shape_text(layout.shape), other, shape_text(first.shape)) +
                                      parameter("per_axis") + " needs equal lengths along the axis");
}

void TensorPool::add_tensor(const Origin& origin, const std::string& path, TensorLayout layout) {
  std::optional<Request> own;
  const Request& request = settings_.request_for(path, own);
  const Plan plan = with_path(path, [&] { return plan_before_reading(request, layout); });
  for_each_stage(plan, [&](const Plan& stage, std::size_t i) {
    if (sources_.empty())
      first_.push_back(stage.input);
    else if (const Request& pooled = stage_of(request, i); pooled.pooled)
      expect_alike(pooled, stage.input, stage_name(i, path), first_[i]);
  });
  origins_.push_back(origin);
  MaskFlags flag = own && own->mask ? flags_of(*own->mask, layout) : nullptr;
  sources_.push_back(
      {std::move(layout), path,
       [this, source = sources_.size()](const TensorSource::Wanted& wanted, const TensorSource::Look& look) {
         read(source, wanted, look);
       },
       std::move(flag)});
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
  static_cast<void>(header_of(settings_, input));
  source_of(sources_[source].layout, engine_, input).read(wanted, look);
}

/// A norm of all that is NaN or infinite is reported of the first tensor that has one alone.
Request TensorPool::with_figures_of_all(const Request& stage, std::span<const TensorSource> sources,
                                        std::vector<LostBound>& lost) const {
  const KernelOptions options = engine_.kernel_options();
  try {
    return with_figures(stage, sources, options, lost);
  } catch (const Error& error) {
    if (error.field() == "max_norm")
      for (const TensorSource& source : sources)
        static_cast<void>(with_figures(stage, {&source, 1}, options, lost));
    throw;
  }
}

/// Finds the figures of a later stage in what those before it, whose pooled figures are found, give.
void TensorPool::find_after(const Request& before, Request& stage, const std::string& name,
                            std::vector<LostBound>& lost) const {
  const KernelOptions options = engine_.kernel_options();
  std::vector<Plan> plans;
  std::vector<MaskFlags> flags;
  for (const TensorSource& source : sources_) {
    std::optional<Request> own;
    std::optional<Request> masked;
    static_cast<void>(settings_.request_for(source.path, own));
    const Request& its = own ? masked.emplace(with_masks(before, *own)) : before;
    plans.push_back(has_figures(its) ? plan_with_figures(its, source, options)
                                     : with_path(source.path, [&] { return make_plan(its, source.layout); }));
    const bool has_mask = own && stage.mask;
    flags.push_back(has_mask ? flags_of(*own->then[before.then.size()].mask, plans.back().output) : nullptr);
  }
  std::vector<TensorSource> sources;
  for (std::size_t i = 0; i < plans.size(); ++i) {
    sources.push_back(source_after(plans[i], sources_[i], plans[i].output, name, options));
    sources.back().flag = std::move(flags[i]);
  }
  stage = with_figures_of_all(stage, sources, lost);
}

Request TensorPool::request(std::vector<std::vector<LostBound>>& lost) {
  Request found = settings_.request;
  lost.resize(1 + found.then.size());
  if (sources_.empty()) return found;
  if (found.pooled) {
    std::vector<Request> later = std::exchange(found.then, {});
    found = with_figures_of_all(found, sources_, lost[0]);
    found.then = std::move(later);
  }
  for (std::size_t i = 0; i < found.then.size(); ++i) {
    if (!found.then[i].pooled) continue;
    Request before = found;
    before.then.resize(i);
    find_after(before, found.then[i], stage_name(i + 1), lost[i + 1]);
  }
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
  if (!figures.pooled) return text;
  for (const Field* const field : fields::kNumbers) {
    const std::optional<Parameter>& figure = field->number_in(figures);
    const std::optional<Parameter>& its = field->number_in(found);
    const bool is_norm = figure && field->number() == &Request::max_norm;
    if (!is_figure(figure) && !is_norm) continue;
    text += fmt::format("{}{} {} {} ", text.empty() ? "" : ", ", field->option(), figure->text,
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
