#include "flows/placed_crc.hpp"

#include "npz/codecs.hpp"
#include "support/catch.hpp"

namespace clipper {

TEST_CASE("pieces that are added in any order, by many threads, have the CRC-32 of the whole") {
  std::vector<std::byte> whole(100'003);
  for (std::size_t i = 0; i < whole.size(); ++i) whole[i] = static_cast<std::byte>(i * i >> 3);
  PlacedCrc crc(whole.size());
  const auto add = [&](std::size_t begin, std::size_t end) {
    crc.add(begin, std::span(whole).subspan(begin, end - begin));
  };
  add(70'000, whole.size());
  add(0, 1);
  add(1, 1);
  {
    std::vector<std::jthread> threads;
    for (std::size_t i = 0; i < 4; ++i)
      threads.emplace_back([&, i] {
        for (std::size_t at = 1 + i * 1000; at < 70'000; at += 4000)
          add(at, std::min<std::size_t>(at + 1000, 70'000));
      });
  }
  CHECK(crc.value() == npz::crc32(whole));
  CHECK(PlacedCrc(0).value() == npz::crc32({}));
}

}  // namespace clipper
