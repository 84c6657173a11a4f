#include "npz/libzip.hpp"

#include <fmt/format.h>
#include <zip.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <exception>
#include <memory>
#include <mutex>
#include <new>
#include <string_view>

#include "npz/end_record.hpp"
#include "npz/library.hpp"
#include "npz/member_list.hpp"
#include "npz/member_name.hpp"
#include "npz/refuse.hpp"
#include "npz/window.hpp"
#include "npz/zip_records.hpp"

namespace clipper::npz {
namespace {

struct Libzip {
  Libzip() {
    const Library library(CLIPPER_LIBZIP);
    library.find("zip_discard", discard);
    library.find("zip_error_fini", error_fini);
    library.find("zip_error_init", error_init);
    library.find("zip_error_strerror", error_text);
    library.find("zip_get_name", name_of);
    library.find("zip_get_num_entries", count_of);
    library.find("zip_open_from_source", open);
    library.find("zip_source_free", free_source);
    library.find("zip_source_function_create", new_source);
    library.find("zip_source_seek_compute_offset", seek_offset);
    library.find("zip_stat_index", stat_of);
    library.find("zip_stat_init", init_stat);
  }

  decltype(&zip_discard) discard = nullptr;
  decltype(&zip_error_fini) error_fini = nullptr;
  decltype(&zip_error_init) error_init = nullptr;
  decltype(&zip_error_strerror) error_text = nullptr;
  decltype(&zip_get_name) name_of = nullptr;
  decltype(&zip_get_num_entries) count_of = nullptr;
  decltype(&zip_open_from_source) open = nullptr;
  decltype(&zip_source_free) free_source = nullptr;
  decltype(&zip_source_function_create) new_source = nullptr;
  decltype(&zip_source_seek_compute_offset) seek_offset = nullptr;
  decltype(&zip_stat_index) stat_of = nullptr;
  decltype(&zip_stat_init) init_stat = nullptr;
};

const Libzip& libzip() {
  static const Libzip loaded;
  return loaded;
}

/// The archive as libzip reads it: by a callback, which gets this.
class Source {
 public:
  Source(const ReadAt& read, std::uint64_t size) : window_(read, size, kAhead), size_(size) {
    libzip().error_init(&error_);
  }
  Source(const Source&) = delete;
  Source& operator=(const Source&) = delete;
  ~Source() { libzip().error_fini(&error_); }

  /// zip_source_callback of zip.h.
  static zip_int64_t call(void* self, void* data, zip_uint64_t length, zip_source_cmd_t command) {
    return static_cast<Source*>(self)->run(data, length, command);
  }

  /// Throws what happened while libzip read, or why it refused the archive.
  [[noreturn]] void fail() {
    if (failure_) std::rethrow_exception(failure_);
    if (error_.zip_err == ZIP_ER_MEMORY) throw std::bad_alloc();
    refuse(fmt::format("libzip refuses it: {}", libzip().error_text(&error_)));
  }

  [[nodiscard]] zip_error_t* error() { return &error_; }

 private:
  static constexpr std::size_t kAhead = 4096;
  static constexpr std::size_t kMaxRead = std::size_t{64} * 1024;

  zip_int64_t run(void* data, zip_uint64_t length, zip_source_cmd_t command) {
    switch (command) {
      case ZIP_SOURCE_SUPPORTS: return ZIP_SOURCE_SUPPORTS_SEEKABLE;
      case ZIP_SOURCE_OPEN: at_ = 0; return 0;
      case ZIP_SOURCE_READ: return read(data, length);
      case ZIP_SOURCE_SEEK: return seek(data, length);
      case ZIP_SOURCE_TELL: return static_cast<zip_int64_t>(at_);
      case ZIP_SOURCE_STAT: return stat(data, length);
      case ZIP_SOURCE_ERROR: return last_error(data, length);
      case ZIP_SOURCE_CLOSE:
      case ZIP_SOURCE_FREE: return 0;
      default: return -1;
    }
  }

  zip_int64_t read(void* data, zip_uint64_t length) {
    try {
      const auto count = static_cast<std::size_t>(std::min<std::uint64_t>({length, size_ - at_, kMaxRead}));
      if (count > 0) std::memcpy(data, window_.bytes(at_, count).data(), count);
      at_ += count;
      return static_cast<zip_int64_t>(count);
    } catch (...) {
      failure_ = std::current_exception();
      return -1;
    }
  }

  zip_int64_t seek(void* data, zip_uint64_t length) {
    const zip_int64_t at = libzip().seek_offset(at_, size_, data, length, &error_);
    if (at < 0) return -1;
    at_ = static_cast<std::uint64_t>(at);
    return 0;
  }

  [[nodiscard]] zip_int64_t stat(void* data, zip_uint64_t length) const {
    if (length < sizeof(zip_stat_t)) return -1;
    auto* const result = static_cast<zip_stat_t*>(data);
    libzip().init_stat(result);
    result->valid = ZIP_STAT_SIZE;
    result->size = size_;
    return sizeof *result;
  }

  static zip_int64_t last_error(void* data, zip_uint64_t length) {
    constexpr int kErrors[] = {ZIP_ER_READ, EIO};
    if (length < sizeof kErrors) return -1;
    std::memcpy(data, kErrors, sizeof kErrors);
    return sizeof kErrors;
  }

  Window window_;
  std::uint64_t size_;
  std::uint64_t at_ = 0;
  zip_error_t error_{};
  std::exception_ptr failure_;
};

bool is_same(zip_t* opened, zip_uint64_t index, const Member& member) {
  const char* const name = libzip().name_of(opened, index, ZIP_FL_ENC_RAW);
  zip_stat_t found;
  libzip().init_stat(&found);
  if (name == nullptr || libzip().stat_of(opened, index, 0, &found) != 0) return false;
  constexpr zip_uint64_t kNeeded = ZIP_STAT_SIZE | ZIP_STAT_COMP_SIZE | ZIP_STAT_CRC | ZIP_STAT_COMP_METHOD;
  return name == member.name && (found.valid & kNeeded) == kNeeded && found.size == member.contents.size &&
         found.comp_size == member.contents.stored_size && found.crc == member.contents.crc &&
         found.comp_method == static_cast<std::uint16_t>(member.method);
}

}  // namespace

void compare_with_libzip(const ReadAt& read, std::uint64_t size, bool has_descriptors) {
  // libzip converts times with mktime(), which changes the process's time zone.
  static std::mutex one_at_a_time;
  const std::scoped_lock lock(one_at_a_time);
  Source source(read, size);
  zip_source_t* const handle = libzip().new_source(&Source::call, &source, source.error());
  if (handle == nullptr) source.fail();

  // ZIP_CHECKCONS refuses data descriptors if the local headers have sizes, too, as by Info-ZIP.
  const int flags = has_descriptors ? ZIP_RDONLY : ZIP_RDONLY | ZIP_CHECKCONS;
  const std::unique_ptr<zip_t, decltype(&zip_discard)> opened(libzip().open(handle, flags, source.error()),
                                                              libzip().discard);
  if (!opened) {
    libzip().free_source(handle);
    source.fail();
  }
  const End end = read_end(read, size);
  if (libzip().count_of(opened.get(), 0) != static_cast<zip_int64_t>(end.count))
    refuse("ambiguous: libzip finds another number of members");
  zip_uint64_t index = 0;
  read_list(read, size, end, [&](const Member& member) {
    if (!is_same(opened.get(), index++, member))
      refuse(fmt::format("ambiguous: libzip reads {} differently", member_text(member.name)));
  });
}

}  // namespace clipper::npz
