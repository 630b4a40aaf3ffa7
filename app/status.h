// What a user reads on standard error while a command works: sentences, a status line, and a sign of life where neither
// has come for a while.
#pragma once

#include <chrono>
#include <string>
#include <thread>

namespace htfm::app {

/// A line on standard error.
void say(const std::string& text);

/// Progress on standard error: one line rewritten on a terminal, a plain line every few seconds otherwise.
class StatusLine {
 public:
  explicit StatusLine(std::string prefix = "");
  ~StatusLine();
  void show(const std::string& text, bool last = false);

 private:
  std::string prefix_;
  std::chrono::steady_clock::time_point next_{};
};

/// While it lives, silence of more than a second and a half is broken by what was said last and for how long the
/// command has been at it: "... Reading losses.csv (4 s)".
class SignOfLife {
 public:
  SignOfLife();
  ~SignOfLife();

 private:
  std::thread watcher_;
};

}  // namespace htfm::app
