#include <clipper/engine.hpp>
#include <clipper/error.hpp>
#include <clipper/input_file.hpp>
#include <clipper/npy.hpp>
#include <clipper/output_file.hpp>
#include <clipper/plan.hpp>
#include <cstdio>
#include <optional>
#include <span>
#include <string>

/// consumer IN OUT: what `clipper --min 0 --max 6 IN OUT` does, by the library.
int main(int argc, char** argv) try {
  if (argc != 3) return 2;
  const clipper::Request request{.min = 0, .max = 6};

  clipper::InputFile input = clipper::InputFile::open(argv[1]);
  const clipper::Plan plan = clipper::make_plan(request, clipper::read_header(input, std::nullopt));
  clipper::Engine engine({});
  engine.prepare(plan.header.data_size());
  using clipper::OutputFile;
  OutputFile output =
      OutputFile::create(argv[2], OutputFile::Existing::replace, OutputFile::Durability::none);
  const std::string header = clipper::npy::format(plan.header);
  engine.run(plan, input, output, std::as_bytes(std::span(header)));
  output.commit();
} catch (const clipper::Error& error) {
  std::fprintf(stderr, "consumer: %s\n", error.what());
  return static_cast<int>(error.kind());
}
