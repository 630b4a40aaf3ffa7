// Libraries of our own that are loaded when they are first needed, so that the program starts fast and runs where what
// they link is not installed. Each has entry points `extern "C" const void* entry(const char** reason)`: an object, or
// null and why there is none.
#pragma once

#include <string>

namespace htfm {

class ModuleLibrary {
 public:
  /// Whether what it links is there for libraries that are loaded later, too.
  enum class Symbols { kOwn, kShared };

  /// Loads lib<name>.so for the rest of the process: from the folder that the variable HTFM_MODULE_PATH names; where it
  /// names none, from beside the program, beside the shared library that holds this code, ../lib/htfm of either, or
  /// wherever the loader looks.
  explicit ModuleLibrary(const std::string& name, Symbols symbols = Symbols::kOwn);

  bool loaded() const { return handle_ != nullptr; }
  /// Where it was looked for, or why it does not load; empty where it is loaded.
  const std::string& reason() const { return reason_; }

  struct Object {
    const void* address = nullptr;
    std::string reason = {};  ///< where there is none
  };
  /// What an entry point of a loaded library gives.
  Object object(const char* entry) const;

 private:
  std::string name_, reason_;
  void* handle_ = nullptr;
};

}  // namespace htfm
