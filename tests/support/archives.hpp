#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

/// .npz archives as bytes, made without the library under test.
namespace clipper::testing {

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

/// `count` bytes of a number, the least significant first.
inline std::string little(std::uint64_t number, std::size_t count) {
  std::string bytes;
  for (; count > 0; --count, number >>= 8) bytes += static_cast<char>(number & 0xFF);
  return bytes;
}

/// A deflate stream that repeats the bytes: it has only blocks that are not compressed.
inline std::string deflated_as_is(std::string_view bytes) {
  constexpr std::size_t kMaxBlock = 0xFFFF;
  std::string stream;
  do {
    const std::string_view block = bytes.substr(0, kMaxBlock);
    bytes.remove_prefix(block.size());
    stream += static_cast<char>(bytes.empty() ? 1 : 0);
    stream.append(little(block.size(), 2)).append(little(~block.size(), 2)).append(block);
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
  constexpr std::uint64_t kZip64 = 45;  // the version of the zip format that has ZIP64
  constexpr std::uint64_t kMaxCount = 0xFFFF;
  constexpr std::uint64_t kDate = 0x21;                 // 1980-01-01
  constexpr std::uint64_t kUnix = 3;                    // the system that wrote the archive
  constexpr std::uint64_t kAttributes = 0600ULL << 16;  // the mode of the member
  constexpr std::uint64_t kInExtraField = 0xFFFFFFFF;   // instead of a size
  std::string archive;
  std::string list;
  for (const NpzMember& member : members) {
    const std::string data = member.is_deflated ? deflated_as_is(member.contents) : member.contents;
    const std::string start = little(kZip64, 2) + little(0, 2) + little(member.is_deflated ? 8 : 0, 2) +
                              little(0, 2) + little(kDate, 2) + little(crc32_of(member.contents), 4);
    list += "PK\1\2" + little(kZip64, 1) + little(kUnix, 1) + start + little(data.size(), 4) +
            little(member.contents.size(), 4) + little(member.name.size(), 2) + little(0, 8) +
            little(kAttributes, 4) + little(archive.size(), 4) + member.name;
    archive += "PK\3\4" + start + little(kInExtraField, 4) + little(kInExtraField, 4) +
               little(member.name.size(), 2) + little(20, 2) + member.name + little(1, 2) + little(16, 2) +
               little(member.contents.size(), 8) + little(data.size(), 8) + data;
  }
  const std::uint64_t begin = archive.size();
  const std::uint64_t count = members.size();
  archive += list;
  if (count > kMaxCount)
    archive += "PK\6\6" + little(44, 8) + little(kZip64, 2) + little(kZip64, 2) + little(0, 8) +
               little(count, 8) + little(count, 8) + little(list.size(), 8) + little(begin, 8) + "PK\6\7" +
               little(0, 4) + little(begin + list.size(), 8) + little(1, 4);
  const std::uint64_t shown = count > kMaxCount ? kMaxCount : count;
  return archive + "PK\5\6" + little(0, 4) + little(shown, 2) + little(shown, 2) + little(list.size(), 4) +
         little(begin, 4) + little(0, 2);
}

}  // namespace clipper::testing
