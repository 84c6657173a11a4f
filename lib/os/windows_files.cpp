#include <algorithm>
#include <array>
#include <cstring>

#include "os/os.hpp"
#include "os/windows_handles.hpp"

namespace clipper::os {
namespace {

struct timespec time_of(const LARGE_INTEGER& time) {
  constexpr std::int64_t kTicks = 10'000'000;               // in a second
  constexpr std::int64_t kEpoch = 116'444'736'000'000'000;  // from 1601 to 1970
  struct timespec result {};
  result.tv_sec = (time.QuadPart - kEpoch) / kTicks;
  result.tv_nsec = static_cast<decltype(result.tv_nsec)>((time.QuadPart - kEpoch) % kTicks * 100);
  return result;
}

Mode type_of(const FILE_BASIC_INFO& basic, DWORD tag) {
  const bool is_link = tag == IO_REPARSE_TAG_SYMLINK || tag == IO_REPARSE_TAG_MOUNT_POINT;
  if ((basic.FileAttributes & FILE_ATTRIBUTE_REPARSE_POINT) != 0 && is_link) return S_IFLNK | 0777;
  const Mode permissions = (basic.FileAttributes & FILE_ATTRIBUTE_READONLY) != 0 ? 0555 : 0777;
  return (basic.FileAttributes & FILE_ATTRIBUTE_DIRECTORY) != 0 ? S_IFDIR | permissions
                                                                : S_IFREG | (permissions & 0666);
}

}  // namespace

int status_of(HANDLE handle, Status& status) noexcept {
  status = {};
  status.st_nlink = 1;
  const DWORD kind = ::GetFileType(handle);
  if (kind != FILE_TYPE_DISK) {
    status.st_mode = (kind == FILE_TYPE_PIPE ? S_IFIFO : S_IFCHR) | 0600;
    return kind != FILE_TYPE_UNKNOWN || ::GetLastError() == NO_ERROR ? 0 : fail();
  }
  FILE_BASIC_INFO basic{};
  FILE_ATTRIBUTE_TAG_INFO tag{};
  FILE_STANDARD_INFO standard{};
  BY_HANDLE_FILE_INFORMATION identity{};
  if (::GetFileInformationByHandleEx(handle, FileBasicInfo, &basic, sizeof basic) == 0 ||
      ::GetFileInformationByHandleEx(handle, FileStandardInfo, &standard, sizeof standard) == 0 ||
      ::GetFileInformationByHandle(handle, &identity) == 0)
    return fail();
  if ((basic.FileAttributes & FILE_ATTRIBUTE_REPARSE_POINT) != 0)
    ::GetFileInformationByHandleEx(handle, FileAttributeTagInfo, &tag, sizeof tag);
  status.st_dev = identity.dwVolumeSerialNumber;
  status.st_ino = (std::uint64_t{identity.nFileIndexHigh} << 32) | identity.nFileIndexLow;
  status.st_mode = type_of(basic, tag.ReparseTag);
  status.st_nlink = standard.NumberOfLinks;
  status.st_size = standard.EndOfFile.QuadPart;
  const bool is_sparse = (basic.FileAttributes & FILE_ATTRIBUTE_SPARSE_FILE) != 0;
  status.st_blocks = ((is_sparse ? standard.AllocationSize : standard.EndOfFile).QuadPart + 511) / 512;
  status.st_mtim = time_of(basic.LastWriteTime);
  status.st_ctim = time_of(basic.ChangeTime);
  return 0;
}

int close(int fd) noexcept {
  return ::_close(fd);
}

int fcntl(int fd, int command, int /*argument*/) noexcept {
  if (handle_of(fd) == INVALID_HANDLE_VALUE) return -1;
  return command == F_DUPFD_CLOEXEC ? ::_dup(fd) : 0;
}

int fstat(int fd, Status* status) noexcept {
  const HANDLE handle = handle_of(fd);
  return handle == INVALID_HANDLE_VALUE ? -1 : status_of(handle, *status);
}

/// FlushFileBuffers() would wait until somebody has read what is in a pipe.
int fsync(int fd) noexcept {
  const HANDLE handle = handle_of(fd);
  if (::GetFileType(handle) != FILE_TYPE_DISK) return fail(ERROR_INVALID_PARAMETER);
  return ::FlushFileBuffers(handle) != 0 ? 0 : fail();
}

int fdatasync(int fd) noexcept {
  return fsync(fd);
}

int syncfs(int) noexcept {
  return fail(ERROR_NOT_SUPPORTED);
}

int ftruncate(int fd, off_t size) noexcept {
  FILE_END_OF_FILE_INFO end{};
  end.EndOfFile.QuadPart = size;
  return ::SetFileInformationByHandle(handle_of(fd), FileEndOfFileInfo, &end, sizeof end) != 0 ? 0 : fail();
}

/// A byte that no file has: a lock of Windows forbids others to read what it covers.
int flock(int fd, int operation) noexcept {
  OVERLAPPED place{};
  place.Offset = 0xFFFFFFFE;
  place.OffsetHigh = 0x7FFFFFFF;
  const HANDLE handle = handle_of(fd);
  if ((operation & LOCK_UN) != 0) return ::UnlockFileEx(handle, 0, 1, 0, &place) != 0 ? 0 : fail();
  const DWORD flags = ((operation & LOCK_EX) != 0 ? LOCKFILE_EXCLUSIVE_LOCK : 0U) |
                      ((operation & LOCK_NB) != 0 ? LOCKFILE_FAIL_IMMEDIATELY : 0U);
  return ::LockFileEx(handle, flags, 0, 1, 0, &place) != 0 ? 0 : fail();
}

off_t lseek(int fd, off_t offset, int from) noexcept {
  LARGE_INTEGER moved{};
  LARGE_INTEGER position{};
  moved.QuadPart = offset;
  if (from > SEEK_END) return fail(ERROR_INVALID_PARAMETER);  // holes
  const bool done = ::SetFilePointerEx(handle_of(fd), moved, &position, static_cast<DWORD>(from)) != 0;
  return done ? position.QuadPart : fail();
}

namespace {

constexpr std::size_t kMaxTransfer = 1 << 30;

/// Reads or writes at the offset, or at the file's position if there is none. The end of a pipe is an end.
template <class Call>
ssize_t transfer(Call call, std::size_t size, const off_t* offset) noexcept {
  OVERLAPPED place{};
  if (offset != nullptr) {
    place.Offset = static_cast<DWORD>(*offset);
    place.OffsetHigh = static_cast<DWORD>(static_cast<std::uint64_t>(*offset) >> 32);
  }
  DWORD done = 0;
  if (call(static_cast<DWORD>(std::min(size, kMaxTransfer)), &done, offset != nullptr ? &place : nullptr) !=
      0)
    return static_cast<ssize_t>(done);
  const DWORD error = ::GetLastError();
  return error == ERROR_HANDLE_EOF || error == ERROR_BROKEN_PIPE ? 0 : fail(error);
}

ssize_t read_from(int fd, void* to, std::size_t size, const off_t* offset) noexcept {
  const HANDLE handle = handle_of(fd);
  return transfer(
      [&](DWORD part, DWORD* done, OVERLAPPED* place) { return ::ReadFile(handle, to, part, done, place); },
      size, offset);
}

/// A pipe without a reader takes no bytes.
ssize_t write_to(int fd, const void* from, std::size_t size, const off_t* offset) noexcept {
  const HANDLE handle = handle_of(fd);
  const ssize_t done = transfer(
      [&](DWORD part, DWORD* put, OVERLAPPED* place) { return ::WriteFile(handle, from, part, put, place); },
      size, offset);
  return done == 0 && size > 0 ? fail(ERROR_NO_DATA) : done;
}

}  // namespace

ssize_t pread(int fd, void* to, std::size_t size, off_t offset) noexcept {
  return read_from(fd, to, size, &offset);
}

ssize_t read(int fd, void* to, std::size_t size) noexcept {
  return read_from(fd, to, size, nullptr);
}

ssize_t write(int fd, const void* from, std::size_t size) noexcept {
  return write_to(fd, from, size, nullptr);
}

ssize_t write_parts(int fd, std::span<const iovec> parts, off_t offset) noexcept {
  const auto& [start, size] = parts.front();
  return write_to(fd, start, size, offset < 0 ? nullptr : &offset);
}

ssize_t write_uncached(int, std::span<const iovec>, off_t) noexcept {
  return fail(ERROR_NOT_SUPPORTED);
}

std::uint64_t cached_pages(int) noexcept {
  return 0;
}

int share_blocks(int, int, std::uint64_t, std::uint64_t) noexcept {
  return fail(ERROR_NOT_SUPPORTED);
}

int fallocate(int, int, off_t, off_t) noexcept {
  return fail(ERROR_NOT_SUPPORTED);
}

int posix_fadvise(int, off_t, off_t, int) noexcept {
  return 0;
}

int sync_file_range(int, off_t, off_t, unsigned) noexcept {
  return 0;
}

FileSystem file_system(int) noexcept {
  return FileSystem::other;
}

FileSystem file_system(const char*) noexcept {
  return FileSystem::other;
}

std::uint64_t free_bytes(int fd) noexcept {
  struct {
    LARGE_INTEGER all, caller, actual;
    ULONG sectors_per_unit, bytes_per_sector;
  } size{};
  IO_STATUS_BLOCK done{};
  constexpr auto kFullSize = static_cast<FS_INFORMATION_CLASS>(7);
  if (::NtQueryVolumeInformationFile(handle_of(fd), &done, &size, sizeof size, kFullSize) < 0)
    return UINT64_MAX;
  return static_cast<std::uint64_t>(size.caller.QuadPart) * size.sectors_per_unit * size.bytes_per_sector;
}

// What a replacement must not lose: alternate streams, which are listed as user.NAME, and the access control
// list.

namespace {

constexpr std::string_view kAccessList = "system.posix_acl_access";

ssize_t access_list(HANDLE handle, void* to, std::size_t room) noexcept {
  DWORD size = 0;
  if (::GetKernelObjectSecurity(handle, DACL_SECURITY_INFORMATION, to, static_cast<DWORD>(room), &size) != 0)
    return static_cast<ssize_t>(size);
  const DWORD error = ::GetLastError();
  errno = error == ERROR_INSUFFICIENT_BUFFER ? ERANGE : EOPNOTSUPP;
  return -1;
}

}  // namespace

ssize_t read_attribute(int fd, const char* name, char* to, std::size_t room) noexcept {
  if (name == kAccessList) return access_list(handle_of(fd), to, room);
  errno = ENODATA;
  return -1;
}

ssize_t getxattr(const char* path, const char* name, void* to, std::size_t room) noexcept {
  const int fd = open(path, O_RDONLY);
  if (fd < 0) return -1;
  const ssize_t size = read_attribute(fd, name, static_cast<char*>(to), room);
  const int error = errno;
  close(fd);
  errno = error;
  return size;
}

ssize_t list_attributes(int fd, char* to, std::size_t room) noexcept try {
  alignas(8) std::array<std::byte, 65536> bytes;
  if (::GetFileInformationByHandleEx(handle_of(fd), FileStreamInfo, bytes.data(), bytes.size()) == 0)
    return 0;
  std::string names;
  for (const std::byte* at = bytes.data();;) {
    const auto* const stream = reinterpret_cast<const FILE_STREAM_INFO*>(at);
    const std::string name = narrow({stream->StreamName, stream->StreamNameLength / sizeof(wchar_t)});
    if (name != "::$DATA") names.append("user.").append(name, 1, name.rfind(':') - 1).append(1, '\0');
    if (stream->NextEntryOffset == 0) break;
    at += stream->NextEntryOffset;
  }
  if (to != nullptr && names.size() > room) return errno = ERANGE, -1;
  if (to != nullptr) std::ranges::copy(names, to);
  return static_cast<ssize_t>(names.size());
} catch (...) {
  errno = ENOMEM;
  return -1;
}

/// Succeeds if the file has the list already, because its directory gave it the same one.
int write_attribute(int fd, const char* name, const char* from, std::size_t size) noexcept {
  std::array<char, 65536> own;
  const ssize_t found = name == kAccessList ? access_list(handle_of(fd), own.data(), own.size()) : -1;
  if (found == static_cast<ssize_t>(size) && std::memcmp(own.data(), from, size) == 0) return 0;
  errno = EOPNOTSUPP;
  return -1;
}

int remove_attribute(int, const char*) noexcept {
  errno = ENODATA;
  return -1;
}

int fchmod(int, Mode) noexcept {
  return 0;
}

int fchown(int, unsigned, unsigned) noexcept {
  return fail(ERROR_NOT_SUPPORTED);
}

}  // namespace clipper::os
