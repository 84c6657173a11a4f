#include "files/mapped_block.hpp"

#include <cerrno>

#include "files/descriptor.hpp"
#include "os/os.hpp"

namespace clipper {
namespace {

constexpr int kPopulateWrite = 23;  // MADV_POPULATE_WRITE, in <sys/mman.h> since glibc 2.35
constexpr std::size_t kAddresses = 2 * MappedBlock::kSize;  // has an aligned block

constinit thread_local MappedBlock* stored_in = nullptr;  // by this thread

}  // namespace

bool MappedBlock::is_fast() noexcept {
  static const bool has_huge_pages = os::is_linux(6, 16);
  return has_huge_pages;
}

MappedBlock::MappedBlock(const OutputFile& output) noexcept
    : output_(output),
      reserved_(
          os::mmap(nullptr, kAddresses, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0)) {
  static const bool handled = (os::handle_bus_errors(repair), true);
  if (!handled || reserved_ == MAP_FAILED) return;
  auto* const first = static_cast<std::byte*>(reserved_);
  begin_ = first + (kSize - reinterpret_cast<std::uintptr_t>(first) % kSize) % kSize;
}

MappedBlock::~MappedBlock() {
  stored_in = nullptr;
  if (begin_ != nullptr) os::munmap(reserved_, kAddresses);
}

bool MappedBlock::place(int protection, int flags, int fd, std::uint64_t offset) const noexcept {
  return os::mmap(begin_, kSize, protection, flags | MAP_FIXED, fd, static_cast<off_t>(offset)) == begin_;
}

std::byte* MappedBlock::map(std::uint64_t offset) noexcept {
  if (begin_ == nullptr) return nullptr;
  if (!place(PROT_READ | PROT_WRITE, MAP_SHARED, output_.descriptor().get(), offset) ||
      os::madvise(begin_, kSize, MADV_HUGEPAGE) != 0 || os::madvise(begin_, kSize, kPopulateWrite) != 0)
    return nullptr;
  stored_in = this;
  return begin_;
}

void MappedBlock::expect_stored() const {
  if (failed_) throw_system_error(output_.path(), "cannot be written", EIO);
}

/// Gives the thread memory in place of the file's pages. Calls only what a signal handler may.
bool MappedBlock::repair(const void* address) noexcept {
  MappedBlock* const block = stored_in;
  if (block == nullptr) return false;
  const std::uintptr_t begin = reinterpret_cast<std::uintptr_t>(block->begin_);
  if (reinterpret_cast<std::uintptr_t>(address) - begin >= kSize) return false;
  block->failed_ = true;
  return block->place(PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
}

}  // namespace clipper
