#pragma once

namespace clipper::npz {

/// A shared library that is loaded when an archive needs it: linked libraries would be loaded at every start.
/// Stays loaded until the program ends. Use it as a static variable of a function. A static program has the
/// functions that linked_library.cpp lists instead.
class Library {
 public:
  /// Error{io} if the library cannot be loaded.
  explicit Library(const char* soname);

  /// Sets `function` to the library's function `name`. Error{io} if there is none.
  template <class Function>
  void find(const char* name, Function*& function) const {
    function = reinterpret_cast<Function*>(address(name));
  }

 private:
  [[nodiscard]] void* address(const char* name) const;

  [[maybe_unused]] void* handle_;  ///< null in a static program
};

}  // namespace clipper::npz
