#include "app/stop_signals.h"

#include <csignal>

namespace htfm::app {

namespace {

volatile std::sig_atomic_t noted = 0;

void note(int signal) { noted = signal; }

void set(int signal, void (*handler)(int)) {
  struct sigaction before {};
  ::sigaction(signal, nullptr, &before);
  if (before.sa_handler == SIG_IGN) return;  // nohup, and shells that start jobs in the background
  struct sigaction action {};
  action.sa_handler = handler;
  action.sa_flags = handler == SIG_DFL ? 0 : static_cast<int>(SA_RESETHAND | SA_RESTART);
  ::sigaction(signal, &action, nullptr);
}

}  // namespace

StopSignals::StopSignals() {
  set(SIGINT, note);
  set(SIGTERM, note);
  set(SIGUSR1, note);
}

StopSignals::~StopSignals() {
  set(SIGINT, SIG_DFL);
  set(SIGTERM, SIG_DFL);
  set(SIGUSR1, SIG_DFL);
}

bool StopSignals::came() { return noted != 0; }

int StopSignals::exit_code() {
  constexpr int kTryAgain = 75;  // EX_TEMPFAIL of sysexits.h
  return noted == 0 ? 0 : noted == SIGUSR1 ? kTryAgain : 128 + noted;
}

}  // namespace htfm::app
