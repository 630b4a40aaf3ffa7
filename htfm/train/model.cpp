#include "htfm/train/model.h"

#include <ATen/ops/empty.h>
#include <ATen/ops/zeros.h>

#include <cstring>
#include <nlohmann/json.hpp>

#include "htfm/base/error.h"
#include "htfm/io/dtype.h"
#include "htfm/io/hash.h"
#include "htfm/io/safetensors.h"

namespace htfm {

namespace {

constexpr const char* kFormat = "htfm.checkpoint/2";

at::Tensor vector_tensor(const std::vector<double>& v) {
  at::Tensor t = at::empty({static_cast<int64_t>(v.size())}, at::kDouble);
  std::copy(v.begin(), v.end(), t.mutable_data_ptr<double>());
  return t;
}

std::vector<double> tensor_vector(const at::Tensor& t) {
  if (t.scalar_type() != at::kDouble) throw InputError("[checkpoint] expected float64, got {}", dtype_name(t.scalar_type()));
  const double* p = t.const_data_ptr<double>();
  return {p, p + t.numel()};
}

const at::Tensor& find_tensor(const std::map<std::string, at::Tensor>& in, const std::string& name, const std::string& path) {
  const auto found = in.find(name);
  if (found == in.end()) throw InputError("[checkpoint] {}: expected the tensor '{}', got none", path, name);
  return found->second;
}

}  // namespace

void put_parameters(const ParameterLayout& layout, const at::Tensor& flat, const std::string& prefix,
                    std::map<std::string, at::Tensor>& out) {
  for (const ParameterInfo& p : layout.list()) out[prefix + p.name] = flat.narrow(0, p.offset, p.size).view(p.shape);
}

at::Tensor take_parameters(const ParameterLayout& layout, const std::string& prefix, const std::map<std::string, at::Tensor>& in,
                           const std::string& path) {
  at::Tensor flat = at::zeros({layout.size()}, at::kFloat);
  for (const ParameterInfo& p : layout.list()) {
    const at::Tensor& t = find_tensor(in, prefix + p.name, path);
    if (t.scalar_type() != at::kFloat || t.sizes() != at::IntArrayRef(p.shape))
      throw InputError("[checkpoint] {}: expected '{}' in float32 of shape {}, got {} of shape {}", path, prefix + p.name,
                       shape_text(p.shape), dtype_name(t.scalar_type()), shape_text(t.sizes()));
    std::memcpy(flat.mutable_data_ptr<float>() + p.offset, t.const_data_ptr<float>(), static_cast<size_t>(p.size) * sizeof(float));
  }
  return flat;
}

namespace {

void put_state(const ParameterLayout& layout, const OptimiserState& state, const std::string& prefix,
               std::map<std::string, at::Tensor>& out) {
  put_parameters(layout, state.parameters, prefix + "model.", out);
  put_parameters(layout, state.ema, prefix + "ema.", out);
  put_parameters(layout, state.first_moment, prefix + "adam.m.", out);
  put_parameters(layout, state.second_moment, prefix + "adam.v.", out);
}

void take_state(const ParameterLayout& layout, const std::string& prefix, const std::map<std::string, at::Tensor>& in,
                const std::string& path, OptimiserState& state) {
  state.parameters = take_parameters(layout, prefix + "model.", in, path);
  state.ema = take_parameters(layout, prefix + "ema.", in, path);
  state.first_moment = take_parameters(layout, prefix + "adam.m.", in, path);
  state.second_moment = take_parameters(layout, prefix + "adam.v.", in, path);
}

}  // namespace

std::pair<Dataset, Dataset> load_split(const RunConfig& c) {
  const Key key(static_cast<uint64_t>(c.seed));
  if (c.data.path.empty()) return {load_dataset(c), {}};
  const DataConfig& d = c.data;
  if ((d.kind == "auto" ? image_kind(d.path) : d.kind) == "fields") {
    if (d.holdout > 0)
      throw InputError("[data.holdout] expected 0 for prepared fields, which have their own part held out, got {}", d.holdout);
    return {field_dataset(d.path, false), {}};  // those held out are scored as they stream
  }
  return split_rows(file_dataset({d.path, d.columns, d.drop, d.missing, d.log_returns, {}, d.kind, d.subset, d.imbalance}), d.holdout,
                    key.child("holdout"));
}

Dataset load_dataset(const RunConfig& c) {
  if (!c.data.path.empty()) return load_split(c).first;
  return synthetic_dataset(Key(static_cast<uint64_t>(c.seed)).child("data"), {c.data.name, c.data.alpha, c.data.dim, c.data.nu}, c.data.n);
}

Dataset held_out(const RunConfig& c, int64_t n, uint64_t k) {
  if (!c.data.path.empty()) throw InputError("[data] expected a synthetic set to draw fresh points from, got the file {}", c.data.path);
  return synthetic_dataset(Key(static_cast<uint64_t>(c.seed)).child("held out").child(k),
                           {c.data.name, c.data.alpha, c.data.dim, c.data.nu}, n);
}

Model::Model(const RunConfig& config, const Dataset& data)
    : config_(config), names_(data.names), image_(data.image), field_(data.field), data_hash_(data.hash), data_origin_(data.origin) {
  transform_ = TableTransform::fit(config.data.normalise, data.rows, Key(static_cast<uint64_t>(config.seed)).child("spread"),
                                   config.data.whiten, config.data.tail_index);
  if (transform_.dim() < 1) throw InputError("[data] {}: expected a column that varies, got only constant ones", data.origin);
  const CoupledData set = coupled(data);
  dim_ = set.rows.size(1);
  clock_ = choose_clock(config.clock, set.rows);
  // Prepared fields have deviation 1; most of them may be dry, and the robust scale that of the dry ones.
  build(DataScale(config.data_scale > 0 ? config.data_scale : field_ ? 1 : robust_scale(set.rows)));
  method_->couple(set);
  if (auto* flow = dynamic_cast<FlowMatching*>(method_.get()); flow && config.scale == "clock") flow->set_data_scale(flow->fit_scale(set));
  state = OptimiserState::initial(network_->layout(), Key(static_cast<uint64_t>(config.seed)).child("weights"));
  if (config.path.learn) curves = OptimiserState::initial(curve_layout_, Key(0));
  standardiser = RunningStandardiser(method_->feature().size());
}

CoupledData Model::coupled(const Dataset& data) const {
  const Key key(static_cast<uint64_t>(config_.seed));
  return {transform_.apply(data.rows, key.child("spread")), transform_.seen_names(data.names), key.child("coupling")};
}

void Model::couple(const Dataset& data) { method_->couple(coupled(data)); }

const FlowMatching& Model::flow() const {
  const auto* flow = dynamic_cast<const FlowMatching*>(method_.get());
  if (!flow) throw Error("[model] expected method = htfm, got {}", config_.method);
  return *flow;
}

void Model::use_curves(bool averaged) {
  const at::Tensor& from = averaged ? curves.ema : curves.parameters;
  const float* theta = from.const_data_ptr<float>();
  LearnedSchedule* learned = dynamic_cast<FlowMatching&>(*method_).learned();
  learned->set(std::vector<double>(theta, theta + learned->size()));
}

void Model::build(DataScale scale) {
  method_ = config_.make_method(clock_.spec, std::move(scale));
  if (config_.path.learn) {
    const auto shape = flow().learned()->shape();
    curve_layout_.add("curves", {shape.begin(), shape.end()}, false, 0);
  }
  if (config_.net.kind != "mlp") {
    if (!image_ || image_->size() != dim_)
      throw InputError("[net.kind] expected images for {}, got rows of {} values", config_.net.kind, dim_);
    UNetOptions options = config_.net.unet;
    options.channels = image_->channels, options.height = image_->height, options.width = image_->width;
    options.feature = method_->feature().size();
    network_ = make_unet(options);
    return;
  }
  MlpOptions options = config_.net.mlp;
  options.dim = dim_;
  options.feature = method_->feature().size();
  network_ = make_mlp(options);
}

void Model::save(const std::string& path) const {
  SafeTensors file;
  const ParameterLayout& layout = network_->layout();
  put_state(layout, state, "", file.tensors);
  if (config_.path.learn) put_state(curve_layout_, curves, "schedule.", file.tensors);
  const RunningStandardiser::State statistics = standardiser.state();
  file.tensors["standardiser.count"] = statistics.count;
  file.tensors["standardiser.mean"] = statistics.mean;
  file.tensors["standardiser.m2"] = statistics.m2;
  transform_.put(file.tensors);
  if (best.defined()) put_parameters(layout, best, "best.", file.tensors);
  nlohmann::json info{{"step", step},
                      {"skipped", skipped},
                      {"updates", state.updates},
                      {"dim", dim_},
                      {"data_hash", data_hash_},
                      {"data_origin", data_origin_},
                      {"columns", names_},
                      {"bad_in_a_row", bad_in_a_row},
                      {"loss_sum", loss_sum},
                      {"loss_count", loss_count},
                      {"best_loss", best_loss},
                      {"best_step", best_step},
                      {"clock", {{"family", clock().family}, {"parameters", clock().parameters}, {"grid", clock().grid}}},
                      {"clock_explanation", clock_explanation()}};
  if (config_.path.learn) info["curve_updates"] = curves.updates;
  if (image_) info["image"] = {image_->channels, image_->height, image_->width};
  if (field_) info["field"] = *field_;
  if (!clock().table.empty()) file.tensors["clock.table"] = vector_tensor(clock().table);
  file.metadata["format"] = kFormat;
  file.metadata["config"] = format_config(config_);
  file.metadata["info"] = info.dump();
  file.tensors["data_scale.log_source"] = vector_tensor(data_scale().log_source());
  file.tensors["data_scale.log_scale"] = vector_tensor(data_scale().log_scale());
  method_->put(file.tensors);
  write_safetensors(path, file);
}

Model Model::load(const std::string& path) {
  const SafeTensors file = read_safetensors(path);
  const auto text = [&](const char* key) -> const std::string& {
    const auto found = file.metadata.find(key);
    if (found == file.metadata.end())
      throw InputError("[checkpoint] {}: expected an htfm checkpoint, got no '{}' in its metadata", path, key);
    return found->second;
  };
  if (text("format") != kFormat) throw InputError("[checkpoint] {}: expected format {}, got {}", path, kFormat, text("format"));
  if (!file.hashed)
    throw InputError(
        "[checkpoint] {}: expected the hashes that htfm writes into a checkpoint, got none: the file was changed or made by "
        "another program",
        path);
  Model m;
  m.config_ = parse_saved_config(text("config"), path);
  try {
    const nlohmann::json info = nlohmann::json::parse(text("info"));
    m.step = info.at("step");
    m.skipped = info.at("skipped");
    m.state.updates = info.at("updates");
    m.dim_ = info.at("dim");
    m.bad_in_a_row = info.at("bad_in_a_row");
    m.loss_sum = info.at("loss_sum");
    m.loss_count = info.at("loss_count");
    m.best_loss = info.at("best_loss");
    m.best_step = info.at("best_step");
    m.data_hash_ = info.at("data_hash");
    m.data_origin_ = info.at("data_origin");
    m.names_ = info.at("columns").get<std::vector<std::string>>();
    if (m.config_.path.learn) m.curves.updates = info.at("curve_updates");
    if (info.contains("image")) {
      const auto shape = info.at("image").get<std::array<int64_t, 3>>();
      m.image_ = ImageShape{shape[0], shape[1], shape[2]};
    }
    if (info.contains("field")) m.field_ = info.at("field").get<FieldTransform>();
    m.clock_.spec = m.config_.clock;
    if (info.contains("clock")) {
      const nlohmann::json& clock = info.at("clock");
      m.clock_.spec.family = clock.at("family");
      m.clock_.spec.parameters = clock.at("parameters").get<std::map<std::string, double>>();
      m.clock_.spec.grid = clock.at("grid");
      m.clock_.explanation = info.at("clock_explanation");
    }
  } catch (const nlohmann::json::exception& e) {
    throw InputError("[checkpoint] {}: expected step, dimension and data in its metadata, got: {}", path, e.what());
  }
  if (file.tensors.contains("clock.table")) m.clock_.spec.table = tensor_vector(find_tensor(file.tensors, "clock.table", path));
  if (m.dim_ < 1) throw InputError("[checkpoint] {}: expected a positive dimension, got {}", path, m.dim_);
  m.build(DataScale(tensor_vector(find_tensor(file.tensors, "data_scale.log_source", path)),
                    tensor_vector(find_tensor(file.tensors, "data_scale.log_scale", path))));
  m.method_->take(file.tensors, path);
  const ParameterLayout& layout = m.network_->layout();
  take_state(layout, "", file.tensors, path, m.state);
  if (m.config_.path.learn) {
    take_state(m.curve_layout_, "schedule.", file.tensors, path, m.curves);
    m.use_curves(true);
  }
  m.standardiser = RunningStandardiser(m.method_->feature().size());
  m.standardiser.load({find_tensor(file.tensors, "standardiser.count", path), find_tensor(file.tensors, "standardiser.mean", path),
                       find_tensor(file.tensors, "standardiser.m2", path)});
  m.transform_ = TableTransform::take(file.tensors, path);
  if (m.transform_.dim() != m.dim_) throw InputError("[checkpoint] {}: expected {} columns, got {}", path, m.dim_, m.transform_.dim());
  if (m.best_step > 0) m.best = take_parameters(layout, "best.", file.tensors, path);
  return m;
}

at::Tensor Model::to_data(const at::Tensor& rows) const {
  const at::Tensor seen = transform_.invert(rows);
  return field_ ? field_->invert(seen) : seen;
}

std::string Model::weights_hash() const {
  Xxh64 hash;
  hash.update(weights().const_data_ptr(), weights().nbytes());
  return hash.hex();
}

}  // namespace htfm
