#pragma once

#include <sys/stat.h>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "descriptor.hpp"
#include "input_file.hpp"

/// Writing. Every failure is an Error that names the path: {io} if nothing else is said.
namespace clipper {

/// A file that is written. Nothing of it is visible under its path before commit(), and nothing is left if it
/// is destroyed without; a stream (pipe, device, standard output) gets its bytes at once instead.
class OutputFile {
 public:
  enum class Existing : std::uint8_t { replace, refuse };

  /// A new file, or the replacement of one, or a stream; "-" is standard output. A symbolic link is followed.
  /// A new file gets the mode that the umask leaves, a replacement keeps the replaced file's.
  /// Error{usage} if it is a terminal, Error{refused} for an existing file with Existing::refuse, for a block
  /// device and a dangling link.
  [[nodiscard]] static OutputFile create(const std::string& path, Existing existing);

  /// The replacement of the input file itself, which keeps its mode and owner. Error{refused} if that is no
  /// regular file, has several hard links, or cannot keep its owner.
  [[nodiscard]] static OutputFile create_in_place(const InputFile& input);

  OutputFile(const OutputFile&) = delete;
  OutputFile& operator=(const OutputFile&) = delete;
  OutputFile(OutputFile&& other) noexcept;
  OutputFile& operator=(OutputFile&&) = delete;
  ~OutputFile();

  /// Bytes are written anywhere, in any order, from many threads: write_start() and write_at(). Otherwise
  /// write(), in order.
  [[nodiscard]] bool is_regular() const noexcept { return regular_; }

  /// Takes the disk space for `size` bytes where that makes writing them faster and safe. Error{io} if there
  /// is no such space.
  void reserve(std::uint64_t size) const;

  void write(std::span<const std::byte> bytes);
  void write_start(std::span<const std::byte> header, std::span<const std::byte> elements) const;
  void write_at(std::span<const std::byte> bytes, std::uint64_t offset) const;

  /// Puts the complete file in place. In place of an input it is on the disk before that; Error{not_durable}
  /// if only the directory could not be confirmed.
  void commit();

 private:
  OutputFile(Descriptor fd, std::string path) : fd_(std::move(fd)), path_(std::move(path)) {}
  void create_temporary();
  void create_named_temporary();
  void name_temporary();
  void forget_temporary() noexcept;
  void check_close() const;
  void put_in_place();
  [[nodiscard]] bool link_as(const std::string& path) const;
  void sync_directory() const;

  Descriptor fd_;
  std::string path_;            ///< the destination, links resolved
  bool regular_ = false;        ///< otherwise a stream
  std::string temporary_;       ///< its name beside the destination, while it has one
  int registration_ = -1;       ///< of that name, in the table that remove_temporaries() goes through
  std::optional<mode_t> mode_;  ///< of the file that is replaced; a new one's comes from the umask
  Existing existing_ = Existing::replace;
  bool durable_ = false;
};

}  // namespace clipper
