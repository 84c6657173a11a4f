#include <clipper/clipper.hpp>
#include <iostream>

/// files IN OUT: does what `clipper --min 0 --max 6 IN OUT` does, and prints the counts.
int main(int argc, char** argv) try {
  if (argc != 3) return 2;
  const clipper::FileOptions as_the_program{.special_paths = true};
  const clipper::Counts counts = clipper::clip_file(argv[1], argv[2], {.min = 0, .max = 6}, as_the_program);
  const clipper::Statistics result = clipper::statistics(argv[2]);
  std::cout << counts.raised << " raised, " << counts.lowered << " lowered, " << result.nan << " NaN\n";
  return clipper::compare_files(argv[1], argv[2], {}, as_the_program).equal() == counts.changed ? 1 : 0;
} catch (const clipper::Error& error) {
  std::cerr << error.what() << '\n';
  return static_cast<int>(error.kind());
}
