#include "htfm/model/run_folder.h"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>

#include "htfm/base/error.h"
#include "htfm/base/parse_number.h"
#include "htfm/io/file.h"
#include "htfm/io/link.h"

namespace fs = std::filesystem;

namespace htfm {

namespace {
constexpr std::string_view kPrefix = "step-", kSuffix = ".safetensors";
}

std::string RunFolder::checkpoint(int64_t step) const {
  return fmt::format("{}/{}{:08d}{}", checkpoints(), kPrefix, step, kSuffix);
}

bool RunFolder::exists() const { return fs::exists(config()) || !list().empty(); }

void RunFolder::make() const {
  for (const std::string& part : {config(), log(), events(), checkpoints(), lock()}) refuse_link(part);
  make_folder(checkpoints());
  for (const CheckpointFile& file : list()) refuse_link(file.path);
}

void RunFolder::clean() const {
  remove_temporaries(path_);
  remove_temporaries(checkpoints());
}

std::vector<std::string> RunFolder::missing() const {
  if (!fs::exists(path_)) return {path_};
  std::vector<std::string> out{config(), log(), events(), checkpoints(), lock()};
  std::erase_if(out, [](const std::string& part) { return fs::exists(part); });
  return out;
}

std::vector<CheckpointFile> RunFolder::list() const {
  std::vector<CheckpointFile> out;
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(checkpoints(), error)) {
    const std::string name = entry.path().filename().string();
    if (!name.starts_with(kPrefix) || !name.ends_with(kSuffix)) continue;
    const std::string digits = name.substr(kPrefix.size(), name.size() - kPrefix.size() - kSuffix.size());
    if (const auto step = parse_number<int64_t>(digits)) out.push_back({*step, entry.path().string()});
  }
  std::sort(out.begin(), out.end(), [](const auto& a, const auto& b) { return a.step < b.step; });
  return out;
}

CheckpointFile RunFolder::newest() const {
  const auto all = list();
  if (all.empty())
    throw InputError("[run] {}: expected a run with a checkpoint, got none in {}: htfm train -o {} makes one", path_,
                     checkpoints(), path_);
  return all.back();
}

void RunFolder::prune(int64_t keep, int64_t keep_every) const {
  const auto all = list();
  for (size_t i = 0; i + static_cast<size_t>(keep) < all.size(); ++i) {
    if (keep_every > 0 && all[i].step % keep_every == 0) continue;
    std::error_code ignored;
    fs::remove(all[i].path, ignored);
  }
}

FolderLock::FolderLock(const std::string& folder) {
  const std::string path = RunFolder(folder).lock();
  fd_ = ::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0644);
  if (fd_ < 0) throw Error("[run] {}: {}", path, system_reason(errno));
  while (::flock(fd_, LOCK_EX | LOCK_NB) != 0) {
    if (errno == EINTR) continue;
    if (errno != EWOULDBLOCK) {
      warning_ = fmt::format(
          "{}: this disk cannot lock files ({}): continuing; make sure that no other process trains in this folder",
          folder, system_reason(errno));
      break;
    }
    ::close(fd_);
    throw InputError(
        "[run] {}: expected a folder that no other process is training in, got one that is in use: wait until it ends, "
        "or give another folder",
        folder);
  }
}

FolderLock::~FolderLock() { ::close(fd_); }

std::string resolve_checkpoint(const std::string& run_or_file) {
  if (!fs::exists(run_or_file))
    throw InputError("[run] {}: expected a run folder or a checkpoint file, got nothing there", run_or_file);
  return fs::is_directory(run_or_file) ? RunFolder(run_or_file).newest().path : run_or_file;
}

}  // namespace htfm
