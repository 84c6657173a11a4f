#pragma once

#include <cstddef>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

/// How failures are told. A user of the library catches Error and reads kind(), field() and what(). Term,
/// Message, refuse() and with_path() are for code that throws, and for programs that print other words than
/// the library's: see Message::text_with().
namespace clipper {

/// What kind of trouble stopped the work. The values are the exit codes of the command line.
enum class ErrorKind : int {
  different = 1,    ///< the tensor is not as the request demands it
  usage = 2,        ///< the request itself is wrong: a number, a name, a combination
  input = 3,        ///< the input is malformed, or not something that the request can take
  io = 4,           ///< the system refused: a read, a write, memory
  refused = 5,      ///< it could be done, but something of the user's would be lost
  not_durable = 6,  ///< the output is in place, but not confirmed to survive a power cut
};

/// Words of a message about a parameter of the request. A program may print its own in their place: the name
/// of a flag, or what to do. Nothing is owned: both texts must be literals.
struct Term {
  std::string_view field;  ///< the parameter: "min", "dtype"
  std::string_view words;  ///< what the library says: "min"
};

/// The text of an Error, which remembers where its terms are. Owns its text.
class Message {
 public:
  // NOLINTBEGIN(google-explicit-constructor): a sentence is put together of texts and terms.
  Message(std::string text) : text_(std::move(text)) {}
  Message(std::string_view text) : text_(text) {}
  Message(const char* text) : text_(text) {}
  Message(const Term& term) : text_(term.words), terms_{{0, term}} {}
  // NOLINTEND(google-explicit-constructor)

  Message& operator+=(const Message& other) {
    for (const auto& [begin, term] : other.terms_) terms_.push_back({text_.size() + begin, term});
    text_ += other.text_;
    return *this;
  }

  /// In the library's words.
  [[nodiscard]] const std::string& text() const noexcept { return text_; }

  /// The field of the first term; empty if there is none.
  [[nodiscard]] std::string_view field() const noexcept {
    return terms_.empty() ? std::string_view() : terms_.front().term.field;
  }

  /// The text with `words_for(term)`, a text, in the place of each Term.
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

[[nodiscard]] inline Message operator+(Message a, const Message& b) {
  return std::move(a += b);
}

/// The one exception type of the library. `what()` is one complete line for the user: it names the file, by
/// its path as it was given, the problem and the offending value.
class Error : public std::runtime_error {
 public:
  Error(ErrorKind kind, Message message)
      : std::runtime_error(message.text()), kind_(kind), message_(std::move(message)) {}

  [[nodiscard]] ErrorKind kind() const noexcept { return kind_; }

  /// what() with its terms, for programs that print other words.
  [[nodiscard]] const Message& message() const noexcept { return message_; }

  /// The parameter that the error is about: "min", "scale", "dtype"; empty if it is about none.
  [[nodiscard]] std::string_view field() const noexcept { return message_.field(); }

 private:
  ErrorKind kind_;
  Message message_;
};

/// For code that throws. Error{refused}: "out.npy: already exists".
[[noreturn]] inline void refuse(const std::string& path, const Message& why) {
  throw Error(ErrorKind::refused, path + ": " + why);
}

/// For code that throws. The result of `work`; an Error that it throws gets "PATH: " in front.
template <class Work>
auto with_path(const std::string& path, Work work) {
  try {
    return work();
  } catch (const Error& error) {
    throw Error(error.kind(), path + ": " + error.message());
  }
}

}  // namespace clipper
