// Rare events of a model.
#include "python/src/bind.h"

namespace htfm::python {

namespace {

RareOptions watched(RareOptions options) {
  options.report = [](int64_t) { check_interrupted(); };
  return options;
}

}  // namespace

void bind_rare(nb::module_& m) {
  nb::class_<RareOptions>(m, "RareOptions")
      .def(nb::init<>())
      .def(
          "set_sample", [](RareOptions& o, const SampleOptions& sample) { o.sample = sample; }, "sample"_a)
      .def_rw("draws", &RareOptions::draws)
      .def_rw("particles", &RareOptions::particles)
      .def_rw("budget", &RareOptions::budget)
      .def_rw("least", &RareOptions::least)
      .def_rw("splitting", &RareOptions::splitting);
  nb::class_<EventProbability>(m, "EventProbability", "An estimate of a probability.")
      .def_ro("probability", &EventProbability::probability)
      .def_ro("standard_error", &EventProbability::standard_error)
      .def_ro("lower", &EventProbability::lower, "Of the 95 % interval.")
      .def_ro("upper", &EventProbability::upper, "Of the 95 % interval.")
      .def_ro("samples", &EventProbability::samples, "Network samples spent.")
      .def_ro("effective", &EventProbability::effective, "Plain samples of the event that would say as much.")
      .def_ro("reached", &EventProbability::reached, "False: it never happens, or is rarer than `upper`.")
      .def_ro("method", &EventProbability::method)
      .def("__repr__", [](const EventProbability& p) {
        return p.reached
                   ? fmt::format("EventProbability({:.4g}, 95 % {:.4g} to {:.4g})", p.probability, p.lower, p.upper)
                   : fmt::format("EventProbability(not reached, below {:.2g})", p.upper);
      });
  nb::class_<RareQuantile>(m, "RareQuantile", "An estimate of a quantile.")
      .def_ro("value", &RareQuantile::value)
      .def_ro("lower", &RareQuantile::lower, "Of the 95 % interval.")
      .def_ro("upper", &RareQuantile::upper, "Of the 95 % interval.")
      .def_ro("samples", &RareQuantile::samples, "Network samples spent.")
      .def_ro("effective", &RareQuantile::effective, "Plain samples beyond it that would say as much.")
      .def_ro("method", &RareQuantile::method)
      .def("__repr__", [](const RareQuantile& q) {
        return fmt::format("RareQuantile({:.6g}, 95 % {:.6g} to {:.6g})", q.value, q.lower, q.upper);
      });
  nb::class_<RareSamples>(m, "RareSamples")
      .def_ro("samples", &RareSamples::samples)
      .def_ro("weights", &RareSamples::weights)
      .def_ro("probability", &RareSamples::probability)
      .def_ro("threshold", &RareSamples::threshold);
  m.def(
      "event_probability",
      [](const Model& model, const std::string& condition, const RareOptions& o) {
        return event_probability(model, {.condition = condition}, watched(o));
      },
      "model"_a, "condition"_a, "options"_a, Unlocked());
  m.def(
      "rare_quantile",
      [](const Model& model, const std::string& expression, double probability, const RareOptions& o) {
        return rare_quantile(model, {expression}, probability, watched(o));
      },
      "model"_a, "expression"_a, "probability"_a, "options"_a, Unlocked());
  m.def(
      "sample_event",
      [](const Model& model, const std::string& condition, int64_t n, const RareOptions& o) {
        return sample_event(model, {.condition = condition}, n, watched(o));
      },
      "model"_a, "condition"_a, "n"_a, "options"_a, Unlocked());
  m.def(
      "sample_beyond",
      [](const Model& model, const std::string& expression, double level, int64_t n, const RareOptions& o) {
        return sample_beyond(model, {expression}, level, n, watched(o));
      },
      "model"_a, "expression"_a, "level"_a, "n"_a, "options"_a, Unlocked());
}

}  // namespace htfm::python
