// htfm bench fields: a prepared set of noise, as large as it should be, to train on.
#include <ATen/ops/empty.h>
#include <ATen/ops/zeros.h>

#include "bench/bench.h"
#include "htfm/base/random.h"
#include "htfm/field/field_set.h"

namespace htfm::app {

void add_bench_fields(CLI::App& bench) {
  struct Options {
    std::string path;
    int64_t n = 1000, side = 64;
  };
  auto o = std::make_shared<Options>();
  CLI::App* c = bench.add_subcommand("fields", "Write a prepared set of noise, to measure how fast such sets are read");
  c->footer("Example: htfm bench fields noise.fields -n 32768 --side 128    (2.1 GB)");
  c->add_option("output", o->path, "File to write")->required()->check(output_file());
  add_count(*c, "-n,--count", o->n, "Fields to train on (1000)");
  add_count(*c, "--side", o->side, "Rows and columns of a field (64)");
  c->callback([o] {
    FieldSet set;
    set.fields = at::empty({o->n, 1, o->side, o->side}, at::kFloat);
    fill_normal(Key(1), 0, set.fields.numel(), set.fields.mutable_data_ptr<float>());
    set.time = at::zeros({o->n}, at::kLong), set.place = at::zeros({o->n, 2}, at::kLong);
    set.held_out = at::zeros({o->n}, at::kByte), set.corners = at::zeros({o->n, 4}, at::kDouble);
    set.transform.mean = {0}, set.transform.deviation = {1};
    set.channels = {"noise"}, set.units = {"1"};
    write_field_set(o->path, set);
  });
}

}  // namespace htfm::app
