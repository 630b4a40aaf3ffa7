// The registry of methods.
#pragma once

#include "htfm/base/api.h"
#include "htfm/method/baseline.h"
#include "htfm/method/flow_matching.h"

namespace htfm HTFM_PUBLIC {

struct MethodInfo {
  std::string name, summary;
  /// A baseline takes the clock of the flow's specification and leaves the rest of it aside.
  std::function<std::unique_ptr<Method>(const FlowMatchingSpec& flow, const MethodOptions& options,
                                        DataScale data_scale)>
      make;
  bool any_clock = false;  ///< takes every clock, those that come from the data too
};

/// All methods, htfm first.
std::span<const MethodInfo> methods();
/// By name; InputError where the name, the clock or an option is wrong for it.
std::unique_ptr<Method> make_method(const std::string& name, const FlowMatchingSpec& flow, const MethodOptions& options,
                                    DataScale data_scale = DataScale());

}  // namespace htfm
