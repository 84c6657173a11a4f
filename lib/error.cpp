#include "error.hpp"

/// Not inline: most files make messages, and would compile this again for each.
namespace clipper {

Message::Message(std::string text) : text_(std::move(text)) {}
Message::Message(std::string_view text) : text_(text) {}
Message::Message(const char* text) : text_(text) {}
Message::Message(const Term& term) : text_(term.words), terms_{{0, term}} {}
Message::Message(const Message& other) = default;
Message::Message(Message&& other) noexcept = default;
Message& Message::operator=(const Message& other) = default;
Message& Message::operator=(Message&& other) noexcept = default;
Message::~Message() = default;

Message& Message::operator+=(const Message& other) {
  for (const auto& [begin, term] : other.terms_) terms_.push_back({text_.size() + begin, term});
  text_ += other.text_;
  return *this;
}

Message operator+(Message a, const Message& b) {
  return std::move(a += b);
}

Error::Error(ErrorKind kind, Message message, int system_error)
    : std::runtime_error(message.text()),
      kind_(kind),
      system_error_(system_error),
      message_(std::move(message)) {}

void refuse(const std::string& path, const Message& why) {
  throw Error(ErrorKind::refused, path + ": " + why);
}

void throw_with_path(const std::string& path, const Error& error) {
  throw Error(error.kind(), path.empty() ? error.message() : path + ": " + error.message(),
              error.system_error());
}

}  // namespace clipper
