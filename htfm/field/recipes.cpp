// Data sets by name. doc/weather.md says where their numbers come from.
#include "htfm/field/prepare.h"

namespace htfm {
namespace {

// HRRR, vertically integrated liquid of the whole column, hourly analyses: the paper's years and size. The window is
// the one about the middle of HRRR's grid of 1059 x 1799 (38.5 N, 97.5 W: Kansas).
PrepareSpec hrrr_vil() {
  PrepareSpec spec;
  spec.channels = {{.code = ParameterCode{0, 15, 3}, .level_type = "10", .step = 0}};
  spec.names = {"VIL"}, spec.units = {"kg/m2"};
  spec.height = spec.width = 128;
  spec.offset = {465, 835};
  spec.train = "2019,2020", spec.test = "2021";
  return spec;
}

// MRMS, precipitation rate in mm/h every two minutes over the United States: -3 is no coverage, values are multiples of
// 0.1.
PrepareSpec mrms() {
  PrepareSpec spec;
  spec.channels = {{.code = ParameterCode{209, 6, 1}}};
  spec.names = {"PrecipRate"}, spec.units = {"mm/h"};
  spec.height = spec.width = 128;
  spec.tiles = 128;
  spec.mask_below = 0;
  spec.test = "0.25";
  spec.transform.threshold = 0.1;
  return spec;
}

}  // namespace

const std::vector<Recipe>& recipes() {
  static const std::vector<Recipe> list = {
      {"hrrr-vil",
       "HRRR vertically integrated liquid, analyses of 2019-2020 to train on and of 2021 held out, 128 x 128 over the "
       "central US",
       hrrr_vil},
      {"mrms",
       "MRMS precipitation rate, 128 x 128 windows side by side inside the coverage, the last quarter of the frames "
       "held out",
       mrms},
  };
  return list;
}

}  // namespace htfm
