#include "htfm/data/image_folder.h"

#include <ATen/ops/empty.h>

#include <cstring>
#include <filesystem>

#include "htfm/base/error.h"
#include "htfm/base/parallel.h"
#include "htfm/io/png.h"
#include "htfm/io/text.h"

namespace htfm {

namespace fs = std::filesystem;

namespace {

struct Listing {
  std::vector<std::string> png, folders;  // paths, sorted
  int64_t others = 0;
};

bool is_png(const fs::path& path) { return lower_case(path.extension().string()) == ".png"; }

// Hidden entries do not count.
Listing list(const std::string& folder) {
  Listing out;
  std::error_code error;
  for (fs::directory_iterator at(folder, error), end; !error && at != end; at.increment(error)) {
    if (at->path().filename().string().starts_with('.')) continue;
    if (std::error_code none; at->is_directory(none))
      out.folders.push_back(at->path().string());
    else if (is_png(at->path()))
      out.png.push_back(at->path().string());
    else
      ++out.others;
  }
  if (error) throw InputError("[png] {}: {}", folder, error.message());
  std::sort(out.png.begin(), out.png.end());
  std::sort(out.folders.begin(), out.folders.end());
  return out;
}

}  // namespace

bool has_png_files(const std::string& folder) {
  const Listing here = list(folder);
  return !here.png.empty() || std::any_of(here.folders.begin(), here.folders.end(),
                                          [](const std::string& f) { return !list(f).png.empty(); });
}

ImageSet read_image_folder(const std::string& path) {
  std::error_code none;
  if (!fs::is_directory(path, none))
    throw InputError("[png] {}: expected a folder of PNG files, got {}", path,
                     fs::exists(path, none) ? "a file" : "nothing there");
  ImageSet set;
  Listing here = list(path);
  std::vector<std::string> files = std::move(here.png);
  std::vector<int64_t> labels;
  int64_t others = here.others;
  for (const std::string& folder : here.folders) {
    const Listing inside = list(folder);
    others += inside.others;
    if (inside.png.empty()) continue;
    if (set.classes.empty() && !files.empty())
      throw InputError("[png] {}: expected PNG files or folders of them, got both: {} and {}", path, files[0],
                       inside.png[0]);
    labels.insert(labels.end(), inside.png.size(), static_cast<int64_t>(set.classes.size()));
    files.insert(files.end(), inside.png.begin(), inside.png.end());
    set.classes.push_back(fs::path(folder).filename().string());
  }
  if (files.empty()) throw InputError("[png] {}: expected PNG files, or folders of them, got none", path);

  const auto n = static_cast<int64_t>(files.size());
  const at::Tensor first = read_png(files[0]);
  const int64_t size = first.numel();
  set.pixels = at::empty({n, first.size(0), first.size(1), first.size(2)}, at::kByte);
  auto* out = set.pixels.mutable_data_ptr<uint8_t>();
  parallel_ranges(n, 16, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      const at::Tensor image = read_png(files[i]);
      if (image.sizes() != first.sizes()) {
        const auto text = [](const at::Tensor& t) { return ImageShape{t.size(0), t.size(1), t.size(2)}.text(); };
        throw InputError("[png] {}: expected images of one size, {} as {}, got {}", files[i], text(first), files[0],
                         text(image));
      }
      std::memcpy(out + i * size, image.const_data_ptr<uint8_t>(), static_cast<size_t>(size));
    }
  });
  if (!set.classes.empty()) {
    set.labels = at::empty({n}, at::kLong);
    std::copy(labels.begin(), labels.end(), set.labels.mutable_data_ptr<int64_t>());
  }
  if (others > 0) set.notes.push_back(fmt::format("{} files that are not named .png left out", others));
  set_hash(set);
  set.origin = fmt::format("{}, {} images", path, n);
  return set;
}

}  // namespace htfm
