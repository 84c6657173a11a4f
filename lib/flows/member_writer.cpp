#include "flows/member_writer.hpp"

#include <string>

#include "files/descriptor.hpp"

namespace clipper {
namespace {

/// Bytes that are written together.
constexpr std::size_t kMaxWaiting = 1UL << 20;

/// From this size on, a write of its own takes less time than a copy.
constexpr std::size_t kWrittenAlone = 16UL << 10;

std::span<const std::byte> as_bytes(const std::string& text) {
  return std::as_bytes(std::span(text));
}

}  // namespace

MemberWriter::MemberWriter(Engine& engine, const Container& from, OutputFile& output,
                           std::span<const std::byte> front)
    : engine_(engine), from_(from), output_(output) {
  append(front);
  if (!from.format().is_checked) return;
  list_.emplace(from.comment());
  std::size_t size = 0;
  for (const Entry& entry : from.entries()) size += entry.listed.size();
  list_->reserve(size);
}

/// What is in front of a member's data.
std::string MemberWriter::record_before(const Entry& from, const Contents& contents) const {
  return list_ ? npz::ArchiveWriter::local_header(from, contents) : "";
}

void MemberWriter::add_to_list(const Entry& from, const Contents& contents, std::uint64_t begin) {
  if (list_) list_->add(from, contents, begin);
}

void MemberWriter::append(std::span<const std::byte> bytes) {
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

void MemberWriter::flush() {
  output_.write_at(waiting_, written_);
  written_ += waiting_.size();
  waiting_.clear();
}

void MemberWriter::add(const Entry& from, const Contents& contents, std::span<const std::byte> data) {
  const std::uint64_t begin = written_ + waiting_.size();
  append(as_bytes(record_before(from, contents)));
  append(data);
  add_to_list(from, contents, begin);
}

void MemberWriter::add(const Entry& from, std::uint64_t size,
                       const std::function<Contents(OutputFile&)>& write) {
  flush();
  const std::uint64_t begin = written_;
  const std::uint64_t data = begin + record_before(from, {0, size, 0}).size();
  output_.set_base(data);
  const Contents contents = write(output_);
  output_.set_base(0);
  output_.write_at(as_bytes(record_before(from, contents)), begin);
  add_to_list(from, contents, begin);
  written_ = data + contents.stored_size;
}

void MemberWriter::copy(const Entry& from) {
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

void MemberWriter::finish() {
  flush();
  if (!list_) return;
  output_.write_at(as_bytes(list_->list()), written_);
  output_.write_at(as_bytes(list_->end_records(written_)), written_ + list_->list().size());
}

}  // namespace clipper
