#pragma once

#include <cstddef>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

/// How the library reports failures. Its users catch Error and read kind(), field() and what(). Term,
/// Message, refuse() and with_path() are for code that throws, and for programs that print their own words
/// instead of the library's: see Message::text_with().
#pragma GCC visibility push(default)
namespace clipper {

/// What stopped the work. All values but `cancelled` are exit statuses of the program.
enum class ErrorKind : int {
  different = 1,    ///< the tensor does not meet a condition of the request
  usage = 2,        ///< the request is wrong: a number, a name, a combination
  input = 3,        ///< the input is malformed, or the profile does not take such a tensor
  io = 4,           ///< the system refused a read, a write or memory
  refused = 5,      ///< refused to avoid data loss
  not_durable = 6,  ///< the output is complete, but may not survive a power cut
  cancelled = 7,    ///< the caller's stop flag has ended the work; no status of the program
};

/// What a program says in place of a term.
enum class Says : unsigned char {
  name,     ///< what it calls the parameter: "--min"
  setting,  ///< the same in front of a value: "--nan " for "nan="
  advice,   ///< what to do about the parameter: the library may have no words for that
};

/// The words of a message that are about one parameter of the request. A program may print its own words
/// instead. Both texts must be literals, because Term does not own them.
struct Term {
  std::string_view field;  ///< the parameter: "min", "dtype"
  std::string_view words;  ///< the library's words: "min"
  Says says = Says::name;
};

/// The text of an Error, and where its terms are in it. Owns the text.
class Message {
 public:
  // NOLINTBEGIN(google-explicit-constructor): messages are composed of texts and terms.
  Message(std::string text);
  Message(std::string_view text);
  Message(const char* text);
  Message(const Term& term);
  // NOLINTEND(google-explicit-constructor)

  Message(const Message& other);
  Message(Message&& other) noexcept;
  Message& operator=(const Message& other);
  Message& operator=(Message&& other) noexcept;
  ~Message();

  Message& operator+=(const Message& other);

  /// The text in the library's words.
  [[nodiscard]] const std::string& text() const noexcept { return text_; }

  /// The field of the first term; empty if there is none.
  [[nodiscard]] std::string_view field() const noexcept {
    return terms_.empty() ? std::string_view() : terms_.front().term.field;
  }

  /// The text, with each Term replaced by the text that `words_for(term)` returns.
  template <class WordsFor>
  [[nodiscard]] std::string text_with(WordsFor words_for) const {
    std::string result;
    std::size_t end = 0;
    for (const auto& [begin, term] : terms_) {
      result.append(text_, end, begin - end).append(words_for(term));
      end = begin + term.words.size();
    }
    return result.append(text_, end);
  }

 private:
  struct Place {
    std::size_t begin;  ///< in the text
    Term term;
  };
  std::string text_;
  std::vector<Place> terms_;
};

[[nodiscard]] Message operator+(Message a, const Message& b);

/// The library's exception type. `what()` is one complete line for the user: the file's path as it was given,
/// the problem and the offending value.
class Error : public std::runtime_error {
 public:
  /// `system_error` is the errno of the system call that failed, or 0.
  Error(ErrorKind kind, Message message, int system_error = 0);

  [[nodiscard]] ErrorKind kind() const noexcept { return kind_; }

  /// The errno of the system call that failed; 0 if none did, or if it would not help the caller.
  [[nodiscard]] int system_error() const noexcept { return system_error_; }

  /// The message with its terms, for programs that print their own words.
  [[nodiscard]] const Message& message() const noexcept { return message_; }

  /// The parameter that the error is about ("min", "scale", "dtype"), or "".
  [[nodiscard]] std::string_view field() const noexcept { return message_.field(); }

 private:
  ErrorKind kind_;
  int system_error_;
  Message message_;
};

/// Throws Error{refused} with "PATH: " in front of the message: "out.npy: already exists".
[[noreturn]] void refuse(const std::string& path, const Message& why);

/// Throws the error again with "PATH: " in front of its message, unless the path is empty.
[[noreturn]] void throw_with_path(const std::string& path, const Error& error);

/// Returns work(). An Error that work() throws is thrown again with "PATH: " in front of its message.
template <class Work>
auto with_path(const std::string& path, Work work) {
  try {
    return work();
  } catch (const Error& error) {
    throw_with_path(path, error);
  }
}

}  // namespace clipper
#pragma GCC visibility pop
