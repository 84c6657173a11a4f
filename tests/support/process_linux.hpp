#pragma once

#include <poll.h>
#include <sys/wait.h>

#include <csignal>

#include "files/descriptor.hpp"
#include "support/process.hpp"

namespace clipper::testing {

/// A running process. Its standard input, output and error are pipes to this process, no other file is open,
/// and signals have the defaults that a shell gives them.
class Process {
 public:
  using Settings = ProcessSettings;

  explicit Process(const std::vector<std::string>& words, const Settings& settings = {}) {
    std::signal(SIGPIPE, SIG_IGN);  // writing to a process that has ended must not end the test
    auto [child_input, input] = make_pipe();
    auto [output, child_output] = make_pipe();
    auto [error, child_error] = make_pipe();
    std::vector<char*> argv;
    argv.reserve(words.size() + 1);
    for (const std::string& word : words) argv.push_back(const_cast<char*>(word.c_str()));
    argv.push_back(nullptr);
    sigset_t all;
    sigset_t usual;
    ::sigfillset(&all);
    ::pthread_sigmask(SIG_SETMASK, &all,
                      &usual);  // no signal may reach Catch's handlers in the new process
    pid_ = ::fork();
    if (pid_ == 0) {
      ::dup2(child_input.get(), STDIN_FILENO);
      ::dup2(child_output.get(), STDOUT_FILENO);
      ::dup2(child_error.get(), STDERR_FILENO);
      ::close_range(STDERR_FILENO + 1, ~0U, CLOSE_RANGE_CLOEXEC);  // files that ctest leaves open
      for (const int signal : {SIGHUP, SIGINT, SIGQUIT, SIGPIPE, SIGTERM, SIGXCPU, SIGXFSZ})
        std::signal(signal, SIG_DFL);
      ::pthread_sigmask(SIG_SETMASK, &usual, nullptr);
      if (::chdir(settings.directory.c_str()) == 0) {
        if (settings.prepare) settings.prepare();
        ::execvp(argv[0], argv.data());
      }
      ::_exit(126);
    }
    ::pthread_sigmask(SIG_SETMASK, &usual, nullptr);
    REQUIRE(pid_ > 0);
    input_ = std::move(input);
    output_ = std::move(output);
    error_ = std::move(error);
    ::fcntl(input_.get(), F_SETFL, O_NONBLOCK);
  }

  Process(Process&&) = delete;
  Process& operator=(Process&&) = delete;

  ~Process() {
    if (pid_ <= 0) return;
    ::kill(pid_, SIGKILL);
    ::waitpid(pid_, nullptr, 0);
  }

  [[nodiscard]] pid_t pid() const { return pid_; }
  void send(int signal) const { REQUIRE(::kill(pid_, signal) == 0); }

  /// Stops the process and waits until it has stopped. Signals stay pending until it continues.
  void stop() const {
    int status = 0;
    send(SIGSTOP);
    REQUIRE(retry_interrupted([&] { return ::waitpid(pid_, &status, WUNTRACED); }) == pid_);
    REQUIRE(WIFSTOPPED(status));
  }

  /// Writes to the standard input of the process, which stays open.
  void write(std::string_view bytes) {
    while (!bytes.empty()) {
      wait_for(input_, POLLOUT);
      bytes.remove_prefix(write_some(bytes));
    }
  }

  /// Waits until the process writes to its standard output, without reading it, or ends.
  void wait_for_output_or_end() const { wait_for(output_, POLLIN); }

  /// Closes the reading end of the process's standard output.
  void close_output() { output_ = Descriptor(); }

  /// Writes `input` to the process's standard input, closes it, and waits for the end of the process.
  Result finish(std::string_view input = "") {
    Result result;
    for (;;) {
      if (input.empty()) input_ = Descriptor();
      std::array<pollfd, 3> streams{
          {{input_.get(), POLLOUT, 0}, {output_.get(), POLLIN, 0}, {error_.get(), POLLIN, 0}}};
      if (input_.get() < 0 && output_.get() < 0 && error_.get() < 0) break;
      retry_interrupted([&] { return ::poll(streams.data(), streams.size(), -1); });
      if (streams[0].revents != 0) input.remove_prefix(write_some(input));
      if (streams[1].revents != 0) read_some(output_, result.output);
      if (streams[2].revents != 0) read_some(error_, result.error);
    }
    int status = 0;
    REQUIRE(retry_interrupted([&] { return ::waitpid(pid_, &status, 0); }) == pid_);
    pid_ = 0;
    if (WIFSIGNALED(status))
      result.signal = WTERMSIG(status);
    else
      result.exit_code = WEXITSTATUS(status);
    return result;
  }

 private:
  static std::pair<Descriptor, Descriptor> make_pipe() {
    std::array<int, 2> ends{};
    REQUIRE(::pipe2(ends.data(), O_CLOEXEC) == 0);
    return {Descriptor(ends[0]), Descriptor(ends[1])};
  }

  static void wait_for(const Descriptor& stream, short events) {
    pollfd one{stream.get(), events, 0};
    REQUIRE(retry_interrupted([&] { return ::poll(&one, 1, -1); }) == 1);
  }

  /// Writes as many bytes as the pipe takes, and returns their number; all if the pipe has no reader.
  std::size_t write_some(std::string_view bytes) {
    const ssize_t put = ::write(input_.get(), bytes.data(), bytes.size());
    if (put >= 0) return static_cast<std::size_t>(put);
    return errno == EAGAIN || errno == EINTR ? 0 : bytes.size();
  }

  static void read_some(Descriptor& stream, std::string& into) {
    std::array<char, 65536> bytes{};
    const ssize_t got = retry_interrupted([&] { return ::read(stream.get(), bytes.data(), bytes.size()); });
    if (got > 0)
      into.append(bytes.data(), static_cast<std::size_t>(got));
    else
      stream = Descriptor();
  }

  pid_t pid_ = 0;
  Descriptor input_;
  Descriptor output_;
  Descriptor error_;
};

}  // namespace clipper::testing
