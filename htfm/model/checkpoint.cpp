#include "htfm/model/checkpoint.h"

#include <ATen/ops/empty.h>
#include <ATen/ops/zeros.h>

#include <cstring>

#include "htfm/base/error.h"
#include "htfm/field/transform_json.h"
#include "htfm/io/dtype.h"
#include "htfm/io/json_whole.h"
#include "htfm/io/text.h"

namespace htfm {

namespace {

constexpr const char* kFormat = "htfm.checkpoint/2";
constexpr int64_t kMostSteps = 1'000'000;           // of a clock
constexpr int64_t kLargestSide = int64_t{1} << 20;  // of an image

at::Tensor vector_tensor(const std::vector<double>& v) {
  at::Tensor t = at::empty({static_cast<int64_t>(v.size())}, at::kDouble);
  std::copy(v.begin(), v.end(), t.mutable_data_ptr<double>());
  return t;
}

std::vector<double> tensor_vector(const at::Tensor& t) {
  if (t.scalar_type() != at::kDouble)
    throw InputError("[checkpoint] expected float64, got {}", dtype_name(t.scalar_type()));
  const double* p = t.const_data_ptr<double>();
  return {p, p + t.numel()};
}

const std::string& metadata(const Checkpoint& file, const char* key) {
  const auto found = file.content.metadata.find(key);
  if (found == file.content.metadata.end())
    throw InputError("[checkpoint] {}: expected an htfm checkpoint, got no '{}' in its metadata", file.path, key);
  return found->second;
}

// Parts of a checkpoint do not know which file they come from.
[[noreturn]] void throw_of_file(const Checkpoint& file, const InputError& e) {
  if (std::string_view(e.what()).find(file.path) != std::string_view::npos) throw e;
  throw InputError("[checkpoint] {}: damaged, or made by another program: {}", file.path, e.what());
}

}  // namespace

Checkpoint Checkpoint::read(const std::string& path) {
  Checkpoint file{path, read_safetensors(path)};
  if (const std::string& format = metadata(file, "format"); format != kFormat)
    throw InputError("[checkpoint] {}: expected format {}, got {}", path, kFormat, format);
  if (!file.content.hashed)
    throw InputError(
        "[checkpoint] {}: expected the hashes that htfm writes into a checkpoint, got none: the file was changed or "
        "made by another "
        "program",
        path);
  file.record = nlohmann::json::parse(metadata(file, "info"), nullptr, false);
  if (!file.record.is_object())
    throw InputError("[checkpoint] {}: expected a JSON object as 'info' in its metadata, got '{}'", path,
                     shown_text(metadata(file, "info").substr(0, 40)));
  return file;
}

void Checkpoint::write() const {
  SafeTensors out = content;
  out.metadata["format"] = kFormat;
  out.metadata["info"] = record.dump();
  write_safetensors(path, out);
}

const at::Tensor& Checkpoint::tensor(const std::string& name) const {
  const auto found = content.tensors.find(name);
  if (found == content.tensors.end())
    throw InputError("[checkpoint] {}: expected the tensor '{}', got none", path, name);
  return found->second;
}

void save_parameters(const ParameterLayout& layout, const at::Tensor& flat, const std::string& prefix,
                     Checkpoint& file) {
  for (const ParameterInfo& p : layout.list())
    file.content.tensors[prefix + p.name] = flat.narrow(0, p.offset, p.size).view(p.shape);
}

at::Tensor load_parameters(const ParameterLayout& layout, const std::string& prefix, const Checkpoint& file) {
  for (const ParameterInfo& p : layout.list()) {  // before memory is asked for
    const at::Tensor& t = file.tensor(prefix + p.name);
    if (t.scalar_type() != at::kFloat || t.sizes() != at::IntArrayRef(p.shape))
      throw InputError("[checkpoint] {}: expected '{}' in float32 of shape {}, got {} of shape {}", file.path,
                       prefix + p.name, shape_text(p.shape), dtype_name(t.scalar_type()), shape_text(t.sizes()));
  }
  at::Tensor flat = at::zeros({layout.size()}, at::kFloat);
  for (const ParameterInfo& p : layout.list())
    std::memcpy(flat.mutable_data_ptr<float>() + p.offset, file.tensor(prefix + p.name).const_data_ptr<float>(),
                static_cast<size_t>(p.size) * sizeof(float));
  return flat;
}

void save_model(const Model& m, Checkpoint& file) {
  std::map<std::string, at::Tensor>& tensors = file.content.tensors;
  const ParameterLayout& layout = m.network_->layout();
  save_parameters(layout, m.trained.parameters, "model.", file);
  save_parameters(layout, m.trained.ema, "ema.", file);
  if (m.trained.best.defined()) save_parameters(layout, m.trained.best, "best.", file);
  if (m.config_.path.learn) {
    save_parameters(m.curve_layout_, m.curves.parameters, "schedule.model.", file);
    save_parameters(m.curve_layout_, m.curves.ema, "schedule.ema.", file);
  }
  const RunningStandardiser::State statistics = m.standardiser.state();
  tensors["standardiser.count"] = statistics.count;
  tensors["standardiser.mean"] = statistics.mean;
  tensors["standardiser.m2"] = statistics.m2;
  m.transform_.save_state(tensors);
  m.condition_.save_state(tensors);
  if (!m.clock().table.empty()) tensors["clock.table"] = vector_tensor(m.clock().table);
  tensors["data_scale.log_source"] = vector_tensor(m.data_scale().log_source());
  tensors["data_scale.log_scale"] = vector_tensor(m.data_scale().log_scale());
  m.method_->save_state(tensors);
  file.content.metadata["config"] = format_config(m.config_);
  nlohmann::json& record = file.record;
  record["step"] = m.step, record["skipped"] = m.skipped;
  record["best_loss"] = m.best_loss, record["best_step"] = m.best_step;
  record["dim"] = m.dim_, record["columns"] = m.names_;
  if (const std::string hash = m.network_->file_hash(); !hash.empty()) record["network_sha256"] = hash;
  record["data_hash"] = m.data_hash_, record["data_origin"] = m.data_origin_;
  record["clock"] = {{"family", m.clock().family}, {"parameters", m.clock().parameters}, {"grid", m.clock().grid}};
  record["clock_explanation"] = m.clock_explanation();
  for (const TableColumn& c : m.columns_) {
    nlohmann::json column = {{"kind", kind_name(c.kind)}};
    if (c.is_category()) column["categories"] = c.categories, column["ordered"] = c.ordered;
    if (c.kind == ColumnKind::date) column["form"] = c.date_form;
    if (c.asked) column["asked"] = true;
    record["kinds"].push_back(std::move(column));
  }
  if (m.image_) record["image"] = {m.image_->channels, m.image_->height, m.image_->width};
  if (m.field_) record["field"] = *m.field_;
  if (m.condition_.there()) {
    nlohmann::json columns = nlohmann::json::array();
    for (const ConditionColumn& c : m.condition_.columns()) {
      columns.push_back({{"name", c.name}, {"categories", c.categories}});
      if (!c.told) columns.back()["told"] = false;
    }
    record["condition"] = {{"columns", columns}, {"may_be_absent", m.condition_.may_be_absent()}};
  }
}

Model load_model(const Checkpoint& file) {
  Model m;
  m.config_ = parse_saved_config(metadata(file, "config"), file.path);
  std::vector<ConditionColumn> given;
  bool may_be_absent = false, has_condition = false;
  try {
    const nlohmann::json& record = file.record;
    m.step = json_whole(record.at("step"));
    m.skipped = json_whole(record.at("skipped"));
    m.best_loss = record.at("best_loss");
    m.best_step = json_whole(record.at("best_step"));
    m.dim_ = json_whole(record.at("dim"));
    m.data_hash_ = record.at("data_hash");
    m.config_.net.sha256 = record.value("network_sha256", std::string());
    m.data_origin_ = shown_text(record.at("data_origin").get<std::string>());
    m.names_ = record.at("columns").get<std::vector<std::string>>();
    for (std::string& name : m.names_) name = shown_text(name);
    if (record.contains("kinds"))
      for (const nlohmann::json& column : record.at("kinds")) {
        TableColumn c;
        c.kind = kind_by_name(column.at("kind"));
        if (c.is_category()) column.at("categories").get_to(c.categories), c.ordered = column.value("ordered", false);
        for (std::string& text : c.categories) text = shown_text(text);
        if (c.kind == ColumnKind::date) column.at("form").get_to(c.date_form);
        c.asked = column.value("asked", false);
        m.columns_.push_back(std::move(c));
      }
    if (record.contains("image")) {
      std::array<int64_t, 3> shape{};
      for (size_t k = 0; k < shape.size(); ++k) shape[k] = json_whole(record.at("image").at(k));
      m.image_ = ImageShape{shape[0], shape[1], shape[2]};
      for (const int64_t size : shape)  // so that their product fits into 64 bits
        if (size < 1 || size > kLargestSide)
          throw InputError("[checkpoint] {}: expected images of sizes from 1 to {}, got {}", file.path, kLargestSide,
                           m.image_->text());
    }
    if (record.contains("field")) m.field_ = record.at("field").get<FieldTransform>();
    if (record.contains("condition")) {
      has_condition = true;
      const nlohmann::json& condition = record.at("condition");
      may_be_absent = condition.at("may_be_absent");
      for (const nlohmann::json& column : condition.at("columns")) {
        given.push_back({shown_text(column.at("name").get<std::string>()),
                         column.at("categories").get<std::vector<std::string>>(), column.value("told", true)});
        for (std::string& text : given.back().categories) text = shown_text(text);
      }
    }
    m.clock_.spec = m.config_.clock;
    if (record.contains("clock")) {
      const nlohmann::json& clock = record.at("clock");
      m.clock_.spec.family = clock.at("family");
      m.clock_.spec.parameters = clock.at("parameters").get<std::map<std::string, double>>();
      if (const int64_t grid = json_whole(clock.at("grid")); grid < 1 || grid > kMostSteps)
        throw InputError("[checkpoint] {}: expected a clock with 1 to {} steps, got {}", file.path, kMostSteps, grid);
      m.clock_.spec.grid = clock.at("grid");
      m.clock_.explanation = shown_text(record.at("clock_explanation").get<std::string>());
    }
  } catch (const nlohmann::json::exception& e) {
    throw InputError("[checkpoint] {}: expected step, dimension and data in its metadata, got: {}", file.path,
                     json_reason(e.what()));
  } catch (const InputError& e) {
    throw_of_file(file, e);
  }
  if (file.has("clock.table")) m.clock_.spec.table = tensor_vector(file.tensor("clock.table"));
  if (m.config_.net.kind == "torchscript" && m.config_.net.sha256.empty())
    throw InputError("[checkpoint] {}: expected the SHA-256 of its network's file, got none", file.path);
  if (m.dim_ < 1) throw InputError("[checkpoint] {}: expected a positive dimension, got {}", file.path, m.dim_);
  // What is made by these numbers must not be larger than what is there.
  try {
    m.transform_ = TableTransform::load_state(file.content.tensors, file.path);
    if (has_condition)
      m.condition_ = ConditionEncoder::load_state(std::move(given), may_be_absent, file.content.tensors, file.path);
  } catch (const InputError& e) {
    throw_of_file(file, e);
  }
  if (m.condition_.there() != m.config_.condition.there())
    throw InputError("[checkpoint] {}: expected {} as its configuration says, got {}", file.path,
                     m.config_.condition.there() ? "conditions" : "no condition",
                     m.condition_.there() ? m.condition_.describe() : "none");
  if (m.transform_.given_width() > m.condition_.width())
    throw InputError("[checkpoint] {}: expected laws of columns given at most {} numbers, got laws given {}", file.path,
                     m.condition_.width(), m.transform_.given_width());
  if (m.transform_.dim() != m.dim_)
    throw InputError("[checkpoint] {}: expected {} columns, got {}", file.path, m.dim_, m.transform_.dim());
  if (!m.names_.empty() && static_cast<int64_t>(m.names_.size()) != m.transform_.columns())
    throw InputError("[checkpoint] {}: expected {} names of columns, got {}", file.path, m.transform_.columns(),
                     m.names_.size());
  if (!m.columns_.empty() && static_cast<int64_t>(m.columns_.size()) != m.transform_.columns())
    throw InputError("[checkpoint] {}: expected the kinds of {} columns, got {}", file.path, m.transform_.columns(),
                     m.columns_.size());
  m.build(DataScale(tensor_vector(file.tensor("data_scale.log_source")),
                    tensor_vector(file.tensor("data_scale.log_scale"))));
  m.method_->load_state(file.content.tensors, file.path);
  const ParameterLayout& layout = m.network_->layout();
  m.trained = {load_parameters(layout, "model.", file), load_parameters(layout, "ema.", file), {}};
  if (m.best_step > 0) m.trained.best = load_parameters(layout, "best.", file);
  if (m.config_.path.learn) {
    m.curves = {load_parameters(m.curve_layout_, "schedule.model.", file),
                load_parameters(m.curve_layout_, "schedule.ema.", file),
                {}};
    m.use_curves(true);
  }
  m.standardiser = RunningStandardiser(m.method_->feature().size());
  m.standardiser.load(
      {file.tensor("standardiser.count"), file.tensor("standardiser.mean"), file.tensor("standardiser.m2")});
  return m;
}

}  // namespace htfm
