// What the tests of io share: golden files, and the text of an exception.
#pragma once

#include <gtest/gtest.h>

#include <string>

#include "htfm/base/error.h"
#include "test/data.h"
#include "test/temporary_folder.h"

namespace htfm::test {

inline std::string golden(const std::string& name) { return test::golden_file("io/" + name); }

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
