// Where tests find what they need: files of the sources, and what was built beside them.
#pragma once

#include <cstdlib>
#include <filesystem>
#include <string>

namespace htfm::test {

/// The folder of the test's own program: no path of the machine that built it stands in it.
inline std::filesystem::path build_folder() { return std::filesystem::read_symlink("/proc/self/exe").parent_path(); }

/// Something that was built, by the name of its file.
inline std::string built_file(const std::string& name) { return build_folder() / name; }

/// A file of the sources, in the folder that HTFM_SOURCE names (ctest sets it), or in the one that holds the build's.
inline std::string source_file(const std::string& name) {
  const char* named = std::getenv("HTFM_SOURCE");
  return (named ? std::filesystem::path(named) : build_folder().parent_path()) / name;
}

inline std::string golden_file(const std::string& name) { return source_file("test/golden/" + name); }

}  // namespace htfm::test
