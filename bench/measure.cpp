#include "bench/measure.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <ctime>

#include "bench/peer_script.h"

namespace htfm::app {

namespace {

double seconds_of(const std::function<void()>& f) {
  const auto t = std::chrono::steady_clock::now();
  f();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - t).count();
}

}  // namespace

double processor_seconds(const std::function<void()>& f) {
  const auto now = [] {
    timespec t{};
    ::clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return static_cast<double>(t.tv_sec) + 1e-9 * static_cast<double>(t.tv_nsec);
  };
  const double start = now();
  f();
  return now() - start;
}

double median_seconds(const std::function<void()>& f, int rounds, double least) {
  f();
  const int inner = std::max(1, static_cast<int>(least / std::max(seconds_of(f), 1e-9)));
  std::vector<double> times;
  times.reserve(static_cast<size_t>(rounds));
  for (int r = 0; r < rounds; ++r)
    times.push_back(seconds_of([&] {
                      for (int i = 0; i < inner; ++i) f();
                    }) /
                    inner);
  std::nth_element(times.begin(), times.begin() + rounds / 2, times.end());
  return times[static_cast<size_t>(rounds / 2)];
}

void Bench::add(const std::string& bench, const std::string& what, double seconds, const std::string& figure,
                const std::vector<PeerLine>& rivals) {
  fmt::print(stderr, "{:<60} {:>20}\n", what, figure);
  Json line{{"bench", bench}, {"case", what}, {"seconds", seconds}, {"figure", figure}, {"peers", Json::object()}};
  for (const PeerLine& r : rivals) {
    const std::string name = r.peer + (r.label.empty() ? "" : " " + r.label);
    if (!r.skipped.empty()) {
      fmt::print(stderr, "    {:<56} {:>20}\n", name, "skipped: " + r.skipped);
      line["peers"][name] = Json{{"skipped", r.skipped}};
      continue;
    }
    fmt::print(stderr, "    {:<56} {:>14.2f} times\n", "faster than " + name, r.seconds / seconds);
    line["peers"][name] = Json{{"seconds", r.seconds}, {"ratio", r.seconds / seconds}};
  }
  lines.push_back(line);
}

std::vector<Json> Bench::run_peer(const std::string& script, const std::vector<std::string>& arguments) const {
  return run_peer_script(python, peers + "/" + script, arguments);
}

PeerLine peer_line(const Json& j, double seconds, const std::string& label) {
  return {j.value("bench", ""), j.value("peer", ""), label, seconds, j.value("skipped", "")};
}

}  // namespace htfm::app
