#include "htfm/io/row_file.h"

#include <c10/util/accumulate.h>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <nlohmann/json.hpp>
#include <optional>

#include "htfm/base/error.h"
#include "htfm/io/csv.h"
#include "htfm/io/dtype.h"
#include "htfm/io/npy.h"

namespace htfm {
namespace {

std::string beside(const std::string& path, const char* end) {
  const size_t name = path.rfind('/') + 1;
  return path.substr(0, name) + "." + path.substr(name) + end;
}

// What a process that was stopped left: rows, and the bytes that they take.
struct Left {
  int64_t rows = 0;
  uint64_t bytes = 0;
};

std::optional<Left> read_note(const std::string& note, const std::string& key, const std::string& path) {
  if (::access(note.c_str(), F_OK) != 0) return std::nullopt;
  const nlohmann::json j = nlohmann::json::parse(read_file(note), nullptr, /*allow_exceptions=*/false);
  const bool good = j.is_object() && j.contains("key") && j["key"].is_string() && j.contains("rows") &&
                    j["rows"].is_number_unsigned() && j.contains("bytes") && j["bytes"].is_number_unsigned();
  if (!good)
    throw InputError("[rows] {}: expected what an unfinished file of samples leaves, got another text: remove it",
                     note);
  if (j["key"] != key)
    throw InputError(
        "[rows] {}: expected the same run, number, seed and options on --resume; another file was begun there: leave "
        "--resume out to start again",
        path);
  return Left{j["rows"].get<int64_t>(), j["bytes"].get<uint64_t>()};
}

}  // namespace

RowWriter::RowWriter(Sink& sink, RowFormat format, int64_t first, int64_t total)
    : sink_(sink), format_(std::move(format)), next_(first), total_(total) {
  if (format_.csv && format_.shape.size() != 1)
    throw InputError("[rows] expected rows of numbers for .csv, got shape {}", shape_text(format_.shape));
  if (first > 0) return;
  if (format_.csv) {
    write_csv_header(sink_, format_.names);
  } else {
    std::vector<int64_t> shape{total};
    shape.insert(shape.end(), format_.shape.begin(), format_.shape.end());
    write_npy_header(sink_, shape, format_.type);
  }
}

void RowWriter::append(const at::Tensor& rows) {
  const int64_t size = c10::multiply_integers(format_.shape);
  if (rows.dim() < 1 || rows.numel() != rows.size(0) * size)
    throw Error("[rows] expected rows of shape {}, got {}", shape_text(format_.shape), shape_text(rows.sizes()));
  if (rows.size(0) > total_ - next_)
    throw Error("[rows] expected at most {} rows more, got {}", total_ - next_, rows.size(0));
  const at::Tensor values = packed(rows.to(format_.type)).view({rows.size(0), size});
  if (format_.csv)
    write_csv_rows(sink_, values, format_.digits, format_.text);
  else
    sink_.write(values.data_ptr(), values.nbytes());
  next_ += rows.size(0);
}

struct RowFile::State {
  class CountingSink : public Sink {
   public:
    CountingSink(Descriptor& file, uint64_t bytes) : file_(file), bytes_(bytes) {}
    using Sink::write;
    void write(const void* data, size_t size) override { file_.write(data, size), bytes_ += size; }
    uint64_t bytes() const { return bytes_; }

   private:
    Descriptor& file_;
    uint64_t bytes_;
  };
  Descriptor file;
  std::optional<CountingSink> sink;
  std::optional<RowWriter> writer;
};

RowFile::RowFile(std::string path, RowFormat format, int64_t total, std::string key, bool resume)
    : path_(std::move(path)),
      part_(beside(path_, ".htfm-part")),
      note_(part_ + ".json"),
      total_(total),
      key_(std::move(key)),
      state_(std::make_unique<State>()) {
  check_can_write(path_);
  const std::optional<Left> left = resume ? read_note(note_, key_, path_) : std::nullopt;
  state_->file = Descriptor(::open(part_.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0666), path_);
  if (!state_->file.is_open()) throw Error("[write] {}: {}", path_, system_reason(errno));
  if (::flock(state_->file.get(), LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK) {
    kept_ = true;
    throw InputError(
        "[write] {}: expected a file that no other process is writing, got one that is: wait, or give another name",
        path_);
  }
  struct stat status;
  if (::fstat(state_->file.get(), &status) != 0) throw Error("[write] {}: {}", path_, system_reason(errno));
  Left from = left.value_or(Left{});
  if (static_cast<uint64_t>(status.st_size) < from.bytes || from.rows > total_) from = {};
  state_->file.truncate(from.bytes);
  if (::lseek(state_->file.get(), static_cast<off_t>(from.bytes), SEEK_SET) < 0)
    throw Error("[write] {}: {}", path_, system_reason(errno));
  state_->sink.emplace(state_->file, from.bytes);
  state_->writer.emplace(*state_->sink, std::move(format), from.rows, total_);
}

RowFile::~RowFile() {
  if (kept_) return;
  ::unlink(part_.c_str());
  ::unlink(note_.c_str());
}

int64_t RowFile::rows() const { return state_->writer->next(); }

void RowFile::append(const at::Tensor& rows) {
  state_->writer->append(rows);
  state_->file.sync();  // before the note says that they are there
  const nlohmann::json note{{"key", key_}, {"rows", this->rows()}, {"bytes", state_->sink->bytes()}};
  atomic_write(note_, note.dump() + "\n");
}

void RowFile::finish() {
  if (rows() != total_) throw Error("[rows] {}: expected {} rows, got {}", path_, total_, rows());
  state_->file.sync();
  state_->file.close();
  struct stat status;
  std::string target = path_;
  if (::stat(path_.c_str(), &status) == 0) {
    if (!S_ISREG(status.st_mode)) throw InputError("[write] {}: expected a file, got a folder or a device", path_);
    ::chmod(part_.c_str(), status.st_mode & 07777);
    if (char* resolved = ::realpath(path_.c_str(), nullptr)) {
      target = resolved;
      std::free(resolved);
    }
  }
  if (::rename(part_.c_str(), target.c_str()) != 0) throw Error("[write] {}: {}", path_, system_reason(errno));
  ::unlink(note_.c_str());
  kept_ = true;
}

}  // namespace htfm
