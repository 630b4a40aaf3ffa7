#include "htfm/method/methods.h"

#include "htfm/base/registry.h"

namespace htfm {

MethodInfo dlpm_method();
MethodInfo dlim_method();
MethodInfo lim_method();
MethodInfo tflow_method();
MethodInfo tedm_method();
MethodInfo clock_diffusion_method();

namespace {

std::unique_ptr<Method> make_flow(const FlowMatchingSpec& flow, const MethodOptions& o, DataScale data_scale) {
  if (o.loss != "auto" && o.loss != "squared")
    throw InputError("[baseline.loss] expected squared for method = htfm, got '{}'", o.loss);
  if (o.sampler != "auto")
    throw InputError("[baseline.sampler] expected auto for method = htfm (sample.solver chooses), got '{}'", o.sampler);
  if (o.clamp_a > 0 || o.clamp_eps > 0)
    throw InputError("[baseline.{}] expected 0 for method = htfm, which clamps nothing; got {}",
                     o.clamp_a > 0 ? "clamp_a" : "clamp_eps", o.clamp_a > 0 ? o.clamp_a : o.clamp_eps);
  return std::make_unique<FlowMatching>(flow, std::move(data_scale));
}

}  // namespace

std::span<const MethodInfo> methods() {
  static const std::vector<MethodInfo> list{{"htfm", "clock-conditioned flow matching", make_flow, true},
                                            dlpm_method(),
                                            dlim_method(),
                                            lim_method(),
                                            tflow_method(),
                                            tedm_method(),
                                            clock_diffusion_method()};
  return list;
}

std::unique_ptr<Method> make_method(const std::string& name, const FlowMatchingSpec& flow, const MethodOptions& options,
                                    DataScale data_scale) {
  if (name != "htfm" && !SourceMean(flow.source).zero())
    throw InputError("[source] expected source.skew = 0 and source.shift = 0 for method = {}, got '{}' and '{}'", name,
                     flow.source.skew, flow.source.shift);
  if (name != "htfm" && !flow.covariance.identity())
    throw InputError("[source.covariance] expected identity for method = {}, got {}", name, flow.covariance.kind);
  std::unique_ptr<Method> method = find_named(methods(), name, "method").make(flow, options, std::move(data_scale));
  if (options.sampler != "auto") find_named(method->samplers(), options.sampler, "baseline.sampler");
  return method;
}

}  // namespace htfm
