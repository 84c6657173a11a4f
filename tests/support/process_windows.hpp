#pragma once

#include "os/windows_handles.hpp"
#include "support/process.hpp"
#include "support/skip.hpp"

#undef small  // a macro of <rpcndr.h>

inline constexpr int SIGKILL = 9;

namespace clipper::testing {

/// The argument as CommandLineToArgvW() reads it: backslashes before a quote are doubled.
inline std::wstring as_argument(std::wstring_view word) {
  std::wstring text = L"\"";
  std::size_t backslashes = 0;
  for (const wchar_t c : word) {
    if (c == L'"') text.append(backslashes + 1, L'\\');
    backslashes = c == L'\\' ? backslashes + 1 : 0;
    text += c;
  }
  return text.append(backslashes, L'\\') + L"\" ";
}

/// The same as on Linux, for programs of Windows. A test ends if it wants another program, a signal, or to
/// prepare the new process.
class Process {
 public:
  using Settings = ProcessSettings;

  explicit Process(const std::vector<std::string>& words, const Settings& settings = {}) {
    if (!words.front().ends_with(".exe")) needs_posix(words.front());
    if (settings.prepare) needs_posix("limits, users and system calls of a new process");
    Handle child_input = make_pipe(input_, 0);
    Handle child_output = make_pipe(output_, 1);
    Handle child_error = make_pipe(error_, 1);
    std::wstring line;
    for (const std::string& word : words) line += as_argument(os::wide(word));
    STARTUPINFOW startup{};
    startup.cb = sizeof startup;
    startup.dwFlags = STARTF_USESTDHANDLES;
    startup.hStdInput = child_input.get();
    startup.hStdOutput = child_output.get();
    startup.hStdError = child_error.get();
    PROCESS_INFORMATION started{};
    REQUIRE(::CreateProcessW(nullptr, line.data(), nullptr, nullptr, TRUE, DETACHED_PROCESS, nullptr,
                             os::wide(settings.directory).c_str(), &startup, &started) != 0);
    ::CloseHandle(started.hThread);
    process_.reset(started.hProcess);
  }

  Process(Process&&) = delete;
  Process& operator=(Process&&) = delete;

  ~Process() {
    ::TerminateProcess(process_.get(), 1);
    ::WaitForSingleObject(process_.get(), INFINITE);
  }

  [[nodiscard]] static int pid() { return needs_posix("numbers of processes"), 0; }
  void send(int signal) const {
    if (signal != SIGKILL) needs_posix("signals");
    ::TerminateProcess(process_.get(), kKilled);
  }
  static void stop() { needs_posix("signals"); }

  void write(std::string_view bytes) {
    for (DWORD done = 0; !bytes.empty(); bytes.remove_prefix(done))
      if (::WriteFile(input_.get(), bytes.data(), static_cast<DWORD>(bytes.size()), &done, nullptr) == 0)
        return;  // the pipe has no reader
  }

  void wait_for_output_or_end() const {
    wait_until([&] {
      DWORD size = 0;
      return ::PeekNamedPipe(output_.get(), nullptr, 0, nullptr, &size, nullptr) == 0 || size > 0;
    });
  }

  void close_output() { output_.reset(); }

  Result finish(std::string_view input = "") {
    Result result;
    std::thread writer([&] {
      write(input);
      input_.reset();
    });
    std::thread reader([&] { read_all(error_, result.error); });
    read_all(output_, result.output);
    writer.join();
    reader.join();
    ::WaitForSingleObject(process_.get(), INFINITE);
    DWORD code = 0;
    ::GetExitCodeProcess(process_.get(), &code);
    if (code == kKilled)
      result.signal = SIGKILL;
    else
      result.exit_code = static_cast<int>(code);
    return result;
  }

 private:
  struct Close {
    void operator()(void* handle) const { ::CloseHandle(handle); }
  };
  using Handle = std::unique_ptr<void, Close>;

  /// Returns the end that the new process inherits: `inherited` is 0 for the one to read from, otherwise 1.
  static Handle make_pipe(Handle& own, std::size_t inherited) {
    std::array<HANDLE, 2> ends{};
    REQUIRE(::CreatePipe(&ends[0], &ends[1], nullptr, 0) != 0);
    own.reset(ends[1 - inherited]);
    ::SetHandleInformation(ends[inherited], HANDLE_FLAG_INHERIT, HANDLE_FLAG_INHERIT);
    return Handle(ends[inherited]);
  }

  static void read_all(const Handle& stream, std::string& into) {
    std::array<char, 65536> bytes{};
    DWORD got = 0;
    while (stream && ::ReadFile(stream.get(), bytes.data(), bytes.size(), &got, nullptr) != 0)
      into.append(bytes.data(), got);
  }

  static constexpr DWORD kKilled = 128 + SIGKILL;

  Handle process_;
  Handle input_;
  Handle output_;
  Handle error_;
};

}  // namespace clipper::testing
