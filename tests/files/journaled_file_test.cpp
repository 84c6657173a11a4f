#include "files/journaled_file.hpp"

#include "files/journaled_scratch.hpp"

namespace clipper::testing {

TEST_CASE("A file that is changed directly cannot be read until it is complete") {
  const Scratch scratch;
  const ino_t inode = status_of(scratch.path).st_ino;
  {
    const InputFile input = InputFile::open_to_change(scratch.path);
    JournaledFile file(input);
    CHECK_FALSE(file.version());
    CHECK_FALSE(file.begin(to_do(input)));
    CHECK(scratch.directory.entries() == Names{"x.npy"});
    for (std::size_t part = 0; part < kParts; ++part) {
      change(file, part);
      CHECK(scratch.file() == unfinished(file_with(part + 1)));
      CHECK(file.is_unfinished());
      CHECK(mode_of(scratch.journal) == 0600);
    }
    file.commit();
    CHECK_FALSE(file.is_unfinished());
  }
  scratch.check_finished();
  CHECK(status_of(scratch.path).st_ino == inode);
}

TEST_CASE("A file in which nothing changes is not written") {
  const Scratch scratch;
  const auto snapshot = scratch.directory.snapshot();
  const InputFile input = InputFile::open_to_change(scratch.path);
  JournaledFile file(input);
  CHECK_FALSE(file.begin(to_do(input)));
  file.commit();
  CHECK(scratch.directory.snapshot() == snapshot);
}

TEST_CASE("An interrupted change is finished by the same change") {
  for (std::size_t parts = 1; parts <= kParts; ++parts) {
    CAPTURE(parts);
    const Scratch scratch;
    scratch.interrupt_after(parts);
    CHECK(scratch.file() == unfinished(file_with(parts)));
    CHECK(scratch.refused("times two") ==
          scratch.path + ": another direct change was interrupted; repeat it first: plus one in words");
    CHECK(scratch.file() == unfinished(file_with(parts)));
    CHECK(scratch.finish() == parts - 1);
    scratch.check_finished();
  }
}

TEST_CASE("If a slot of the journal is torn, the other one is used") {
  for (const std::size_t parts : {2U, 3U, 4U}) {
    // Damages the record or the bytes of the newest slot, as if the process had ended before it changed the
    // part.
    const std::size_t slot = (parts - 1) % 2;
    for (const std::size_t at : {slot * 4096, slot * 4096 + 100, slot * 4096 + 4095, 8192 + slot * kPartSize,
                                 8192 + slot * kPartSize + kPartSize - 1}) {
      CAPTURE(parts, at);
      const Scratch scratch;
      scratch.interrupt_after(parts);
      write_file(scratch.path, unfinished(file_with(parts - 1)));
      flip(scratch.journal, at);
      CHECK(scratch.finish() == parts - 2);
      scratch.check_finished();
    }
  }
}

TEST_CASE("An unfinished file without a complete journal is refused") {
  const auto left_as_it_is = [](const Scratch& scratch, const std::string& why) {
    const auto snapshot = scratch.directory.snapshot();
    CHECK(scratch.refused() == scratch.path + ": left unfinished by a direct change, and its journal " + why +
                                   "; restore its own journal, or the tensor from a backup");
    CHECK(scratch.directory.snapshot() == snapshot);
  };
  const Scratch without;
  without.interrupt_after(1);
  std::filesystem::remove(without.journal);
  left_as_it_is(without, without.journal + " is missing");

  const Scratch damaged;
  damaged.interrupt_after(1);
  flip(damaged.journal, 16);
  left_as_it_is(damaged, damaged.journal + " is damaged");

  const Scratch empty;
  empty.interrupt_after(1);
  write_file(empty.journal, "");
  left_as_it_is(empty, empty.journal + " is damaged");

  const Scratch grown;
  grown.interrupt_after(1);
  write_file(grown.path, grown.file() + "x");
  left_as_it_is(grown, grown.journal + " belongs to another file");
}

TEST_CASE("A torn part is finished; a part that another program has written to is refused") {
  for (std::size_t parts = 1; parts <= kParts; ++parts) {
    CAPTURE(parts);
    for (const char other : {'\0', '!'}) {
      const Scratch scratch;
      scratch.interrupt_after(parts);
      std::string torn = scratch.file();
      // Real writes do not tear at every third byte, but the rule allows it.
      for (std::size_t i = 0; i < kPartSize; i += 3) torn[offset_of(parts - 1) + i] = before(parts - 1)[i];
      if (other != '\0') torn[offset_of(parts - 1) + 4] = other;
      write_file(scratch.path, torn);
      if (other == '\0') {
        CHECK(scratch.finish() == parts - 1);
        scratch.check_finished();
        continue;
      }
      CHECK(refusal(ErrorKind::refused, [&] { return scratch.finish(); }).find("restore its own journal") !=
            std::string::npos);
      CHECK(scratch.file() == torn);
    }
  }
}

namespace {

/// A journal before the file's version is changed, with or without its first record.
void make_first_record(const Scratch& scratch, bool has_record, std::string_view content) {
  Journal journal = Journal::create(Place::of(scratch.path), 0600, kPartSize);
  const std::string all(content);
  if (has_record)
    journal.append({{.capacity = kPartSize,
                     .offset = offset_of(0),
                     .file_size = all.size(),
                     .part_sum = placed_sum(bytes(all).subspan(offset_of(0), kPartSize), offset_of(0)),
                     .rest_sum = placed_sum(bytes(all).first(header().size()), 0) +
                                 placed_sum(bytes(all).subspan(offset_of(1)), offset_of(1))},
                    "times two",
                    ""},
                   bytes(before(0)));
  journal.keep();
}

const char* const kNotIt = ": does not match its journal ";

}  // namespace

TEST_CASE("The journal of a change that stopped before its first part is discarded") {
  for (const bool has_record : {false, true}) {
    CAPTURE(has_record);
    const Scratch scratch;
    make_first_record(scratch, has_record, file_with(0));
    CHECK(scratch.directory.entries() == Names{".x.npy.clipper-journal", "x.npy"});
    CHECK(scratch.finish() == 0);
    scratch.check_finished();
  }
}

TEST_CASE("A file that another program wrote to after a stopped change is refused") {
  for (const std::size_t at : {std::size_t{100}, offset_of(0) + 5, file_with(0).size() - 1}) {
    CAPTURE(at);
    const Scratch scratch;
    make_first_record(scratch, true, file_with(0));
    flip(scratch.path, at);
    const std::string changed = scratch.file();
    CHECK(scratch.refused("times two").find(kNotIt) != std::string::npos);
    CHECK(scratch.refused().find(kNotIt) != std::string::npos);
    CHECK(scratch.file() == changed);
  }
}

TEST_CASE("A change that stopped after its last part is completed") {
  for (const bool is_valid : {false, true}) {
    CAPTURE(is_valid);
    const Scratch scratch;
    scratch.interrupt_at_end();
    REQUIRE(scratch.file() == unfinished(file_with(kParts)));
    if (is_valid) write_file(scratch.path, file_with(kParts));
    CHECK(scratch.finish() == kParts);
    scratch.check_finished();
  }
}

TEST_CASE("A file that is complete but still unreadable is finished only by the same change") {
  const Scratch scratch;
  scratch.interrupt_at_end();
  CHECK(scratch.refused("times two").find("repeat it first: plus one in words") != std::string::npos);
  write_file(
      scratch.path,
      file_with(kParts));  // now valid: the change is known to be complete, and the journal is not needed
  const InputFile input = InputFile::open_to_change(scratch.path);
  CHECK_FALSE(JournaledFile(input).begin(to_do(input, "times two")));
  scratch.check_finished();
}

TEST_CASE("A valid file that does not match its journal is left alone") {
  for (const bool is_complete : {false, true}) {
    for (const std::string& content :
         {file_with(0), file_with(1), file_with(kParts) + "longer", std::string(file_with(0).size(), 'x')}) {
      const Scratch scratch;
      if (is_complete)
        scratch.interrupt_at_end();
      else
        scratch.interrupt_after(kParts);
      write_file(scratch.path, content);
      const auto snapshot = scratch.directory.snapshot();
      const std::string why = scratch.path + kNotIt + scratch.journal +
                              ", left when a direct change was interrupted; if the tensor is correct, "
                              "remove the journal";
      CHECK(scratch.refused() == why);
      CHECK(scratch.refused("times two") == why);
      CHECK(scratch.directory.snapshot() == snapshot);
    }
  }
  const Scratch scratch;  // even if the file is correct: without the last record nothing proves that
  scratch.interrupt_after(kParts);
  write_file(scratch.path, file_with(kParts));
  CHECK(scratch.refused().find(kNotIt) != std::string::npos);
}

TEST_CASE("An interrupted change is identified by its parameters, not by its description") {
  const Scratch scratch;
  scratch.interrupt_after(2);
  const InputFile input = InputFile::open_to_change(scratch.path);
  JournaledFile file(input);
  JournaledFile::Change same = to_do(input);
  same.description = "reworded";
  CHECK(file.begin(same));
}

TEST_CASE("A description that does not fit a record is cut off; parameters that do not fit are refused") {
  const TemporaryDirectory directory{{"x.npy", file_with(0)}};
  const Place place = Place::of(directory / "x.npy");
  const auto append = [&](std::size_t parameters, std::size_t description) {
    {
      Journal journal = Journal::create(place, 0600, kPartSize);
      journal.append({{.capacity = kPartSize}, std::string(parameters, 'p'), std::string(description, 'd')},
                     {});
      journal.keep();
    }
    std::optional<Journal> found = Journal::find(place, 0600);
    const JournalRecord last = *found->last();
    CHECK_FALSE(found->remove());
    return std::pair(last.parameters.size(), last.description.size());
  };
  CHECK(append(3976, 5000) == std::pair(std::size_t{3976}, std::size_t{0}));
  CHECK(append(3000, 5000) == std::pair(std::size_t{3000}, std::size_t{976}));
  CHECK(append(10, 20) == std::pair(std::size_t{10}, std::size_t{20}));
  CHECK(refusal(ErrorKind::refused, [&] {
          append(3977, 0);
        }).ends_with("has no room for 3977 bytes of parameters (max 3976)"));
}

TEST_CASE("A journal of an older version is refused and left as it is") {
  const std::string words("\x2ejournal\3\0\0\0\0\0\0\0", 16);  // as written by a little-endian machine
  for (const bool in_both_slots : {false, true}) {
    const Scratch scratch;
    std::string bytes = words + std::string(4096 - words.size(), '\x01');
    bytes += in_both_slots ? bytes : std::string(4096, '\0');
    write_file(scratch.journal, bytes + std::string(2 * kPartSize, 'x'));
    std::filesystem::permissions(scratch.journal, std::filesystem::perms(0600));
    const auto snapshot = scratch.directory.snapshot();
    CHECK(scratch.refused() ==
          scratch.journal +
              ": was left by another version of clipper; finish the interrupted change with that version");
    CHECK(scratch.directory.snapshot() == snapshot);
  }
}

}  // namespace clipper::testing
