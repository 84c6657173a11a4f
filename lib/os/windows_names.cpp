#include <algorithm>
#include <array>
#include <cstring>
#include <memory>
#include <vector>

#include "os/os.hpp"
#include "os/windows_handles.hpp"

namespace clipper::os {
namespace {

// Of <ntifs.h>, which mingw lacks. Its enumeration ends before the last two.
constexpr auto kRenameInformation = static_cast<FILE_INFORMATION_CLASS>(10);
constexpr auto kLinkInformation = static_cast<FILE_INFORMATION_CLASS>(11);
constexpr auto kDispositionInformation = static_cast<FILE_INFORMATION_CLASS>(13);
const auto kDispositionInformationEx = static_cast<FILE_INFORMATION_CLASS>(64);
const auto kRenameInformationEx = static_cast<FILE_INFORMATION_CLASS>(65);
constexpr ULONG kReplace = 1;
constexpr ULONG kPosixRename = 2;
constexpr ULONG kDelete = 1;
constexpr ULONG kPosixDelete = 2;
constexpr ULONG kIgnoreReadOnly = 16;

/// FILE_RENAME_INFORMATION and FILE_LINK_INFORMATION.
struct NewName {
  ULONG flags;
  HANDLE directory;
  ULONG size;
  WCHAR name[1];
};

struct CloseHandle {
  void operator()(void* handle) const noexcept { ::CloseHandle(handle); }
};
using Handle = std::unique_ptr<void, CloseHandle>;

int fail_status(NTSTATUS status) noexcept {
  return fail(::RtlNtStatusToDosError(status));
}

bool is_reserved(std::wstring_view name) {
  const std::wstring stem(name.substr(0, name.find(L'.')));
  for (const wchar_t* const device : {L"CON", L"PRN", L"AUX", L"NUL", L"CONIN$", L"CONOUT$"})
    if (::_wcsicmp(stem.c_str(), device) == 0) return true;
  return stem.size() == 4 && std::wcschr(L"123456789\u00b9\u00b2\u00b3", stem[3]) != nullptr &&
         (::_wcsnicmp(stem.c_str(), L"COM", 3) == 0 || ::_wcsnicmp(stem.c_str(), L"LPT", 3) == 0);
}

/// Windows would drop a dot or space at the end, open a device or a stream of another file.
bool is_forbidden(std::wstring_view name) {
  if (name.empty() || name == L"." || name == L"..") return false;
  if (name.back() == L'.' || name.back() == L' ' || is_reserved(name)) return true;
  return std::ranges::any_of(name,
                             [](wchar_t c) { return c < 32 || std::wcschr(L"<>:\"|?*\\", c) != nullptr; });
}

/// The names in a path, with backslashes; empty, with errno, if Windows forbids one. A colon says only that
/// there is no such file: it may follow an archive's name.
std::wstring checked(const char* path, bool is_new) {
  std::wstring names = wide(path);
  const std::size_t root = wide(std::string_view(path).substr(0, root_length(path))).size();
  for (std::size_t begin = root; begin < names.size();) {
    const std::size_t end = std::min(names.find(L'/', begin), names.size());
    const std::wstring_view name = std::wstring_view(names).substr(begin, end - begin);
    if (is_forbidden(name)) {
      errno = is_new || name.find(L':') == name.npos ? kForbiddenName : ENOENT;
      return {};
    }
    begin = end + 1;
  }
  if (names.empty()) errno = ENOENT;
  std::ranges::replace(names, L'/', L'\\');
  return names;
}

/// The path of a file as \??\C:\..., which has no limit of 260 units.
std::wstring kernel_path(const std::wstring& path) {
  std::wstring full(::GetFullPathNameW(path.c_str(), 0, nullptr, nullptr), L'\0');
  full.resize(::GetFullPathNameW(path.c_str(), static_cast<DWORD>(full.size()), full.data(), nullptr));
  if (full.starts_with(L"\\\\?\\")) return L"\\??\\" + full.substr(4);
  const bool is_share = full.starts_with(L"\\\\");
  return is_share ? L"\\??\\UNC" + full.substr(1) : L"\\??\\" + full;
}

/// The path of an open file as C:\..., or \\SERVER\SHARE\...; empty, with errno, on failure.
std::wstring path_of(HANDLE handle) {
  constexpr std::wstring_view kShare = L"\\\\?\\UNC\\";
  std::wstring path(::GetFinalPathNameByHandleW(handle, nullptr, 0, 0), L'\0');
  path.resize(::GetFinalPathNameByHandleW(handle, path.data(), static_cast<DWORD>(path.size()), 0));
  if (path.empty()) fail();
  if (path.starts_with(kShare)) return L"\\\\" + path.substr(kShare.size());
  return path.starts_with(L"\\\\?\\") ? path.substr(4) : path;
}

/// Opens a name relative to a directory that is held open. Null, with errno, on failure.
Handle open_at(int directory, const char* name, ACCESS_MASK access, ULONG disposition, ULONG options) noexcept
    try {
  std::wstring names = checked(name, disposition != FILE_OPEN);
  if (names.empty()) return nullptr;
  OBJECT_ATTRIBUTES attributes{};
  if (directory == AT_FDCWD || root_length(name) > 0) {
    names = kernel_path(names);
  } else {
    attributes.RootDirectory = handle_of(directory);
    if (attributes.RootDirectory == INVALID_HANDLE_VALUE) return nullptr;
    if (names == L"." || names == L"..") {
      names = kernel_path(path_of(attributes.RootDirectory) + L"\\" + names);
      attributes.RootDirectory = nullptr;
    }
  }
  UNICODE_STRING text{};
  text.Length = static_cast<USHORT>(std::min<std::size_t>(names.size(), 32767) * sizeof(wchar_t));
  text.MaximumLength = text.Length;
  text.Buffer = names.data();
  attributes.Length = sizeof attributes;
  attributes.ObjectName = &text;
  attributes.Attributes = OBJ_CASE_INSENSITIVE;
  HANDLE handle = nullptr;
  IO_STATUS_BLOCK done{};
  const NTSTATUS status =
      ::NtCreateFile(&handle, access | SYNCHRONIZE, &attributes, &done, nullptr, FILE_ATTRIBUTE_NORMAL,
                     FILE_SHARE_READ | FILE_SHARE_WRITE | FILE_SHARE_DELETE, disposition,
                     options | FILE_SYNCHRONOUS_IO_NONALERT | FILE_OPEN_FOR_BACKUP_INTENT, nullptr, 0);
  if (status >= 0) return Handle(handle);
  fail_status(status);
  return nullptr;
} catch (...) {
  errno = ENOMEM;
  return nullptr;
}

ULONG link_options(bool follows) {
  return follows ? 0 : FILE_OPEN_REPARSE_POINT;
}

/// Gives the open file a name in the directory, as a rename or another link.
NTSTATUS set_name(HANDLE file, FILE_INFORMATION_CLASS how, ULONG flags, int directory, const char* name) {
  constexpr auto kNameInvalid = static_cast<NTSTATUS>(0xC0000033);
  const std::wstring text = checked(name, true);
  if (text.empty()) return kNameInvalid;
  std::vector<std::byte> bytes(sizeof(NewName) + text.size() * sizeof(wchar_t));
  NewName header{};
  header.flags = flags;
  header.directory = handle_of(directory);
  header.size = static_cast<ULONG>(text.size() * sizeof(wchar_t));
  std::memcpy(bytes.data(), &header, sizeof header);
  std::memcpy(bytes.data() + offsetof(NewName, name), text.data(), header.size);
  IO_STATUS_BLOCK done{};
  return ::NtSetInformationFile(file, &done, bytes.data(), static_cast<ULONG>(bytes.size()), how);
}

/// Whether Windows before 10, version 1607, or a file system such as FAT lacks this way.
bool is_unknown(NTSTATUS status) {
  constexpr auto kNotImplemented = static_cast<NTSTATUS>(0xC0000002);
  constexpr auto kInvalidClass = static_cast<NTSTATUS>(0xC0000003);
  constexpr auto kInvalidParameter = static_cast<NTSTATUS>(0xC000000D);
  constexpr auto kNotSupported = static_cast<NTSTATUS>(0xC00000BB);
  return status == kNotImplemented || status == kInvalidClass || status == kInvalidParameter ||
         status == kNotSupported;
}

int rename_at(int from_directory, const char* from, int to_directory, const char* to, ULONG flags) noexcept
    try {
  const Handle file = open_at(from_directory, from, DELETE, FILE_OPEN, link_options(false));
  if (!file) return -1;
  NTSTATUS status = set_name(file.get(), kRenameInformationEx, flags | kPosixRename, to_directory, to);
  if (is_unknown(status)) status = set_name(file.get(), kRenameInformation, flags, to_directory, to);
  if (status >= 0) return 0;
  fail_status(status);
  Status there{};
  if (errno == EACCES && flags == kReplace && fstatat(to_directory, to, &there, AT_SYMLINK_NOFOLLOW) == 0)
    errno = (there.st_mode & 0200) != 0 ? ETXTBSY : EACCES;
  else if (errno != EEXIST)
    fail_status(status);
  return -1;
} catch (...) {
  errno = ENOMEM;
  return -1;
}

}  // namespace

// Names

int fstatat(int directory, const char* name, Status* status, int flags) noexcept {
  const bool follows = (flags & AT_SYMLINK_NOFOLLOW) == 0;
  const Handle file = open_at(directory, name, FILE_READ_ATTRIBUTES, FILE_OPEN, link_options(follows));
  return file ? status_of(file.get(), *status) : -1;
}

int stat(const char* path, Status* status) noexcept {
  return fstatat(AT_FDCWD, path, status, 0);
}

int lstat(const char* path, Status* status) noexcept {
  return fstatat(AT_FDCWD, path, status, AT_SYMLINK_NOFOLLOW);
}

int access(const char* path, int /*mode*/) noexcept {
  Status status{};
  return stat(path, &status);
}

int check_access(int directory, const char* name, int mode) noexcept {
  Status status{};
  if (fstatat(directory, name, &status, 0) != 0) return -1;
  if ((mode & W_OK) == 0 || S_ISDIR(status.st_mode) || (status.st_mode & 0200) != 0) return 0;
  errno = EACCES;
  return -1;
}

int mkdirat(int directory, const char* name, Mode /*mode*/) noexcept {
  return open_at(directory, name, FILE_LIST_DIRECTORY, FILE_CREATE, FILE_DIRECTORY_FILE) ? 0 : -1;
}

/// A directory that is held open is flushed when names in it have changed, which takes the right to make
/// names.
int openat(int directory, const char* name, int flags, Mode /*mode*/) noexcept {
  if ((flags & O_TMPFILE) != 0) return fail(ERROR_NOT_SUPPORTED);
  const int kind = flags & O_ACCMODE;
  ACCESS_MASK access = FILE_READ_ATTRIBUTES;
  if ((flags & O_PATH) == 0 && kind != O_WRONLY) access |= FILE_GENERIC_READ;
  if ((flags & O_PATH) == 0 && kind != O_RDONLY) access |= FILE_GENERIC_WRITE;
  if ((flags & O_DIRECTORY) != 0) access |= FILE_LIST_DIRECTORY | FILE_TRAVERSE;
  const bool is_new = (flags & O_CREAT) != 0;
  ULONG options = link_options((flags & O_NOFOLLOW) == 0);
  if ((flags & O_DIRECTORY) != 0) options |= FILE_DIRECTORY_FILE;
  if (is_new) options |= FILE_NON_DIRECTORY_FILE;
  const ULONG disposition = !is_new ? FILE_OPEN : (flags & O_EXCL) != 0 ? FILE_CREATE : FILE_OPEN_IF;
  const bool is_flushed = (flags & O_DIRECTORY) != 0 && (flags & O_PATH) == 0;
  Handle file;
  if (is_flushed) file = open_at(directory, name, access | FILE_ADD_FILE, disposition, options);
  if (!file) file = open_at(directory, name, access, disposition, options);
  if (!file) return -1;
  Status status{};
  if ((flags & O_NOFOLLOW) != 0 && status_of(file.get(), status) == 0 && S_ISLNK(status.st_mode)) {
    errno = ELOOP;
    return -1;
  }
  const int fd = ::_open_osfhandle(reinterpret_cast<std::intptr_t>(file.get()), O_BINARY | O_NOINHERIT);
  if (fd >= 0) static_cast<void>(file.release());
  return fd;
}

int open(const char* path, int flags, Mode mode) noexcept {
  if (std::string_view(path) == "/dev/null") return ::_open("NUL", (flags & O_ACCMODE) | O_BINARY);
  return openat(AT_FDCWD, path, flags, mode);
}

std::string real_path(const std::string& path) try {
  const Handle file = open_at(AT_FDCWD, path.c_str(), FILE_READ_ATTRIBUTES, FILE_OPEN, 0);
  return file ? with_slashes(narrow(path_of(file.get()))) : std::string();
} catch (...) {
  errno = ENOMEM;
  return {};
}

int renameat(int from_directory, const char* from, int to_directory, const char* to) noexcept {
  return rename_at(from_directory, from, to_directory, to, kReplace);
}

int rename_new(int from_directory, const char* from, int to_directory, const char* to) noexcept {
  return rename_at(from_directory, from, to_directory, to, 0);
}

int exchange_names(int, const char*, int, const char*) noexcept {
  return fail(ERROR_NOT_SUPPORTED);
}

int link_file(int, int, const char*) noexcept {
  return fail(ERROR_NOT_SUPPORTED);
}

int linkat(int from_directory, const char* from, int to_directory, const char* to, int /*flags*/) noexcept
    try {
  if (*from == '\0') return fail(ERROR_NOT_SUPPORTED);  // files without names
  const Handle file = open_at(from_directory, from, FILE_WRITE_ATTRIBUTES, FILE_OPEN, link_options(false));
  if (!file) return -1;
  const NTSTATUS status = set_name(file.get(), kLinkInformation, 0, to_directory, to);
  return status >= 0 ? 0 : fail_status(status);
} catch (...) {
  errno = ENOMEM;
  return -1;
}

int unlinkat(int directory, const char* name, int /*flags*/) noexcept {
  const Handle file = open_at(directory, name, DELETE, FILE_OPEN, link_options(false));
  if (!file) return -1;
  IO_STATUS_BLOCK done{};
  ULONG how = kDelete | kPosixDelete | kIgnoreReadOnly;
  NTSTATUS status = ::NtSetInformationFile(file.get(), &done, &how, sizeof how, kDispositionInformationEx);
  BOOLEAN old_way = 1;
  if (is_unknown(status))
    status = ::NtSetInformationFile(file.get(), &done, &old_way, sizeof old_way, kDispositionInformation);
  return status >= 0 ? 0 : fail_status(status);
}

bool are_on_one_mount(int, const char*, const char*) noexcept {
  return true;
}

bool is_append_only(int) noexcept {
  return false;
}

bool is_sticky_for(int, const Status&) noexcept {
  return false;
}

// Directories

struct DIR {
  int fd;
  bool has_begun = false;
  std::size_t at = 0;  ///< of the next entry; 0 if none is read
  dirent entry{};
  alignas(8) std::array<std::byte, 65536> bytes{};
};

DIR* fdopendir(int fd) noexcept try {
  auto directory = std::make_unique<DIR>();
  directory->fd = fd;
  return directory.release();
} catch (...) {
  errno = ENOMEM;
  return nullptr;
}

int dirfd(DIR* directory) noexcept {
  return directory->fd;
}

int closedir(DIR* directory) noexcept {
  const std::unique_ptr<DIR> owned(directory);
  return close(directory->fd);
}

dirent* readdir(DIR* directory) noexcept try {
  if (directory->at == 0) {
    const auto how = directory->has_begun ? FileIdBothDirectoryInfo : FileIdBothDirectoryRestartInfo;
    directory->has_begun = true;
    if (::GetFileInformationByHandleEx(handle_of(directory->fd), how, directory->bytes.data(),
                                       static_cast<DWORD>(directory->bytes.size())) == 0) {
      if (::GetLastError() != ERROR_NO_MORE_FILES) fail();
      return nullptr;
    }
  }
  const std::byte* const begin = directory->bytes.data() + directory->at;
  const auto* const found = reinterpret_cast<const FILE_ID_BOTH_DIR_INFO*>(begin);
  const std::string name = narrow({found->FileName, found->FileNameLength / sizeof(wchar_t)});
  std::strncpy(directory->entry.d_name, name.c_str(), sizeof directory->entry.d_name - 1);
  directory->entry.d_type = DT_UNKNOWN;
  if ((found->FileAttributes & FILE_ATTRIBUTE_REPARSE_POINT) == 0)
    directory->entry.d_type = (found->FileAttributes & FILE_ATTRIBUTE_DIRECTORY) != 0 ? DT_DIR : DT_REG;
  directory->at = found->NextEntryOffset == 0 ? 0 : directory->at + found->NextEntryOffset;
  return &directory->entry;
} catch (...) {
  errno = ENOMEM;
  return nullptr;
}

}  // namespace clipper::os
