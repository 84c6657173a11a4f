#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

/// Builds zip archives in which any field can be wrong, without the library under test.
namespace clipper::zip {

/// The CRC-32 that zip uses.
inline std::uint32_t crc32_of(std::string_view bytes) {
  static constexpr auto kTable = [] {
    std::array<std::uint32_t, 256> table{};
    for (std::uint32_t i = 0; i < table.size(); ++i) {
      table[i] = i;
      for (int bit = 0; bit < 8; ++bit) table[i] = (table[i] >> 1) ^ ((table[i] & 1) != 0 ? 0xEDB88320U : 0U);
    }
    return table;
  }();
  std::uint32_t crc = 0xFFFFFFFF;
  for (const char byte : bytes) crc = kTable[(crc ^ static_cast<unsigned char>(byte)) & 0xFF] ^ (crc >> 8);
  return ~crc;
}

inline constexpr std::uint32_t kUnknown = 0xffffffff;  ///< the number is in the ZIP64 field

inline std::string little(std::uint64_t number, std::size_t bytes) {
  std::array<char, 8> text{};
  for (std::size_t i = 0; i < bytes; ++i) text[i] = static_cast<char>(number >> 8 * i & 0xff);
  return {text.data(), bytes};
}

inline std::string extra(std::uint16_t id, std::string_view data) {
  return little(id, 2) + little(data.size(), 2) + std::string(data);
}

inline std::string zip64(const std::vector<std::uint64_t>& numbers) {
  std::string data;
  for (const std::uint64_t number : numbers) data += little(number, 8);
  return extra(1, data);
}

/// The fields that a local header and an entry of the list share.
struct Fields {
  std::string signature;
  std::uint16_t version = 20;
  std::uint16_t flags = 0;
  std::uint16_t method = 0;
  std::uint32_t time = 0x00210000;  ///< 1980-01-01
  std::uint32_t crc = 0;
  std::uint32_t stored_size = 0;
  std::uint32_t size = 0;
  std::string name;
  std::string extras;
  std::optional<std::size_t> name_length;
  std::optional<std::size_t> extras_length;

  [[nodiscard]] std::string bytes() const {
    return little(version, 2) + little(flags, 2) + little(method, 2) + little(time, 4) + little(crc, 4) +
           little(stored_size, 4) + little(size, 4) + little(name_length.value_or(name.size()), 2) +
           little(extras_length.value_or(extras.size()), 2);
  }
};

struct ZipMember {
  /// A stored member.
  ZipMember(const std::string& name, std::string data) : data(std::move(data)) {
    local.signature = "PK\3\4";
    listed.signature = "PK\1\2";
    set([&](Fields& fields) {
      fields.crc = crc32_of(this->data);
      fields.size = fields.stored_size = static_cast<std::uint32_t>(this->data.size());
      fields.name = name;
    });
  }

  /// Changes both headers.
  void set(const std::function<void(Fields&)>& change) {
    change(local);
    change(listed);
  }

  [[nodiscard]] std::string local_header() const {
    return local.signature + local.bytes() + local.name + local.extras;
  }

  [[nodiscard]] std::string entry(std::uint64_t at) const {
    return listed.signature + little(made_by, 2) + listed.bytes() + little(comment.size(), 2) +
           little(disk, 2) + little(0, 2) + little(attributes, 4) + little(begin.value_or(at), 4) +
           listed.name + listed.extras + comment;
  }

  /// Of the local header, the data and the descriptor.
  [[nodiscard]] std::size_t size() const {
    return absent ? 0 : 30 + local.name.size() + local.extras.size() + data.size() + descriptor.size();
  }

  Fields local;
  Fields listed;
  std::string data;
  std::string descriptor;
  std::string comment;
  std::uint16_t disk = 0;
  std::uint16_t made_by = 0x314;          ///< Unix and version 2.0 of the zip format
  std::uint32_t attributes = 0x81800000;  ///< a file with mode 0600
  std::optional<std::uint64_t> begin;     ///< what the list says
  bool absent = false;                    ///< only listed
};

struct Zip {
  std::vector<ZipMember> members;

  [[nodiscard]] std::string data() const {
    std::string bytes;
    for (const ZipMember& member : members)
      if (!member.absent) bytes += member.local_header() + member.data + member.descriptor;
    return bytes;
  }

  [[nodiscard]] std::string list() const {
    std::string bytes;
    std::uint64_t at = 0;
    for (const ZipMember& member : members) {
      bytes += member.entry(at);
      at += member.size();
    }
    return bytes;
  }

  /// Of data().
  [[nodiscard]] std::size_t data_size() const {
    std::size_t size = 0;
    for (const ZipMember& member : members) size += member.size();
    return size;
  }
};

struct End {
  std::uint16_t disk = 0;
  std::uint16_t list_disk = 0;
  std::uint16_t count_here = 0;
  std::uint16_t count = 0;
  std::uint32_t list_size = 0;
  std::uint32_t list_begin = 0;
  std::string comment;
  std::optional<std::uint16_t> comment_length;

  [[nodiscard]] std::string bytes() const {
    return "PK\5\6" + little(disk, 2) + little(list_disk, 2) + little(count_here, 2) + little(count, 2) +
           little(list_size, 4) + little(list_begin, 4) + little(comment_length.value_or(comment.size()), 2) +
           comment;
  }
};

struct End64 {
  std::string signature = "PK\6\6";
  std::uint64_t rest = 44;
  std::uint32_t disk = 0;
  std::uint32_t list_disk = 0;
  std::uint64_t count_here = 0;
  std::uint64_t count = 0;
  std::uint64_t list_size = 0;
  std::uint64_t list_begin = 0;
  std::uint32_t locator_disk = 0;
  std::uint32_t disks = 1;
  std::uint64_t at = 0;  ///< what the locator says

  [[nodiscard]] std::string bytes() const {
    return signature + little(rest, 8) + little(45, 2) + little(45, 2) + little(disk, 4) +
           little(list_disk, 4) + little(count_here, 8) + little(count, 8) + little(list_size, 8) +
           little(list_begin, 8) + "PK\6\7" + little(locator_disk, 4) + little(at, 8) + little(disks, 4);
  }
};

/// The true end record.
inline End end_of(const Zip& zip) {
  End end;
  end.count_here = end.count = static_cast<std::uint16_t>(zip.members.size());
  end.list_begin = static_cast<std::uint32_t>(zip.data_size());
  end.list_size = static_cast<std::uint32_t>(zip.list().size());
  return end;
}

/// The true ZIP64 end record.
inline End64 end64_of(const Zip& zip) {
  End64 end;
  end.count_here = end.count = zip.members.size();
  end.list_begin = zip.data_size();
  end.list_size = zip.list().size();
  end.at = end.list_begin + end.list_size;
  return end;
}

inline std::string bytes_of(const Zip& zip) {
  return zip.data() + zip.list() + end_of(zip).bytes();
}

}  // namespace clipper::zip

namespace clipper::testing {

/// A deflate stream that repeats the bytes: it has only blocks that are not compressed.
inline std::string deflated_as_is(std::string_view bytes) {
  constexpr std::size_t kMaxBlock = 0xFFFF;
  std::string stream;
  do {
    const std::string_view block = bytes.substr(0, kMaxBlock);
    bytes.remove_prefix(block.size());
    stream += static_cast<char>(bytes.empty() ? 1 : 0);
    stream.append(zip::little(block.size(), 2)).append(zip::little(~block.size(), 2)).append(block);
  } while (!bytes.empty());
  return stream;
}

struct NpzMember {
  std::string name;  ///< with ".npy"
  std::string contents;
  bool is_deflated = false;
};

/// The bytes that np.savez writes with Python 3.11.4 or newer, except for deflated members, whose compression
/// is deflated_as_is().
inline std::string npz_file(const std::vector<NpzMember>& members) {
  constexpr std::uint16_t kVersion = 45;  // of the zip format, which has ZIP64
  zip::Zip archive;
  for (const NpzMember& from : members) {
    zip::ZipMember member(from.name, from.contents);
    if (from.is_deflated) member.data = deflated_as_is(from.contents);
    member.set([&](zip::Fields& fields) {
      fields.version = kVersion;
      fields.method = from.is_deflated ? 8 : 0;
      fields.stored_size = static_cast<std::uint32_t>(member.data.size());
    });
    member.local.size = member.local.stored_size = zip::kUnknown;
    member.local.extras = zip::zip64({from.contents.size(), member.data.size()});
    member.made_by = 0x300 | kVersion;
    member.attributes = 0600U << 16U;
    archive.members.push_back(std::move(member));
  }
  zip::End end = zip::end_of(archive);
  const bool is_large = members.size() > 0xFFFF;
  if (is_large) end.count = end.count_here = 0xFFFF;
  return archive.data() + archive.list() + (is_large ? zip::end64_of(archive).bytes() : "") + end.bytes();
}

}  // namespace clipper::testing
