// Where the files lie that tests compare with: in the sources, or in the folder that HTFM_SOURCE names where the tests
// run on another machine than they were built on.
#pragma once

#include <cstdlib>
#include <string>

namespace htfm::test {

inline std::string source_file(const std::string& name) {
  const char* elsewhere = std::getenv("HTFM_SOURCE");
  return std::string(elsewhere ? elsewhere : HTFM_SOURCE) + "/" + name;
}

inline std::string golden_file(const std::string& name) { return source_file("test/golden/" + name); }

}  // namespace htfm::test
