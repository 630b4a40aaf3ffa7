// Every key of a configuration, with its range and meaning.
#include <limits>
#include <set>

#include "htfm/coupling/assignment.h"
#include "htfm/data/synthetic.h"
#include "htfm/model/config_binding.h"

namespace htfm {

namespace {

template <class Registry>
std::string join_names(const Registry& registry) {
  std::string out;
  for (const auto& entry : registry) out += (out.empty() ? "" : ", ") + entry.name;
  return out;
}

std::string network_names() {
  std::string out;
  for (const NetworkInfo& info : networks())
    out += fmt::format("{}{} ({})", out.empty() ? "" : ", ", info.name, info.summary);
  return out;
}

}  // namespace

void ConfigBindings::add_all(RunConfig& c) {
  constexpr double inf = std::numeric_limits<double>::infinity();
  constexpr int64_t many = int64_t{1} << 40;
  add("seed", c.seed, 0, std::numeric_limits<int64_t>::max(), "seed of everything that is drawn");
  add("method", c.method, join_names(methods()));
  add("data.name", c.data.name, "synthetic set: " + join_names(synthetic_sets()));
  add("data.alpha", c.data.alpha, 1e-3, 2, "mixture2d: stability index of the components");
  add("data.dim", c.data.dim, 1, 1 << 20, "student, clusters: dimension");
  add("data.nu", c.data.nu, 1e-3, 1e9, "student, clusters: degrees of freedom");
  add("data.n", c.data.n, 1, many, "points drawn from a synthetic set");
  add("data.path", c.data.path,
      "instead of a synthetic set: a table (.csv, .tsv, .csv.gz, .npy, .parquet, .xlsx), CIFAR-10 batches (a file or "
      "folder), a folder "
      "of PNG files");
  add("data.kind", c.data.kind,
      "what the path holds: auto (by its name and content), table, cifar10, png, images (.npy), fields (what `htfm "
      "prepare` wrote)");
  add("data.subset", c.data.subset,
      "which of the labelled images: all, or long-tail (the first int(5000 imbalance^(c / (classes - 1))) of class c)");
  add("data.imbalance", c.data.imbalance, 1e-6, 1,
      "long tail: ratio of the size of the last class to that of the first");
  add("data.flip", c.data.flip, "mirror images left to right, at random each time they are used");
  add("data.columns", c.data.columns, "columns of the file, by name or number, comma-separated; empty: all");
  add("data.drop", c.data.drop, "columns of the file to leave out");
  add("data.missing", c.data.missing, "rows of the file with missing values: refuse, drop or keep (modelled)");
  add("data.kinds", c.data.kinds,
      "what columns of the file may hold: numbers, or auto (numbers, categories, dates); after commas, kinds of single "
      "columns, which override it: zip=category, day=date:D.M.Y, grade=ordered:low|mid|high (or ordered:@FILE, a "
      "category a line), n=number, key=identifier");
  add("data.decimal", c.data.decimal, "decimal mark in texts of the file: auto, point or comma");
  add("data.constraints", c.data.constraints,
      "relations that every row satisfies, separated by semicolons: paid <= incurred; total = net + tax");
  add("data.log_returns", c.data.log_returns, "treat the rows as prices: log(x_i / x_(i-1)) replaces them");
  add("data.rows", c.data.rows, 0, many, "use only this many of the file's rows, drawn at random; 0: all");
  add("data.holdout", c.data.holdout, 0, 0.9,
      "share of the file's rows, drawn at random, that is held out to compare with");
  add("data.normalise", c.data.normalise,
      "normalisation of each column: none, zscore, robust (median and interquartile range), log (sign(y) log(1 + "
      "abs(y)) of the robust values), table (by the column's kind), or scores (each column's own distribution, tails "
      "included, is mapped to one distribution)");
  add("data.scores", c.data.scores,
      "the distribution of scores: normal, or logistic, whose exponential tails preserve the spread of extremes that "
      "come together");
  add("data.whiten", c.data.whiten,
      "after normalisation, rotate and scale by a robust scatter matrix, so that all directions are alike");
  add("data.independent", c.data.independent,
      "groups of columns that do not depend on each other, such as 1;2,3 (numbered from 1, without constant columns): "
      "every epoch combines groups from different rows into new rows; columns that are not named belong to the first "
      "group");
  add("data.tail_index", c.data.tail_index, 0, 1000,
      "before whitening, sides of columns whose tail index clearly differs from this one are transformed to have it; "
      "0: none are");
  add("data.tail", c.data.tail,
      "the largest sizes (coupling.size): empirical (as they are), pareto (smoothed and continued by a generalised "
      "Pareto distribution), clusters (by clusters of one family, if such a distribution fits all rows)");
  add("condition.columns", c.condition.columns,
      "columns of a table that are given instead of modelled, comma-separated names or numbers from 1");
  add("condition.file", c.condition.file,
      "a table with a row for each row of the data (of a prepared set: for each of all its fields), whose columns are "
      "given");
  add("condition.categories", c.condition.categories,
      "given columns of numbers to treat as categories; other columns of numbers are categories if they have few "
      "values, all whole numbers");
  add("condition.numbers", c.condition.numbers,
      "given columns to treat as numbers although they have few values, all whole numbers");
  add("condition.untold", c.condition.untold,
      "given columns of numbers that the network does not see, with data.normalise = scores: only centre and scale of "
      "the modelled columns depend on them");
  add("condition.label", c.condition.label, "true: the classes of images are given");
  add("condition.field", c.condition.field,
      "a field is given: the means of each row over a coarse grid such as 16x16, or the fields of a prepared set");
  add("condition.drop", c.condition.drop, 0, 0.9,
      "share of the rows of a training step whose condition is hidden from the network, so that it can also be used "
      "without one");
  add("condition.focus", c.condition.focus, 0, 4,
      "with condition.field: power of the root mean square of the given field above its least value, in proportion to "
      "which rows are drawn, so that training favours fields that are not empty; 0: all rows alike");
  add("clock.family", c.clock.family, join_names(clock_families()) + "; fitted and auto are determined from the data");
  std::set<std::string> seen;
  for (const ClockFamily& family : clock_families())
    for (const ClockParameter& p : family.parameters)
      if (seen.insert(p.name).second) add_clock_parameter(p, c.clock);
  add("clock.grid", c.clock.grid, 1, 1'000'000, "steps of the clock's grid on [0,1]");
  add("clock.scale", c.clock.scale, 1e-100, 1e100, "factor that the source is multiplied by");
  add("source.law", c.source_law,
      "a named skewed source, which sets the clock's family: " + join_names(skewed_sources()) + "; or empty");
  add("source.skew", c.source.skew,
      "given the clock, the source's mean is shift + skew 2A: one number, or one for each column, comma-separated");
  add("source.shift", c.source.shift, "the shift in this mean, in the same form");
  add("source.covariance", c.covariance.kind,
      "given the clock, the source's covariance is 2A Sigma, where the trace of Sigma is the number of columns: " +
          join_names(source_covariances()) + "; the last two are fitted to the training rows");
  add("source.rank", c.covariance.rank, 1, 1024, "low-rank: number of factors in addition to the diagonal");
  add("feature.kind", c.feature.kind, "auto, none, log_slope, logsignature, signature");
  add("feature.order", c.feature.order, 0, kMaxDepth,
      "truncation of the signature; 0 hides the clock from the network");
  add("feature.basis", c.feature.basis, "basis of the logsignature: words or brackets");
  add("feature.transform", c.feature.transform, "log1p (signed, of clock coordinates), raw, per-path");
  add("feature.standardise", c.feature.standardise,
      "running (mean and deviation collected in training), or none: the coordinates as they are");
  add("feature.convention", c.feature.convention,
      "how the path runs between two points: linear, jump, leadlag, constant");
  add("feature.end", c.feature.end, "add T_1 to the feature");
  add("feature.area", c.feature_area,
      "add the logarithm of the area to the feature: on, off, or auto (on if a coupling makes the data depend on it)");
  add("feature.saturate", c.feature_saturate,
      "shrink clocks whose area is beyond its 0.9995 quantile to that quantile in the feature: on, off, or auto (on if "
      "clocks are coupled and the data scale follows them)");
  add("feature.squash", c.feature_squash,
      "let the feature grow only like a square root beyond one deviation: on, off, or auto (on if a coupling makes the "
      "largest clocks matter)");
  add("path.schedule", c.path.name, join_names(schedules()));
  add("path.gamma", c.path.gamma, 1, 16, "power of the polynomial schedule");
  add("path.ratio", c.path.ratio, 1, 1e6, "ratio of noise levels of the ve schedule");
  add("path.lambda_alpha", c.path.lambda_alpha, -16, 16, "ve-signature: how far the clock's shape bends alpha");
  add("path.lambda_beta", c.path.lambda_beta, -1, 1, "ve-signature: how far it bends beta; between -1 and 1");
  add("path.lambda", c.path.lambda,
      "near-linear, time-warp: lambda_t as coefficients of 1, t, t^2, ..., the first of them 0");
  add("path.a", c.path.a,
      "signature-linear, near-linear: the curve a(t), as 'word: coefficients of 1, t, ...; ...' over words of the "
      "letters t and c, or 1; "
      "empty: that of ve-signature with 1/4");
  add("path.b", c.path.b, "signature-linear, near-linear: the curve b(t)");
  add("path.c", c.path.c, "time-warp: the curve c(t)");
  add("path.coordinates", c.path.coordinates,
      "schedules with curves: the signature of the clock normalised (T / T_1) or raw");
  add("path.learn", c.path.learn,
      "near-linear, time-warp: the curves start as the straight line and are trained with the network");
  add("path.learn_words", c.path.learn_words, "learned curves: their words, separated by spaces");
  add("path.learn_degree", c.path.learn_degree, 2, 12, "learned curves: degree of alpha and beta in t");
  add_own_options("path", schedules(), c.path.options);
  add("coupling.kind", c.coupling.kind, join_names(couplings()));
  add("coupling.size", c.coupling.size.kind, "what is ranked: " + join_names(size_statistics()));
  add("coupling.size_column", c.coupling.size.column, "size = column: its name, or its number from 1");
  add("coupling.size_path", c.coupling.size.path, "size = file: one number for each row (.npy or .csv)");
  add("coupling.noise", c.coupling_noise, 0, 10,
      "radial, clock, pool: deviation of the noise between -log(1 - level) of a row and that of its source; 0: equal "
      "levels; auto: 1.5 with a fade of 0.3 for points and tables (mlp), otherwise 0");
  add("coupling.noise_fade", c.coupling.noise_fade, 0, 10,
      "if coupling.noise is a number: its deviation is noise exp(-fade e) at e = -log(1 - level); 0: the same at every "
      "level");
  add("coupling.pool", c.coupling.pool, 1024, 1 << 26, "pool: draws of the source that are ranked together");
  add("coupling.group", c.coupling.group, 2, 1 << 16, "ot-given-clock: sources that share a clock");
  add("coupling.ot_power", c.coupling.ot_power, 1, kLargestPower,
      "ot: the cost is the distance between x_0 and x_1 to this power; at most 2 with coupling.ot_entropy");
  add("coupling.ot_entropy", c.coupling.ot_entropy, 0, 1e6,
      "ot: entropic regularisation in units of the median cost; 0: exact");
  add_own_options("coupling", couplings(), c.coupling.options);
  add("precondition.enabled", c.precondition, "scale the network's input and output by the clock");
  add("precondition.scale", c.scale,
      "the data's scale: constant, or clock (a function of the clock, fitted once to the coupling)");
  add("precondition.time", c.time,
      "the time that the network is given and that training draws: path (t), clock (the time at which an ordinary "
      "clock has the same ratio of noise to signal), or auto (clock for preconditioned, uncoupled flows of unet and "
      "ncsnpp, otherwise path)");
  add("precondition.data_scale", c.data_scale, 0, inf, "scale of the data; 0: median radius of the data");
  add("baseline.loss", c.method_options.loss,
      "auto (root for dlpm, smooth-l1 for lim, otherwise squared), squared, root, smooth-l1, median (of means)");
  add("baseline.sampler", c.method_options.sampler,
      "auto (the first one of the method); dlpm: dlpm, dlim; dlim: dlim, dlpm; lim: sde, ode; tflow and tedm: heun, "
      "euler; clock-diffusion: mixed-flow, mixed, kernel, flow, sde");
  add("baseline.steps", c.method_options.steps, 2, 1'000'000, "dlpm, dlim: number of time steps T in training");
  add("baseline.eta", c.method_options.eta, 0, 1, "dlim: share of the noise that is drawn anew in each step");
  add("baseline.clamp_a", c.method_options.clamp_a, 0, inf,
      "largest mixing variable A of the noise sqrt(A) z; 0: none");
  add("baseline.clamp_eps", c.method_options.clamp_eps, 0, inf, "largest element of the noise; 0: none");
  add("baseline.outer", c.method_options.outer, 1, 1024, "median: mixing variables for each data row");
  add("baseline.inner", c.method_options.inner, 1, 1024, "median: noise vectors for each mixing variable");
  DiffusionOptions& d = c.method_options.diffusion;
  add("diffusion.dynamics", d.dynamics,
      "clock-diffusion: vp (f = -beta x / 2) or ve (f = 0), noise in units of the data's scale");
  add("diffusion.beta_min", d.beta_min, 0, 1000, "vp: beta at t = 0, linear in t");
  add("diffusion.beta_max", d.beta_max, 0, 1000, "vp: beta at t = 1");
  add("diffusion.sigma_min", d.sigma_min, 0, 1000, "ve: deviation of the noise at t = 0, geometric in t");
  add("diffusion.sigma_max", d.sigma_max, 0, 1000, "ve: deviation of the noise at t = 1");
  add("diffusion.grid", d.grid,
      "steps of the samplers: angle (each clock at its own levels of noise) or time (the same times for all)");
  add("diffusion.threshold", d.threshold, 0, 1,
      "mixed samplers: an increment of the clock counts as a jump if it brings more than this share of the noise "
      "(mixed), or turns the angle by more than this share of 45 degrees (mixed-flow)");
  add("net.kind", c.net.kind, network_names());
  add("net.path", c.net.path,
      "torchscript: the file. Its forward(x, t, feature) returns the output, and its parameters are trained. It "
      "contains code, which runs only if --trust is given");
  add("net.width", c.net.mlp.width, 1, 4096, "channels");
  add("net.blocks", c.net.mlp.blocks, 1, 256, "residual blocks");
  add("net.groups", c.net.mlp.groups, 1, 4096, "groups of each norm");
  add("net.time_embedding", c.net.mlp.time_embedding, 1, 4096, "size of the time embedding");
  add("net.path_embedding", c.net.mlp.path_embedding, 1, 4096, "size of the path embedding");
  add("net.film", c.net.mlp.film, "also modulate the middle block by the path embedding");
  add("net.path_map", c.net.path_map,
      "two-layer or linear: how the path feature becomes its embedding (mlp, unet, ncsnpp)");
  add("net.modulation", c.net.modulation,
      "scale-shift or shift: what time and path embeddings do to a residual block (mlp, unet, ncsnpp)");
  add_own_options("net", networks(), c.net.options);
  add("unet.base", c.net.unet.base, 8, 4096, "U-Net: channels at full size");
  add("unet.multipliers", c.net.multipliers,
      "U-Net: multiples of unet.base channels, size by size; each size is half the one before");
  add("unet.blocks", c.net.unet.blocks, 1, 64, "U-Net: residual blocks at each size");
  add("unet.heads", c.net.unet.heads, 1, 64, "U-Net: attention heads");
  add("unet.attention", c.net.attention,
      "U-Net: image heights at which blocks are followed by attention, comma-separated");
  add("unet.groups", c.net.unet.groups, 1, 4096,
      "U-Net: groups of each norm; NCSN++: at most this many, each of at least 4 channels");
  add("unet.attention_up", c.net.attention_up,
      "U-Net: attention on the way up after each block of its size (each), or only after the last one (last)");
  add("unet.dropout", c.net.unet.dropout, 0, 0.9,
      "U-Net, NCSN++: share of the values before the second convolution of a residual block that is dropped in a "
      "training step");
  add("unet.progressive", c.net.progressive, "NCSN++: the image is fed in again at every size");
  add("unet.pyramid", c.net.pyramid,
      "NCSN++: how that image is made smaller: filtered (to half its size, then convolved) or strided (filtered at its "
      "size, then convolved with stride 2)");
  add("train.optimiser", c.train.optimiser,
      "adamw, or muon: weight matrices move along their momentum with its singular values made equal, all other "
      "weights by adamw");
  add("train.muon_rate", c.train.muon_rate, 0, 100,
      "muon: root mean square of a matrix's update, as a multiple of the learning rate");
  add("train.muon_momentum", c.train.muon_momentum, 0, 0.999999, "muon: share of the momentum that is kept in a step");
  add("train.lr", c.train.lr, 0, 100, "learning rate");
  add("train.weight_decay", c.train.weight_decay, 0, 100,
      "AdamW's weight decay, not applied to norms, biases and embeddings");
  add("train.beta1", c.train.beta1, 0, 0.999999, "AdamW");
  add("train.beta2", c.train.beta2, 0, 0.999999999, "AdamW");
  add("train.epsilon", c.train.epsilon, 0, 1, "AdamW");
  add("train.clip", c.train.clip, 0, inf, "largest gradient norm; 0: none");
  add("train.ema", c.train.ema, 0, 1, "decay of the averaged weights");
  add("train.ema_warmup", c.train.ema_warmup, "after k steps the decay is at most (1 + k) / (10 + k)");
  add("train.times", c.train.times,
      "training times of method = htfm: uniform, normal (the logarithm of the ratio of signal to noise is normal, "
      "whatever the clock, so that less training is spent where the noise hides everything), or auto (normal for "
      "preconditioned, uncoupled flows of unet and ncsnpp, otherwise uniform)");
  add("train.times_centre", c.train.times_centre, -20, 20, "normal: mean of that logarithm");
  add("train.times_spread", c.train.times_spread, 0.01, 20, "normal: deviation of that logarithm");
  add("train.precision", c.train.precision, "on a device: bf16 (with float32 master weights), tf32 or float32");
  add("train.graph", c.train.graph,
      "on a device: the training step is recorded once and replayed; false: its kernels are started one by one");
  add("train.deterministic", c.train.deterministic, "on a device: algorithms that give the same bits in every run");
  add("train.batch", c.train.batch, 1, 1 << 24, "rows in a training step");
  add("train.epochs", c.train.epochs, 1, many, "passes over the data");
  add("train.warmup", c.train.warmup, 0, many, "steps of linear warm-up");
  add("train.lr_decay", c.train.lr_decay, 1e-6, 1, "StepLR: factor");
  add("train.lr_decay_steps", c.train.lr_decay_steps, 1, many, "StepLR: steps between factors");
  add("train.cooldown", c.train.cooldown, 0, many,
      "number of last steps, over which the learning rate falls linearly to 0; 0: none");
  add("train.state_steps", c.train.state_steps, 0, many,
      "tables: the most steps of each network that draws a discrete column; 0: 300 to 3,000, depending on its size");
  add("train.max_bad_steps", c.train.max_bad_steps, 1, many,
      "consecutive steps that may be skipped because loss or gradient is not finite");
  add("train.checkpoint_steps", c.train.checkpoint_steps, 1, many, "steps between checkpoints");
  add("train.keep", c.train.keep, 1, 1'000'000, "number of newest checkpoints that are kept");
  add("train.keep_every", c.train.keep_every, 0, many,
      "checkpoints at multiples of this many steps are kept permanently; 0: none");
  add("train.log_steps", c.train.log_steps, 1, many, "steps between log lines");
  add("train.validation", c.train.validation, 0, 0.9,
      "share of the rows that is held out from training for validation; the averaged weights with the lowest loss on "
      "it are kept");
  add("train.validate_steps", c.train.validate_steps, 1, many, "steps between validations");
  add("train.patience", c.train.patience, 1, many, "validations without improvement after which training ends");
  add("sample.solver", c.sample.solver,
      "auto (fitted; ab2 for images, fields and without preconditioning), euler, heun, heun-euler, midpoint, ab2, "
      "fitted (grid and weights are fitted to the model before sampling), stochastic (a part of the noise is drawn "
      "anew in every step), dopri5");
  add("sample.nfe", c.sample.nfe, 1, 1'000'000, "network evaluations per sample, at most");
  add("sample.precision", c.sample.precision,
      "of evaluations on a device: auto (train.precision), fp8 (image networks: convolutions after norms in eight "
      "bits; it needs compute capability 9), bf16, tf32 or float32");
  add("sample.time_grid", c.sample.time_grid,
      "where steps are placed: angle (in the flow's angle: the same problem for every clock), clock (at times by "
      "clock: the same ratios of noise to signal), uniform, or auto (angle; clock for images and fields)");
  add("sample.time_power", c.sample.time_power, 0.1, 16,
      "power of the time grid w = 1 - (1-u)^power, for u uniform on [0,1]");
  add("sample.time_centre", c.sample.time_centre, -20, 20,
      "then logit w becomes centre + spread * logit w; centre below 0: more steps near the noise");
  add("sample.time_spread", c.sample.time_spread, 0.1, 16, "the spread in this; above 1: more steps near both ends");
  add("sample.rtol", c.sample.rtol, 1e-12, 1, "dopri5: relative tolerance");
  add("sample.atol", c.sample.atol, 1e-12, inf, "dopri5: absolute tolerance");
  add("sample.eta", c.sample.eta, 0, 1,
      "stochastic: how much of the noise is drawn anew; 0: none, 1: as much as in a reverse diffusion");
  add("sample.eta_from", c.sample.eta_from, 0, 1,
      "stochastic: where this begins, as a share of the way from noise to data in angle; near 1 it improves the body "
      "and hardly affects the tail");
  add("sample.guidance", c.sample.guidance, 0, 100,
      "strength w of v_0 + (1 + w)(v_c - v_0), where v_c is the velocity given the condition and v_0 the velocity "
      "without it; needs condition.drop, and two evaluations instead of one");
  add("sample.exact_means", c.sample.exact_means,
      "with condition.field: samples are moved so that their means over its blocks are exactly the given ones");
  add("sample.n", c.sample.n, 1, many, "samples drawn for scores and reports");
}

}  // namespace htfm
