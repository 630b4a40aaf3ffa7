// Windows of grids around the globe: over the date line and over Greenwich, whatever way longitudes are counted.
#include "htfm/field/grid.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "htfm/base/nan.h"
#include "htfm/field/prepare.h"
#include "test/field/support.h"
#include "test/io/support.h"

namespace htfm {
namespace {

using namespace test;

// What a place has as its value: places are told from each other by it.
double value_at(const Place& p) { return 1000 * (p.latitude + 90) + std::fmod(std::fmod(p.longitude, 360) + 360, 360); }

struct Globe {
  std::string name;
  Grid grid;
};

std::vector<Globe> globes() {
  std::vector<Globe> out;
  for (const bool south_first : {false, true})
    for (const auto& [name, west, columns] :
         {std::tuple{"0 to 350", 0.0, 36}, {"-180 to 170", -180.0, 36}, {"0 to 360", 0.0, 37}, {"90 to 440", 90.0, 36}})
      for (const bool turned : {false, true}) {
        Grid g{.height = 19, .width = columns, .kind = "regular_ll", .south_first = south_first};
        for (int j = 0; j < 19; ++j) g.latitude.push_back((south_first ? -90 : 90) + (south_first ? 10 : -10) * j);
        for (int i = 0; i < columns; ++i) {
          const double x = west + 10 * i;
          g.longitude.push_back(turned && x >= 180 ? x - 360 : x);  // 0, ..., 170, -180, ..., -10
        }
        out.push_back(
            {std::string(name) + (south_first ? ", ascending" : ", descending") + (turned ? ", jump" : ""), g});
      }
  return out;
}

std::vector<double> longitudes(const Grid& g, const Window& w) {
  std::vector<double> out;
  for (int64_t i = 0; i < w.width; ++i) out.push_back(std::fmod(g.at(w.row, w.column + i).longitude + 720, 360));
  return out;
}

TEST(Globe, BoxesGoOverTheSeam) {
  for (const auto& [name, grid] : globes()) {
    const auto box = [&](double south, double west, double north, double east) {
      return grid.between({south, west}, {north, east}, name);
    };
    const Window europe = box(35, -10, 60, 30);
    EXPECT_EQ(longitudes(grid, europe), (std::vector<double>{350, 0, 10, 20, 30})) << name;
    EXPECT_EQ(europe.height, 3) << name;  // 40, 50, 60
    EXPECT_EQ(grid.at(europe.row, europe.column).latitude, grid.south_first ? 40 : 60) << name;
    for (const auto& [west, east] : {std::pair{170, -170}, {170, 190}, {-190, -170}, {530, 550}})
      EXPECT_EQ(longitudes(grid, box(-20, west, 20, east)), (std::vector<double>{170, 180, 190})) << name << west;
    EXPECT_EQ(longitudes(grid, box(0, 0, 0, 20)), (std::vector<double>{0, 10, 20})) << name;
    EXPECT_EQ(longitudes(grid, box(0, 340, 0, 350)), (std::vector<double>{340, 350})) << name;
    EXPECT_EQ(longitudes(grid, box(0, 5, 0, 15)), (std::vector<double>{10})) << name;
    for (const double west : {-180.0, 0.0, -30.0}) {  // all around, from the west on
      const std::vector<double> all = longitudes(grid, box(-90, west, 90, west + 360));
      ASSERT_EQ(all.size(), 36U) << name;
      EXPECT_EQ(all.front(), std::fmod(west + 360, 360)) << name;
      EXPECT_EQ(all.back(), std::fmod(west + 350 + 360, 360)) << name;
    }
    EXPECT_EQ(box(-90, -170, 90, 170).width, 35) << name;
    EXPECT_MENTIONS(input_error([&] { box(1, 1, 2, 2); }), "got none");
  }
}

TEST(Globe, WindowsAboutAPlaceGoOverTheSeam) {
  for (const auto& [name, grid] : globes()) {
    for (const double longitude : {2.0, 362.0, -358.0}) {
      const Window w = grid.around({48, longitude}, 4, 6, name);
      EXPECT_EQ(longitudes(grid, w), (std::vector<double>{330, 340, 350, 0, 10, 20})) << name;
      EXPECT_EQ(grid.at(w.row + 2, w.column).latitude, 50) << name;
    }
    EXPECT_EQ(longitudes(grid, grid.around({0, 179}, 1, 3, name)), (std::vector<double>{170, 180, 190})) << name;
    EXPECT_EQ(grid.around({0, 77}, 3, 36, name).width, 36) << name;
    EXPECT_MENTIONS(input_error([&] { grid.around({0, 0}, 3, 38, name); }), "expected a window inside the grid");
    EXPECT_MENTIONS(input_error([&] { grid.around({85, 0}, 8, 8, name); }), "expected a window inside the grid");
  }
}

// A satellite's picture: points off the disk have no place.
TEST(Globe, ABoxHoldsNoPointsWithoutAPlace) {
  Grid grid{.height = 4, .width = 5, .kind = "disk"};
  for (int j = 0; j < 4; ++j)
    for (int i = 0; i < 5; ++i) {
      const bool off = (j == 0 || j == 3) && (i == 0 || i == 4);
      grid.latitude.push_back(off ? kNan : 40 - j), grid.longitude.push_back(off ? kNan : 10 + i);
    }
  EXPECT_EQ(grid.between({37.5, 10.5}, {39.5, 13.5}, "disk"), (Window{1, 1, 2, 3}));
}

// A grid that ends before it comes round is not cut in silence: the box lies on both of its ends.
TEST(Globe, ARegionalGridRefusesABoxOverItsEdge) {
  Grid g{.height = 3, .width = 30, .kind = "regular_ll", .latitude = {10, 0, -10}};
  for (int i = 0; i < 30; ++i) g.longitude.push_back(10 * i);
  EXPECT_EQ(g.period(), 0);
  EXPECT_EQ(g.between({-5, 20}, {5, 40}, "a").width, 3);
  EXPECT_MENTIONS(input_error([&] {
                    g.between({-5, -80}, {5, 10}, "a");
                  }),
                  "expected a box that does not cross the edge of the grid");
}

// A set that is cut over the seam holds the values of those places, from GRIB and from NetCDF.
TEST(Globe, SetsHoldTheValuesOfTheirPlaces) {
  const TemporaryFolder folder;
  int number = 0;
  for (const auto& [name, grid] : globes()) {
    const std::string path = folder / ("g" + std::to_string(++number) + ".nc");
    write_netcdf_grid(path, grid.latitude, grid.longitude, [&, &g = grid](size_t t, size_t j, size_t i) {
      return static_cast<double>(t) * 1e6 + value_at(g.at(static_cast<int64_t>(j), static_cast<int64_t>(i)));
    });
    std::vector<std::string> files{path};
    if (name.find("jump") == std::string::npos) {  // GRIB counts eastwards without one
      files.push_back(folder / ("g" + std::to_string(number) + ".grib2"));
      for (long t = 0; t < 2; ++t) {
        GribSpec s{
            .grid = "regular_ll", .width = static_cast<long>(grid.width), .height = 19, .time = 100 * t, .bits = 24};
        s.north = grid.latitude.front(), s.south = grid.latitude.back();
        s.west = grid.longitude.front(), s.east = grid.longitude.back();
        s.value = [t, &g = grid](long j, long i) { return static_cast<double>(t) * 1e6 + value_at(g.at(j, i)); };
        write_grib(files.back(), s);
      }
    }
    for (const std::string& file : files)
      for (const bool box : {true, false}) {
        PrepareSpec spec;
        spec.channels = {{.name = file.ends_with(".nc") ? "v" : "veril"}};
        if (box)
          spec.box = {{35, -10}, {60, 30}};
        else
          spec.centre = Place{50, 10}, spec.height = 3, spec.width = 5;
        prepare_fields({file}, spec, folder / "set");
        const FieldSet set = open_field_set(folder / "set");
        ASSERT_EQ(set.fields.sizes(), at::IntArrayRef({2, 1, 3, 5})) << name << file;
        for (int t = 0; t < 2; ++t)
          for (int j = 0; j < 3; ++j)
            for (int i = 0; i < 5; ++i)
              EXPECT_NEAR(set.fields[t][0][j][i].item<double>(),
                          t * 1e6 + value_at({grid.south_first ? 40.0 + 10 * j : 60.0 - 10 * j, -10.0 + 10 * i}), 0.1)
                  << name << " " << file;
      }
  }
}

}  // namespace
}  // namespace htfm
