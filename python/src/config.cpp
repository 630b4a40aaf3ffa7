// Configurations and data sets.
#include "python/src/bind.h"

namespace htfm::python {

void bind_config(nb::module_& m) {
  nb::class_<ScheduleSpec>(m, "ScheduleSpec")
      .def(
          "__init__",
          [](ScheduleSpec* self, const std::string& name, double gamma, double ratio) {
            new (self) ScheduleSpec;
            self->name = name, self->gamma = gamma, self->ratio = ratio;
          },
          "name"_a, "gamma"_a = 2.0, "ratio"_a = 50.0);
  nb::class_<RunConfig>(m, "RunConfig", "Every setting of a run (doc/configuration.md).")
      .def(nb::init<>())
      .def(nb::init<const RunConfig&>(), "config"_a)
      .def_rw("clock", &RunConfig::clock)
      .def_ro("seed", &RunConfig::seed)
      .def_ro("method", &RunConfig::method)
      .def_prop_ro("network", [](const RunConfig& c) { return c.net.kind; })
      .def_prop_ro("samples", [](const RunConfig& c) { return c.sample.n; })
      .def_prop_ro("data_path", [](const RunConfig& c) { return c.data.path; });
  m.def("load_config", &load_config, "path"_a, "settings"_a = std::vector<std::string>());
  m.def("parse_config", &parse_config, "text"_a, "origin"_a, "settings"_a = std::vector<std::string>());
  m.def("parse_saved_config", &parse_saved_config, "text"_a, "origin"_a);
  m.def("with_settings", &with_settings, "config"_a, "settings"_a = std::vector<std::string>());
  m.def("config_entries", &config_entries, "config"_a);
  m.def("format_config", &format_config, "config"_a);
  m.def("config_differences", &config_differences, "a"_a, "b"_a);
  m.def("may_change_on_resume", &may_change_on_resume, "key"_a);
  m.def("config_keys", [] {
    std::vector<std::tuple<std::string, std::string, std::string, std::string>> out;
    for (const ConfigKey& k : config_keys()) out.emplace_back(k.name, k.type, k.default_value, k.meaning);
    return out;
  });
  m.def("methods", [] {
    std::vector<std::pair<std::string, std::string>> out;
    for (const MethodInfo& info : methods()) out.emplace_back(info.name, info.summary);
    return out;
  });
  m.def("networks", [] {
    std::vector<std::pair<std::string, std::string>> out;
    for (const NetworkInfo& info : networks()) out.emplace_back(info.name, info.summary);
    return out;
  });
  m.def("solvers", [] {
    std::vector<std::pair<std::string, std::string>> out;
    for (const SolverInfo& info : solvers()) out.emplace_back(info.name, info.summary);
    return out;
  });
  m.def("trust_torchscript", &trust_torchscript, "trusted"_a = true);
  m.def("torchscript_trusted", &torchscript_trusted);
}

void bind_data(nb::module_& m) {
  nb::class_<FileSpec>(m, "FileSpec", "A table and how to read it.")
      .def(
          "__init__",
          [](FileSpec* self, std::string path, std::string columns, std::string drop, std::string missing,
             bool log_returns, std::string kind, std::string kinds, std::string decimal, std::string constraints) {
            new (self) FileSpec{.path = std::move(path),
                                .columns = std::move(columns),
                                .drop = std::move(drop),
                                .missing = std::move(missing),
                                .log_returns = log_returns};
            self->kind = std::move(kind), self->kinds = std::move(kinds), self->decimal = std::move(decimal);
            self->constraints = std::move(constraints);
          },
          "path"_a, "columns"_a = "", "drop"_a = "", "missing"_a = "refuse", "log_returns"_a = false,
          "kind"_a = "table", "kinds"_a = "numbers", "decimal"_a = "auto", "constraints"_a = "");
  nb::class_<TableColumn>(m, "TableColumn", "What a column of a table holds.")
      .def(
          "__init__",
          [](TableColumn* self, const std::string& kind, std::vector<std::string> categories, bool ordered,
             std::string date_form) {
            new (self) TableColumn{.kind = kind_by_name(kind),
                                   .categories = std::move(categories),
                                   .ordered = ordered,
                                   .date_form = std::move(date_form)};
          },
          "kind"_a = "number", "categories"_a = std::vector<std::string>(), "ordered"_a = false, "date_form"_a = "")
      .def_prop_ro("kind", [](const TableColumn& c) { return std::string(kind_name(c.kind)); })
      .def_ro("categories", &TableColumn::categories)
      .def_ro("ordered", &TableColumn::ordered)
      .def_ro("date_form", &TableColumn::date_form)
      .def("text", &TableColumn::text, "value"_a);
  nb::class_<Dataset>(m, "Dataset", "Rows in memory.")
      .def_ro("rows", &Dataset::rows)
      .def_ro("streamed", &Dataset::streamed)
      .def_ro("names", &Dataset::names)
      .def_ro("columns", &Dataset::columns)
      .def_ro("hash", &Dataset::hash)
      .def_ro("origin", &Dataset::origin)
      .def_ro("notes", &Dataset::notes)
      .def_ro("labels", &Dataset::labels)
      .def_ro("classes", &Dataset::classes)
      .def_prop_ro("conditions", [](const Dataset& data) { return data.conditions.values; });
  m.def(
      "with_conditions",
      [](const Dataset& data, const RunConfig& config) { return with_conditions(data, config.condition); }, "data"_a,
      "config"_a, Unlocked());
  m.def(
      "rows_dataset",
      [](const at::Tensor& rows, const std::vector<std::string>& names, const FileSpec& spec,
         const std::vector<TableColumn>& columns) { return rows_dataset(rows, names, columns, spec); },
      "rows"_a, "names"_a, "spec"_a, "columns"_a = std::vector<TableColumn>(), Unlocked());
  m.def("file_dataset", &file_dataset, "spec"_a, Unlocked());
  m.def("field_dataset", &field_dataset, "path"_a, "held_out"_a, Unlocked());
  m.def("column_name", &column_name, "data"_a, "column"_a);
  m.def("split_rows", &split_rows, "data"_a, "share"_a, "key"_a, Unlocked());
  m.def("some_rows", &some_rows, "data"_a, "count"_a, "key"_a, Unlocked());
  m.def("load_dataset", &load_dataset, "config"_a, Unlocked());
  m.def("load_split", &load_split, "config"_a, Unlocked());
  m.def("chosen_rows", &chosen_rows, "config"_a, "data"_a, Unlocked());
  m.def("split_dataset", &split_dataset, "config"_a, "data"_a, Unlocked());
  m.def("held_out", &held_out, "config"_a, "n"_a, "k"_a = 0, Unlocked());
  m.def("synthetic_sets", [] {
    std::vector<std::pair<std::string, std::string>> out;
    for (const SyntheticInfo& info : synthetic_sets()) out.emplace_back(info.name, info.summary);
    return out;
  });
  m.def(
      "synthetic_dataset",
      [](Key key, const std::string& name, int64_t n, double alpha, int64_t dim, double nu) {
        return synthetic_dataset(key, {name, alpha, dim, nu}, n);
      },
      "key"_a, "name"_a, "n"_a, "alpha"_a, "dim"_a, "nu"_a, Unlocked());
  m.def(
      "draw_synthetic",
      [](Key key, const std::string& name, int64_t n, double alpha, int64_t dim, double nu) {
        return draw_synthetic(key, {name, alpha, dim, nu}, n);
      },
      "key"_a, "name"_a, "n"_a, "alpha"_a, "dim"_a, "nu"_a, Unlocked());
}

}  // namespace htfm::python
