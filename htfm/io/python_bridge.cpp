#include "htfm/io/python_bridge.h"

#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>

#include "htfm/base/error.h"
#include "htfm/io/child_process.h"
#include "htfm/io/descriptor.h"
#include "htfm/io/file.h"
#include "htfm/io/text.h"

namespace htfm {

namespace {

/// An unnamed file in memory.
Descriptor memory_file(const char* name) {
  Descriptor file(::memfd_create(name, MFD_CLOEXEC), name);
  if (!file.is_open()) throw Error("[python] cannot make a buffer: {}", system_reason(errno));
  return file;
}

std::string content(const Descriptor& file) {
  std::string text;
  char buffer[1 << 16];
  for (off_t at = 0;;) {
    const ssize_t n = ::pread(file.get(), buffer, sizeof buffer, at);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) throw Error("[python] cannot read a buffer: {}", system_reason(errno));
    if (n == 0) return text;
    text.append(buffer, static_cast<size_t>(n));
    at += n;
  }
}

// Before the script: a small file can stand for a table that no memory holds.
constexpr const char* kLimits = R"python(
import resource
memory = SIZE
resource.setrlimit(resource.RLIMIT_AS, (memory, memory))
resource.setrlimit(resource.RLIMIT_FSIZE, (memory, memory))
)python";

std::string limited(const char* script) {
  std::string limits = kLimits;
  const int64_t memory = int64_t{::sysconf(_SC_PHYS_PAGES)} * ::sysconf(_SC_PAGESIZE);
  return limits.replace(limits.find("SIZE"), 4, std::to_string(memory)) + script;
}

}  // namespace

std::string last_line_of(const std::string& messages) {
  const std::string line = last_line(messages);
  return line.empty() ? "nothing" : printable(line);
}

std::string text_of_answer(PythonAnswer answer, const PythonFile& file, const std::string& path,
                           const std::string& python) {
  if (answer.code == kNoPackage)
    throw InputError(
        "[{}] {}: expected a Python with {} to read it, got {} without it (save the table as CSV, or install {})",
        file.tag, path, file.package, python, file.package);
  if (answer.code == kNotSuchAFile)
    throw InputError("[{}] {}: expected {}, got: {}", file.tag, path, file.kind, answer.last_line);
  if (answer.code != 0)
    throw InputError("[{}] {}: expected {} to read it, got: {}", file.tag, path, python, answer.last_line);
  return std::move(answer.out);
}

std::string run_python(const std::string& python, const char* script, const std::string& path, const PythonFile& file) {
  const FileSource there(path);  // names a file that is not there before Python is asked
  const Descriptor out = memory_file("csv"), err = memory_file("messages");
  const pid_t child = [&] {
    try {
      return start_program({python, "-I", "-c", limited(script), path}, out.get(), err.get());
    } catch (const Error& e) {
      throw InputError("[{}] {}: expected a Python with {} to read it, got none: {}", file.tag, path, file.package,
                       e.what());
    }
  }();
  PythonAnswer answer{.code = wait_for_program(child)};
  answer.out = content(out), answer.last_line = last_line_of(content(err));
  return text_of_answer(std::move(answer), file, path, python);
}

}  // namespace htfm
