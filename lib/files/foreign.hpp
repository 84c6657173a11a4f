#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "element/tensor_layout.hpp"
#include "files/input_file.hpp"
#include "npy/header.hpp"
#include "raw/raw.hpp"

/// Files that hold one tensor and are no .npy files: raw files, and ONNX's TensorProto. They are read as .npy
/// files: the contents of their InputFile begin with a header that the file does not have.
namespace clipper {

/// How the user wants files to be read.
struct Reading : npy::GivenDType {
  /// What files are of which nothing tells what they are. Members of archives ignore it.
  std::shared_ptr<const raw::Layout> raw{};
  bool pb = false;             ///< whether they are TensorProto messages, whatever their name is
  bool raw_if_needed = false;  ///< whether files that need no `raw` are read, too, and not refused with it

  bool ignore_trailing = false;     ///< accept bytes after the array
  Caching caching = Caching::kept;  ///< of files that open() opens, and of what is made of them
};

/// From now on the open file, and members of an archive, are read so. It becomes such a file, if `how` or its
/// name says that it is one. A stream is read to its end then. Error{usage} with `how.raw` for a file whose
/// content or name tells that it is another one.
void read_as(InputFile& file, const Reading& how);

enum class Streams : bool { taken, refused };

/// Opens a file, or FILE:MEMBER, to be read so: see InputFile::open() and open_regular().
[[nodiscard]] InputFile open_as(const Reading& how, const std::string& path,
                                Streams streams = Streams::taken);

/// The files that reading `path` reads besides it and, of FILE:MEMBER, besides FILE: external data of a
/// TensorProto, and the files of an index. None if that cannot be found out: who reads the file says why.
[[nodiscard]] std::vector<std::string> files_behind(const Reading& how, const std::string& path);

/// The bytes before and after the elements of a tensor.
struct Around {
  std::string before;
  std::string after{};
};

/// Where a result goes: to the file with this name, which may be of another kind than the input; nothing: it
/// replaces the input.
struct ResultName {
  std::optional<std::string> out;
  bool to_raw = false;
};

/// What is around the elements of the result. The name decides if it ends in .npy or as that of a
/// TensorProto; otherwise the kind of the input does. Error{usage} if `to_raw` contradicts that, Error{input}
/// if such a file cannot hold the result.
[[nodiscard]] Around around_result(const InputFile& input, const TensorLayout& result,
                                   const ResultName& name);

}  // namespace clipper
