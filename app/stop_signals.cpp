#include "app/stop_signals.h"

#include <unistd.h>

#include <csignal>
#include <cstdlib>

#include "htfm/comm/processes.h"

namespace htfm::app {

namespace {

volatile std::sig_atomic_t noted = 0;

volatile std::sig_atomic_t several = 0;  // processes
constexpr unsigned kSeconds = 15;        // launchers kill after 30

void note(int signal) {
  noted = signal;
  if (signal == SIGTERM && several) ::alarm(kSeconds);
}

// Whether something has started this process that can start it again.
bool in_a_job() { return !find_launch().launcher.empty() || std::getenv("SLURM_JOB_ID"); }

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
  several = find_launch().size > 1;
  set(SIGINT, note);
  set(SIGTERM, note);
  set(SIGUSR1, note);
  sigset_t notice;  // the launcher has held it back
  ::sigemptyset(&notice);
  ::sigaddset(&notice, SIGUSR1);
  ::pthread_sigmask(SIG_UNBLOCK, &notice, nullptr);
}

StopSignals::~StopSignals() {
  set(SIGINT, SIG_DFL);
  set(SIGTERM, SIG_DFL);
  set(SIGUSR1, SIG_DFL);
}

bool StopSignals::came() { return noted != 0; }

int StopSignals::exit_code() {
  constexpr int kTryAgain = 75;  // EX_TEMPFAIL of sysexits.h
  if (noted == SIGUSR1 || (noted == SIGTERM && in_a_job())) return kTryAgain;
  return noted == 0 ? 0 : 128 + noted;
}

}  // namespace htfm::app
