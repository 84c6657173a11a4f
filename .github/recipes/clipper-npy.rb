# Template of a Homebrew formula: fill in what is in capitals. License: see .github/LICENSE.
class ClipperNpy < Formula
  desc "Clips tensors in .npy, .npz, safetensors, raw and ONNX files"
  homepage "HOMEPAGE"
  url "SOURCE_ARCHIVE"
  sha256 "SHA256"
  license :cannot_represent

  depends_on "cli11" => :build
  depends_on "cmake" => :build
  depends_on "ninja" => :build
  depends_on "nlohmann-json" => :build
  depends_on "protozero" => :build
  depends_on "xxhash" => :build
  depends_on "fmt"
  depends_on "isa-l"
  depends_on :linux
  depends_on "spdlog"
  depends_on "tbb"
  depends_on "zlib"

  def install
    system "cmake", "-S", ".", "-B", "build", "-G", "Ninja", "-DCLIPPER_TESTS=OFF", *std_cmake_args
    system "cmake", "--build", "build"
    system "cmake", "--install", "build"
    pkgshare.install "data/in.npy"
  end

  test do
    system bin/"clipper", "--min", "0", pkgshare/"in.npy", "out.npy"
    system bin/"clipper", "compare", "--header", "strict", "out.npy", "out.npy"
  end
end
