#include "htfm/model/model.h"

#include "htfm/base/error.h"
#include "htfm/data/condition_columns.h"
#include "htfm/io/hash.h"
#include "htfm/model/checkpoint.h"

namespace htfm {

FileSpec file_spec(const DataConfig& d) {
  return {d.path, d.columns, d.drop,      d.missing, d.log_returns, {},
          d.kind, d.subset,  d.imbalance, d.kinds,   d.decimal,     d.constraints};
}

Dataset chosen_rows(const RunConfig& c, const Dataset& data) {
  if (c.data.rows == 0) return data;
  return some_rows(data, c.data.rows, Key(static_cast<uint64_t>(c.seed)).child("rows"));
}

std::pair<Dataset, Dataset> split_dataset(const RunConfig& c, const Dataset& data) {
  const Dataset chosen = chosen_rows(c, with_condition_file(data, c.condition));
  return split_rows(with_conditions(chosen, c.condition), c.data.holdout,
                    Key(static_cast<uint64_t>(c.seed)).child("holdout"));
}

std::pair<Dataset, Dataset> load_split(const RunConfig& c) {
  if (c.data.path.empty()) return {load_dataset(c), {}};
  const DataConfig& d = c.data;
  if ((d.kind == "auto" ? image_kind(d.path) : d.kind) == "fields") {
    if (d.holdout > 0)
      throw InputError("[data.holdout] expected 0 for prepared fields, which have their own part held out, got {}",
                       d.holdout);
    if (d.rows > 0) throw InputError("[data.rows] expected 0 for prepared fields, got {}", d.rows);
    return {with_condition_file(field_dataset(d.path, false), c.condition),
            {}};  // those held out are scored as they stream
  }
  return split_dataset(c, file_dataset(file_spec(d)));
}

Dataset load_dataset(const RunConfig& c) {
  if (!c.data.path.empty()) return load_split(c).first;
  if (c.data.rows > 0)
    throw InputError("[data.rows] expected 0 for a synthetic set, whose points data.n counts, got {}", c.data.rows);
  return with_conditions(synthetic_dataset(Key(static_cast<uint64_t>(c.seed)).child("data"),
                                           {c.data.name, c.data.alpha, c.data.dim, c.data.nu}, c.data.n),
                         c.condition);
}

Dataset held_out(const RunConfig& c, int64_t n, uint64_t k) {
  if (!c.data.path.empty())
    throw InputError("[data] expected a synthetic set to draw fresh points from, got the file {}", c.data.path);
  return with_conditions(synthetic_dataset(Key(static_cast<uint64_t>(c.seed)).child("held out").child(k),
                                           {c.data.name, c.data.alpha, c.data.dim, c.data.nu}, n),
                         c.condition);
}

Model::Model(const RunConfig& config, const Dataset& all, TrainingData* seen)
    : Model(config, with_conditions(all, config.condition), seen, PartsAreApart()) {}

Model::Model(const RunConfig& config, const Dataset& data, TrainingData* seen, PartsAreApart)
    : config_(config),
      names_(data.names),
      columns_(data.columns),
      image_(data.image),
      field_(data.field),
      data_hash_(data.hash),
      data_origin_(data.origin) {
  const Key key(static_cast<uint64_t>(config.seed));
  if (data.streamed && (config.data.normalise != "none" || config.data.whiten || config.clock.family == "auto"))
    throw InputError(
        "[data] {}: expected data.normalise = none, data.whiten = false and a clock.family by name for a set that is "
        "larger than memory, got {}, {} and {} (HTFM_ROW_MEMORY says how much may be in memory, in MiB)",
        data.origin, config.data.normalise, config.data.whiten, config.clock.family);
  if (data.conditions.there())
    condition_ = ConditionEncoder::fit(with_untold(data.conditions, config.condition.untold), config.condition.drop > 0,
                                       key.child("condition"));
  transform_ = TableTransform::fit(config.data.normalise, data.rows, data.columns, data.constraints,
                                   key.child("spread"), config.data.whiten, config.data.tail_index, config.data.scores,
                                   data.conditions.field.there() ? ConditionTable() : data.conditions);
  if (transform_.dim() < 1)
    throw InputError("[data] {}: expected a column that varies, got only constant ones", data.origin);
  TrainingData set = training_data(data);
  dim_ = set.rows.size(1);
  clock_ = choose_clock(config.clock, set.rows);
  // Prepared fields have deviation 1; most of them may be dry, and the robust scale that of the dry ones.
  build(DataScale(config.data_scale > 0 ? config.data_scale : field_ ? 1 : robust_scale(set.rows)));
  method_->fit_to_data(set);
  if (config.scale == "clock") method_->fit_data_scale(set);
  const auto untrained = [](const at::Tensor& parameters) {
    return TrainedWeights{parameters, parameters.clone(), {}};
  };
  trained = untrained(network_->initial(Key(static_cast<uint64_t>(config.seed)).child("weights")));
  if (config.path.learn) curves = untrained(curve_layout_.initial(Key(0)));
  standardiser = RunningStandardiser(method_->feature().size());
  if (seen) *seen = std::move(set);
}

TrainingData Model::training_data(const Dataset& all) const {
  const Key key(static_cast<uint64_t>(config_.seed));
  const Dataset data = with_conditions(all, config_.condition);
  TrainingData out{transform_.apply(data.rows, key.child("spread"), {data.conditions.values}),
                   transform_.seen_names(data.names), key.child("coupling")};
  out.streamed = data.streamed;
  if (!data.conditions.there()) return out;
  out.conditions = data.conditions.values;
  out.neighbours = std::make_shared<const ConditionNeighbours>(find_neighbours(data.conditions));
  return out;
}

TrainingData Model::fit_to_data(const Dataset& data) {
  field_ = data.field;  // what was set right by samples is not right for other weights
  TrainingData set = training_data(data);
  method_->fit_to_data(set);
  return set;
}

void Model::use_curves(bool averaged) {
  const at::Tensor& from = averaged ? curves.ema : curves.parameters;
  const float* theta = from.const_data_ptr<float>();
  LearnedSchedule* learned = method_->learned_schedule();
  learned->set(std::vector<double>(theta, theta + learned->size()));
}

void Model::build(DataScale scale) {
  method_ = config_.make_method(clock_.spec, std::move(scale));
  if (config_.path.learn) {
    const auto shape = method_->learned_schedule()->shape();
    curve_layout_.add("curves", {shape.begin(), shape.end()}, false, 0);
  }
  NetworkContext context{.dim = dim_, .feature = method_->feature().size() + condition_.size(), .config = config_.net};
  if (image_ && image_->size() == dim_) context.image = {image_->channels, image_->height, image_->width};
  if (const FieldEncoding& given = condition_.field(); given.there())
    context.given = {given.told().channels, given.told().height, given.told().width};
  network_ = make_network(std::move(context));
}

void Model::save(const std::string& path) const {
  Checkpoint file{path, {}};
  save_model(*this, file);
  file.write();
}

Model Model::load(const std::string& path) { return load_model(Checkpoint::read(path)); }

void Model::learn_discrete(const Dataset& all) {
  const Dataset data = with_conditions(all, config_.condition);
  transform_.learn_discrete(data.rows, Key(static_cast<uint64_t>(config_.seed)).child("spread"),
                            rows_given(data.conditions.values), config_.train.state_steps);
}

void Model::calibrate(const at::Tensor& drawn, const at::Tensor& conditions) {
  transform_.calibrate(drawn, Key(0), rows_given(conditions));
  if (field_) field_->calibrate(drawn);
}

ConditionRows Model::rows_given(const at::Tensor& conditions) const {
  if (!conditions.defined()) return {};
  return {conditions, transform_.discrete().empty() ? at::Tensor() : condition_.encode(conditions)};
}

at::Tensor Model::to_data(const at::Tensor& rows, Key key, int64_t first, const at::Tensor& conditions) const {
  const at::Tensor seen = transform_.invert(rows, key, first, rows_given(conditions));
  return field_ ? field_->invert(seen) : seen;
}

std::string Model::weights_hash() const {
  Xxh64 hash;
  hash.update(weights().const_data_ptr(), weights().nbytes());
  return hash.hex();
}

}  // namespace htfm
