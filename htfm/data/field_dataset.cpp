// Prepared fields as rows: in memory where they fit, otherwise in a mapped file.
#include <ATen/ops/empty.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>

#include "htfm/base/error.h"
#include "htfm/data/dataset.h"
#include "htfm/data/row_memory.h"
#include "htfm/field/field_set.h"
#include "htfm/io/hash.h"
#include "htfm/io/mapped_file.h"

namespace htfm {

namespace {

// Where rows that do not fit into memory go: the folder of temporary files, where one is named, or the set's own.
std::string scratch_folder(const std::string& path) {
  const char* temporary = std::getenv("TMPDIR");
  return temporary && *temporary ? temporary : std::filesystem::path(path).parent_path().string();
}

// Rows that are made part by part.
class RowsInParts {
 public:
  RowsInParts(int64_t rows, int64_t dim, const std::string& path) : shape_{rows, dim} {
    if (rows * dim * static_cast<int64_t>(sizeof(float)) > host_row_memory())
      file_.emplace(scratch_folder(path));
    else
      rows_ = at::empty(shape_, at::kFloat);
  }
  void append(const at::Tensor& part) {
    hash_.update(part.const_data_ptr(), part.nbytes());
    if (file_)
      file_->append(part.const_data_ptr(), part.nbytes());
    else
      rows_.narrow(0, count_, part.size(0)).copy_(part);
    count_ += part.size(0);
  }
  void finish(Dataset& set) {
    set.rows = file_ ? mapped_tensor(file_->map(), 0, shape_, at::kFloat) : rows_;
    set.streamed = file_.has_value(), set.hash = hash_.hex();
    if (file_)
      set.notes.push_back(fmt::format(
          "{:.1f} GB of rows are more than the limit on memory (HTFM_ROW_MEMORY): they are kept in a file in {} and "
          "read when needed",
          static_cast<double>(set.rows.nbytes()) / 1e9, std::filesystem::path(file_->path()).parent_path().string()));
  }

 private:
  std::vector<int64_t> shape_;
  std::optional<ScratchFile> file_;
  at::Tensor rows_;
  Xxh64 hash_;
  int64_t count_ = 0;
};

}  // namespace

Dataset field_dataset(const std::string& path, bool held_out) {
  const FieldSet set = open_field_set(path);
  const std::vector<int64_t> index = set.part(held_out);
  if (index.empty())
    throw InputError("[data] {}: expected fields {}, got none among {}", path, held_out ? "held out" : "to train on",
                     set.size());
  const int64_t n = static_cast<int64_t>(index.size()), size = set.fields.numel() / set.size();
  constexpr int64_t kPart = 256;  // fields in memory twice
  const Key key = Key(0).child("dequantise").child(set.hash);
  RowsInParts rows(n, size, path);
  for (int64_t first = 0; first < n; first += kPart) {
    const std::vector<int64_t> part(index.begin() + first, index.begin() + std::min(n, first + kPart));
    rows.append(set.transform.apply(set.take(part), key, first, set.distance(part)));
  }
  Dataset out;
  rows.finish(out);
  out.image = ImageShape{set.fields.size(1), set.fields.size(2), set.fields.size(3)};
  out.field = set.transform;
  out.fields = path, out.held_out = held_out;
  out.origin =
      fmt::format("{}, {} fields {} ({})", path, n, held_out ? "held out" : "to train on", set.transform.text());
  return out;
}

}  // namespace htfm
