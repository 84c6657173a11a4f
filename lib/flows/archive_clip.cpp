
#include <algorithm>
#include <optional>
#include <utility>

#include "error.hpp"
#include "flows/file_clip.hpp"
#include "npz/archive.hpp"

namespace clipper {
namespace {

/// Members up to this size are clipped in memory, several at once.
constexpr std::uint64_t kSmall = 512UL << 10;

/// The work for a member that does not depend on its size, as bytes that are clipped meanwhile.
constexpr std::uint64_t kWorkOfMember = 16UL << 10;

/// Bytes that are written together.
constexpr std::size_t kMaxWaiting = 1UL << 20;

/// From this size on, a write of its own takes less time than a copy.
constexpr std::size_t kWrittenAlone = 16UL << 10;

std::span<const std::byte> as_bytes(std::string_view text) {
  return std::as_bytes(std::span(text));
}

/// What the new archive has around its members. `uses` get the order in which they are written.
Frame frame_of(const Container& archive, std::vector<MemberUse>& uses) {
  std::vector<NewEntry> entries;
  entries.reserve(uses.size());
  for (const MemberUse& use : uses) {
    const bool is_clipped = use.action == MemberAction::clipped;
    entries.push_back({use.member, use.action == MemberAction::dropped,
                       is_clipped ? use.clipped_size : use.member->contents.size, use.to});
  }
  Frame frame = archive.frame(entries);
  if (frame.order.empty()) return frame;
  std::vector<MemberUse> arranged;
  for (const std::size_t i : frame.order) arranged.push_back(uses[i]);
  uses = std::move(arranged);
  return frame;
}

}  // namespace

/// Writes a new archive, member by member. Small members are written together.
class MemberWriter {
 public:
  /// `output` is empty and regular.
  MemberWriter(Engine& engine, const Container& from, OutputFile& output, const Frame& frame)
      : engine_(engine), from_(from), output_(output), frame_(frame) {
    append(as_bytes(frame.front));
  }

  /// Adds a member in place of `from`, with `data` as its bytes in the archive.
  void add(const Entry& from, const Contents& contents, std::span<const std::byte> data) {
    const std::size_t entry = from_.index_of(from);
    const std::uint64_t begin = written_ + waiting_.size();
    append(as_bytes(frame_.before(entry, contents)));
    append(data);
    frame_.add(entry, contents, begin);
  }

  /// Adds a member of `size` bytes in place of `from`. `write` writes its bytes to the output, where they
  /// begin at offset 0, and returns its contents.
  template <class Write>
  void add(const Entry& from, std::uint64_t size, const Write& write) {
    flush();
    const std::size_t entry = from_.index_of(from);
    const std::uint64_t begin = written_;
    const std::uint64_t data = begin + frame_.before(entry, {0, size, 0}).size();
    output_.set_base(data);
    const Contents contents = write(output_);
    output_.set_base(0);
    output_.write_at(as_bytes(frame_.before(entry, contents)), begin);
    frame_.add(entry, contents, begin);
    written_ = data + contents.stored_size;
  }

  /// Adds a member as it is.
  void copy(const Entry& from) {
    const InputFile& file = from_.file();
    const std::uint64_t size = from.contents.stored_size;
    if (size <= kMaxWaiting) {
      std::vector<std::byte> data(size);
      file.read_at(data, from.data);
      return add(from, from.contents, data);
    }
    add(from, from.contents.size, [&](const OutputFile& output) {
      if (!engine_.copy(file.descriptor(), file.path(), {from.data, size}, &output, 0))
        throw_changed(file.path());
      engine_.take_back_done(size);  // these are no elements
      return from.contents;
    });
  }

  /// Writes what comes after the members.
  void finish() {
    frame_.finish(written_ + waiting_.size(), [&](std::string_view bytes) { append(as_bytes(bytes)); });
    flush();
  }

 private:
  void append(std::span<const std::byte> bytes) {
    if (bytes.size() >= kWrittenAlone) {
      flush();
      output_.write_at(bytes, written_);
      written_ += bytes.size();
      return;
    }
    if (waiting_.size() + bytes.size() > waiting_.capacity()) waiting_.reserve(kMaxWaiting + bytes.size());
    waiting_.insert(waiting_.end(), bytes.begin(), bytes.end());
    if (waiting_.size() >= kMaxWaiting) flush();
  }

  void flush() {
    output_.write_at(waiting_, written_);
    written_ += waiting_.size();
    waiting_.clear();
  }

  Engine& engine_;
  const Container& from_;
  OutputFile& output_;
  const Frame& frame_;
  std::vector<std::byte> waiting_;  ///< the last bytes of the archive, not written yet
  std::uint64_t written_ = 0;       ///< bytes of the archive before them
};

ArchiveClip::ArchiveClip(const Clipping& clipping, const InputFile& input, const Format& format)
    : clipping_(clipping), archive_(input, format), uses_(member_uses(clipping.settings, archive_)) {
  if (clipping.is_named) expect_clipped_member(clipping.settings, archive_, uses_);
  frame_ = frame_of(archive_, uses_);
}

std::uint64_t ArchiveClip::size() const {
  std::uint64_t size = 0;
  for (const MemberUse& use : uses_) size += use.size;
  return size;
}

/// The size of a deflated member is known only when it is written.
std::uint64_t ArchiveClip::least_room() const {
  std::uint64_t size = 0;
  for (const MemberUse& use : uses_) {
    if (use.action == MemberAction::copied) size += use.member->contents.stored_size;
    if (use.action == MemberAction::clipped && use.member->method == Codec::stored) size += use.clipped_size;
  }
  return size;
}

/// Calls `large(index)` for a large member and `small(begin, end)` for consecutive small members, in order.
template <class Large, class SmallOnes>
void ArchiveClip::for_each(const Large& large, const SmallOnes& small) const {
  const auto is_small = [&](std::size_t i) {
    const Contents& contents = member(i).contents;
    return std::max({contents.size, contents.stored_size, uses_[i].clipped_size}) <= kSmall;
  };
  for (std::size_t i = 0; i < uses_.size();) {
    std::size_t end = i;
    while (end < uses_.size() && is_small(end)) ++end;
    if (end != i)
      small(i, end);
    else
      large(end++);
    i = end;
  }
}

/// Calls `make(index, small)`, several at once, and `end_member(index, small)` in order for small members.
template <class Make, class End>
void ArchiveClip::in_order(std::size_t begin, std::size_t end, const Make& make, const End& end_member) {
  std::uint64_t work = 0;
  for (std::size_t i = begin; i < end; ++i) work += uses_[i].size + kWorkOfMember;
  Engine& engine = clipping_.engine;
  engine.prepare(work, Engine::Cost::high);
  std::vector<Small> made(engine.slots());
  const auto make_one = [&](std::uint64_t i, std::size_t slot) {
    made[slot].failure = nullptr;
    try {
      make(begin + i, made[slot]);
    } catch (...) {
      made[slot].failure = std::current_exception();  // of all failures, the first member's is reported
    }
  };
  engine.in_order(end - begin, make_one, [&](std::uint64_t i, std::size_t slot) {
    if (made[slot].failure) std::rethrow_exception(made[slot].failure);
    end_member(begin + i, made[slot]);
  });
}

ClipResult ArchiveClip::result_of(std::size_t index) const {
  ClipResult result;
  result.name = archive_.path_of(member(index));
  result.member = member(index).name;
  result.action = uses_[index].action;
  result.reason = uses_[index].reason;
  return result;
}

void ArchiveClip::begin() {
  clipping_.result.name = archive_.file().path();
  if (counting_of(clipping_.settings) == Counting::on) clipping_.result.counts.emplace();
  clipping_.observer.sized(size());
}

void ArchiveClip::end(ClipResult& result) {
  if (result.plan) check_clip_limit(clipping_.settings, result);
  if (result.counts) {
    std::optional<StageCounts>& total = clipping_.result.counts;
    if (!total) total.emplace();
    *total += *result.counts;
  }
  clipping_.observer.member(result);
}

void ArchiveClip::end_small(ClipResult& result) {
  const std::optional<StageCounts> counts = std::exchange(result.counts, std::nullopt);
  if (result.plan) clipping_.observer.planned(result);
  result.counts = counts;
  end(result);
}

/// Throws what a stage before the last one says of any member, which comes before what a later one says of
/// another.
void ArchiveClip::expect_earlier_stages(ErrorKind kind) const {
  const ClipSettings& settings = clipping_.settings;
  if (kind > ErrorKind::input) return;
  for (std::size_t stages = 0; stages < settings.request.then.size(); ++stages) {
    ClipSettings first = settings;
    first.saved = nullptr;
    first.request.then.resize(stages);
    first.then_max_clipped.resize(stages);
    const Clipping clipping{first,
                            clipping_.engine,
                            clipping_.observer,
                            clipping_.result,
                            clipping_.purpose,
                            clipping_.is_named,
                            clipping_.takes_index,
                            clipping_.streams,
                            clipping_.out};
    for (std::size_t i = 0; i < uses_.size(); ++i) {
      if (!is_clipped(i)) continue;
      MemberClip clip(clipping, archive_, member(i));
      static_cast<void>(clip.scan(Counting::on));
      check_clip_limit(first, clip.result());
    }
  }
}

template <class Work>
auto ArchiveClip::attempt(const Work& work) {
  std::exception_ptr last;
  try {
    return work();
  } catch (const Error& error) {
    expect_earlier_stages(error.kind());
    if (error.kind() != ErrorKind::input || !clipping_.observer.wants_failed_members()) throw;
    last = std::current_exception();
  }
  std::exception_ptr failed;
  for (std::size_t i = 0; i < uses_.size(); ++i) try {
      if (is_clipped(i)) static_cast<void>(MemberClip(clipping_, archive_, member(i)).scan(Counting::off));
    } catch (const Error&) {
      if (failed) clipping_.observer.failed_member(failed);
      failed = last = std::current_exception();
    }
  std::rethrow_exception(last);
}

bool ArchiveClip::changes() {
  if (attempt([&] { return has_changes(); })) return true;
  count();
  return false;
}

bool ArchiveClip::has_changes() {
  const auto is_dropped = [](const MemberUse& use) { return use.action == MemberAction::dropped; };
  std::atomic<bool> changes = std::ranges::any_of(uses_, is_dropped);
  std::atomic<std::uint64_t> scanned = 0;
  const auto scan = [&](std::size_t i) {
    if (changes || !is_clipped(i)) return;
    if (MemberClip(clipping_, archive_, member(i)).scan(Counting::off))
      changes = true;
    else
      scanned += uses_[i].size;
  };
  for_each(scan, [&](std::size_t begin, std::size_t end) {
    const auto make = [&](std::size_t i, const Small& /*small*/) { scan(i); };
    in_order(begin, end, make, [](std::size_t /*i*/, const Small& /*small*/) {});
  });
  clipping_.engine.take_back_done(scanned);  // the members are read again
  return changes;
}

void ArchiveClip::count() {
  attempt([&] { count_members(); });
}

void ArchiveClip::count_members() {
  begin();
  clipping_.result.counts.emplace();
  const auto scan = [&](std::size_t i, Small& small) {
    small.result = result_of(i);
    if (!is_clipped(i)) return;
    MemberClip clip(clipping_, archive_, member(i));
    if (clip.scan(Counting::on)) clipping_.engine.add_done(uses_[i].size);
    small.result = std::move(clip.result());
  };
  const auto end_one = [&](std::size_t /*i*/, Small& small) { end_small(small.result); };
  const auto end_large = [&](std::size_t i) {
    Small large;
    scan(i, large);
    end_small(large.result);
  };
  for_each(end_large, [&](std::size_t begin, std::size_t end) { in_order(begin, end, scan, end_one); });
}

void ArchiveClip::clip_small(std::size_t index, Small& small) const {
  small.result = result_of(index);
  if (!is_clipped(index)) return;
  MemberClip clip(clipping_, archive_, member(index));
  clip.clip(small.clipped);
  const std::span bytes = small.clipped.bytes();
  small.contents = {archive_.format().has_crc ? npz::crc32(bytes) : 0, bytes.size(), bytes.size()};
  if (member(index).method != Codec::stored) {
    small.deflated = npz::deflate_piece(bytes, true);
    small.contents.stored_size = small.deflated.size();
  }
  small.result = std::move(clip.result());
  clipping_.engine.add_done(uses_[index].size);
}

void ArchiveClip::write_large(std::size_t index, MemberWriter& writer) {
  if (!is_clipped(index)) {
    ClipResult result = result_of(index);
    if (result.action == MemberAction::copied) writer.copy(member(index));
    return end(result);
  }
  MemberClip clip(clipping_, archive_, member(index));
  clipping_.observer.planned(clip.result());
  writer.add(member(index), clip.size(), [&](OutputFile& output) { return clip.write(output); });
  end(clip.result());
}

void ArchiveClip::expect_written(InputFile& output, const std::string& /*out*/) const {
  if (archive_format(output) != &archive_.format())
    throw Error(ErrorKind::input, output.path() + ": is not " + std::string(archive_.format().name));
  const Container written(output, KeptFor::reading);
  const auto header_of = [](const Container& archive, const Entry& entry) {
    return archive.header(entry, {}, npy::Types::clipped).header;
  };
  for (const MemberUse& use : uses_) {
    if (use.action == MemberAction::dropped) continue;
    const Entry& entry = written.named(use.member->name);
    bool is_right = entry.contents.size == use.member->contents.size;
    if (use.action == MemberAction::clipped) {
      const auto from = header_of(archive_, *use.member);
      const auto to = header_of(written, entry);
      is_right = from && to && from->shape == to->shape && from->meaning == to->meaning &&
                 to->dtype == use.to.value_or(from->dtype) &&
                 !has_other_order(clipping_.settings.request, *to);
    }
    if (!is_right)
      throw Error(ErrorKind::input,
                  written.path_of(entry) + ": has another dtype, shape or size than the result");
  }
}

void ArchiveClip::write(OutputFile& output) {
  attempt([&] { write_members(output); });
}

void ArchiveClip::write_members(OutputFile& output) {
  begin();
  MemberWriter writer(clipping_.engine, archive_, output, frame_);
  const auto make = [&](std::size_t i, Small& small) { clip_small(i, small); };
  const auto end_one = [&](std::size_t i, Small& small) {
    if (small.result.action == MemberAction::copied) writer.copy(member(i));
    const bool is_stored = member(i).method == Codec::stored;
    if (small.result.action == MemberAction::clipped)
      writer.add(member(i), small.contents, is_stored ? small.clipped.bytes() : small.deflated);
    end_small(small.result);
  };
  for_each([&](std::size_t i) { write_large(i, writer); },
           [&](std::size_t begin, std::size_t end) { in_order(begin, end, make, end_one); });
  writer.finish();
}

}  // namespace clipper
