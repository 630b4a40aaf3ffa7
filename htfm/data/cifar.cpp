#include "htfm/data/cifar.h"

#include <ATen/ops/empty.h>

#include <cstring>
#include <filesystem>
#include <set>

#include "htfm/base/error.h"
#include "htfm/base/parse_number.h"
#include "htfm/io/file.h"

namespace htfm {

namespace fs = std::filesystem;

namespace {

constexpr int64_t kPixels = 3 * 32 * 32, kRecord = 1 + kPixels, kClasses = 10;
constexpr int64_t kOfficialBatches = 5, kOfficialRecords = 10000;
constexpr std::string_view kStem = "data_batch_", kEnding = ".bin";

std::string batch_path(const std::string& folder, int64_t number) {
  return fmt::format("{}/{}{}{}", folder, kStem, number, kEnding);
}

// The numbers of a folder's batches.
std::set<int64_t> batch_numbers(const std::string& folder) {
  std::set<int64_t> out;
  std::error_code error;
  for (fs::directory_iterator at(folder, error), end; !error && at != end; at.increment(error)) {
    const std::string name = at->path().filename().string();
    if (!name.starts_with(kStem) || !name.ends_with(kEnding) || name.size() <= kStem.size() + kEnding.size()) continue;
    const std::string digits = name.substr(kStem.size(), name.size() - kStem.size() - kEnding.size());
    if (const auto number = parse_number<int64_t>(digits); number && *number > 0) out.insert(*number);
  }
  if (error) throw InputError("[cifar10] {}: {}", folder, error.message());
  return out;
}

std::vector<std::string> batch_files(const std::string& folder) {
  const std::set<int64_t> numbers = batch_numbers(folder);
  if (numbers.empty()) {
    const bool pickled = fs::exists(folder + "/data_batch_1");
    throw InputError("[cifar10] {}: expected data_batch_1.bin and so on, got {}", folder,
                     pickled ? "the Python version of CIFAR-10 (this reads the binary version)" : "none of them");
  }
  // Of the official set all five are wanted: four would quietly be another data set.
  std::error_code ignored;
  const auto size = fs::file_size(batch_path(folder, *numbers.begin()), ignored);
  const bool official = !ignored && size == static_cast<uintmax_t>(kOfficialRecords * kRecord);
  const int64_t last = std::max(*numbers.rbegin(), official ? kOfficialBatches : 1);
  std::vector<std::string> files;
  for (int64_t number = 1; number <= last; ++number) {
    files.push_back(batch_path(folder, number));
    if (!numbers.contains(number))
      throw InputError("[cifar10] {}: expected data_batch_1.bin to data_batch_{}.bin, got none named data_batch_{}.bin",
                       folder, last, number);
  }
  return files;
}

int64_t record_count(const Source& file) {
  const auto size = static_cast<int64_t>(file.size());
  if (size == 0)
    throw InputError("[cifar10] {}: expected records of {} bytes, got an empty file", file.name(), kRecord);
  if (size % kRecord != 0)
    throw InputError(
        "[cifar10] {}: truncated: expected records of {} bytes, got {} bytes in record {} (counted from 0)",
        file.name(), kRecord, size % kRecord, size / kRecord);
  return size / kRecord;
}

std::vector<std::string> class_names(const std::string& folder) {
  std::vector<std::string> names{"airplane", "automobile", "bird",  "cat",  "deer",
                                 "dog",      "frog",       "horse", "ship", "truck"};
  const std::string path = folder + "/batches.meta.txt";
  if (!fs::exists(path)) return names;
  std::vector<std::string> own;
  const std::string text = read_file(path);
  for (size_t at = 0; at < text.size();) {
    const size_t end = std::min(text.find('\n', at), text.size());
    std::string line = text.substr(at, end - at);
    if (line.ends_with('\r')) line.pop_back();
    if (!line.empty()) own.push_back(std::move(line));
    at = end + 1;
  }
  return own.size() == names.size() ? own : names;
}

}  // namespace

bool has_cifar10_batches(const std::string& folder) { return !batch_numbers(folder).empty(); }

ImageSet read_cifar10(const std::string& path) {
  std::error_code none;
  const bool folder = fs::is_directory(path, none);
  std::vector<std::unique_ptr<FileSource>> files;
  int64_t n = 0;
  for (const std::string& file : folder ? batch_files(path) : std::vector{path}) {
    files.push_back(std::make_unique<FileSource>(file));
    n += record_count(*files.back());
  }
  ImageSet set;
  set.pixels = at::empty({n, 3, 32, 32}, at::kByte);
  set.labels = at::empty({n}, at::kLong);
  auto* pixels = set.pixels.mutable_data_ptr<uint8_t>();
  auto* labels = set.labels.mutable_data_ptr<int64_t>();
  constexpr int64_t kAtOnce = 256;
  std::vector<uint8_t> buffer(static_cast<size_t>(std::min(kAtOnce, n) * kRecord));
  for (const auto& file : files) {
    const int64_t records = record_count(*file);
    for (int64_t first = 0; first < records; first += kAtOnce) {
      const int64_t count = std::min(kAtOnce, records - first);
      file->read(static_cast<uint64_t>(first * kRecord), buffer.data(), static_cast<uint64_t>(count * kRecord));
      for (int64_t i = 0; i < count; ++i, pixels += kPixels) {
        const uint8_t* record = buffer.data() + i * kRecord;
        if (record[0] >= kClasses)
          throw InputError("[cifar10] {}: record {} (counted from 0): expected a label from 0 to {}, got {}",
                           file->name(), first + i, kClasses - 1, int{record[0]});
        *labels++ = record[0];
        std::memcpy(pixels, record + 1, kPixels);
      }
    }
  }
  set.classes = class_names(folder ? path : fs::path(path).parent_path().string());
  set_hash(set);
  set.origin = fmt::format("{}, {} images of CIFAR-10", path, n);
  return set;
}

}  // namespace htfm
