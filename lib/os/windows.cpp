#include <malloc.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cstdlib>
#include <limits>
#include <system_error>
#include <utility>
#include <vector>

#include "os/os.hpp"
#include "os/windows_handles.hpp"

extern "C" WCHAR NTAPI RtlUpcaseUnicodeChar(WCHAR unit);
extern "C" BOOLEAN NTAPI SystemFunction036(PVOID bytes, ULONG size);  // RtlGenRandom() has no other name

namespace clipper::os {
namespace {

struct ErrorRow {
  DWORD windows;
  int posix;
};

constexpr ErrorRow kErrors[] = {
    {ERROR_ACCESS_DENIED, EACCES},
    {ERROR_ALREADY_EXISTS, EEXIST},
    {ERROR_BAD_NETPATH, ENOENT},
    {ERROR_BAD_NET_NAME, ENOENT},
    {ERROR_BAD_PATHNAME, kForbiddenName},
    {ERROR_BROKEN_PIPE, EPIPE},
    {ERROR_CALL_NOT_IMPLEMENTED, ENOSYS},
    {ERROR_CANT_RESOLVE_FILENAME, ELOOP},
    {ERROR_DELETE_PENDING, ETXTBSY},
    {ERROR_DIRECTORY, ENOTDIR},
    {ERROR_DIR_NOT_EMPTY, ENOTEMPTY},
    {ERROR_DISK_FULL, ENOSPC},
    {ERROR_DISK_QUOTA_EXCEEDED, ENOSPC},
    {ERROR_FILENAME_EXCED_RANGE, ENAMETOOLONG},
    {ERROR_FILE_EXISTS, EEXIST},
    {ERROR_FILE_NOT_FOUND, ENOENT},
    {ERROR_HANDLE_DISK_FULL, ENOSPC},
    {ERROR_INVALID_DRIVE, ENOENT},
    {ERROR_INVALID_FUNCTION, ENOSYS},
    {ERROR_INVALID_HANDLE, EBADF},
    {ERROR_INVALID_NAME, kForbiddenName},
    {ERROR_INVALID_PARAMETER, EINVAL},
    {ERROR_LOCK_VIOLATION, ETXTBSY},
    {ERROR_NOT_ENOUGH_MEMORY, ENOMEM},
    {ERROR_NOT_SAME_DEVICE, EXDEV},
    {ERROR_NOT_SUPPORTED, ENOSYS},
    {ERROR_NO_DATA, EPIPE},
    {ERROR_OUTOFMEMORY, ENOMEM},
    {ERROR_PATH_NOT_FOUND, ENOENT},
    {ERROR_PIPE_NOT_CONNECTED, EPIPE},
    {ERROR_PRIVILEGE_NOT_HELD, EACCES},
    {ERROR_SHARING_VIOLATION, ETXTBSY},
    {ERROR_TOO_MANY_LINKS, EMLINK},
    {ERROR_TOO_MANY_OPEN_FILES, EMFILE},
    {ERROR_USER_MAPPED_FILE, ETXTBSY},
    {ERROR_WRITE_PROTECT, EROFS},
};

constexpr bool is_surrogate(char32_t code) {
  return code >= 0xD800 && code < 0xE000;
}

void append_utf8(std::string& text, char32_t code) {
  const auto tail = [&](int bits) { text += static_cast<char>(0x80U | ((code >> bits) & 0x3FU)); };
  if (code < 0x80) {
    text += static_cast<char>(code);
  } else if (code < 0x800) {
    text += static_cast<char>(0xC0U | (code >> 6));
    tail(0);
  } else if (code < 0x10000) {
    text += static_cast<char>(0xE0U | (code >> 12));
    tail(6);
    tail(0);
  } else {
    text += static_cast<char>(0xF0U | (code >> 18));
    tail(12);
    tail(6);
    tail(0);
  }
}

/// The first character, which is taken from the text; U+FFFD for a byte that is not UTF-8.
char32_t take_utf8(std::string_view& text) {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned first = byte(0);
  const auto length = static_cast<std::size_t>(std::countl_one(static_cast<unsigned char>(first)));
  bool is_whole = length != 1 && length <= 4 && length <= text.size();
  for (std::size_t i = 1; is_whole && i < length; ++i) is_whole = (byte(i) & 0xC0U) == 0x80;
  char32_t code = is_whole ? first & (length == 0 ? 0x7FU : 0xFFU >> (length + 1)) : 0xFFFD;
  for (std::size_t i = 1; is_whole && i < length; ++i) code = (code << 6) | (byte(i) & 0x3FU);
  text.remove_prefix(is_whole ? std::max<std::size_t>(length, 1) : 1);
  return code;
}

}  // namespace

std::wstring wide(std::string_view text) {
  std::wstring result;
  while (!text.empty()) {
    const char32_t code = take_utf8(text);
    if (code >= 0x10000) result += static_cast<wchar_t>(0xD7C0 + (code >> 10));
    result += static_cast<wchar_t>(code < 0x10000 ? code : 0xDC00 + (code & 0x3FFU));
  }
  return result;
}

std::string narrow(std::wstring_view text) {
  std::string result;
  for (std::size_t i = 0; i < text.size(); ++i) {
    char32_t code = text[i];
    const bool has_low = i + 1 < text.size() && is_surrogate(text[i + 1]) && text[i + 1] >= 0xDC00;
    if (is_surrogate(code) && code < 0xDC00 && has_low)
      code = 0x10000 + ((code - 0xD800) << 10) + (char32_t{text[++i]} - 0xDC00);
    append_utf8(result, code);
  }
  return result;
}

int fail(DWORD error) noexcept {
  const auto* const row = std::ranges::find(kErrors, error, &ErrorRow::windows);
  errno = row != std::end(kErrors) ? row->posix : EIO;
  return -1;
}

HANDLE handle_of(int fd) noexcept {
  const std::intptr_t handle = fd < 0 ? -1 : ::_get_osfhandle(fd);
  if (handle != -1 && handle != -2) return reinterpret_cast<HANDLE>(handle);  // -2: a stream without a file
  errno = EBADF;
  return INVALID_HANDLE_VALUE;
}

// Texts

/// The C library would end the process for a descriptor that is not open, and would write "\r\n" for "\n".
void begin(int& argc, char**& argv) {
  static std::vector<std::string> words;
  static std::vector<char*> pointers;
  ::_set_invalid_parameter_handler(
      [](const wchar_t*, const wchar_t*, const wchar_t*, unsigned, std::uintptr_t) {});
  ::SetErrorMode(SEM_FAILCRITICALERRORS | SEM_NOOPENFILEERRORBOX);
  for (const int fd : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) ::_setmode(fd, O_BINARY);
  if (isatty(STDOUT_FILENO) != 0 || isatty(STDERR_FILENO) != 0) {
    static const UINT before = ::GetConsoleOutputCP();
    ::SetConsoleOutputCP(CP_UTF8);
    std::atexit([] { ::SetConsoleOutputCP(before); });
  }
  int count = 0;
  wchar_t** const typed = ::CommandLineToArgvW(::GetCommandLineW(), &count);
  if (typed == nullptr) return;
  for (int i = 0; i < count; ++i) words.push_back(with_slashes(narrow(typed[i])));
  for (std::string& word : words) pointers.push_back(word.data());
  pointers.push_back(nullptr);
  argc = count;
  argv = pointers.data();
  ::LocalFree(typed);
}

std::string error_text(int error) {
  switch (error) {
    case ELOOP: return "Too many levels of symbolic links";
    case EOPNOTSUPP: return "Operation not supported";
    case ETXTBSY: return "another program has it open";
    case ESTALE: return "it was replaced";
    case kForbiddenName: return "Windows forbids this name";
    default: return std::generic_category().message(error);
  }
}

bool is_held_open(int error) noexcept {
  return error == ETXTBSY;
}

bool is_unsupported(int error) noexcept {
  return error == EINVAL || error == ENOSYS || error == EOPNOTSUPP;
}

std::filesystem::path native(const std::string& path) {
  return wide(path);
}

std::string text_of(const std::filesystem::path& path) {
  return with_slashes(narrow(path.native()));
}

std::string joined(const std::string& directory, const std::string& name) {
  return text_of(native(directory) / native(name));
}

std::string folded(const std::string& name) {
  std::wstring units = wide(name);
  std::ranges::transform(units, units.begin(), ::RtlUpcaseUnicodeChar);
  return narrow(units);
}

std::string with_slashes(std::string path) {
  std::ranges::replace(path, '\\', '/');
  return path;
}

std::size_t root_length(std::string_view path) noexcept {
  if (path.starts_with("//")) {
    const std::size_t server = path.find('/', 2);
    const std::size_t share = server == path.npos ? path.npos : path.find('/', server + 1);
    return std::min(share == path.npos ? share : share + 1, path.size());
  }
  if (path.starts_with('/')) return 1;
  return path.size() > 2 && path[1] == ':' && path[2] == '/' ? 3 : 0;
}

std::string temporary_directory() {
  std::array<wchar_t, MAX_PATH + 1> path{};
  const DWORD size = ::GetTempPathW(static_cast<DWORD>(path.size()), path.data());
  std::string text = with_slashes(narrow({path.data(), size}));
  if (text.size() > root_length(text) && text.ends_with('/')) text.pop_back();
  return text;
}

namespace {

/// Whether the set that begins after '[' has the character; moves `pattern` behind it. Nothing if it has no
/// end.
std::optional<bool> take_set(std::string_view& pattern, char c) {
  std::string_view rest = pattern;
  const bool negated = rest.starts_with('!') || rest.starts_with('^');
  if (negated) rest.remove_prefix(1);
  bool found = false;
  for (bool is_first = true; !rest.empty() && (is_first || rest.front() != ']'); is_first = false) {
    const auto first = static_cast<unsigned char>(rest.front());
    const bool is_range = rest.size() > 2 && rest[1] == '-' && rest[2] != ']';
    const auto last = static_cast<unsigned char>(is_range ? rest[2] : rest.front());
    const auto value = static_cast<unsigned char>(c);
    found = found || (first <= value && value <= last);
    rest.remove_prefix(is_range ? 3 : 1);
  }
  if (rest.empty()) return std::nullopt;
  pattern = rest.substr(1);
  return found != negated;
}

bool matches(std::string_view pattern, std::string_view text) {
  for (; !pattern.empty(); text.remove_prefix(1)) {
    const char kind = pattern.front();
    pattern.remove_prefix(1);
    if (kind == '*') {
      for (;; text.remove_prefix(1)) {
        if (matches(pattern, text)) return true;
        if (text.empty()) return false;
      }
    }
    if (text.empty()) return false;
    if (kind == '?') continue;
    const std::optional<bool> in_set = kind == '[' ? take_set(pattern, text.front()) : std::nullopt;
    if (!in_set.value_or(kind == text.front())) return false;
  }
  return text.empty();
}

}  // namespace

int fnmatch(const char* pattern, const char* text, int /*flags*/) noexcept {
  return matches(pattern, text) ? 0 : 1;
}

// Terminals

int isatty(int fd) noexcept {
  DWORD mode = 0;
  return ::GetConsoleMode(handle_of(fd), &mode) != 0 ? 1 : 0;
}

bool is_capable_terminal(int fd) {
  DWORD mode = 0;
  return ::GetConsoleMode(handle_of(fd), &mode) != 0 &&
         ::SetConsoleMode(handle_of(fd), mode | ENABLE_VIRTUAL_TERMINAL_PROCESSING) != 0;
}

std::size_t columns(int fd) noexcept {
  CONSOLE_SCREEN_BUFFER_INFO info{};
  if (::GetConsoleScreenBufferInfo(handle_of(fd), &info) == 0) return 0;
  return static_cast<std::size_t>(info.srWindow.Right - info.srWindow.Left + 1);
}

bool is_writable(int, int) noexcept {
  return true;
}

// Memory

std::byte* allocate_aligned(std::size_t alignment, std::size_t size) noexcept {
  return static_cast<std::byte*>(::_aligned_malloc(size, alignment));
}

void free_aligned(std::byte* memory) noexcept {
  ::_aligned_free(memory);
}

void* mmap(void*, std::size_t, int, int, int, off_t) noexcept {
  fail(ERROR_NOT_SUPPORTED);
  return MAP_FAILED;
}

int madvise(void*, std::size_t, int) noexcept {
  return fail(ERROR_NOT_SUPPORTED);
}

int munmap(void*, std::size_t) noexcept {
  return fail(ERROR_NOT_SUPPORTED);
}

std::size_t page_size() noexcept {
  return 4096;
}

bool is_sealed(int) noexcept {
  return false;
}

bool is_resident(const std::byte*) noexcept {
  return false;
}

bool can_map(std::size_t size) noexcept {
  void* const memory = ::VirtualAlloc(nullptr, size, MEM_RESERVE, PAGE_READWRITE);
  return memory != nullptr && ::VirtualFree(memory, 0, MEM_RELEASE) != 0;
}

// The process and the machine

bool is_linux(unsigned, unsigned) noexcept {
  return false;
}

std::optional<std::uint64_t> limit_of(Limit limit) noexcept {
  constexpr std::uint64_t kMaxDescriptors = 8192;  // of the C library
  return limit == Limit::descriptors ? std::optional(kMaxDescriptors) : std::nullopt;
}

unsigned cpus() noexcept {
  DWORD_PTR own = 0;
  DWORD_PTR all = 0;
  ::GetProcessAffinityMask(::GetCurrentProcess(), &own, &all);
  return std::max(1U, static_cast<unsigned>(std::popcount(std::uint64_t{own})));
}

unsigned startable_threads(unsigned wanted, std::size_t) {
  return wanted;
}

std::size_t thread_stack() noexcept {
  return 0;
}

std::size_t second_level_cache() noexcept {
  return 0;
}

int clock_getres(int, struct timespec* resolution) noexcept {
  constexpr long kTick = 15'625'000;  // the longest between two times
  *resolution = {};
  resolution->tv_nsec = kTick;
  return 0;
}

int clock_gettime(int, struct timespec* now) noexcept {
  constexpr std::uint64_t kTicks = 10'000'000;               // in a second
  constexpr std::uint64_t kEpoch = 116'444'736'000'000'000;  // from 1601 to 1970
  FILETIME time{};
  ::GetSystemTimeAsFileTime(&time);
  const std::uint64_t since = ((std::uint64_t{time.dwHighDateTime} << 32) | time.dwLowDateTime) - kEpoch;
  now->tv_sec = static_cast<decltype(now->tv_sec)>(since / kTicks);
  now->tv_nsec = static_cast<decltype(now->tv_nsec)>(since % kTicks * 100);
  return 0;
}

ssize_t getrandom(void* to, std::size_t size, unsigned) noexcept {
  return SystemFunction036(to, static_cast<ULONG>(size)) != 0 ? static_cast<ssize_t>(size) : -1;
}

unsigned geteuid() noexcept {
  return 0;
}

int getpid() noexcept {
  return static_cast<int>(::GetCurrentProcessId());
}

int pause() noexcept {
  ::Sleep(INFINITE);
  return -1;
}

void _exit(int status) noexcept {
  ::TerminateProcess(::GetCurrentProcess(), static_cast<UINT>(status));
  ::abort();
}

// Signals: Windows calls the handler in a thread of its own, so there is nothing to block.

SignalMask block_signals() noexcept {
  return {};
}

void restore_signals(const SignalMask&) noexcept {}

bool is_fault(int) noexcept {
  return false;
}

namespace {

void (*ending_handler)(int);

BOOL WINAPI take_control(DWORD event) {
  ending_handler(event == CTRL_C_EVENT ? SIGINT : SIGTERM);
  if (event == CTRL_CLOSE_EVENT) ::Sleep(INFINITE);  // Windows ends the process when this returns, or later
  return TRUE;
}

}  // namespace

void handle_ending_signals(void (*handler)(int)) noexcept {
  ending_handler = handler;
  ::SetConsoleCtrlHandler(take_control, TRUE);
}

void handle_bus_errors(bool (*)(const void*) noexcept) noexcept {}

void end_by_signal(int signal) noexcept {
  constexpr int kControlC = static_cast<int>(0xC000013A);  // STATUS_CONTROL_C_EXIT
  _exit(signal == SIGINT ? kControlC : 128 + signal);
}

}  // namespace clipper::os
