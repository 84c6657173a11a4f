#include "cli/clipper.hpp"
#include "support/fork.hpp"

namespace clipper::testing {

TEST_CASE("an unreadable directory is an error, also through a link") {
  namespace fs = std::filesystem;
  const WorkingDirectory directory{{"got/a.npy", float32_file({1})}, {"want/a.npy", float32_file({1})}};
  fs::create_directory(directory / "real");
  make_link("../real", directory / "got/sub");
  fs::permissions(directory.path(), fs::perms::others_exec, fs::perm_options::add);
  fs::permissions(directory / "real", fs::perms::none);
  const Result result = directory.run({"compare", "got", "want"}, become_user);
  check_refused(result, 4, "got/sub: cannot be read: Permission denied");
  fs::permissions(directory / "real", fs::perms::owner_all);
}

}  // namespace clipper::testing
