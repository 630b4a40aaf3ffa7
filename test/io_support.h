// What the tests of the io room share: a folder of their own, golden files, and the text of an exception.
#pragma once

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

#include "htfm/base/error.h"

namespace htfm::test {

/// A fresh folder that goes when the test ends.
class TemporaryFolder {
 public:
  TemporaryFolder() {
    std::string pattern = std::filesystem::temp_directory_path() / "htfm-test-XXXXXX";
    path_ = ::mkdtemp(pattern.data());
  }
  ~TemporaryFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;

  const std::string& path() const { return path_; }
  std::string operator/(const std::string& name) const { return path_ + "/" + name; }
  /// Number of entries, hidden ones included.
  int64_t count() const { return std::distance(std::filesystem::directory_iterator(path_), std::filesystem::directory_iterator()); }

 private:
  std::string path_;
};

inline std::string golden(const std::string& name) { return HTFM_TEST_DATA "/io/" + name; }

/// Reads and writes files without the code under test.
inline std::string slurp(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}
inline void spill(const std::string& path, const std::string& bytes) { std::ofstream(path, std::ios::binary) << bytes; }

/// The text of the InputError that `action` throws; a failure of the test where it throws nothing or something else.
template <class Action>
std::string input_error(Action action) {
  try {
    action();
  } catch (const InputError& error) {
    EXPECT_EQ(std::string(error.what()).find('\n'), std::string::npos) << "a message is one line: " << error.what();
    return error.what();
  } catch (const std::exception& error) {
    ADD_FAILURE() << "expected an InputError, got " << error.what();
    return "";
  }
  ADD_FAILURE() << "expected an InputError, got none";
  return "";
}

/// The same for an Error that is no InputError.
template <class Action>
std::string plain_error(Action action) {
  try {
    action();
  } catch (const InputError& error) {
    ADD_FAILURE() << "expected an Error that is not the user's, got InputError " << error.what();
    return "";
  } catch (const Error& error) {
    return error.what();
  }
  ADD_FAILURE() << "expected an Error, got none";
  return "";
}

inline testing::AssertionResult mentions(const char*, const char*, const std::string& text, const std::string& part) {
  if (text.find(part) != std::string::npos) return testing::AssertionSuccess();
  return testing::AssertionFailure() << "expected \"" << part << "\" in \"" << text << "\"";
}

}  // namespace htfm::test

#define EXPECT_MENTIONS(text, part) EXPECT_PRED_FORMAT2(::htfm::test::mentions, text, part)
