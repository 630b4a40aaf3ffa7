// A file that gzip has packed, read from its beginning to its end.
#pragma once

#include <memory>
#include <string>

namespace htfm {

class GzipFile {
 public:
  explicit GzipFile(const std::string& path);
  ~GzipFile();
  GzipFile(const GzipFile&) = delete;
  GzipFile& operator=(const GzipFile&) = delete;
  /// Appends up to `size` unpacked bytes to a buffer; false at the end. InputError for what gzip did not make, or where
  /// the file ends too early.
  bool append_to(std::string& buffer, size_t size);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace htfm
