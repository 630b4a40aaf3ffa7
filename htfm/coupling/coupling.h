// Couplings: how the (clock, source) pairs of a batch meet its data. Any coupling that keeps both marginals is a valid
// training pair: the network then learns p_data(. | T), and the mixture over T is p_data again.
#pragma once

#include <optional>

#include "htfm/base/api.h"
#include "htfm/base/part_options.h"
#include "htfm/base/registry.h"
#include "htfm/coupling/magnitude_law.h"
#include "htfm/schedule/precondition.h"
#include "htfm/source/source.h"

namespace htfm HTFM_PUBLIC {

struct CouplingSpec {
  std::string kind = "independent";
  SizeSpec size;
  double noise = 0;          ///< radial, clock, pool: LevelNoise between a row and its source
  double noise_fade = 0;     ///< how fast its deviation falls with the level
  double ot_power = 2;       ///< ot: the cost is |x_0 - x_1|^power
  double ot_entropy = 0;     ///< ot: entropic regularisation relative to the median cost; 0: exact
  int64_t group = 64;        ///< ot-given-clock: sources that share a clock
  int64_t pool = 1 << 18;    ///< pool: draws of the source that are ranked together
  PartOptions options = {};  ///< of a registered coupling
};

class Coupling {
 public:
  virtual ~Coupling() = default;
  /// Draws clocks and sources for a batch: row i belongs to data row i. `level`: the rows' places in the law of sizes
  /// (MagnitudeLaw::levels). Where `points` is false and the coupling does not look at them, x_0 is left out; with z
  /// the stream key.child("source") it is sqrt(2A) z under the independent coupling, and radius z / |z| where a radius
  /// is given.
  virtual SourceBatch pair(Key key, const DataBatch& batch, const std::vector<double>& level,
                           bool points = true) const = 0;
  /// The data scale by clock, where the coupling determines it; otherwise it is fitted to drawn pairs.
  virtual std::optional<DataScale> data_scale(const MagnitudeLaw&) const { return std::nullopt; }
};

/// What a coupling is made of. The source lives longer than the coupling.
struct CouplingContext {
  CouplingSpec spec;
  const SourceSampler& source;
  int64_t dim;
  Key key;  ///< of what is drawn once for many batches
  /// Of the data set's rows, where conditions are given: what looks at whole rows pairs neighbours alone, so that the
  /// source stays independent of the condition. Levels are uniform given the condition already.
  std::shared_ptr<const ConditionNeighbours> neighbours = {};
};

/// The rows of a batch that may exchange their sources: all of them, or those of each leaf.
std::vector<std::vector<int64_t>> exchangeable_rows(const ConditionNeighbours* neighbours, const DataBatch& batch);

struct CouplingInfo {
  std::string name, summary;
  std::function<std::unique_ptr<Coupling>(const CouplingContext&)> make;
  std::vector<PartOption> options = {};  ///< keys coupling.<name>.<option>
};
/// All couplings: those of the library, then those that the program registered.
EntryList<CouplingInfo> couplings();
/// Makes a coupling known by its name wherever a config names one. InputError where the name is taken.
void register_coupling(CouplingInfo coupling);
std::unique_ptr<Coupling> make_coupling(const CouplingContext& context);

/// The slope of log s_d in log s_0, s_0 = sqrt(2A), in the far tail, where source and data both follow power laws; 0
/// where one of them does not. A skew does not change it: it is the area that is ranked, or what grows with it.
double tail_slope(const Clock& clock, const MagnitudeLaw& sizes);

/// The order of the values, smallest first; equal values in the order in which they stand.
std::vector<int64_t> ascending_order(std::span<const double> values);

}  // namespace htfm
