#include "flows/archive_rules.hpp"

#include <fmt/format.h>
#include <sys/stat.h>

#include "files/container.hpp"
#include "files/place.hpp"
#include "files/terms.hpp"
#include "npz/codecs.hpp"

namespace clipper {
namespace {

[[noreturn]] void refuse_usage(const std::string& path, const Message& why) {
  throw Error(ErrorKind::usage, path + ": " + why);
}

bool is_stream(const std::string& out) {
  struct stat status {};
  return out == "-" ||
         (::stat(out.c_str(), &status) == 0 && !S_ISREG(status.st_mode) && !S_ISDIR(status.st_mode));
}

}  // namespace

bool is_archive_for(const ClipSettings& settings, const InputFile& input) {
  const bool found = is_archive(input);
  if (!found && !settings.selection.members.empty())
    refuse_usage(input.path(), Term{"member", "a choice of members"} +
                                   Message(npz::is_supported() ? " needs an archive"
                                                               : " needs ISA-L and zlib, without "
                                                                 "which this clipper was built"));
  return found;
}

void expect_tensor(const InputFile& input, const Term& what) {
  if (is_archive(input))
    refuse_usage(input.path(),
                 Term(what) + fmt::format(" takes one tensor, not an archive; name a tensor in it: {}:NAME",
                                          input.path()));
}

void expect_no_direct_archive(const ClipSettings& settings, const InputFile& input) {
  if (is_archive_for(settings, input))
    refuse_usage(input.path(), "is an archive, which " + Message(kDirect) + " does not take; " +
                                   Term{"direct", "replace the file"});
}

void check_output_name(const InputFile& input, bool is_archive, const std::string& out) {
  if (member_path(out)) refuse_usage(out, "a member cannot be written; write a file, or clip the archive");
  if (is_archive && is_stream(out))
    refuse_usage(input.path(), "an archive cannot be written to a stream; write to a file");
  const TensorFormat* const named = format_named(out);
  const TensorFormat* const format = container_format(input);
  if (named != nullptr && named->is_supported() && (format != nullptr ? named != format : named->has_entries))
    refuse_usage(out, fmt::format("{} is {}, so the result needs a name like OUT{}", input.path(),
                                  format != nullptr ? format->name : "not an archive",
                                  format != nullptr ? format->suffix : ".npy"));
  if (input.is_member() && find_file(out) == id_of(input.status()))
    refuse(input.path(), fmt::format("refused to avoid data loss: {} is its archive", out));
}

}  // namespace clipper
