// Prepared sets of fields and their scores; scores of images.
#include <numeric>

#include "python/src/bind.h"

namespace htfm::python {

namespace {

nb::dict field_dict(const FieldEvaluation& e) {
  nb::dict out;
  for (const MetricValue& v : field_values(e.scores))
    out[v.name.c_str()] = v.interval ? nb::object(nb::make_tuple(v.value, v.low, v.high)) : nb::cast(v.value);
  return out;
}

Calendar known_calendar(const std::string& name) {
  if (const std::optional<Calendar> calendar = calendar_by_name(name)) return *calendar;
  throw InputError(
      "[calendar] expected one of the CF conventions (standard, noleap, all_leap, 360_day, julian), got '{}'", name);
}

}  // namespace

void bind_fields(nb::module_& m) {
  nb::class_<FieldTransform>(m, "FieldTransform", "How a network sees fields.")
      .def(
          "__init__",
          [](FieldTransform* self, const std::string& kind, double unit, std::optional<double> threshold,
             double quantum, double depth, double reach, const std::string& scores) {
            new (self) FieldTransform{.kind = kind,
                                      .unit = unit,
                                      .threshold = threshold,
                                      .quantum = quantum,
                                      .depth = depth,
                                      .reach = reach,
                                      .scores = scores};
          },
          "kind"_a = "none", "unit"_a = 1.0, "threshold"_a.none() = nb::none(), "quantum"_a = 0.0, "depth"_a = 0.0,
          "reach"_a = 0.0, "scores"_a = "normal")
      .def_ro("kind", &FieldTransform::kind)
      .def_ro("mean", &FieldTransform::mean)
      .def_ro("deviation", &FieldTransform::deviation)
      .def("text", &FieldTransform::text)
      .def(
          "apply",
          [](const FieldTransform& t, const at::Tensor& fields, Key key, int64_t first,
             const std::optional<at::Tensor>& distance) {
            return t.apply(fields, key, first, distance.value_or(at::Tensor()));
          },
          "fields"_a, "key"_a, "first"_a = 0, "distance"_a.none() = nb::none(), Unlocked())
      .def("calibrate", &FieldTransform::calibrate, "rows"_a, Unlocked())
      .def_prop_ro("calibrated", &FieldTransform::calibrated)
      .def("invert", &FieldTransform::invert, "rows"_a, Unlocked());
  nb::class_<FieldSet>(m, "FieldSet", "A prepared set of fields.")
      .def(nb::init<>())
      .def_rw("fields", &FieldSet::fields)
      .def_rw("time", &FieldSet::time)
      .def_rw("dated", &FieldSet::dated)
      .def_rw("held_out", &FieldSet::held_out)
      .def_prop_rw(
          "member",
          [](const FieldSet& set) -> std::optional<at::Tensor> {
            return set.member.defined() ? std::optional(set.member) : std::nullopt;
          },
          [](FieldSet& set, const at::Tensor& member) { set.member = member; })
      .def_rw("place", &FieldSet::place)
      .def_rw("corners", &FieldSet::corners)
      .def_rw("transform", &FieldSet::transform)
      .def_rw("channels", &FieldSet::channels)
      .def_rw("units", &FieldSet::units)
      .def_rw("south_first", &FieldSet::south_first)
      .def_prop_rw(
          "calendar", [](const FieldSet& set) { return std::string(calendar_name(set.calendar)); },
          [](FieldSet& set, const std::string& name) { set.calendar = known_calendar(name); })
      .def(
          "set_places",
          [](FieldSet& set, const at::Tensor& latitude, const at::Tensor& longitude) {
            set.latitude = latitude, set.longitude = longitude;
          },
          "latitude"_a, "longitude"_a)
      .def("places", &FieldSet::places, "field"_a)
      .def("one_place", &FieldSet::one_place)
      .def_rw("provenance", &FieldSet::provenance)
      .def_ro("hash", &FieldSet::hash)
      .def("__len__", &FieldSet::size)
      .def("part", &FieldSet::part, "held_out"_a)
      .def("take", &FieldSet::take, "index"_a)
      .def(
          "distance",
          [](const FieldSet& set, const std::vector<int64_t>& index) -> std::optional<at::Tensor> {
            const at::Tensor out = set.distance(index);
            return out.defined() ? std::optional(out) : std::nullopt;
          },
          "index"_a, Unlocked());
  m.def(
      "dry_distance",
      [](const at::Tensor& fields, double threshold, double reach) {
        std::vector<int64_t> all(static_cast<size_t>(fields.size(0)));
        std::iota(all.begin(), all.end(), int64_t{0});
        return dry_distance(fields.contiguous(), all, {}, threshold, reach);
      },
      "fields"_a, "threshold"_a, "reach"_a, Unlocked());
  m.def(
      "fit_field_transform",
      [](const FieldTransform& transform, const at::Tensor& fields, const at::Tensor& held_out,
         const std::vector<std::string>& channels,
         const std::string& where) { return fit_field_transform(transform, fields, held_out, channels, where); },
      "transform"_a, "fields"_a, "held_out"_a, "channels"_a = std::vector<std::string>(), "where"_a = "fields",
      Unlocked());
  m.def(
      "seconds_since_1970",
      [](int64_t year, int64_t month, int64_t day, int64_t hour, int64_t minute, int64_t second,
         const std::string& calendar) {
        return seconds_since_1970({year, month, day, hour, minute, second}, known_calendar(calendar));
      },
      "year"_a, "month"_a, "day"_a, "hour"_a, "minute"_a, "second"_a, "calendar"_a);
  m.def("write_field_set", &write_field_set, "path"_a, "set"_a, Unlocked());
  m.def("open_field_set", &open_field_set, "path"_a, Unlocked());
  m.def("is_field_set", &is_field_set, "path"_a);
  m.def("recipes", [] {
    std::vector<std::pair<std::string, std::string>> out;
    for (const Recipe& r : recipes()) out.emplace_back(r.name, r.summary);
    return out;
  });
  m.def("prepare_settings", [] {
    std::vector<std::pair<std::string, std::string>> out;
    for (const PrepareSetting& setting : prepare_settings()) out.emplace_back(setting.name, setting.meaning);
    return out;
  });
  m.def(
      "prepare_fields",
      [](const std::vector<std::string>& files, const PrepareValues& values, const std::string& output) {
        const PrepareSummary s = prepare_fields(list_field_files(files), make_prepare_spec(values), output);
        return std::make_pair(s.train, s.test);
      },
      "files"_a, "values"_a, "output"_a, Unlocked());
  m.def(
      "evaluate_fields",
      [](const std::string& real, const std::string& fake, const std::string& part, int64_t channel, double wet) {
        FieldEvaluationOptions o{.part = part, .channel = channel, .wet = wet};
        FieldEvaluation e = [&] {
          const nb::gil_scoped_release unlocked;
          return evaluate_fields(real, fake, o);
        }();
        return field_dict(e);
      },
      "real"_a, "fake"_a, "part"_a = "held-out", "channel"_a = 0, "wet"_a = -1.0);
  m.def(
      "field_page",
      [](const std::string& title, const std::string& real, const std::string& fake, const report::KeyValues& origin) {
        return field_page(title, evaluate_fields(real, fake, {.shown = 8}), origin);
      },
      "title"_a, "real"_a, "fake"_a, "origin"_a, Unlocked());
}

void bind_images(nb::module_& m) {
  m.def(
      "evaluate_images",
      [](const std::string& real, const std::string& kind, const std::string& subset, const std::string& network,
         const at::Tensor& samples, int64_t batch, int k, const std::string& cache, const std::string& device) {
        const ImageReference reference =
            make_image_reference(read_images({real, kind, subset}),
                                 {.network = network, .cache = cache, .batch = batch, .device = at::Device(device)});
        const ImageEvaluation e = evaluate_images(reference, sampled_images(samples, "samples"), k);
        const nb::gil_scoped_acquire lock;
        nb::dict out;
        out["n_real"] = e.scores.real, out["n_fake"] = e.scores.fake, out["nonfinite"] = e.nonfinite;
        out["frechet"] = e.scores.distance.value, out["frechet_mean"] = e.scores.distance.mean;
        out["frechet_covariance"] = e.scores.distance.covariance, out["clipped_share"] = e.clipped_share;
        return out;
      },
      "real"_a, "kind"_a, "subset"_a, "network"_a, "samples"_a, "batch"_a = 500, "k"_a = 3, "cache"_a = "",
      "device"_a = "cpu", Unlocked());
}

}  // namespace htfm::python
