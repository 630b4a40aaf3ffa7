// As entry.h, of files of fields: the frame of a GRIB file, which we check, and what their libraries decode, in a
// process of their own. A crash of that process is a refusal; a fault that a sanitizer finds in our part of it is not.
#pragma once

#include <sanitizer/asan_interface.h>
#include <signal.h>
#include <sys/mman.h>
#include <unistd.h>

#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

#include "fuzz/support.h"
#include "htfm/field/field_process.h"
#include "htfm/field/grib_scan_module.h"
#include "htfm/io/file.h"

extern "C" const void* htfm_field_reader(const char** reason);
// The linker's names for the counters of clang, which say what of our code was reached.
extern "C" uint8_t __start___sancov_cntrs[], __stop___sancov_cntrs[];
// Called by the sanitizer as soon as it finds something.
extern "C" void __asan_on_error();

namespace htfm::fuzz {

/// Two copies of an accepted file hold twice its messages.
inline bool grib_scan(std::string_view bytes) {
  return accepts([&] {
    const GribFrame frame = scan_grib(MemorySource(bytes, "fuzz.grib"));
    must_hold([&] {
      const std::string twice = std::string(bytes) + "\n" + std::string(bytes);
      const GribFrame both = scan_grib(MemorySource(twice, "twice.grib"));
      return both.messages == 2 * frame.messages && both.shared == frame.shared;
    });
  });
}

/// The counters of what of our code was reached, in memory of this process and the one that decodes, so that the fuzzer
/// sees what was reached there.
class SharedCounters {
 public:
  SharedCounters() {
    constexpr uintptr_t kPage = 4096;
    const uintptr_t from = (reinterpret_cast<uintptr_t>(__start___sancov_cntrs) + kPage - 1) / kPage * kPage;
    const uintptr_t to = reinterpret_cast<uintptr_t>(__stop___sancov_cntrs) / kPage * kPage;
    if (from >= to) return;
    const std::string counts(reinterpret_cast<const char*>(from), to - from);
    begin_ = ::mmap(reinterpret_cast<void*>(from), to - from, PROT_READ | PROT_WRITE,
                    MAP_SHARED | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
    if (begin_ == MAP_FAILED) std::abort();
    size_ = to - from;
    std::memcpy(begin_, counts.data(), size_);
  }
  /// As if nothing was reached: the fuzzer does not keep such an input, and makes no others of it.
  void forget() { std::memset(begin_, 0, size_); }

 private:
  void* begin_ = nullptr;
  size_t size_ = 0;
};

/// Whether the sanitizer has begun a report in the process that decodes, and nobody has judged it yet; in memory of
/// both.
inline volatile bool* unjudged = [] {
  void* shared = ::mmap(nullptr, sizeof(bool), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (shared == MAP_FAILED) std::abort();
  return static_cast<volatile bool*>(shared);
}();

/// A library that frees its memory twice is ended by the sanitizer: no finding, and told as any other fall of it, by a
/// signal. All else stays a finding: a library that writes beyond a buffer may have got one of ours that is too small.
/// Called in the process that fell, with the report.
inline void judge_report(const char* report) {
  const char* caller = std::strstr(report, "#1 ");
  if (!caller || !std::strstr(report, "double-free")) return;
  const std::string_view line(caller, std::strcspn(caller, "\n"));
  if (line.find(".so") == line.npos) return;
  *unjudged = false;
  ::kill(::getpid(), SIGKILL);
}

/// What a sanitizer reports ends the other process too, but by no signal: a finding.
inline bool fell_to_a_sanitizer(const InputError& error) {
  return std::string_view(error.what()).ends_with("the process that decoded it ended");
}

/// Reads the good files that HTFM_FUZZ_FIRST names, apart by blanks, in this process: the libraries start and load
/// their tables here once, and not in each process that is started after one fell.
inline void start_libraries(const FieldReader& reader, FieldFormat format) {
  const char* first = std::getenv("HTFM_FUZZ_FIRST");
  std::istringstream paths(first ? first : "");
  const FieldVisitor nothing = [](const FieldMessage&) {};
  for (std::string path; paths >> path;) {
    if (format == FieldFormat::grib)
      reader.visit_grib(path, {.everything = true}, nothing);
    else
      reader.visit_netcdf(path, {.everything = true}, nothing);
  }
}

/// Lists the fields of a file and reads the first rows of those that are not large. Ends the program at a finding.
inline bool read_fields(const FieldReader& reader, FieldFormat format, const std::string& path) {
  try {
    visit_in_process(reader, format, path, {.everything = true}, [count = 0](const FieldMessage& message) mutable {
      if (++count > 64) throw InputError("enough fields");
      if (!message.grid || !message.problem.empty() || message.grid->width > 10000) return;
      const Window window{0, 0, std::min<int64_t>(message.grid->height, 2), message.grid->width};
      std::vector<double> values(static_cast<size_t>(window.height * window.width));
      message.read(window, values.data());
    });
    return true;
  } catch (const InputError& error) {
    must_hold([&] { return !fell_to_a_sanitizer(error); });
    return false;
  }
}

/// Most of the time would go into waiting for files that never end, or into those of millions of fields, so both are
/// short here, and the fuzzer does not look for more of their kind.
inline bool decoded(FieldFormat format, std::string_view bytes) {
  constexpr const char* kWait = "HTFM_FIELD_SECONDS";
  static SharedCounters counters;
  static const FieldReader& reader = [&]() -> const FieldReader& {
    __asan_set_error_report_callback(judge_report);
    ::setenv(kWait, "0.02", 0);
    const FieldReader& found = *static_cast<const FieldReader*>(htfm_field_reader(nullptr));
    start_libraries(found, format);
    return found;
  }();
  const MemoryFile file(bytes);
  const auto start = std::chrono::steady_clock::now();
  bool accepted = read_fields(reader, format, file.path());
  if (*unjudged) {  // the wait ended while the report was written: once more, with all the time that it takes
    *unjudged = false;
    const std::string wait = std::getenv(kWait);
    ::setenv(kWait, "10", 1);
    accepted = read_fields(reader, format, file.path());
    ::setenv(kWait, wait.c_str(), 1);
  }
  if (std::chrono::steady_clock::now() - start > std::chrono::milliseconds(5)) counters.forget();
  return accepted;
}

inline bool netcdf(std::string_view bytes) { return decoded(FieldFormat::netcdf, bytes); }
inline bool grib(std::string_view bytes) { return decoded(FieldFormat::grib, bytes); }

}  // namespace htfm::fuzz

extern "C" void __asan_on_error() { *htfm::fuzz::unjudged = true; }
