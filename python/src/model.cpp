// Training, models, samples and the page of a run.
#include <mutex>

#include "htfm/device/choose_device.h"
#include "htfm/fit/calibrated_sample.h"
#include "htfm/io/file.h"
#include "htfm/io/npy.h"
#include "htfm/sample/sample_fields.h"
#include "htfm/sample/written_rows.h"
#include "python/src/bind.h"

namespace htfm::python {

namespace {

using TrainReport = std::function<void(const TrainProgress&)>;
using SampleReport = std::function<void(int64_t done, int64_t n)>;

// What the solver "fitted" has found out about a model, to draw further samples by.
struct FittedSteps {
  std::shared_ptr<const MultistepPlan> plan;
};

// Trains with the user's callback and Ctrl-C; `data` null: those of the configuration.
Model train_watched(const RunConfig& config, const Dataset* data, const std::string& folder, const std::string& device,
                    bool resume, const TrainReport& report) {
  SignalWatch watch;
  TrainOptions options{.folder = folder, .device = choose_device(device, config.net.kind), .resume = resume};
  if (report) options.report = [&](const TrainProgress& p) { watch.call(report, p); };
  options.stop = [&] { return watch.stop(); };
  Model model = data ? train(config, *data, options) : train(config, options);
  watch.check();
  return model;
}

// The same for a table.
TableFit fit_watched(const Dataset* table, TableFitOptions o) {
  auto watch = std::make_shared<SignalWatch>();
  if (o.trained)
    o.trained = [watch, trained = o.trained](const std::string& stage, const TrainProgress& p) {
      watch->call(trained, stage, p);
    };
  o.sampled = [watch, sampled = o.sampled](const std::string& stage, int64_t done, int64_t n) {
    check_interrupted();
    watch->call(sampled, stage, done, n);
    watch->check();
  };
  o.stop = [watch] { return watch->stop(); };
  return table ? fit_table(*table, o) : fit_table(o);
}

nb::dict describe(const Model& model) {
  const ModelDescription d = model.describe();
  nb::dict out;
  out["method"] = d.method, out["clock"] = d.clock, out["feature"] = d.feature, out["schedule"] = d.schedule;
  out["coupling"] = d.coupling, out["precondition"] = d.precondition, out["data_scale"] = d.data_scale;
  out["network"] = d.network, out["parameters"] = d.parameters, out["dimension"] = d.dimension, out["step"] = d.step;
  out["skipped_steps"] = d.skipped_steps, out["data"] = d.data, out["data_hash"] = d.data_hash;
  out["weights_hash"] = d.weights_hash, out["seed"] = d.seed, out["method_options"] = d.method_options;
  out["clock_explanation"] = d.clock_explanation, out["condition"] = d.condition;
  return out;
}

// The page that `htfm report` writes of a run.
std::string page_of_run(const std::string& checkpoint, int64_t n, std::optional<uint64_t> seed,
                        const std::string& device, const std::string& folder, const report::KeyValues& origin) {
  Model model = Model::load(checkpoint);
  SampleOptions options = sample_options(model.config());
  if (n > 0) options.n = n;
  if (seed) options.seed = *seed;
  options.device = choose_device(device, model.config().net.kind);
  options.report = [](int64_t, int64_t) { check_interrupted(); };
  const RunReference reference = make_run_reference(model.config(), options.n, true);
  std::vector<ScoredRun> runs;
  runs.push_back(score_run(std::move(model), options, reference, folder));
  const ScoredRun& r = runs.front();
  return run_page({r.name + " on " + r.model.data_origin(),
                   "Heavy-tailed flow matching with the clock " + r.model.clock().describe() + ".", origin},
                  runs, reference);
}

}  // namespace

void bind_model(nb::module_& m) {
  m.def(
      "choose_device",
      [](const std::string& asked, const std::string& kind) { return choose_device(asked, kind).str(); }, "asked"_a,
      "network_kind"_a);
  m.def(
      "atomic_write", [](const std::string& path, const std::string& text) { atomic_write(path, text); }, "path"_a,
      "text"_a, Unlocked());
  m.def(
      "write_npy", [](const std::string& path, const at::Tensor& values) { write_npy(path, values); }, "path"_a,
      "values"_a, Unlocked());

  nb::class_<TrainProgress>(m, "TrainProgress", "Where a training stands.")
      .def_ro("step", &TrainProgress::step)
      .def_ro("steps", &TrainProgress::steps)
      .def_ro("loss", &TrainProgress::loss)
      .def_ro("norm", &TrainProgress::norm)
      .def_ro("lr", &TrainProgress::lr)
      .def_ro("skipped", &TrainProgress::skipped)
      .def_ro("seconds", &TrainProgress::seconds)
      .def_ro("steps_per_second", &TrainProgress::steps_per_second)
      .def_ro("last", &TrainProgress::last)
      .def_ro("validation", &TrainProgress::validation);

  nb::class_<Model>(m, "Model")
      .def_static("load", &Model::load, "checkpoint"_a, Unlocked())
      .def("save", &Model::save, "path"_a, Unlocked())
      .def("describe", &describe)
      .def_prop_ro("config", &Model::config)
      .def_prop_ro("clock", &Model::clock)
      .def_prop_ro("clock_explanation", &Model::clock_explanation)
      .def_prop_ro("column_names", &Model::column_names)
      .def_prop_ro("columns", &Model::columns)
      .def_prop_ro("dim", &Model::dim)
      .def_prop_ro("is_field", [](const Model& model) { return model.field().has_value(); })
      .def_prop_ro("image_shape",
                   [](const Model& model) -> std::optional<std::vector<int64_t>> {
                     if (!model.image()) return std::nullopt;
                     return std::vector<int64_t>{model.image()->channels, model.image()->height, model.image()->width};
                   })
      .def_prop_ro("digits", [](const Model& model) { return model.transform().digits(); })
      .def_prop_ro("column_kinds",
                   [](const Model& model) {
                     std::vector<std::string> out;
                     for (int64_t k = 0; k < model.transform().columns(); ++k)
                       out.push_back(model.transform().describe(k));
                     return out;
                   })
      .def_prop_ro("condition_columns",
                   [](const Model& model) {
                     std::vector<std::pair<std::string, std::vector<std::string>>> out;
                     for (const ConditionColumn& c : model.condition().columns())
                       out.emplace_back(c.name, c.categories);
                     return out;
                   })
      .def(
          "given_value",
          [](const Model& model, const std::string& name, const std::string& text) {
            return model.condition().value_of(model.condition().place_of(name), text);
          },
          "name"_a, "text"_a)
      .def_ro("step", &Model::step)
      .def_prop_ro("weights", [](const Model& model) { return model.weights(); })
      .def("weights_hash", &Model::weights_hash);
  m.def("resolve_checkpoint", &resolve_checkpoint, "run_or_file"_a);
  m.def(
      "checkpoint_name",
      [](const std::string& folder, int64_t step) {
        const RunFolder run(folder);
        if (run.exists()) throw InputError("[run] {}: expected an empty folder, got a folder that holds a run", folder);
        run.make();
        return run.checkpoint(step);
      },
      "folder"_a, "step"_a);

  m.def("total_steps", &total_steps, "config"_a, "rows"_a);
  m.def(
      "train",
      [](const RunConfig& config, const std::string& folder, const std::string& device, bool resume,
         const TrainReport& report) { return train_watched(config, nullptr, folder, device, resume, report); },
      "config"_a, "folder"_a = "", "device"_a = "auto", "resume"_a = false, "report"_a.none() = nb::none(), Unlocked());
  m.def(
      "train_rows",
      [](const RunConfig& config, const Dataset& data, const std::string& folder, const std::string& device,
         bool resume,
         const TrainReport& report) { return train_watched(config, &data, folder, device, resume, report); },
      "config"_a, "data"_a, "folder"_a = "", "device"_a = "auto", "resume"_a = false, "report"_a.none() = nb::none(),
      Unlocked());

  nb::class_<FittedSteps>(m, "FittedSteps", "What the solver fitted has found out about a model.");
  nb::class_<SampleOptions>(m, "SampleOptions")
      .def(nb::init<>())
      .def_rw("n", &SampleOptions::n)
      .def_rw("first", &SampleOptions::first)
      .def_rw("seed", &SampleOptions::seed)
      .def_rw("solver", &SampleOptions::solver)
      .def_rw("averaged", &SampleOptions::averaged)
      .def_rw("guidance", &SampleOptions::guidance)
      .def(
          "set_given",
          [](SampleOptions& o, const Model& model, const std::string& text, int64_t each) {
            o.condition = find_given(model.condition(), text);
            o.condition.each = each;
          },
          "model"_a, "text_or_path"_a, "each"_a = 1)
      .def(
          "set_given_rows",
          [](SampleOptions& o, const at::Tensor& rows, int64_t each) {
            o.condition = {rows.contiguous(), each};
          },
          "rows"_a, "each"_a = 1)
      .def("given_count",
           [](const SampleOptions& o) { return o.condition.there() ? o.condition.rows.size(0) * o.condition.each : 0; })
      .def(
          "given_warnings",
          [](const SampleOptions& o, const Model& model) {
            return o.condition.there() ? model.condition().warnings(o.condition.rows) : std::vector<std::string>();
          },
          "model"_a)
      .def_rw("precision", &SampleOptions::precision)
      .def_rw("device_rows", &SampleOptions::device_rows)
      .def_prop_rw(
          "nfe", [](const SampleOptions& o) { return o.solve.nfe; },
          [](SampleOptions& o, int64_t v) { o.solve.nfe = v; })
      .def_prop_rw(
          "time_power", [](const SampleOptions& o) { return o.solve.time_power; },
          [](SampleOptions& o, double v) { o.solve.time_power = v; })
      .def_prop_rw(
          "time_centre", [](const SampleOptions& o) { return o.solve.time_centre; },
          [](SampleOptions& o, double v) { o.solve.time_centre = v; })
      .def_prop_rw(
          "time_spread", [](const SampleOptions& o) { return o.solve.time_spread; },
          [](SampleOptions& o, double v) { o.solve.time_spread = v; })
      .def_prop_rw(
          "rtol", [](const SampleOptions& o) { return o.solve.rtol; },
          [](SampleOptions& o, double v) { o.solve.rtol = v; })
      .def_prop_rw(
          "atol", [](const SampleOptions& o) { return o.solve.atol; },
          [](SampleOptions& o, double v) { o.solve.atol = v; })
      .def_prop_rw(
          "eta", [](const SampleOptions& o) { return o.solve.eta; },
          [](SampleOptions& o, double v) { o.solve.eta = v; })
      .def_prop_rw(
          "eta_from", [](const SampleOptions& o) { return o.solve.eta_from; },
          [](SampleOptions& o, double v) { o.solve.eta_from = v; })
      .def(
          "set_steps", [](SampleOptions& o, const FittedSteps& steps) { o.plan = steps.plan; }, "steps"_a)
      .def(
          "set_time_grid", [](SampleOptions& o, const std::string& name) { o.time_grid = time_grid_by_name(name); },
          "name"_a)
      .def(
          "set_device", [](SampleOptions& o, const std::string& device) { o.device = at::Device(device); }, "device"_a)
      .def(
          "set_report",
          [](SampleOptions& o, const SampleReport& report) {
            o.report = [report](int64_t done, int64_t n) {
              check_interrupted();
              if (report) report(done, n);
            };
          },
          "report"_a.none());
  nb::class_<SampleResult>(m, "SampleResult")
      .def_ro("samples", &SampleResult::samples)
      .def_ro("area", &SampleResult::area)
      .def_ro("conditions", &SampleResult::conditions)
      .def_ro("evaluations", &SampleResult::evaluations)
      .def_ro("most_evaluations", &SampleResult::most_evaluations)
      .def_ro("diverged", &SampleResult::diverged)
      .def_ro("incomplete", &SampleResult::incomplete)
      .def_ro("seconds", &SampleResult::seconds)
      .def_prop_ro("steps", [](const SampleResult& r) { return FittedSteps{r.plan}; })
      .def_ro("plan_error", &SampleResult::plan_error)
      .def_ro("plain_error", &SampleResult::plain_error);
  m.def("sample_options", &sample_options, "config"_a);
  m.def("sample_conditions", &sample_conditions, "model"_a, "options"_a, Unlocked());
  m.def("written_rows", &written_rows, "model"_a, "drawn"_a, Unlocked());
  m.def("written_names", &written_names, "model"_a);
  m.def("written_columns", &written_columns, "model"_a);
  m.def("sample", nb::overload_cast<const Model&, const SampleOptions&>(&sample), "model"_a, "options"_a, Unlocked());
  m.def(
      "calibrate",
      [](Model& model, const SampleOptions& options, bool spectrum) {
        if (!needs_calibration(model))
          throw InputError("[calibrate] expected a model of scores, got one of {}", model.data_origin());
        if (spectrum && !model.field())
          throw InputError("[spectrum] expected a model of fields, got one of {}", model.data_origin());
        if (model.field())
          calibrate_fields(model, options, spectrum);
        else
          calibrated_sample(model, options);
      },
      "model"_a, "options"_a, "spectrum"_a, Unlocked());
  m.def("sample_fields", nb::overload_cast<const Model&, const SampleOptions&, const std::string&>(&sample_fields),
        "model"_a, "options"_a, "path"_a, Unlocked());
  m.def("run_page", &page_of_run, "checkpoint"_a, "n"_a, "seed"_a.none(), "device"_a, "folder"_a, "origin"_a,
        Unlocked());
}

namespace {

// A matcher whose pairs may be drawn by several threads: Python's lock, which is released meanwhile, does not part
// them.
struct SharedMatcher : FlowMatcher {
  using FlowMatcher::FlowMatcher;
  std::mutex turn;
};

}  // namespace

void bind_matcher(nb::module_& m) {
  nb::class_<SharedMatcher>(m, "FlowMatcher")
      .def(
          "__init__",
          [](SharedMatcher* self, const RunConfig& config, const at::Tensor& rows,
             const std::vector<std::vector<std::string>>& categories, const at::Tensor& condition) {
            ConditionTable table;
            for (const std::vector<std::string>& own : categories) table.columns.push_back({"condition", own});
            table.values = condition;
            new (self) SharedMatcher(config, rows, table);
          },
          "config"_a, "rows"_a, "categories"_a = std::vector<std::vector<std::string>>(),
          "condition"_a.none() = nb::none(), Unlocked())
      .def(
          "sample",
          [](SharedMatcher& self, const at::Tensor& x1, const std::vector<int64_t>& index) {
            const std::lock_guard lock(self.turn);
            FlowMatcher::Pairs p = self.sample(x1, index);
            return std::make_tuple(std::move(p.t), std::move(p.x), std::move(p.target), std::move(p.feature));
          },
          "x1"_a, "index"_a = std::vector<int64_t>(), Unlocked())
      .def_static(
          "takes", [](const std::string& key) { return FlowMatcher::takes(key); }, "key"_a)
      .def_prop_ro("config", &FlowMatcher::config)
      .def_prop_ro("clock", [](const SharedMatcher& self) { return self.clock().spec; })
      .def_prop_ro("clock_explanation", [](const SharedMatcher& self) { return self.clock().explanation; })
      .def_prop_ro("feature_size", &FlowMatcher::feature_size)
      .def_prop_ro("row_shape", &FlowMatcher::row_shape)
      .def_prop_ro("data_scale", [](const SharedMatcher& self) { return self.flow().data_scale().describe(); })
      .def_prop_ro("step", &FlowMatcher::step)
      .def("state", &FlowMatcher::state)
      .def("load_state", &FlowMatcher::load_state, "state"_a);
  m.def(
      "solve",
      [](const SharedMatcher& matcher, const NetworkCall& network, const SampleOptions& options) {
        return sample(matcher, network, options);
      },
      "matcher"_a, "network"_a, "options"_a, Unlocked());
}

void bind_fit(nb::module_& m) {
  nb::class_<TableModel>(m, "TableModel")
      .def_ro("name", &TableModel::name)
      .def_ro("rows", &TableModel::rows)
      .def_ro("quantiles", &TableModel::quantiles);
  nb::class_<TableFitOptions>(m, "TableFitOptions")
      .def(nb::init<>())
      .def_rw("file", &TableFitOptions::file)
      .def_rw("settings", &TableFitOptions::settings)
      .def_rw("seed", &TableFitOptions::seed)
      .def_rw("holdout", &TableFitOptions::holdout)
      .def_rw("minutes", &TableFitOptions::minutes)
      .def_rw("samples", &TableFitOptions::samples)
      .def_rw("compare", &TableFitOptions::compare)
      .def_rw("folder", &TableFitOptions::folder)
      .def_rw("resume", &TableFitOptions::resume)
      .def(
          "set_callbacks",
          [](TableFitOptions& o, const std::function<void(const std::string&)>& note,
             const std::function<void(const std::string&, const TrainProgress&)>& trained,
             const std::function<void(const std::string&, int64_t, int64_t)>& sampled,
             const report::KeyValues& origin) {
            o.note = note, o.trained = trained, o.sampled = sampled;
            o.page = [origin](const TableFit& fit) { return fit_page(fit, origin); };
          },
          "note"_a.none(), "trained"_a.none(), "sampled"_a.none(), "origin"_a);
  nb::class_<TableFit>(m, "TableFit")
      .def_ro("model", &TableFit::model)
      .def_ro("samples", &TableFit::samples)
      .def_ro("models", &TableFit::models)
      .def_prop_ro("losses", [](const TableFit& f) { return std::make_pair(f.losses.step, f.losses.loss); })
      .def_ro("evaluations", &TableFit::evaluations)
      .def_ro("diverged", &TableFit::diverged)
      .def_ro("seconds", &TableFit::seconds)
      .def_ro("folder", &TableFit::folder)
      .def_ro("rows", &TableFit::rows)
      .def_prop_ro("notes", [](const TableFit& f) { return plan_sentences(f.plan); })
      .def_prop_ro("held_out", [](const TableFit& f) { return f.plan.held_out.rows; });
  m.def(
      "fit_table", [](const TableFitOptions& o) { return fit_watched(nullptr, o); }, "options"_a, Unlocked());
  m.def(
      "fit_rows", [](const Dataset& table, const TableFitOptions& o) { return fit_watched(&table, o); }, "table"_a,
      "options"_a, Unlocked());
  m.def("comparison_sentences", &comparison_sentences, "fit"_a);
  m.def("fit_json", &fit_json, "fit"_a);
  m.def("fit_page", &fit_page, "fit"_a, "origin"_a, Unlocked());
}

}  // namespace htfm::python
