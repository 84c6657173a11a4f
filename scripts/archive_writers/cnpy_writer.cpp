// Writes an archive of .npy files with cnpy: cnpy_writer OUT.npz IN.npy...
// The first letters of a file's name are its dtype.
#include <cstdint>
#include <string>

#include "cnpy.h"

template <typename T>
void add(const std::string& out, const std::string& name, const cnpy::NpyArray& array, const char* mode) {
  cnpy::npz_save(out, name, array.data<T>(), array.shape, mode);
}

int main(int count, char** words) {
  for (int i = 2; i < count; ++i) {
    const std::string path = words[i];
    const std::size_t begin = path.rfind('/') + 1;
    const std::string name = path.substr(begin, path.size() - begin - 4);
    const std::string out = words[1];
    const char* const mode = i == 2 ? "w" : "a";
    const cnpy::NpyArray array = cnpy::npy_load(path);
    if (name.starts_with("f4")) add<float>(out, name, array, mode);
    if (name.starts_with("f8")) add<double>(out, name, array, mode);
    if (name.starts_with("i4")) add<std::int32_t>(out, name, array, mode);
    if (name.starts_with("u1")) add<std::uint8_t>(out, name, array, mode);
    if (name.starts_with("bool")) add<bool>(out, name, array, mode);
  }
}
