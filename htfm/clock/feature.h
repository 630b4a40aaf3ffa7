// The path feature: the summary of a realised clock that is an input of the network.
#pragma once

#include <limits>

#include "htfm/base/api.h"
#include "htfm/clock/clock.h"
#include "htfm/signature/signature.h"
#include "htfm/signature/standardise.h"

namespace htfm HTFM_PUBLIC {

/// Level of the area from which on a network is told no more of a clock than its shape: few larger ones are seen in
/// training, and in the tail everything is the same but for its scale.
inline constexpr double kSaturation = 0.9995;

struct FeatureSpec {
  std::string kind = "auto";            ///< auto | none | log_slope | logsignature | signature
  int order = 1;                        ///< truncation; 0 means no feature
  std::string basis = "words";          ///< of the logsignature: words | brackets
  std::string transform = "log1p";      ///< log1p (signed, on clock coordinates) | raw | per-path
  std::string standardise = "running";  ///< running | none
  std::string convention = "linear";    ///< linear | jump | leadlag | constant
  bool end = false;                     ///< join T_1
  bool area = false;                    ///< join the logarithm of the area
  bool saturate = false;                ///< clocks with an area beyond its kSaturation quantile are shown shrunk to it
  bool squash = false;                  ///< after standardisation, z becomes sign(z) (sqrt(1 + 2|z|) - 1)
};

/// Maps clocks to features of fixed size, before standardisation.
class PathFeature {
 public:
  /// The feature of a clock family; `auto` takes what is natural for it. InputError names the key that is wrong.
  PathFeature(const Clock& clock, const FeatureSpec& spec);
  int64_t size() const { return size_; }
  /// Whether whole paths are needed, or area and end suffice.
  bool needs_paths() const { return needs_paths_; }
  /// n x size, float64.
  at::Tensor operator()(const ClockSample& clocks) const;
  /// What the network is given: the feature, standardised unless the specification says otherwise, float32. Squashed, a
  /// coordinate with exponential tails (the logarithm of a heavy clock) grows about like a normal one, and the largest
  /// clocks stay where the network has learned.
  at::Tensor standardised(const at::Tensor& raw, const RunningStandardiser& standardiser) const;
  /// The area beyond which a clock is shown shrunk to it; infinity: none is.
  double largest_area() const { return largest_area_; }
  /// One line for reports: "logsignature of order 1, log1p".
  const std::string& description() const { return description_; }

 private:
  enum class Kind { none, log_slope, signature, logsignature };
  enum class Transform { log1p, raw, per_path };
  ClockSample shown(const ClockSample& clocks) const;
  at::Tensor path_coordinates(const ClockSample& clocks) const;

  Kind kind_;
  Transform transform_ = Transform::log1p;
  int order_;
  LogBasis basis_ = LogBasis::words;
  PathOptions path_;
  bool end_, area_, squash_, needs_paths_ = false, running_ = true;
  double largest_area_ = std::numeric_limits<double>::infinity();
  int64_t size_ = 0, path_size_ = 0;
  std::vector<int64_t> clock_coordinates_;
  std::string description_;
};

}  // namespace htfm
