#include "flows/clip_file.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <set>
#include <span>
#include <tuple>
#include <utility>

#include "clip/convert.hpp"
#include "contract/fields.hpp"
#include "element/element.hpp"
#include "error.hpp"
#include "files/descriptor.hpp"
#include "files/input_file.hpp"
#include "files/place.hpp"
#include "flows/figure_requests.hpp"
#include "flows/file_clip.hpp"
#include "flows/selection.hpp"
#include "os/os.hpp"

namespace clipper {
namespace {

using Existing = OutputFile::Existing;

/// A file that is not clipped.
class OtherFile : public ContentsClip {
 public:
  OtherFile(const Clipping& clipping, const InputFile& input) : engine_(clipping.engine), input_(input) {}

  [[nodiscard]] std::uint64_t size() const override { return 0; }
  [[nodiscard]] std::uint64_t least_room() const override { return 0; }  // asked only in place
  [[nodiscard]] bool changes() override { return false; }
  void count() override {}

  void expect_written(InputFile& output, const std::string& /*out*/) const override {
    if (output.file_size() != input_.file_size())
      throw Error(ErrorKind::input, fmt::format("{}: has {} bytes, not {}", output.path(), output.file_size(),
                                                input_.file_size()));
  }

  /// Writes the same bytes.
  void write(OutputFile& output) override {
    const std::uint64_t size = input_.file_size();
    if (!output.is_regular()) return stream_to(output);
    if (output.may_share(input_) != Sharing::none && output.share(input_, 0, size)) return;
    if (!engine_.copy(input_.descriptor(), input_.path(), {0, size}, &output, 0))
      throw_changed(input_.path());
    engine_.take_back_done(size);  // these are no elements
  }

 private:
  void stream_to(OutputFile& output) const {
    const std::uint64_t size = input_.file_size();
    std::vector<std::byte> bytes(std::min<std::uint64_t>(size, std::uint64_t{1} << 20));
    for (std::uint64_t at = 0; at < size; at += bytes.size()) {
      bytes.resize(std::min<std::uint64_t>(bytes.size(), size - at));
      if (read_at(input_.descriptor(), bytes, at, input_.path()) < bytes.size()) throw_changed(input_.path());
      output.write(bytes);
    }
  }

  Engine& engine_;
  const InputFile& input_;
};

/// An index, whose files have their results before it.
class IndexFile : public ContentsClip {
 public:
  IndexFile(const Clipping& clipping, const InputFile& input, const Format& format)
      : input_(input), path_(clipping.out.value_or(input.path())) {
    if (!clipping.takes_index)
      throw Error(ErrorKind::usage,
                  input.path() +
                      ": stands for several files, which this way to clip does not take; name one of them");
    clipping.result.name = input.path();
    if (!clipping.out) return;
    const Container set(input, format, KeptFor::reading);
    for (const MemberUse& use : member_uses(clipping.settings, set))
      if (use.action == MemberAction::dropped) dropped_.insert(use.member->name);
  }

  [[nodiscard]] std::uint64_t size() const override { return 0; }
  [[nodiscard]] std::uint64_t least_room() const override { return input_.file_size(); }

  [[nodiscard]] bool changes() override {
    std::string old(input_.file_size(), '\0');
    input_.read_at(std::as_writable_bytes(std::span(old)), 0);
    return index_text(input_, path_, dropped_) != old;
  }

  void count() override {}

  /// Who copied an index into a directory may have done so before its files were cast.
  void expect_written(InputFile& output, const std::string& out) const override {
    std::string text(output.file_size(), '\0');
    output.read_at(std::as_writable_bytes(std::span(text)), 0);
    if (index_text(input_, out, dropped_) != text)
      throw Error(ErrorKind::input, out + ": is not the index of its files");
  }

  void write(OutputFile& output) override {
    const std::string text = index_text(input_, path_, dropped_);
    output.write(std::as_bytes(std::span(text)));
  }

 private:
  const InputFile& input_;
  std::string path_;
  std::set<std::string> dropped_;
};

/// What is done to the file; notes in the result if it is not clipped. `format` is that of an archive.
std::unique_ptr<ContentsClip> contents_of(const Clipping& clipping, InputFile& input, const Format* format,
                                          std::optional<npy::Start> start = std::nullopt) {
  if (format != nullptr && format->is_index()) return std::make_unique<IndexFile>(clipping, input, *format);
  expect_archive(clipping.settings, input, format, clipping.is_named);
  std::unique_ptr<ArchiveClip> archive;
  if (format != nullptr) archive = std::make_unique<ArchiveClip>(clipping, input, *format);
  const bool was_interrupted = start.has_value();
  std::optional<ReadHeader> read;
  // Of many archives, one that is named may have no chosen member, too.
  if ((!clipping.is_named || archive) && input.is_regular() && !input.is_member() && !was_interrupted) {
    const std::string_view reason =
        archive ? archive->why_other() : why_other(clipping.settings, input, &read);
    if (!reason.empty()) {
      ClipResult& result = clipping.result;
      result.name = input.path();
      result.action = action_on_other(clipping.settings, input.path(), reason);
      result.reason = reason;
      return std::make_unique<OtherFile>(clipping, input);
    }
  }
  if (archive) return archive;
  return std::make_unique<FileClip>(clipping, input, start, std::move(read));
}

class ToFile : public Prepared {
 public:
  /// `clipping` has the name of the result.
  ToFile(const Clipping& clipping, const std::string& in, Existing existing, Directory directory,
         const OutputRoot* root)
      : Prepared(clipping, open_input(in, clipping.streams, clipping.settings.reading.caching)),
        existing_(existing),
        root_(root) {
    const std::string& out = *clipping_.out;
    const bool to_raw = clipping_.settings.to_raw;
    if (to_raw) expect_tensor(input_, {"to_raw", "to_raw"});
    if (archive_ != nullptr) check_output_name(input_, archive_, out);
    contents_ = contents_of(clipping_, input_, archive_);
    if (archive_ == nullptr) check_output_name(input_, archive_, out, to_raw);
    if (archive_ == nullptr && is_clipped())
      static_cast<void>(result_frame(input_, clipping_.result.plan->output, out, to_raw));
    check_output(clipping_, out, existing, directory, root);
    const bool replaces = existing == Existing::replace && clipping_.result.action != MemberAction::dropped;
    if (clipping_.settings.backup && replaces && out != "-" && find_file(out)) expect_backup();
  }

  /// Where another file is the backup, all bytes of the result tell whether the old one is it already.
  void count() override {
    if (!has_other_backup_) return Prepared::count();
    static_cast<void>(written(existing_, root_).is_there_already());
    complete(false);
  }

  void write() override {
    if (clipping_.result.action == MemberAction::dropped) return complete(false);
    write_output(
        existing_, [] {}, root_);
  }

 private:
  /// What headers and sizes tell is known before the work.
  void expect_backup() {
    const auto& backup = clipping_.settings.backup;
    const Place place = Place::resolved(*clipping_.out);
    has_other_backup_ = clipper::has_other_backup(place, *backup);
    if (!has_other_backup_) return;
    try {
      InputFile old = InputFile::open_regular(*clipping_.out);
      expect_written(old, *clipping_.out);
    } catch (const Error& error) {
      if (error.kind() == ErrorKind::io) throw;
      refuse_backup(place, *backup);
    }
  }

  Existing existing_;
  const OutputRoot* root_;
  bool has_other_backup_ = false;
};

InputFile open_to_change(const std::string& path, const Clipping& clipping) {
  ClipObserver& observer = clipping.observer;
  if (clipping.settings.to_raw)
    throw Error(ErrorKind::usage,
                path + ": " + Term{"to_raw", "to_raw"} + " needs another file for the result");
  InputFile input = clipper::open_to_change(path, clipping.settings.reading.caching);
  if (!input.is_locked())
    observer.warn(
        fmt::format("{}: this file system has no locks; do not run another clipper on this file", path));
  observer.opened(input);
  return input;
}

class InPlace : public Prepared {
 public:
  InPlace(const Clipping& clipping, const std::string& path, ReplacementBatch& batch,
          std::function<void(std::exception_ptr)> done)
      : Prepared(clipping, open_to_change(path, clipping)), batch_(batch), done_(std::move(done)) {
    contents_ = contents_of(clipping_, input_, archive_);
    if (clipping_.purpose == Purpose::dry_run && is_clipped())
      OutputFile::check_in_place(input_, clipping_.settings.backup, direct());
  }

  /// Throws the errors of write() that concern only a file that gets other bytes.
  void count() override {
    if (!is_clipped()) return Prepared::count();
    try {
      OutputFile::expect_room(input_, contents_->least_room());
      expect_backup();
    } catch (const Error&) {
      if (contents_->changes()) throw;
      return complete(false);
    }
    Prepared::count();
  }

  void write() override {
    if (!is_clipped()) {
      complete(false);
      return done_(nullptr);
    }
    OutputFile::expect_one_link(input_, clipping_.settings.backup, direct());
    if (!contents_->changes()) {
      input_.expect_unchanged();
      complete(false);
      return done_(nullptr);
    }
    expect_backup();
    const std::uint64_t room = contents_->least_room();
    if (!OutputFile::has_room(input_, room)) {
      batch_.commit();  // frees space of replaced files
      OutputFile::expect_room(input_, room);
    }
    OutputFile output = OutputFile::create_in_place(input_, clipping_.settings.backup);
    output.set_caching(clipping_.settings.reading.caching);
    contents_->write(output);
    complete(true);
    batch_.add({std::move(input_), std::move(output), std::move(done_)});
  }

 private:
  [[nodiscard]] OutputFile::Direct direct() const {
    return archive_ == nullptr ? OutputFile::Direct::possible : OutputFile::Direct::impossible;
  }

  void expect_backup() const {
    const auto& backup = clipping_.settings.backup;
    if (backup) check_backup(input_.place(), *backup);
    if (backup && has_other_backup(input_.place(), *backup)) refuse_backup(input_.place(), *backup);
  }

  ReplacementBatch& batch_;
  std::function<void(std::exception_ptr)> done_;
};

/// Elements that are overwritten cannot give the parameters of later elements.
void refuse_own_array(const InputFile& input, const Plan& plan) {
  if (!plan.arrays) return;
  for (const ArrayParameter& row : plan.arrays->arrays)
    if (row.array->is(input.status()))
      throw Error(ErrorKind::usage, input.path() + ": " +
                                        Term{name_of(row.parameter), name_of(row.parameter)} +
                                        (" " + row.text + " is the file that would be changed"));
}

[[noreturn]] void refuse_repeated(const InputFile& input, const Message& what) {
  throw Error(ErrorKind::usage, input.path() + ": " + what + " cannot be combined with " + kDirectChange +
                                    ", which clips every element again to finish an interrupted run");
}

/// What no plan can do twice.
void expect_repeatable(const InputFile& input, const Request& request) {
  if (!request.then.empty()) refuse_repeated(input, Term{"then", "then"});
  if (const Field* const field = first_given(request, [](const Field& f) { return !f.repeats; }))
    refuse_repeated(input, Term{field->name, field->name});
  if (const Field* const figure = first_figure(request))
    refuse_repeated(input, label_of_figure(*figure, request));
  if (const Field* const grouping = first_given(request, is_grouping))
    refuse_repeated(input, parameter(grouping->name));
}

/// Whether clipping a clipped element changes nothing. Elements within the bounds stay, so only those beyond
/// all bounds, zeros and NaN need a look.
bool is_repeatable(const Plan& plan) {
  const Operation& operation = plan.operation;
  const auto is_nan = [&](std::optional<ElementBits> by) {
    return !by || number_of(operation.to, *by).kind == Number::Kind::nan;
  };
  if (plan.arrays)
    return !plan.replaces_nan() &&
           (!operation.cast || (is_nan(operation.cast->below) && is_nan(operation.cast->above)));
  const auto is_beyond = [&](std::optional<ElementBits> by, const std::optional<Number>& bound, bool is_min) {
    if (!by || !bound || is_nan(by)) return false;
    const Number number = number_of(operation.to, *by);
    return is_min ? number < *bound : number > *bound;
  };
  if (operation.cast && (is_beyond(operation.cast->below, plan.exact_min, true) ||
                         is_beyond(operation.cast->above, plan.exact_max, false)))
    return false;
  const DType dtype = plan.input.dtype;
  return with_size(traits(dtype).size, [&]<std::size_t Size>() {
    using Bits = UnsignedOfSize<Size>;
    const auto clipped = [&](Bits element) {
      auto* const bytes = std::as_writable_bytes(std::span(&element, 1)).data();
      if (plan.input.meaning.kind == LogicalType::Kind::boolean) element = element != 0;
      std::ignore = apply(operation, kNumbers, bytes, bytes, 1, Counting::off, SimdLevel::baseline);
      return element;
    };
    constexpr ElementBits kSign = ElementBits{1} << (8 * Size - 1);
    return std::ranges::all_of(std::array{lowest_element(dtype), highest_element(dtype), ElementBits{0},
                                          kSign, is_floating(dtype) ? canonical_nan(dtype) : ElementBits{0}},
                               [&](ElementBits element) {
                                 const Bits once = clipped(static_cast<Bits>(element));
                                 return clipped(once) == once;
                               });
  });
}

class Direct : public Prepared {
 public:
  Direct(const Clipping& clipping, const std::string& path)
      : Prepared(clipping, open_to_change(path, clipping)), file_(expect_tensor_to_change()) {
    expect_repeatable(input_, clipping.settings.request);
    contents_ = contents_of(clipping_, input_, archive_, file_.start());
    if (!is_clipped()) return;
    if (!is_repeatable(*clipping_.result.plan))
      refuse_repeated(input_, "a replacement that may lie beyond the bounds");
    refuse_own_array(input_, *clipping_.result.plan);
  }

  void write() override;

 private:
  const InputFile& expect_tensor_to_change() {
    expect_archive(clipping_.settings, input_, archive_, clipping_.is_named);
    if (archive_ != nullptr)
      throw Error(ErrorKind::usage, input_.path() + ": is an archive, which " + kDirectChange +
                                        " does not take; " +
                                        Term{"not_direct", "replace the file", Says::advice});
    if (input_.source() != nullptr)
      throw Error(ErrorKind::usage, input_.path() + ": is no .npy file, and " + kDirectChange +
                                        " marks its header; " +
                                        Term{"not_direct", "replace the file", Says::advice});
    return input_;
  }

  DirectFile file_;
};

void Direct::write() {
  if (!is_clipped()) return complete(false);
  const auto& [settings, engine, observer, result, purpose, is_named, takes_index, streams, out] = clipping_;
  if (!file_.was_interrupted() && (result.plan->may_refuse_elements() || settings.max_clipped)) {
    result.counts = engine.scan(*result.plan, input_, Counting::on);
    check_clip_limit(settings, result);
  }
  bool has_name = true;
  try {
    result.counts = StageCounts{engine.rewrite(*result.plan, input_, file_)};
    result.resumed = file_.was_interrupted();
    complete(result.resumed || result.counts->changed);
    has_name = input_.place().is(id_of(input_.status()));
    observer.placing();
    file_.commit();
  } catch (const Error& error) {
    if (!file_.is_unfinished() || error.kind() == ErrorKind::refused) throw;
    throw Error(error.kind(), error.message() + "; unreadable until the same " +
                                  Term{"direct", "change", Says::advice} + " finishes it");
  }
  if (!has_name)
    observer.warn(fmt::format(
        "{}: was renamed or replaced while it was changed; the file that had this name is complete",
        input_.path()));
}

}  // namespace

Prepared::Prepared(const Clipping& clipping, InputFile input)
    : clipping_(clipping), input_(std::move(input)) {
  read_as(input_, clipping.settings.reading);
  archive_ = archive_format(input_);
}

void Prepared::complete(bool written) {
  clipping_.result.written = written;
  clipping_.observer.complete(clipping_.result);
}

void Prepared::count() {
  contents_->count();
  complete(false);
}

OutputFile Prepared::written(Existing existing, const OutputRoot* root) {
  OutputFile output = OutputFile::create(*clipping_.out, existing, clipping_.settings.durability,
                                         input_.mode_of_copy(), root);
  output.set_caching(clipping_.settings.reading.caching);
  output.set_backup(clipping_.settings.backup);
  contents_->write(output);
  if (input_.is_regular()) input_.expect_unwritten();
  return output;
}

void Prepared::write_output(Existing existing, const std::function<void()>& before_commit,
                            const OutputRoot* root) {
  OutputFile output = written(existing, root);
  const bool is_new = !output.is_there_already();
  complete(is_new);
  if (!is_new) return;
  before_commit();
  output.commit([&] { clipping_.observer.placing(); });
}

void check_output(const Clipping& clipping, const std::string& out, Existing existing, Directory directory,
                  const OutputRoot* root) {
  if (root != nullptr && clipping.purpose != Purpose::run) root->check(out);
  if (clipping.settings.backup && out != "-" && find_file(out))
    check_backup(Place::resolved(out), *clipping.settings.backup);
  const bool must_be_new = existing == Existing::refuse;
  if (clipping.purpose != Purpose::run && out.size() - (out.rfind('/') + 1) > NAME_MAX)
    throw_system_error(out, "cannot be created", ENAMETOOLONG);
  if (clipping.purpose == Purpose::run || (clipping.purpose == Purpose::check && !must_be_new)) return;
  if (directory == Directory::made_by_run && os::access(directory_of(out).c_str(), F_OK) != 0) return;
  OutputFile::check(out, existing, root);
}

bool is_in_place(const std::string& in, const std::string& out, Existing existing) {
  if (existing != Existing::replace || !is_same_file(in, out)) return false;
  const Place place = Place::resolved(in);
  const auto status = place.status();
  if (status && status->st_nlink == 1 && !place.is_same_place(Place::resolved(out)))
    refuse(in, fmt::format("is mounted as {}, and only one of these names would get the result; ", out) +
                   (is_archive(open_input(in, Streams::refused)) ? Message("write to another file")
                                                                 : way_to_keep(" changes both")));
  return true;
}

Clipping with_output(Clipping clipping, std::string out) {
  clipping.out = std::move(out);
  return clipping;
}

std::unique_ptr<Prepared> prepare_to_file(const Clipping& clipping, const std::string& in,
                                          const std::string& out, Existing existing, Directory directory,
                                          const OutputRoot* root) {
  return std::make_unique<ToFile>(with_output(clipping, out), in, existing, directory, root);
}

std::unique_ptr<Prepared> prepare_in_place(const Clipping& clipping, const std::string& path,
                                           ReplacementBatch& batch,
                                           std::function<void(std::exception_ptr)> done) {
  return std::make_unique<InPlace>(clipping, path, batch, std::move(done));
}

std::unique_ptr<Prepared> prepare_direct(const Clipping& clipping, const std::string& path) {
  return std::make_unique<Direct>(clipping, path);
}

}  // namespace clipper
