#include "htfm/field/resume_settings.h"

#include <nlohmann/json.hpp>

namespace htfm {

nlohmann::json resume_settings(const PrepareSpec& spec) {
  using nlohmann::json;
  json channels = json::array();
  for (const FieldChoice& c : spec.channels) channels.push_back(c.text() + (c.expand_reduced ? ", expanded" : ""));
  json out{{"channels", channels}, {"height", spec.height}, {"width", spec.width}, {"tiles", spec.tiles}};
  if (spec.train_tiles > 0) out["train_tiles"] = spec.train_tiles;
  if (spec.offset) out["offset"] = {spec.offset->first, spec.offset->second};
  if (spec.centre) out["centre"] = {spec.centre->latitude, spec.centre->longitude};
  if (spec.box)
    out["box"] = {spec.box->first.latitude, spec.box->first.longitude, spec.box->second.latitude,
                  spec.box->second.longitude};
  if (spec.mask_below) out["mask_below"] = *spec.mask_below;
  if (spec.transform.reach > 0) out["outside"] = {*spec.transform.threshold, spec.transform.reach};
  return out;
}

}  // namespace htfm
