#include "htfm/evaluate/shared_metrics.h"

#include <bit>
#include <nlohmann/json.hpp>

namespace htfm {

namespace {

using Json = nlohmann::ordered_json;

// A double as JSON keeps it, infinite ones too.
uint64_t bits(double v) { return std::bit_cast<uint64_t>(v); }
double from_bits(const Json& j) { return std::bit_cast<double>(j.get<uint64_t>()); }

}  // namespace

std::vector<MetricValue> shared_metrics(std::vector<std::string> names, const at::Tensor& real, const at::Tensor& fake,
                                        const MetricOptions& options, Communicator* processes) {
  if (!processes) return compute_metrics(names, real, fake, options).values;
  if (names.empty())
    for (const MetricInfo& m : metric_infos()) names.emplace_back(m.name);
  Json own = Json::object();
  for (size_t k = 0; k < names.size(); ++k) {
    if (static_cast<int>(k) % processes->size() != processes->rank()) continue;
    Json& values = own[names[k]] = Json::array();
    for (const MetricValue& v : compute_metrics({names[k]}, real, fake, options).values)
      values.push_back({v.name, bits(v.value), v.interval, bits(v.low), bits(v.high)});
  }
  Json all = Json::object();
  for (const std::string& text : gather_texts(*processes, own.dump())) all.update(Json::parse(text));
  std::vector<MetricValue> out;
  for (const std::string& name : names)
    for (const Json& v : all[name]) {
      MetricValue value;
      value.name = v[0].get<std::string>(), value.value = from_bits(v[1]), value.interval = v[2].get<bool>();
      value.low = from_bits(v[3]), value.high = from_bits(v[4]);
      // The numbers of points come with each.
      if (std::ranges::none_of(out, [&](const MetricValue& o) { return o.name == value.name; })) out.push_back(value);
    }
  return out;
}

}  // namespace htfm
