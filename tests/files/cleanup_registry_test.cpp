#include <atomic>

#include "files/replacement.hpp"
#include "support/files.hpp"
#include "support/fork.hpp"
#include "support/refusal.hpp"

namespace clipper::testing {
namespace {

using Names = std::vector<std::string>;

int register_file(const Place& place) {
  Descriptor fd;
  return register_temporary(place, [&] {
    fd = Descriptor(::openat(place.directory(), place.name(), O_CREAT | O_EXCL | O_WRONLY, 0600));
    return fd.get();
  });
}

}  // namespace

TEST_CASE("registered files are removed, all others stay") {
  const TemporaryDirectory directory;
  const TemporaryDirectory other;
  directory.write("never registered", "");
  in_a_process([&] {
    const std::vector<Place> places{Place::of(directory / "a"), Place::of(other / "a"),
                                    Place::of(directory / "unregistered"), Place::of(directory / "b")};
    std::vector<int> registrations;
    for (const Place& place : places) registrations.push_back(register_file(place));
    unregister_temporary(registrations[2]);
    const bool are_there = directory.entries().size() == 4 && other.entries().size() == 1;
    remove_temporaries();
    return are_there;
  });
  CHECK(directory.entries() == Names{"never registered", "unregistered"});
  CHECK(other.entries().empty());
}

TEST_CASE("a file is removed from the directory in which it was made") {
  const TemporaryDirectory directory;
  std::filesystem::create_directory(directory / "deep");
  in_a_process([&] {
    const Place place = Place::of(directory / "deep/x");
    const bool is_registered = register_file(place) >= 0;
    std::filesystem::rename(directory / "deep", directory / "moved");
    std::filesystem::create_directory(directory / "deep");
    directory.write("deep/x", "stranger");
    remove_temporaries();
    return is_registered;
  });
  CHECK(std::filesystem::is_empty(directory / "moved"));
  CHECK(directory.read("deep/x") == "stranger");
}

TEST_CASE("a file that could not be made is not registered, and an existing file of that name stays") {
  const TemporaryDirectory directory{{"x", "stranger"}};
  in_a_process([&] {
    const Place place = Place::of(directory / "x");
    const bool is_none = register_file(place) == -1 && errno == EEXIST;
    bool is_thrown = false;
    try {
      static_cast<void>(register_temporary(place, []() -> int { refuse("x", "no"); }));
    } catch (const Error&) {
      is_thrown = true;
    }
    remove_temporaries();
    return is_none && is_thrown;
  });
  CHECK(directory.read("x") == "stranger");
}

TEST_CASE("a stranger's file under a registered name stays") {
  const TemporaryDirectory directory;
  in_a_process([&] {
    const Place place = Place::of(directory / "x");
    const bool is_registered = register_file(place) >= 0;
    std::filesystem::rename(directory / "x", directory / "moved");
    directory.write("x", "stranger");
    remove_temporaries();
    return is_registered;
  });
  CHECK(directory.read("x") == "stranger");
}

TEST_CASE("the result of work in without_cleanup() decides which file is removed") {
  for (const bool is_removed : {false, true}) {
    const TemporaryDirectory directory{{"other", ""}};
    in_a_process([&] {
      const Place place = Place::of(directory / "x");
      const int registration = register_file(place);
      const FileId named = id_of(status_of(directory / "x"));
      const FileId other = id_of(status_of(directory / "other"));
      without_cleanup(registration, [&] { return is_removed ? named : other; });
      remove_temporaries();
      return true;
    });
    CHECK(directory.entries() == (is_removed ? Names{"other"} : Names{"other", "x"}));
  }
}

TEST_CASE("files are removed only after work in without_cleanup() has returned") {
  const TemporaryDirectory directory;
  in_a_process([&] {
    const Place place = Place::of(directory / "x");
    const int registration = register_file(place);
    std::atomic<bool> is_removing = false;
    bool is_there = true;
    std::thread remover;
    without_cleanup(registration, [&] {
      remover = std::thread([&] {
        is_removing = true;
        remove_temporaries();
      });
      while (!is_removing) std::this_thread::yield();
      for (int looks = 0; looks < 1000; ++looks) is_there = is_there && place.id();
      return place.id().value_or(FileId{});
    });
    remover.join();
    return is_there;
  });
  CHECK(directory.entries().empty());
}

TEST_CASE("2048 files can be registered at once, and again after they are unregistered") {
  const TemporaryDirectory directory;
  const Place place = Place::of(directory / "x");
  for (int round = 0; round < 2; ++round) {
    std::vector<int> registrations;
    for (int i = 0; i < 2048; ++i) registrations.push_back(register_temporary(place, [] { return 0; }));
    CHECK(refusal(ErrorKind::io, [&] { static_cast<void>(register_temporary(place, [] { return 0; })); }) ==
          "too many unfinished outputs (max 2048); use fewer threads");
    std::ranges::sort(registrations);
    CHECK(std::ranges::adjacent_find(registrations) == registrations.end());
    for (const int registration : registrations) unregister_temporary(registration);
  }
  CHECK(register_temporary(place, [] { return -1; }) == -1);
}

TEST_CASE("a name that is too long is refused before the file is made") {
  const TemporaryDirectory directory;
  const Place place = Place::of(directory / std::string(256, 'x'));
  CHECK(refusal(ErrorKind::io, [&] {
          static_cast<void>(register_temporary(place, []() -> int { throw std::string("it was made"); }));
        }).ends_with("name too long"));
}

}  // namespace clipper::testing
