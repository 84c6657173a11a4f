#include "flows/tensor_sources.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <memory>
#include <mutex>
#include <optional>
#include <utility>

#include "contract/bounds.hpp"
#include "contract/steps.hpp"
#include "element/element.hpp"
#include "element/number.hpp"
#include "engine/parameter_tile.hpp"
#include "engine/tensor_clip.hpp"
#include "error.hpp"
#include "files/descriptor.hpp"
#include "files/place.hpp"
#include "flows/figure_requests.hpp"
#include "flows/figures.hpp"
#include "flows/file_clip.hpp"
#include "flows/selection.hpp"
#include "formats/container.hpp"
#include "formats/formats.hpp"
#include "memory/elements.hpp"
#include "parallel/pool.hpp"
#include "statistics/groups.hpp"

namespace clipper {
namespace {

/// A limit that is a number, as an element.
ElementBits element_or(const std::optional<Limit>& limit, ElementBits otherwise) {
  return limit ? limit->element.value_or(otherwise) : otherwise;
}

/// Counts the elements beyond a limit that is an array. Counts nothing for other limits.
class ArrayLimit {
 public:
  ArrayLimit(const std::optional<Limit>& limit, const Nodata& nodata, const KernelOptions& options,
             const std::string& path) {
    if (!limit || !limit->plan) return;
    plan_ = decoded(*limit->plan);
    plan_.nodata.emplace().read = nodata;
    clip_.emplace(plan_, options, path);
  }

  /// What a clip to the array would do to elements of the tensor, of which the first has index `position`.
  ElementCounts count(std::uint64_t position, std::span<const std::byte> elements, std::size_t size) {
    ElementCounts total;
    if (!clip_) return total;
    std::array<ElementBits, 1024> clipped;
    while (!elements.empty()) {
      const std::span part = elements.first(std::min(elements.size(), clipped.size() * size));
      total += clip_->clip(position, part.data(), std::as_writable_bytes(std::span(clipped)).data(),
                           part.size() / size, Counting::on);
      elements = elements.subspan(part.size());
      position += part.size() / size;
    }
    return total;
  }

  /// See TensorClip::expect_valid().
  void expect_valid() const {
    if (clip_) clip_->expect_valid();
  }

 private:
  Plan plan_;
  std::optional<TensorClip> clip_;
};

/// The elements without NaT or nodata, moved together.
std::span<std::byte> only_numbers(const TensorLayout& layout, const Nodata& nodata, SimdLevel level,
                                  std::span<std::byte> elements) {
  if (!nodata.matches_nothing()) return without_nodata(nodata, elements, level);
  if (!layout.meaning.is_time()) return elements;
  auto* const ticks = reinterpret_cast<std::int64_t*>(elements.data());
  const std::size_t count = elements.size() / sizeof(kNaT);
  return elements.first(static_cast<std::size_t>(std::remove(ticks, ticks + count, kNaT) - ticks) *
                        sizeof(kNaT));
}

void expect_percentiles(std::span<const Number> percentages) {
  for (const Number& percentage : percentages)
    if (!is_percentile(percentage))
      throw Error(
          ErrorKind::usage,
          decimal_text(percentage) + ": a percentile is a number from 0 to 100 with max 16 decimal places");
}

}  // namespace

ElementStatistics read_statistics(Engine& engine, InputFile& input, const TensorLayout& layout,
                                  const std::optional<Limit>& min, const std::optional<Limit>& max,
                                  const Nodata& nodata) {
  const Bounds bounds{element_or(min, lowest_element(layout.dtype)),
                      element_or(max, highest_element(layout.dtype))};
  engine.prepare(layout.data_size());
  ArrayLimit min_array(min, nodata, engine.kernel_options(), input.path());
  ArrayLimit max_array(max, nodata, engine.kernel_options(), input.path());
  ElementStatistics total;
  total.dtype = layout.dtype;
  const std::size_t size = traits(layout.dtype).size;
  std::mutex mutex;
  engine.read(layout, input, [&](std::uint64_t position, std::span<std::byte> elements) {
    const std::uint64_t below = min_array.count(position, elements, size).raised;
    const std::uint64_t above = max_array.count(position, elements, size).lowered;
    const std::span<std::byte> numbers = only_numbers(layout, nodata, engine.level(), elements);
    ElementStatistics part =
        statistics_of(layout.dtype, bounds, numbers.data(), numbers.size() / size, engine.level());
    const std::uint64_t others = (elements.size() - numbers.size()) / size;
    part.count += layout.meaning.is_time() ? others : 0;
    part.nan += layout.meaning.is_time() ? others : 0;
    part.below += below;
    part.above += above;
    const std::lock_guard lock(mutex);
    total += part;
  });
  min_array.expect_valid();
  max_array.expect_valid();
  // A number that all elements are beyond exists only for integers and floats of one byte.
  if (min && !min->plan && !min->element) total.below = total.count - total.nan;
  if (max && !max->plan && !max->element) total.above = total.count - total.nan;
  return total;
}

void read_statistics_of_groups(std::span<const TensorSource> sources, std::span<const Groups> groups,
                               const std::optional<Limit>& min, const std::optional<Limit>& max,
                               std::span<const Number> percentages, const Nodata& nodata, SimdLevel level,
                               const GroupFigures& found) {
  const ElementSource all = elements_of(sources, groups, nodata, level);
  const Bounds bounds{element_or(min, lowest_element(all.dtype)),
                      element_or(max, highest_element(all.dtype))};
  const auto show = [&](std::uint64_t group, ElementStatistics total, const Percentiles& percentiles) {
    if (min && !min->element) total.below = total.count - total.nan;
    if (max && !max->element) total.above = total.count - total.nan;
    if (sources.front().layout.meaning.is_time()) {
      total.nan += all.count - total.count;
      total.count = all.count;
    }
    found(group, total, percentiles);
  };
  if (all.for_each_gathered([&](std::uint64_t group, std::span<const std::byte> elements) {
        const std::size_t count = elements.size() / traits(all.dtype).size;
        show(group, statistics_of(all.dtype, bounds, elements.data(), count, level),
             percentiles_of(group_of(all, elements), percentages, level));
      }))
    return;
  std::vector<Percentiles> percentiles;
  percentiles_of_groups(all, percentages, level, [&](std::uint64_t /*group*/, const Percentiles& each) {
    percentiles.push_back(each);
  });
  const std::vector<ElementStatistics> totals = statistics_of_groups(all, bounds, level);
  for (std::size_t group = 0; group < totals.size(); ++group) show(group, totals[group], percentiles[group]);
}

std::vector<std::optional<Number>> read_percentiles(Engine& engine, InputFile& input,
                                                    const TensorLayout& layout,
                                                    std::span<const Number> percentages,
                                                    const Nodata& nodata) {
  expect_percentiles(percentages);
  if (!input.is_regular())
    throw Error(ErrorKind::usage,
                input.path() + ": percentiles need a file, not a stream: its elements are read twice");
  const TensorSource source = source_of(layout, engine, input);
  const Groups all(layout, {});
  return percentiles_of(elements_of({&source, 1}, {&all, 1}, nodata, engine.level()), percentages,
                        engine.level());
}

TensorSource source_of(const TensorLayout& layout, Engine& engine, InputFile& input) {
  return {layout, input.path(), [&](const TensorSource::Wanted& wanted, const TensorSource::Look& look) {
            engine.read(layout, input, look, wanted);
            engine.take_back_done(layout.data_size());  // done() counts each tensor once
          }};
}

TensorSource source_of(const TensorLayout& layout, const void* elements, Engine& engine,
                       const Workers& workers) {
  return {layout, "", [=, &engine](const TensorSource::Wanted& wanted, const TensorSource::Look& look) {
            const std::size_t size = traits(layout.dtype).size;
            const Chunks chunks(layout.count, size, engine.chunk_size(), 0);
            engine.for_each_chunk(chunks.size(), true, [&](std::uint64_t i, std::byte* memory) {
              expect_going_on(workers.stop);
              const auto take = [&](std::uint64_t begin, std::uint64_t count) {
                const std::span stored(static_cast<const std::byte*>(elements) + begin * size, count * size);
                if (is_decoded(layout) && is_aligned(stored.data(), size)) return look(begin, stored);
                decode(layout, stored.data(), {memory, stored.size()}, engine.level());
                look(begin, {memory, stored.size()});
              };
              if (wanted) return wanted(chunks[i].begin, chunks[i].count, take);
              take(chunks[i].begin, chunks[i].count);
            });
          }};
}

ElementSource elements_of(std::span<const TensorSource> sources, std::span<const Groups> groups,
                          const Nodata& nodata, SimdLevel level) {
  const TensorLayout& first = sources.front().layout;
  ElementSource all{.dtype = first.dtype, .read = {}};
  if (sources.size() == 1) all.path = sources.front().path;
  all.only_elements = first.meaning.kind != LogicalType::Kind::number;
  all.groups = groups.front().count();
  for (const TensorSource& source : sources)
    all.count += source.layout.count / std::max<std::uint64_t>(all.groups, 1);
  const std::size_t size = traits(all.dtype).size;
  if (all.at_once() != 0) {
    all.read = [=, row = all.count](const GroupRange& range, const ElementSource::Look& look) {
      GroupTable table(range.count, row, size, sources.front().flag != nullptr);
      std::uint64_t member = 0;
      for (std::size_t i = 0; i < sources.size(); member += groups[i++].members())
        sources[i].read(parts_of(groups[i], range),
                        [&](std::uint64_t position, std::span<const std::byte> elements) {
                          table.gather(groups[i], range, position, elements,
                                       sources[i].flags(position, elements.size() / size), member);
                        });
      for (std::size_t group = 0; group < range.count; ++group)
        look(group, only_numbers(sources.front().layout, nodata, level, table.counted(group)));
    };
    return all;
  }
  const bool are_all = !first.meaning.is_time() && nodata.matches_nothing();
  all.read = [=](const GroupRange& range, const ElementSource::Look& look) {
    const ElementSource::Look look_at = [&](std::size_t group, std::span<const std::byte> elements) {
      if (are_all) return look(group, elements);
      std::vector<std::byte> own(elements.begin(), elements.end());
      look(group, only_numbers(sources.front().layout, nodata, level, own));
    };
    for (std::size_t i = 0; i < sources.size(); ++i)
      sources[i].read(parts_of(groups[i], range),
                      [&](std::uint64_t position, std::span<const std::byte> elements) {
                        groups[i].split(range, position, elements, size, look_at,
                                        sources[i].flags(position, elements.size() / size));
                      });
  };
  return all;
}

TensorSource::Wanted parts_of(const Groups& groups, const GroupRange& range) {
  return [&groups, range](std::uint64_t position, std::uint64_t count, const Engine::TakePart& take) {
    groups.for_each_part(range, position, count, take);
  };
}

ElementStatistics statistics_in_memory(const TensorLayout& layout, const void* elements,
                                       const Workers& workers) {
  const std::shared_ptr<Engine> engine = engine_for(layout.data_size(), workers.threads);
  const Bounds bounds{lowest_element(layout.dtype), highest_element(layout.dtype)};
  ElementStatistics total;
  total.dtype = layout.dtype;
  std::mutex mutex;
  source_of(layout, elements, *engine, workers).read({}, [&](std::uint64_t, std::span<const std::byte> part) {
    const ElementStatistics figures = statistics_of(layout.dtype, bounds, part.data(),
                                                    part.size() / traits(layout.dtype).size, engine->level());
    const std::lock_guard lock(mutex);
    total += figures;
  });
  return total;
}

std::vector<std::optional<Number>> percentiles_in_memory(const TensorLayout& layout, const void* elements,
                                                         std::span<const Number> percentages,
                                                         const Workers& workers) {
  expect_percentiles(percentages);
  const std::shared_ptr<Engine> engine = engine_for(layout.data_size(), workers.threads);
  const TensorSource source = source_of(layout, elements, *engine, workers);
  const auto read = [&](const GroupRange& /*only*/, const ElementSource::Look& look) {
    source.read({}, [&](std::uint64_t, std::span<const std::byte> part) { look(0, part); });
  };
  return percentiles_of({layout.dtype, layout.count, read}, percentages, engine->level());
}

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
