// The folder of a run: config.toml, log.jsonl, events, checkpoints/step-N.safetensors.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "htfm/base/api.h"

namespace htfm HTFM_PUBLIC {

struct CheckpointFile {
  int64_t step;
  std::string path;
};

class RunFolder {
 public:
  explicit RunFolder(std::string path) : path_(std::move(path)) {}
  const std::string& path() const { return path_; }
  std::string config() const { return path_ + "/config.toml"; }
  std::string log() const { return path_ + "/log.jsonl"; }
  std::string events() const { return path_ + "/events"; }
  std::string checkpoints() const { return path_ + "/checkpoints"; }
  std::string lock() const { return path_ + "/lock"; }
  std::string checkpoint(int64_t step) const;

  /// Whether a run was started here.
  bool exists() const;
  /// Makes the folders. InputError where a part of the run is a link, which would lead what is written elsewhere.
  void make() const;
  /// Removes what a killed run left half-written; for the process that holds the lock.
  void clean() const;
  /// The files and folders of a run that do not exist yet.
  std::vector<std::string> missing() const;
  /// The checkpoints, oldest first.
  std::vector<CheckpointFile> list() const;
  /// The newest one; InputError where there is none.
  CheckpointFile newest() const;
  /// Removes old checkpoints: the newest `keep` stay, and multiples of `keep_every` (0: none).
  void prune(int64_t keep, int64_t keep_every) const;

 private:
  std::string path_;
};

/// Keeps a folder to one writer: held while alive, released by the system when the process dies.
class FolderLock {
 public:
  /// InputError where another process holds the folder.
  explicit FolderLock(const std::string& folder);
  ~FolderLock();
  FolderLock(const FolderLock&) = delete;
  FolderLock& operator=(const FolderLock&) = delete;
  /// Where the system cannot lock (some network disks): a sentence that says so; empty otherwise.
  const std::string& warning() const { return warning_; }

 private:
  int fd_ = -1;
  std::string warning_;
};

/// A checkpoint file as the user names it: the file itself, or a run folder for its newest one.
std::string resolve_checkpoint(const std::string& run_or_file);

}  // namespace htfm
