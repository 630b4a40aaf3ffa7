#include "htfm/field/field_process.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <mutex>
#include <new>
#include <vector>

#include "htfm/base/error.h"
#include "htfm/field/field_pieces.h"
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

constexpr uint64_t kMostBytes = uint64_t{1} << 34, kMemory = uint64_t{8} << 30;  // of a piece; beyond what was in use
constexpr int kSocket = 3;                                                       // in the other process

struct Said {
  Piece kind;
  std::string bytes;
};

// In the other process: what comes next, without a limit on time.
Said hear(int socket) {
  PieceHead head{};
  if (!receive_all(socket, &head, sizeof head)) ::_exit(0);
  Said said{head.kind, std::string(head.size, '\0')};
  if (!receive_all(socket, said.bytes.data(), head.size)) ::_exit(0);
  return said;
}

// Memory of both processes that rows go through: a socket would copy them four times. One half is read while the other
// is filled.
class SharedRows {
 public:
  static constexpr int64_t kHalf = 1 << 17;  // values
  SharedRows() {
    void* memory = ::mmap(nullptr, kBytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) throw Error("[fields] cannot start a process that decodes: {}", system_reason(errno));
    values_ = static_cast<double*>(memory);
  }
  ~SharedRows() { ::munmap(values_, kBytes); }
  SharedRows(const SharedRows&) = delete;
  SharedRows& operator=(const SharedRows&) = delete;
  double* half(int64_t batch) const { return values_ + batch % 2 * kHalf; }

 private:
  static constexpr size_t kBytes = 2 * kHalf * sizeof(double);
  double* values_;
};

// Sends the rows of a window.
class RowSender {
 public:
  explicit RowSender(const SharedRows& shared) : shared_(shared) {}
  void add(int64_t row, const double* values, int64_t width) {
    for (int64_t from = 0; from < width;) {
      const int64_t count = std::min(width - from, SharedRows::kHalf - used_);
      std::memcpy(shared_.half(sent_) + used_, values + from, static_cast<size_t>(count) * sizeof(double));
      segments_.push_back({row, from, count});
      from += count, used_ += count;
      if (used_ == SharedRows::kHalf) send();
    }
  }
  void end() {
    if (used_ > 0) send();
    await(sent_);
    if (!send_piece(kSocket, Piece::rows_end)) ::_exit(0);
  }

 private:
  void send() {
    if (!send_piece(kSocket, Piece::rows, PieceWriter() << segments_)) ::_exit(0);
    ++sent_, used_ = 0;
    segments_.clear();
    await(sent_ - 1);  // the half that is filled next has been read
  }
  void await(int64_t batches) {
    for (; read_ < batches; ++read_)
      if (hear(kSocket).kind != Piece::rows_read) ::_exit(0);
  }
  const SharedRows& shared_;
  std::vector<RowSegment> segments_;
  int64_t used_ = 0, sent_ = 0, read_ = 0;  // values; batches
};

// The other process: reads one file after the other until nobody asks any more.
[[noreturn]] void serve(const FieldReader& reader, const SharedRows& shared) {
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
        RowSender sender(shared);
        message.visit_rows(window, [&](int64_t row, const double* values) { sender.add(row, values, window.width); });
        sender.end();
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
    serve(reader, shared_);
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
      std::vector<double>& row = process_.row_;  // a copy: what the other process holds may change
      row.resize(static_cast<size_t>(window.width));
      int64_t filled = 0;
      for (int64_t batch = 0;; ++batch) {
        const Said said = process_.answer();
        if (said.kind == Piece::rows_end) return;
        if (said.kind != Piece::rows) process_.unexpected();
        std::vector<RowSegment> segments;
        PieceReader(said.bytes, process_.path_) >> segments;
        const double* values = process_.shared_.half(batch);
        int64_t used = 0;
        for (const RowSegment& s : segments) {
          if (s.row < 0 || s.row >= window.height || s.from != filled || s.count <= 0 ||
              s.count > window.width - filled || s.count > SharedRows::kHalf - used)
            process_.unexpected();
          std::memcpy(row.data() + filled, values + used, static_cast<size_t>(s.count) * sizeof(double));
          used += s.count, filled += s.count;
          if (filled < window.width) continue;
          filled = 0;
          visitor(s.row, row.data());
        }
        process_.say(Piece::rows_read);
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
    PieceHead head{};
    read(&head, sizeof head);
    if (head.size > kMostBytes) unexpected();
    Said said{head.kind, std::string(head.size, '\0')};
    read(said.bytes.data(), head.size);
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
      const double seconds = patience();
      const int n = ::poll(&ready, 1, static_cast<int>(1000 * seconds));
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

  static double patience() {
    const char* text = std::getenv("HTFM_FIELD_SECONDS");
    const double seconds = text ? std::atof(text) : 0;
    return seconds >= 0.001 && seconds <= 1e6 ? seconds : 120;
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
  const SharedRows shared_;
  Descriptor socket_;
  pid_t child_ = 0;
  bool waits_ = true;
  std::string path_;
  std::vector<double> row_;
};

// Processes that are done with a file wait for the next one: libraries load their tables once. There are as many as
// files were read at a time.
std::mutex idle_mutex;
std::vector<std::unique_ptr<FieldProcess>> idle;

}  // namespace

void visit_in_process(const FieldReader& reader, FieldFormat format, const std::string& path, const FieldChoice& choice,
                      const FieldVisitor& visitor) {
  std::unique_ptr<FieldProcess> process;
  {
    const std::lock_guard lock(idle_mutex);
    std::erase_if(idle, [&](const auto& one) { return &one->reader() != &reader; });
    if (!idle.empty()) {
      process = std::move(idle.back());
      idle.pop_back();
    }
  }
  if (!process) process = std::make_unique<FieldProcess>(reader);
  const auto give_back = [&] {
    const std::lock_guard lock(idle_mutex);
    if (process->waits()) idle.push_back(std::move(process));
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
