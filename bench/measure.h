// How benchmarks take times, and show them beside those of peers.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "bench/bench.h"

namespace htfm::app {

/// Median seconds of a call, over rounds of at least `least` seconds each.
double median_seconds(const std::function<void()>& f, int rounds = 7, double least = 0.1);
/// Of this process: what others do on the machine does not count.
double processor_seconds(const std::function<void()>& f);

/// One line of a peer script.
struct PeerLine {
  std::string bench, peer, label;
  double seconds = 0;  // for the same work as ours
  std::string skipped;
};

/// What was measured, and where the peers are.
struct Bench {
  std::string python, peers;
  Json lines = Json::array();

  /// Our figure, and beside it each peer's time for the same work.
  void add(const std::string& bench, const std::string& what, double seconds, const std::string& figure,
           const std::vector<PeerLine>& rivals);
  /// Runs a peer script and reads its JSON lines; nothing where there is no Python or script.
  std::vector<Json> run_peer(const std::string& script, const std::vector<std::string>& arguments = {}) const;
};

PeerLine peer_line(const Json& j, double seconds, const std::string& label = "");

/// The whole training step and the sampling of the 2D job.
void bench_job(Bench& b);
/// What a coupling adds to a training step.
void bench_couplings(Bench& b);

}  // namespace htfm::app
