// Clocks, random keys, signatures, couplings by name and the exact assignment.
#include <ATen/ops/empty.h>
#include <ATen/ops/from_blob.h>

#include "python/src/bind.h"

namespace htfm::python {

namespace {

at::Tensor drawn(int64_t n, const std::function<void(double*)>& fill) {
  if (n < 0) throw InputError("[random] expected a count of at least 0, got {}", n);
  at::Tensor out = at::empty({n}, at::kDouble);
  fill(out.mutable_data_ptr<double>());
  return out;
}

at::Tensor vector_of(const std::vector<int64_t>& values) {
  at::Tensor out = at::empty({static_cast<int64_t>(values.size())}, at::kLong);
  std::copy(values.begin(), values.end(), out.mutable_data_ptr<int64_t>());
  return out;
}

at::Tensor vector_of(const std::vector<double>& values) {
  at::Tensor out = at::empty({static_cast<int64_t>(values.size())}, at::kDouble);
  std::copy(values.begin(), values.end(), out.mutable_data_ptr<double>());
  return out;
}

// Host points n x dim in double, copied only where they are not so already.
at::Tensor points_of(const at::Tensor& x, const char* name) {
  if (!x.defined() || x.dim() < 2 || !(x.is_floating_point() || c10::isIntegralType(x.scalar_type(), false)))
    throw InputError(
        "[assignment] expected {} as points x dimensions, got {}", name,
        x.defined() ? fmt::format("{} dimensions of {}", x.dim(), c10::toString(x.scalar_type())) : "none");
  return x.detach().reshape({x.size(0), -1}).to(at::kCPU, at::kDouble).contiguous();
}

at::Tensor assign_tensors(const at::Tensor& x0, const at::Tensor& x1, double p) {
  const at::Tensor a = points_of(x0, "x0"), b = points_of(x1, "x1");
  if (a.sizes() != b.sizes())
    throw InputError("[assignment] expected as many points of the same dimension, got {} x {} and {} x {}", a.size(0),
                     a.size(1), b.size(0), b.size(1));
  return vector_of(assign(a.size(0), a.const_data_ptr<double>(), b.const_data_ptr<double>(), a.size(1), p));
}

std::tuple<at::Tensor, at::Tensor, at::Tensor> assign_matrix(const at::Tensor& cost) {
  const at::Tensor c = points_of(cost, "costs");
  if (c.size(0) != c.size(1))
    throw InputError("[assignment] expected a square matrix of costs, got {} x {}", c.size(0), c.size(1));
  const Assignment found = assign_costs(c.size(0), c.const_data_ptr<double>());
  return {vector_of(found.column), vector_of(found.row_price), vector_of(found.column_price)};
}

}  // namespace

void bind_clocks(nb::module_& m) {
  nb::class_<Key>(m, "Key", "Names one stream of random numbers; the same key always gives the same numbers.")
      .def(nb::init<uint64_t>(), "seed"_a)
      .def("child", nb::overload_cast<uint64_t>(&Key::child, nb::const_), "tag"_a)
      .def(
          "child", [](const Key& k, const std::string& name) { return k.child(name); }, "name"_a)
      .def_prop_ro("value", &Key::value)
      .def("bits", &Key::bits, "index"_a)
      .def("uniform", &Key::uniform, "index"_a)
      .def("below", &Key::below, "bound"_a, "index"_a);
  m.def("philox", &philox, "key"_a, "counter"_a, "stream"_a = 0);
  m.def(
      "fill_uniform",
      [](Key k, uint64_t first, int64_t n) { return drawn(n, [&](double* x) { fill_uniform(k, first, n, x); }); },
      "key"_a, "first"_a, "n"_a, Unlocked());
  m.def(
      "fill_normal",
      [](Key k, uint64_t first, int64_t n) { return drawn(n, [&](double* x) { fill_normal(k, first, n, x); }); },
      "key"_a, "first"_a, "n"_a, Unlocked());
  m.def(
      "fill_positive_stable",
      [](Key k, double rho, double scale, uint64_t first, int64_t n) {
        return drawn(n, [&](double* x) { fill_positive_stable(k, rho, scale, first, n, x); });
      },
      "key"_a, "rho"_a, "scale"_a, "first"_a, "n"_a, Unlocked());
  m.def(
      "fill_log_gamma_draw",
      [](Key k, double shape, uint64_t first, int64_t n) {
        return drawn(n, [&](double* x) { fill_log_gamma_draw(k, shape, first, n, x); });
      },
      "key"_a, "shape"_a, "first"_a, "n"_a, Unlocked());
  m.def(
      "fill_permutation",
      [](Key k, int64_t n) {
        std::vector<int64_t> out(static_cast<size_t>(n));
        fill_permutation(k, n, out.data());
        return vector_of(out);
      },
      "key"_a, "n"_a, Unlocked());

  nb::class_<ClockSpec>(m, "ClockSpec", "The law of a clock.")
      .def(
          "__init__",
          [](ClockSpec* self, std::string family, std::map<std::string, double> parameters, int grid, double scale) {
            new (self) ClockSpec{std::move(family), std::move(parameters), grid, {}, scale};
          },
          "family"_a, "parameters"_a, "grid"_a = 200, "scale"_a = 1.0)
      .def_ro("family", &ClockSpec::family)
      .def_ro("parameters", &ClockSpec::parameters)
      .def_ro("grid", &ClockSpec::grid)
      .def_ro("scale", &ClockSpec::scale)
      .def("describe", &ClockSpec::describe);
  nb::class_<ClockSample>(m, "ClockSample")
      .def_ro("area", &ClockSample::area)
      .def_ro("end", &ClockSample::end)
      .def_ro("paths", &ClockSample::paths);
  nb::class_<Clock>(m, "Clock")
      .def_prop_ro("spec", &Clock::spec)
      .def_prop_ro("tail_exponent", &Clock::tail_exponent)
      .def_prop_ro("student_degrees", &Clock::student_degrees)
      .def(
          "sample",
          [](const Clock& c, Key key, int64_t count, int64_t first, bool paths, const std::string& device) {
            return c.sample(key, {count, first, paths, at::Device(device)});
          },
          "key"_a, "count"_a, "first"_a = 0, "paths"_a = true, "device"_a = "cpu", Unlocked());
  m.def(
      "make_clock", [](const ClockSpec& spec) { return make_clock(spec).release(); }, "spec"_a,
      nb::rv_policy::take_ownership);
  m.def("clock_families", [] {
    std::vector<std::tuple<std::string, std::string, std::vector<std::tuple<std::string, double, double, std::string>>>>
        out;
    for (const ClockFamily& f : clock_families()) {
      std::vector<std::tuple<std::string, double, double, std::string>> parameters;
      for (const ClockParameter& p : f.parameters) parameters.emplace_back(p.name, p.lower, p.upper, p.meaning);
      out.emplace_back(f.name, f.summary, std::move(parameters));
    }
    return out;
  });
  m.def("sample_source", &sample_source, "key"_a, "area"_a, "dim"_a, "first"_a = 0, Unlocked());

  m.def("assign", &assign_tensors, "x0"_a, "x1"_a, "p"_a = 2.0, Unlocked());
  m.def("assign_costs", &assign_matrix, "cost"_a, Unlocked());
  m.def("couplings", [] {
    std::vector<std::pair<std::string, std::string>> out;
    for (const CouplingInfo& c : couplings()) out.emplace_back(c.name, c.summary);
    return out;
  });
  m.def("schedules", [] {
    std::vector<std::pair<std::string, std::string>> out;
    for (const ScheduleInfo& s : schedules()) out.emplace_back(s.name, s.summary);
    return out;
  });
  m.def(
      "schedule_at",
      [](const ScheduleSpec& spec, const std::vector<double>& times) {
        const std::unique_ptr<Schedule> schedule = make_schedule(spec);
        if (schedule->depends_on_clock())
          throw InputError("[schedule] expected one that does not look at the clock, got {}", spec.name);
        std::vector<std::tuple<double, double, double, double>> out;
        for (const double t : times) {
          const Coefficients c = schedule->at(t);
          out.emplace_back(c.alpha, c.beta, c.dalpha, c.dbeta);
        }
        return out;
      },
      "spec"_a, "times"_a);
}

void bind_signatures(nb::module_& m) {
  const auto options = [](const std::string& convention, bool augment_time, const at::Tensor& times, bool time_first) {
    PathOptions out;
    out.convention = convention_by_name(convention);
    out.augment_time = augment_time, out.times = times, out.time_first = time_first;
    return out;
  };
  m.def(
      "signature",
      [=](const at::Tensor& paths, int depth, const std::string& convention, bool augment_time, const at::Tensor& times,
          bool time_first) { return signature(paths, depth, options(convention, augment_time, times, time_first)); },
      "paths"_a, "depth"_a, "convention"_a, "augment_time"_a, "times"_a.none(), "time_first"_a, Unlocked());
  m.def(
      "logsignature",
      [=](const at::Tensor& paths, int depth, const std::string& basis, const std::string& convention,
          bool augment_time, const at::Tensor& times, bool time_first) {
        return logsignature(paths, depth, log_basis_by_name(basis),
                            options(convention, augment_time, times, time_first));
      },
      "paths"_a, "depth"_a, "basis"_a, "convention"_a, "augment_time"_a, "times"_a.none(), "time_first"_a, Unlocked());
  m.def(
      "signature_gradient",
      [=](const at::Tensor& paths, int depth, const at::Tensor& gradient, const std::string& convention,
          bool augment_time, const at::Tensor& times, bool time_first) {
        return signature_gradient(paths, depth, gradient, options(convention, augment_time, times, time_first));
      },
      "paths"_a, "depth"_a, "gradient"_a, "convention"_a, "augment_time"_a, "times"_a.none(), "time_first"_a,
      Unlocked());
  m.def(
      "logsignature_gradient",
      [=](const at::Tensor& paths, int depth, const std::string& basis, const at::Tensor& gradient,
          const std::string& convention, bool augment_time, const at::Tensor& times, bool time_first) {
        return logsignature_gradient(paths, depth, log_basis_by_name(basis), gradient,
                                     options(convention, augment_time, times, time_first));
      },
      "paths"_a, "depth"_a, "basis"_a, "gradient"_a, "convention"_a, "augment_time"_a, "times"_a.none(), "time_first"_a,
      Unlocked());
  m.def("chen", &chen, "first"_a, "second"_a, "channels"_a, "depth"_a, Unlocked());
  m.def("signature_size", &signature_size, "channels"_a, "depth"_a);
  m.def("logsignature_size", &logsignature_size, "channels"_a, "depth"_a);
  m.def(
      "lyndon_words", [](int channels, int depth) { return LyndonBasis::get(channels, depth).words(); }, "channels"_a,
      "depth"_a);
  m.def(
      "lyndon_brackets", [](int channels, int depth) { return LyndonBasis::get(channels, depth).brackets(); },
      "channels"_a, "depth"_a);
}

}  // namespace htfm::python
