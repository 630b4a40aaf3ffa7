// htfm clock, source, data: samples of the laws that everything else is made of.
#include <fmt/format.h>

#include "app/commands.h"
#include "htfm/data/synthetic.h"
#include "htfm/io/array_file.h"
#include "htfm/source/source_covariance.h"
#include "htfm/source/source_mean.h"

namespace htfm::app {

namespace {

struct DrawOptions {
  Common common;
  ClockChoice clock;
  SyntheticSpec set;
  int64_t n = 0, dim = 2;
  std::string output, area;
  SourceMeanSpec mean;
  std::string covariance;
};

Key key_of(const Common& common, const char* what) { return Key(static_cast<uint64_t>(common.seed)).child(what); }

void add_count_and_output(CLI::App& command, DrawOptions& o) {
  add_count(command, "-n,--count", o.n, "Number of draws")->required();
  command.add_option("-o,--output", o.output, "File to write (.npy or .csv)")
      ->required()
      ->check(output_file({".npy", ".csv"}));
}

}  // namespace

void add_clock(CLI::App& app) {
  auto o = std::make_shared<DrawOptions>();
  CLI::App* c = app.add_subcommand("clock", "Sample clock paths and their areas");
  c->footer("Example: htfm clock --family stable --alpha 1.7 -n 1000 -o paths.npy --area area.npy");
  o->clock.add(*c, true);
  add_count_and_output(*c, *o);
  c->add_option("--area", o->area, "File for the areas")->check(output_file({".npy", ".csv"}));
  o->common.add(*c);
  c->callback([o] {
    o->common.apply(true);
    const auto clock = make_clock(o->clock.get());
    const ClockSample sample = clock->sample(key_of(o->common, "clock"), {.count = o->n, .device = o->common.where()});
    write_array(o->output, sample.paths.cpu());
    if (!o->area.empty()) write_array(o->area, sample.area.cpu());
    print_figures(
        o->common,
        {{"clock", clock->spec().describe()}, {"paths", o->n}, {"points", clock->grid() + 1}, {"file", o->output}});
  });
}

void add_source(CLI::App& app) {
  auto o = std::make_shared<DrawOptions>();
  CLI::App* c = app.add_subcommand("source", "Sample the source distribution, averaged over the clock");
  c->footer(
      "Example: htfm source --family inverse-gamma --nu 3 --dim 2 -n 100000 -o x.npy\n"
      "         htfm source --family gamma --shape 2 --skew 0.5,-0.2 --dim 2 -n 100000 -o x.npy (variance-gamma)");
  o->clock.add(*c, true);
  c->add_option("--skew", o->mean.skew,
                "Given the clock, the mean is shift + skew 2A: one number, or one for each column");
  c->add_option("--shift", o->mean.shift, "The shift in this mean, in the same form");
  c->add_option("--covariance", o->covariance,
                "Covariance matrix given the clock (.npy or .csv), scaled to trace dim; by default the identity");
  add_count_and_output(*c, *o);
  c->add_option("--dim", o->dim, "Dimension")->required()->check(positive());
  o->common.add(*c);
  c->callback([o] {
    o->common.apply(true);
    const auto clock = make_clock(o->clock.get());
    const Key key = key_of(o->common, "source");
    const ClockSample sample =
        clock->sample(key.child("clock"), {.count = o->n, .paths = false, .device = o->common.where()});
    at::Tensor x = sample_source(key.child("source"), sample.area, o->dim);
    if (!o->covariance.empty()) SourceCovariance::full(read_array(o->covariance)).apply(x);
    SourceMean(o->mean).add(sample.area, x);
    write_array(o->output, x.cpu());
    print_figures(o->common,
                  {{"clock", clock->spec().describe()}, {"rows", o->n}, {"columns", o->dim}, {"file", o->output}});
  });
}

void add_data(CLI::App& app) {
  auto o = std::make_shared<DrawOptions>();
  CLI::App* c = app.add_subcommand("data", "Draw a synthetic data set");
  c->footer("Example: htfm data mixture2d --alpha 1.5 -n 32000 -o x.npy");
  std::vector<std::string> names;
  for (const SyntheticInfo& s : synthetic_sets()) names.push_back(s.name);
  c->add_option("name", o->set.name, "Which set")->required()->check(one_of(names));
  c->add_option("--alpha", o->set.alpha, "mixture2d: stability index of the components")->capture_default_str();
  c->add_option("--dim", o->set.dim, "student, clusters: dimension")->capture_default_str();
  c->add_option("--nu", o->set.nu, "student, clusters: degrees of freedom")->capture_default_str();
  add_count_and_output(*c, *o);
  o->common.add(*c);
  c->callback([o] {
    o->common.apply();
    const at::Tensor rows = draw_synthetic(key_of(o->common, "data"), o->set, o->n);
    write_array(o->output, rows);
    print_figures(o->common, {{"data", o->set.name}, {"rows", o->n}, {"columns", rows.size(1)}, {"file", o->output}});
  });
}

}  // namespace htfm::app
