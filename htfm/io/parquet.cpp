#include "htfm/io/parquet.h"

#include <fcntl.h>
#include <spawn.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>

#include "htfm/base/error.h"
#include "htfm/io/descriptor.h"
#include "htfm/io/file.h"
#include "htfm/io/text.h"

namespace htfm {
namespace {

constexpr int kNoPyarrow = 3, kNoParquet = 4;

// Isolated (-I), Python looks neither into the working folder nor where PYTHONPATH points; packages that the user
// installed for himself are found all the same.
constexpr const char* kScript = R"python(
import site
import sys
site.addsitedir(site.getusersitepackages())
try:
    import pyarrow as pa
    import pyarrow.csv
    import pyarrow.parquet
except ImportError:
    sys.exit(3)
try:
    table = pyarrow.parquet.read_table(sys.argv[1])
except Exception as e:
    sys.stderr.write(" ".join(str(e).split()))
    sys.exit(4)
columns = []
for column in table.columns:
    kind = column.type
    if pa.types.is_boolean(kind):
        column = column.cast(pa.int8())
    elif not (pa.types.is_integer(kind) or pa.types.is_floating(kind)):
        try:
            column = column.cast(pa.float64() if pa.types.is_decimal(kind) else pa.string())
        except Exception:
            column = pa.array(["(" + str(kind) + ")"] * len(column))
    columns.append(column)
pyarrow.csv.write_csv(pa.table(columns, names=table.column_names), sys.stdout.buffer)
)python";

/// An unnamed file in memory.
Descriptor memory_file(const char* name) {
  Descriptor file(::memfd_create(name, MFD_CLOEXEC), name);
  if (!file.is_open()) throw Error("[parquet] cannot make a buffer: {}", system_reason(errno));
  return file;
}

std::string content(const Descriptor& file) {
  std::string text;
  char buffer[1 << 16];
  for (off_t at = 0;;) {
    const ssize_t n = ::pread(file.get(), buffer, sizeof buffer, at);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) throw Error("[parquet] cannot read a buffer: {}", system_reason(errno));
    if (n == 0) return text;
    text.append(buffer, static_cast<size_t>(n));
    at += n;
  }
}

std::string last_line(const std::string& text) {
  const size_t end = text.find_last_not_of(" \r\n");
  if (end == std::string::npos) return "nothing";
  const size_t begin = text.find_last_of('\n', end) + 1;
  return printable(text.substr(begin, end + 1 - begin));
}

}  // namespace

std::string parquet_python() {
  const char* named = std::getenv(kParquetPython);
  return named && *named ? named : "python3";
}

std::string parquet_as_csv(const std::string& path, const std::string& interpreter) {
  const std::string python = interpreter.empty() ? parquet_python() : interpreter;
  const FileSource there(path);  // names a file that is not there before Python is asked
  const Descriptor out = memory_file("csv"), err = memory_file("messages");
  posix_spawn_file_actions_t actions;
  ::posix_spawn_file_actions_init(&actions);
  ::posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  ::posix_spawn_file_actions_adddup2(&actions, out.get(), STDOUT_FILENO);
  ::posix_spawn_file_actions_adddup2(&actions, err.get(), STDERR_FILENO);
  std::string arguments[] = {python, "-I", "-c", kScript, path};
  char* argv[] = {arguments[0].data(), arguments[1].data(), arguments[2].data(),
                  arguments[3].data(), arguments[4].data(), nullptr};
  pid_t child = 0;
  const int failed = ::posix_spawnp(&child, python.c_str(), &actions, nullptr, argv, environ);
  ::posix_spawn_file_actions_destroy(&actions);
  if (failed != 0)
    throw InputError("[parquet] {}: expected a Python with pyarrow to read Parquet, got none: {}: {}", path, python,
                     system_reason(failed));
  int status = 0;
  while (::waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  const int code = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  if (code == kNoPyarrow)
    throw InputError(
        "[parquet] {}: expected a Python with pyarrow to read Parquet, got {} without it (save the table as CSV, or "
        "install pyarrow)",
        path, python);
  if (code == kNoParquet)
    throw InputError("[parquet] {}: expected a Parquet file, got: {}", path, last_line(content(err)));
  if (code != 0)
    throw InputError("[parquet] {}: expected {} to read it, got: {}", path, python, last_line(content(err)));
  return content(out);
}

}  // namespace htfm
