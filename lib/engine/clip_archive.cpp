#include "engine/clip_archive.hpp"

namespace clipper {
std::uint64_t check_archive(const ClipSettings&, const InputFile&) { return 0; }
bool scan_archive(const Clipping&, const InputFile&, bool) { return false; }
void clip_archive(const Clipping&, const InputFile&, OutputFile&, ClipResult&) {}
}  // namespace clipper
