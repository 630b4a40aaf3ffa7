// htfm signature: signatures and logsignatures of paths in a file.
#include "htfm/signature/signature.h"

#include "app/commands.h"
#include "htfm/base/error.h"
#include "htfm/io/npy.h"

namespace htfm::app {

void add_signature(CLI::App& app) {
  struct Options {
    Common common;
    std::string input, output, log, augment, convention = "linear";
    int depth = 0;
  };
  auto o = std::make_shared<Options>();
  const auto conventions = convention_names();
  CLI::App* c = app.add_subcommand("signature", "Signatures or logsignatures of paths");
  c->footer("Example: htfm signature paths.npy --depth 3 --log brackets --augment time -o f.npy");
  c->add_option("paths", o->input, "Paths: n x points x channels, or n x points with --augment time")->required();
  c->add_option("--depth", o->depth, "Length of the longest words of the signature, where it is truncated")
      ->required()
      ->check(between(1, kMaxDepth));
  c->add_option("--log", o->log, "Logsignature instead, in coordinates of Lyndon words or of brackets")
      ->check(one_of({"words", "brackets"}));
  c->add_option("--augment", o->augment, "time: add uniform time on [0,1] as the first channel")
      ->check(one_of({"time"}));
  c->add_option("--convention", o->convention,
                "How a path runs between two points (doc/signatures.md); by default linear")
      ->check(one_of({conventions.begin(), conventions.end()}));
  c->add_option("-o,--output", o->output, "File to write (.npy)")->required()->check(output_file({".npy"}));
  o->common.add(*c, {.seed = false, .device = false});
  c->callback([o] {
    o->common.apply();
    const at::Tensor paths = read_npy(o->input);
    check_finite(paths, o->input);
    PathOptions path;
    path.convention = convention_by_name(o->convention);
    path.augment_time = o->augment == "time";
    const at::Tensor f = o->log.empty() ? signature(paths, o->depth, path)
                                        : logsignature(paths, o->depth, log_basis_by_name(o->log), path);
    write_npy(o->output, f);
    print_figures(o->common, {{"feature", o->log.empty() ? "signature" : "logsignature in " + o->log},
                              {"rows", f.size(0)},
                              {"columns", f.size(1)},
                              {"depth", o->depth},
                              {"file", o->output}});
  });
}

}  // namespace htfm::app
