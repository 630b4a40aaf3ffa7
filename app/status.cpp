#include "app/status.h"

#include <fmt/format.h>
#include <unistd.h>

#include <condition_variable>
#include <csignal>
#include <cstdio>
#include <mutex>
#include <system_error>

#include "app/processes.h"

namespace htfm::app {

namespace {

using Time = std::chrono::steady_clock;
using namespace std::chrono_literals;

constexpr auto kSilence = 1500ms;
constexpr size_t kLongestTopic = 70;

// Standard error, which the watcher writes to as well.
struct Said {
  std::mutex mutex;
  std::condition_variable ended;
  bool watched = false;             // cleared to end the watcher
  std::string topic;                // what was said last
  Time::time_point since, written;  // when that was, and when something was written
  bool open = false;                // a status line without its end
  int signs = 0;                    // of life, since then
} said;

bool on_terminal() {
  static const bool terminal = ::isatty(STDERR_FILENO) != 0;
  return terminal;
}

// A full disk behind standard error must not end the work: fmt would throw.
void write(const std::string& text) {
  std::fwrite(text.data(), 1, text.size(), stderr);
  std::fflush(stderr);
  said.written = Time::now();
}

void close_line() {
  if (said.open) write("\n");
  said.open = false;
}

// What is longer than a line is an explanation, and not the name of what goes on.
void begin(const std::string& topic) {
  said.topic = topic.ends_with('.') ? topic.substr(0, topic.size() - 1) : topic;
  if (said.topic.size() > kLongestTopic) said.topic = "working";
  said.since = Time::now(), said.signs = 0;
}

// On a terminal the one before is written over.
void give_sign() {
  const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(Time::now() - said.since + 500ms).count();
  const std::string text = fmt::format("... {} ({} s)", said.topic, seconds);
  const std::string back = !on_terminal() ? "" : said.open ? "\r\033[K" : said.signs > 0 ? "\033[A\r\033[K" : "";
  write(back + text + (said.open ? "" : "\n"));
  ++said.signs;
}

}  // namespace

void say(const std::string& text) {
  if (!speaks()) return;
  const std::scoped_lock lock(said.mutex);
  close_line();
  write(text + "\n");
  begin(text);
}

StatusLine::StatusLine(std::string prefix) : prefix_(std::move(prefix)) {
  const std::scoped_lock lock(said.mutex);
  begin(prefix_ + "starting");
}

StatusLine::~StatusLine() {
  const std::scoped_lock lock(said.mutex);
  close_line();
}

void StatusLine::show(const std::string& text, bool last) {
  if (!speaks()) return;
  const std::scoped_lock lock(said.mutex);
  const auto now = Time::now();
  if (!last && now < next_) return;
  next_ = now + (on_terminal() ? 100ms : 2000ms);
  write(on_terminal() ? fmt::format("\r\033[K{}{}", prefix_, text) : fmt::format("{}{}\n", prefix_, text));
  said.open = on_terminal();
  if (last) close_line();
  begin(last ? "working" : prefix_ + text);
}

SignOfLife::SignOfLife() {
  begin("working");
  said.written = Time::now(), said.watched = true;
  sigset_t all, before;  // signals are for the thread that works
  ::sigfillset(&all);
  ::pthread_sigmask(SIG_SETMASK, &all, &before);
  const auto watch = [] {
    std::unique_lock lock(said.mutex);
    while (!said.ended.wait_until(lock, said.written + kSilence, [] { return !said.watched; })) {
      if (Time::now() < said.written + kSilence) continue;
      if (speaks())
        give_sign();
      else
        said.written = Time::now();
    }
  };
  try {
    watcher_ = std::thread(watch);
  } catch (const std::system_error&) {  // no more threads are allowed: the work may do with those it has
  }
  ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

SignOfLife::~SignOfLife() {
  {
    const std::scoped_lock lock(said.mutex);
    said.watched = false;
  }
  said.ended.notify_all();
  if (watcher_.joinable()) watcher_.join();
}

}  // namespace htfm::app
