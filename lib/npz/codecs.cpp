#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <memory>
#include <new>

#include "error.hpp"
#include "npz/archive.hpp"
#include "os/os.hpp"

#ifdef CLIPPER_HAS_NPZ
#include <isa-l.h>
#include <zlib.h>
#endif

namespace clipper::npz {
#ifndef CLIPPER_HAS_NPZ  // a build without zlib and ISA-L
namespace {

[[noreturn]] void lack() {
  throw Error(ErrorKind::input,
              "this clipper was built without npz; one configured with -DCLIPPER_FORMATS=npz has it");
}

}  // namespace

void expect_codecs() {
  lack();
}

std::string_view libraries() noexcept {
  return "none, built without npz";
}

std::uint32_t crc32(std::span<const std::byte> /*bytes*/, std::uint32_t /*before*/) {
  lack();
}

std::uint32_t crc32_of_both(std::uint32_t /*first*/, std::uint32_t /*second*/, std::uint64_t /*size*/) {
  lack();
}

std::vector<std::byte> deflate_piece(std::span<const std::byte> /*bytes*/, bool /*last*/) {
  lack();
}

void inflate(const ReadAt& /*archive*/, std::uint64_t /*begin*/, const Contents& /*contents*/,
             const std::function<void(std::span<const std::byte>)>& /*write*/) {
  lack();
}

#else
namespace {

// The functions of the libraries. A program loads them when an archive needs them: linked libraries would be
// loaded at every start. A static program has them.
#ifdef CLIPPER_NPZ_IS_LINKED
#define CLIPPER_FUNCTION(soname, name) ::name
#else
#define CLIPPER_FUNCTION(soname, name) reinterpret_cast<decltype(&::name)>(loaded_function(soname, #name))
#endif

struct Isal {
  decltype(&::crc32_gzip_refl) crc = CLIPPER_FUNCTION(CLIPPER_LIBISAL, crc32_gzip_refl);
  decltype(&::isal_inflate_init) inflate_init = CLIPPER_FUNCTION(CLIPPER_LIBISAL, isal_inflate_init);
  decltype(&::isal_inflate) inflate = CLIPPER_FUNCTION(CLIPPER_LIBISAL, isal_inflate);
};

const Isal& isal() {
  static const Isal all;
  return all;
}

struct Zlib {
  decltype(&::crc32_combine) crc_combine = CLIPPER_FUNCTION(CLIPPER_LIBZ, crc32_combine);
  decltype(&::deflateInit2_) deflate_init = CLIPPER_FUNCTION(CLIPPER_LIBZ, deflateInit2_);
  decltype(&::deflateBound) deflate_bound = CLIPPER_FUNCTION(CLIPPER_LIBZ, deflateBound);
  decltype(&::deflate) deflate = CLIPPER_FUNCTION(CLIPPER_LIBZ, deflate);
  decltype(&::deflateEnd) deflate_end = CLIPPER_FUNCTION(CLIPPER_LIBZ, deflateEnd);
};

const Zlib& zlib() {
  static const Zlib all;
  return all;
}

/// A raw deflate stream of zlib.
class Deflater {
 public:
  Deflater() {
    constexpr int kLevel = 6;
    constexpr int kRaw = -15;  // the largest window, without zlib's header
    constexpr int kMemLevel = 8;
    const int status = zlib().deflate_init(&stream_, kLevel, Z_DEFLATED, kRaw, kMemLevel, Z_DEFAULT_STRATEGY,
                                           ZLIB_VERSION, sizeof stream_);
    if (status == Z_VERSION_ERROR)
      throw Error(ErrorKind::io, CLIPPER_LIBZ " has another version; .npz archives need it");
    if (status != Z_OK) throw std::bad_alloc();
  }
  Deflater(const Deflater&) = delete;
  Deflater& operator=(const Deflater&) = delete;
  ~Deflater() { zlib().deflate_end(&stream_); }

  std::vector<std::byte> run(std::span<const std::byte> bytes, int flush) {
    constexpr std::size_t kFlushMark = 16;  // the mark of Z_FULL_FLUSH, which deflateBound() does not count
    std::vector<std::byte> result;
    std::size_t more = zlib().deflate_bound(&stream_, static_cast<uLong>(bytes.size())) + kFlushMark;
    stream_.next_in = const_cast<Bytef*>(reinterpret_cast<const Bytef*>(bytes.data()));
    stream_.avail_in = static_cast<uInt>(bytes.size());
    do {
      const std::size_t used = result.size();
      result.resize(used + more);
      stream_.next_out = reinterpret_cast<Bytef*>(result.data() + used);
      stream_.avail_out = static_cast<uInt>(more);
      zlib().deflate(&stream_, flush);
      more = kFlushMark;
    } while (stream_.avail_out == 0);
    result.resize(result.size() - stream_.avail_out);
    return result;
  }

 private:
  z_stream stream_{};
};

/// Inflates one member.
class Inflater {
 public:
  Inflater(const ReadAt& archive, std::uint64_t begin, const Contents& contents)
      : archive_(archive), at_(begin), input_left_(contents.stored_size), left_(contents.size) {
    isal().inflate_init(&state_);
    state_.crc_flag = ISAL_DEFLATE;
  }

  /// The next bytes; none at the end.
  std::span<const std::byte> next() {
    const auto room = static_cast<std::uint32_t>(std::min<std::uint64_t>(output_.size(), left_ + 1));
    state_.next_out = reinterpret_cast<std::uint8_t*>(output_.data());
    state_.avail_out = room;
    while (state_.avail_out == room && state_.block_state != ISAL_BLOCK_FINISH) {
      const bool has_input = fill();
      if (isal().inflate(&state_) != ISAL_DECOMP_OK) refuse("its deflated data is damaged");
      if (!has_input && state_.avail_out == room && state_.block_state != ISAL_BLOCK_FINISH)
        refuse("its deflated data is truncated");
    }
    const std::size_t count = room - state_.avail_out;
    if (count > left_) refuse("it has more bytes than its header says");
    left_ -= count;
    return std::span(output_).first(count);
  }

  /// Checks that there is neither less nor more than the archive says.
  void check_end() const {
    if (left_ > 0) refuse("it has less bytes than its header says");
    const auto held = static_cast<std::uint64_t>(state_.read_in_length) / 8;
    if (input_left_ + state_.avail_in + held > 0) refuse("there are bytes after its deflated data");
  }

 private:
  /// Reads input if there is none. Whether there is any.
  bool fill() {
    if (state_.avail_in > 0) return true;
    const auto count = static_cast<std::size_t>(std::min<std::uint64_t>(input_.size(), input_left_));
    if (count > 0 && archive_(std::span(input_).first(count), at_) != count)
      refuse("truncated while it was read");
    state_.next_in = reinterpret_cast<std::uint8_t*>(input_.data());
    state_.avail_in = static_cast<std::uint32_t>(count);
    at_ += count;
    input_left_ -= count;
    return count > 0;
  }

  const ReadAt& archive_;
  std::uint64_t at_;
  std::uint64_t input_left_;
  std::uint64_t left_;
  inflate_state state_;
  std::array<std::byte, std::size_t{64} * 1024> input_;
  std::array<std::byte, std::size_t{256} * 1024> output_;
};

}  // namespace

#ifndef CLIPPER_NPZ_IS_LINKED
void* loaded_function(const char* soname, const char* name) {
  // dlerror() names the library, and says why: "libisal.so.2: cannot open shared object file: No such file or
  // directory".
  void* const library = os::dlopen(soname, RTLD_NOW | RTLD_LOCAL);
  void* const found = library != nullptr ? os::dlsym(library, name) : nullptr;
  if (found == nullptr) throw Error(ErrorKind::io, fmt::format("{}; .npz archives need it", os::dlerror()));
  return found;
}
#endif

void expect_codecs() {
  isal();
}

std::string_view libraries() noexcept {
  return CLIPPER_LIBISAL ", " CLIPPER_LIBZ;
}

std::uint32_t crc32(std::span<const std::byte> bytes, std::uint32_t before) {
  return isal().crc(before, reinterpret_cast<const unsigned char*>(bytes.data()), bytes.size());
}

std::uint32_t crc32_of_both(std::uint32_t first, std::uint32_t second, std::uint64_t size) {
  return static_cast<std::uint32_t>(zlib().crc_combine(first, second, static_cast<z_off_t>(size)));
}

std::vector<std::byte> deflate_piece(std::span<const std::byte> bytes, bool last) {
  return Deflater().run(bytes, last ? Z_FINISH : Z_FULL_FLUSH);
}

void inflate(const ReadAt& archive, std::uint64_t begin, const Contents& contents,
             const std::function<void(std::span<const std::byte>)>& write) {
  const auto inflater = std::make_unique<Inflater>(archive, begin, contents);
  std::uint32_t crc = 0;
  for (std::span<const std::byte> bytes = inflater->next(); !bytes.empty(); bytes = inflater->next()) {
    crc = crc32(bytes, crc);
    write(bytes);
  }
  inflater->check_end();
  if (crc != contents.crc) refuse(fmt::format("its CRC-32 is {:08x} instead of {:08x}", crc, contents.crc));
}

#endif
}  // namespace clipper::npz
