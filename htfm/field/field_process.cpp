#include "htfm/field/field_process.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <mutex>
#include <new>

#include "htfm/base/error.h"
#include "htfm/io/descriptor.h"
#include "htfm/io/text.h"

// Sanitizers map terabytes of their own: no limit of addresses holds under them.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define HTFM_SHADOW_MEMORY
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define HTFM_SHADOW_MEMORY
#endif
#endif

namespace htfm {
namespace {

// What is said: each piece is its kind, the size of its bytes, and these.
enum class Piece : uint8_t { file, window, next, message, row, rows_end, end, input_error, error, no_memory };

constexpr uint64_t kMostBytes = uint64_t{1} << 34, kMemory = uint64_t{8} << 30;  // of a piece; beyond what was in use
constexpr int kSocket = 3;                                                       // in the other process

class PieceWriter {
 public:
  template <class T>
  requires std::is_trivially_copyable_v<T> PieceWriter& operator<<(const T& value) {
    bytes_.append(reinterpret_cast<const char*>(&value), sizeof value);
    return *this;
  }
  PieceWriter& operator<<(const std::string& text) {
    *this << uint64_t{text.size()};
    bytes_ += text;
    return *this;
  }
  PieceWriter& operator<<(const std::vector<double>& values) {
    *this << uint64_t{values.size()};
    return add(values.data(), values.size());
  }
  template <class T>
  PieceWriter& operator<<(const std::optional<T>& value) {
    *this << value.has_value();
    return value ? *this << *value : *this;
  }
  PieceWriter& add(const double* values, size_t count) {
    bytes_.append(reinterpret_cast<const char*>(values), count * sizeof(double));
    return *this;
  }
  const std::string& bytes() const { return bytes_; }

 private:
  std::string bytes_;
};

// The other process may have been led astray by its file: nothing that it says is taken on trust.
class PieceReader {
 public:
  PieceReader(std::string_view bytes, const std::string& path) : rest_(bytes), path_(path) {}
  template <class T>
  requires std::is_trivially_copyable_v<T> PieceReader& operator>>(T& value) {
    std::memcpy(&value, take(sizeof value), sizeof value);
    return *this;
  }
  PieceReader& operator>>(bool& value) {
    uint8_t byte = 0;
    *this >> byte;
    value = byte != 0;
    return *this;
  }
  PieceReader& operator>>(std::string& text) {
    uint64_t size = 0;
    *this >> size;
    text.assign(take(size), size);
    return *this;
  }
  PieceReader& operator>>(std::vector<double>& values) {
    uint64_t count = 0;
    *this >> count;
    if (count > rest_.size() / sizeof(double)) take(rest_.size() + 1);
    values.resize(count);
    if (count > 0) std::memcpy(values.data(), take(count * sizeof(double)), count * sizeof(double));
    return *this;
  }
  template <class T>
  PieceReader& operator>>(std::optional<T>& value) {
    bool there = false;
    *this >> there;
    value.reset();
    return there ? *this >> value.emplace() : *this;
  }
  std::string_view rest() const { return rest_; }

 private:
  const char* take(size_t size) {
    if (size > rest_.size())
      throw InputError("[fields] {}: expected a whole answer of the process that decodes it, got a part", path_);
    const char* at = rest_.data();
    rest_.remove_prefix(size);
    return at;
  }
  std::string_view rest_;
  const std::string& path_;
};

// Every member, by name: one that is added does not compile until it is sent too.
PieceWriter& operator<<(PieceWriter& to, const FieldChoice& choice) {
  const auto& [name, code, level_type, level, step, step_from, step_type, member, expand_reduced, everything] = choice;
  return to << name << code << level_type << level << step << step_from << step_type << member << expand_reduced
            << everything;
}
PieceReader& operator>>(PieceReader& from, FieldChoice& choice) {
  auto& [name, code, level_type, level, step, step_from, step_type, member, expand_reduced, everything] = choice;
  return from >> name >> code >> level_type >> level >> step >> step_from >> step_type >> member >> expand_reduced >>
         everything;
}
PieceWriter& operator<<(PieceWriter& to, const Grid& grid) {
  const auto& [height, width, kind, key, south_first, latitude, longitude] = grid;
  return to << height << width << kind << key << south_first << latitude << longitude;
}
PieceReader& operator>>(PieceReader& from, Grid& grid) {
  auto& [height, width, kind, key, south_first, latitude, longitude] = grid;
  return from >> height >> width >> kind >> key >> south_first >> latitude >> longitude;
}
PieceWriter& operator<<(PieceWriter& to, const FieldMessage& message) {
  const auto& [name, text, units, title, level, step, time, calendar, member, grid, problem] = message;
  static_cast<void>(grid);  // sent where it is another than the last one
  return to << name << text << units << title << level << step << time << calendar << member << problem;
}
PieceReader& operator>>(PieceReader& from, FieldMessage& message) {
  auto& [name, text, units, title, level, step, time, calendar, member, grid, problem] = message;
  static_cast<void>(grid);
  return from >> name >> text >> units >> title >> level >> step >> time >> calendar >> member >> problem;
}

// Both ends of the talk. False where the other one is gone.
bool send_all(int socket, const void* data, size_t size) {
  const char* from = static_cast<const char*>(data);
  while (size > 0) {
    const ssize_t n = ::send(socket, from, size, MSG_NOSIGNAL);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return false;
    from += n, size -= static_cast<size_t>(n);
  }
  return true;
}

bool send_piece(int socket, Piece kind, const PieceWriter& content = {}) {
  const uint64_t size = content.bytes().size();
  return send_all(socket, &kind, sizeof kind) && send_all(socket, &size, sizeof size) &&
         send_all(socket, content.bytes().data(), size);
}

// In the other process: asks for what comes next, without a limit on time.
bool receive_all(int socket, void* data, size_t size) {
  char* to = static_cast<char*>(data);
  while (size > 0) {
    const ssize_t n = ::recv(socket, to, size, 0);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return false;
    to += n, size -= static_cast<size_t>(n);
  }
  return true;
}

struct Said {
  Piece kind;
  std::string bytes;
};

Said hear(int socket) {
  Said said{};
  uint64_t size = 0;
  if (!receive_all(socket, &said.kind, sizeof said.kind) || !receive_all(socket, &size, sizeof size)) ::_exit(0);
  said.bytes.resize(size);
  if (!receive_all(socket, said.bytes.data(), size)) ::_exit(0);
  return said;
}

// The other process: reads one file after the other until nobody asks any more.
[[noreturn]] void serve(const FieldReader& reader) {
  const auto say = [](Piece kind, const PieceWriter& content = {}) {
    if (!send_piece(kSocket, kind, content)) ::_exit(0);
  };
  for (;;) {
    const Said asked = hear(kSocket);
    FieldFormat format{};
    std::string path;
    FieldChoice choice;
    PieceReader(asked.bytes, path) >> format >> path >> choice;
    std::shared_ptr<const Grid> last;
    const FieldVisitor visitor = [&](const FieldMessage& message) {
      PieceWriter content;
      content << message << (message.grid != last && message.grid);
      if (message.grid != last && message.grid) content << *message.grid;
      last = message.grid;
      say(Piece::message, content);
      for (;;) {
        const Said more = hear(kSocket);
        if (more.kind == Piece::next) return;
        Window window;
        PieceReader(more.bytes, path) >> window;
        message.visit_rows(window, [&](int64_t row, const double* values) {
          say(Piece::row, PieceWriter().operator<<(row).add(values, static_cast<size_t>(window.width)));
        });
        say(Piece::rows_end);
      }
    };
    try {
      if (format == FieldFormat::grib)
        reader.visit_grib(path, choice, visitor);
      else
        reader.visit_netcdf(path, choice, visitor);
      say(Piece::end);
    } catch (const InputError& e) {
      say(Piece::input_error, PieceWriter() << std::string(e.what()));
    } catch (const std::bad_alloc&) {
      say(Piece::no_memory);
    } catch (const std::exception& e) {
      say(Piece::error, PieceWriter() << std::string(e.what()));
    }
  }
}

// Limits, and nothing of the first process but what decoding needs.
void settle_in(int socket) {
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  const int null = ::open("/dev/null", O_RDWR);
  for (const int fd : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) ::dup2(null, fd);
  if (socket != kSocket) ::dup2(socket, kSocket);
  ::close_range(kSocket + 1, ~0U, 0);
  for (const int signal : {SIGINT, SIGTERM, SIGPIPE, SIGXFSZ, SIGSEGV, SIGABRT, SIGBUS, SIGFPE, SIGILL})
    ::signal(signal, SIG_DFL);
  const rlimit no_core{0, 0};
  ::setrlimit(RLIMIT_CORE, &no_core);
#ifndef HTFM_SHADOW_MEMORY
  uint64_t pages = 0;
  if (std::FILE* file = std::fopen("/proc/self/statm", "r")) {
    if (std::fscanf(file, "%lu", &pages) != 1) pages = 0;
    std::fclose(file);
  }
  const rlim_t bytes = pages * static_cast<uint64_t>(::sysconf(_SC_PAGESIZE)) + kMemory;
  const rlimit memory{bytes, bytes};
  if (pages > 0) ::setrlimit(RLIMIT_AS, &memory);
#endif
}

class FieldProcess {
 public:
  explicit FieldProcess(const FieldReader& reader) : reader_(reader) {
    int ends[2];
    if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0)
      throw Error("[fields] cannot start a process that decodes: {}", system_reason(errno));
    socket_ = Descriptor(ends[0], "socket");
    const Descriptor other(ends[1], "socket");
    child_ = ::fork();
    if (child_ < 0) throw Error("[fields] cannot start a process that decodes: {}", system_reason(errno));
    if (child_ > 0) return;
    settle_in(ends[1]);
    serve(reader);
  }
  ~FieldProcess() { stop(); }
  FieldProcess(const FieldProcess&) = delete;
  FieldProcess& operator=(const FieldProcess&) = delete;

  const FieldReader& reader() const { return reader_; }
  /// Whether it waits for another file: it has come to the end of the last one, or told what is wrong with it.
  bool waits() const { return waits_; }

  void visit(FieldFormat format, const std::string& path, const FieldChoice& choice, const FieldVisitor& visitor) {
    path_ = path, waits_ = false;
    say(Piece::file, PieceWriter() << format << path << choice);
    std::shared_ptr<const Grid> grid;
    for (;;) {
      const Said said = answer();
      if (said.kind == Piece::end) return;
      if (said.kind != Piece::message) unexpected();
      Message message(*this);
      bool other_grid = false;
      PieceReader content(said.bytes, path_);
      content >> message >> other_grid;
      if (other_grid) {
        auto read = std::make_shared<Grid>();
        content >> *read;
        grid = std::move(read);
      }
      message.grid = grid;
      visitor(message);
      say(Piece::next);
    }
  }

 private:
  class Message : public FieldMessage {
   public:
    explicit Message(FieldProcess& process) : process_(process) {}
    void visit_rows(const Window& window, const RowVisitor& visitor) const override {
      process_.say(Piece::window, PieceWriter() << window);
      for (;;) {
        const Said said = process_.answer();
        if (said.kind == Piece::rows_end) return;
        if (said.kind != Piece::row) process_.unexpected();
        PieceReader content(said.bytes, process_.path_);
        int64_t row = 0;
        content >> row;
        if (row < 0 || row >= window.height ||
            content.rest().size() != static_cast<size_t>(window.width) * sizeof(double))
          process_.unexpected();
        process_.row_.resize(static_cast<size_t>(window.width));
        std::memcpy(process_.row_.data(), content.rest().data(), content.rest().size());
        visitor(row, process_.row_.data());
      }
    }

   private:
    FieldProcess& process_;
  };

  [[noreturn]] void unexpected() {
    throw InputError("[fields] {}: expected an answer of the process that decodes it, got another", path_);
  }

  void say(Piece kind, const PieceWriter& content = {}) {
    if (!send_piece(socket_.get(), kind, content)) ended();
  }

  // What the process says next; the errors that it tells of are thrown.
  Said answer() {
    Said said{};
    uint64_t size = 0;
    read(&said.kind, sizeof said.kind);
    read(&size, sizeof size);
    if (size > kMostBytes) unexpected();
    said.bytes.resize(size);
    read(said.bytes.data(), size);
    const auto text = [&] {
      std::string out;
      PieceReader(said.bytes, path_) >> out;
      return out;
    };
    waits_ = said.kind == Piece::end || said.kind == Piece::input_error || said.kind == Piece::error;
    if (said.kind == Piece::input_error) throw InputError("{}", text());
    if (said.kind == Piece::error) throw Error("{}", text());
    if (said.kind == Piece::no_memory)
      throw InputError("[fields] {}: expected fields that take at most {} GiB, got one that asks for more", path_,
                       kMemory >> 30);
    return said;
  }

  void read(void* data, size_t size) {
    char* to = static_cast<char*>(data);
    while (size > 0) {
      pollfd ready{socket_.get(), POLLIN, 0};
      const int seconds = patience(), n = ::poll(&ready, 1, 1000 * seconds);
      if (n < 0 && errno == EINTR) continue;
      if (n == 0)
        throw InputError(
            "[fields] {}: damaged, or a very slow disk: nothing was decoded in {} seconds (HTFM_FIELD_SECONDS sets how "
            "long to wait)",
            path_, seconds);
      const ssize_t got = ::recv(socket_.get(), to, size, 0);
      if (got < 0 && errno == EINTR) continue;
      if (got <= 0) ended();
      to += got, size -= static_cast<size_t>(got);
    }
  }

  static int patience() {
    const char* text = std::getenv("HTFM_FIELD_SECONDS");
    const int seconds = text ? std::atoi(text) : 0;
    return seconds > 0 && seconds <= 1000000 ? seconds : 120;
  }

  [[noreturn]] void ended() {
    int status = 0;
    while (::waitpid(child_, &status, 0) < 0 && errno == EINTR) {
    }
    child_ = 0;
    throw InputError("[fields] {}: damaged: the process that decoded it ended{}", path_,
                     WIFSIGNALED(status) ? fmt::format(" ({})", ::strsignal(WTERMSIG(status))) : "");
  }

  void stop() {
    if (child_ <= 0) return;
    ::kill(child_, SIGKILL);
    while (::waitpid(child_, nullptr, 0) < 0 && errno == EINTR) {
    }
    child_ = 0;
  }

  const FieldReader& reader_;
  Descriptor socket_;
  pid_t child_ = 0;
  bool waits_ = true;
  std::string path_;
  std::vector<double> row_;
};

// A process that is done with a file waits for the next one: libraries load their tables once.
std::mutex idle_mutex;
std::unique_ptr<FieldProcess> idle;

}  // namespace

void visit_in_process(const FieldReader& reader, FieldFormat format, const std::string& path, const FieldChoice& choice,
                      const FieldVisitor& visitor) {
  std::unique_ptr<FieldProcess> process;
  {
    const std::lock_guard lock(idle_mutex);
    process = std::move(idle);
  }
  if (process && &process->reader() != &reader) process.reset();
  if (!process) process = std::make_unique<FieldProcess>(reader);
  const auto give_back = [&] {
    const std::lock_guard lock(idle_mutex);
    if (process->waits()) idle = std::move(process);
  };
  try {
    process->visit(format, path, choice, visitor);
  } catch (...) {
    give_back();
    throw;
  }
  give_back();
}

}  // namespace htfm
