#include "htfm/metric/feature_reference.h"

#include <filesystem>

#include "htfm/base/error.h"
#include "htfm/base/parse_number.h"
#include "htfm/io/dtype.h"
#include "htfm/io/safetensors.h"

namespace htfm {
namespace {

constexpr const char* kFormat = "htfm.features/1";

const std::string& entry(const SafeTensors& file, const std::string& name, const std::string& path) {
  const auto found = file.metadata.find(name);
  if (found == file.metadata.end())
    throw InputError("[reference] {}: expected a file of features ('{}' in its metadata), got none", path, name);
  return found->second;
}

at::Tensor tensor(const SafeTensors& file, const std::string& name, at::ScalarType type, at::IntArrayRef shape,
                  const std::string& path) {
  const auto found = file.tensors.find(name);
  if (found == file.tensors.end()) throw InputError("[reference] {}: expected the tensor '{}', got none", path, name);
  const at::Tensor& t = found->second;
  if (t.scalar_type() != type || t.sizes() != shape)
    throw InputError("[reference] {}: expected '{}' in {} of shape {}, got {} of shape {}", path, name,
                     dtype_name(type), shape_text(shape), dtype_name(t.scalar_type()), shape_text(t.sizes()));
  return t;
}

int64_t whole_number(const std::string& text, const std::string& name, const std::string& path) {
  const std::optional<int64_t> v = parse_number<int64_t>(text);
  if (!v || *v < 1) throw InputError("[reference] {}: expected a whole number as '{}', got '{}'", path, name, text);
  return *v;
}

}  // namespace

FeatureReference make_reference(const FeatureNetwork& network, const at::Tensor& images, const std::string& data_hash,
                                int64_t batch) {
  FeatureReference out{.data_hash = data_hash, .network_hash = network.hash()};
  out.features = network(images, batch).cpu();
  MomentCollector moments;
  for (const at::Tensor& part : out.features.split(batch)) moments.add(part, "reference");
  out.moments = moments.moments();
  return out;
}

void save_reference(const std::string& path, const FeatureReference& r) {
  SafeTensors file;
  file.tensors = {{"features", r.features}, {"mean", r.moments.mean}, {"covariance", r.moments.covariance}};
  file.metadata = {{"format", kFormat},
                   {"n", fmt::format("{}", r.moments.n)},
                   {"dim", fmt::format("{}", r.moments.dim())},
                   {"data_hash", r.data_hash},
                   {"network_sha256", r.network_hash}};
  write_safetensors(path, file);
}

FeatureReference load_reference(const std::string& path, const std::string& data_hash,
                                const std::string& network_hash) {
  const SafeTensors file = read_safetensors(path);
  if (entry(file, "format", path) != kFormat)
    throw InputError("[reference] {}: expected the format {}, got {}", path, kFormat, entry(file, "format", path));
  FeatureReference out{.data_hash = entry(file, "data_hash", path),
                       .network_hash = entry(file, "network_sha256", path)};
  if (out.data_hash != data_hash)
    throw InputError(
        "[reference] {}: expected features of the images with hash {}, got those of {} (with another file, or none, "
        "they are computed again)",
        path, data_hash, out.data_hash);
  if (out.network_hash != network_hash)
    throw InputError(
        "[reference] {}: expected features of the network with SHA-256 {}, got those of {} (with another file, or "
        "none, they are computed again)",
        path, network_hash, out.network_hash);
  const int64_t n = whole_number(entry(file, "n", path), "n", path),
                dim = whole_number(entry(file, "dim", path), "dim", path);
  out.features = tensor(file, "features", at::kFloat, {n, dim}, path);
  out.moments = {n, tensor(file, "mean", at::kDouble, {dim}, path),
                 tensor(file, "covariance", at::kDouble, {dim, dim}, path)};
  return out;
}

FeatureReference cached_reference(const FeatureNetwork& network, const at::Tensor& images, const std::string& data_hash,
                                  const std::string& cache, int64_t batch) {
  std::error_code none;
  if (!cache.empty() && std::filesystem::exists(cache, none)) return load_reference(cache, data_hash, network.hash());
  FeatureReference made = make_reference(network, images, data_hash, batch);
  if (!cache.empty()) save_reference(cache, made);
  return made;
}

}  // namespace htfm
