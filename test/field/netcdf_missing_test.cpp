// Missing values of NetCDF files: in fields, and in the coordinates of their places.
#include <gtest/gtest.h>
#include <netcdf.h>

#include <cmath>
#include <string>
#include <vector>

#include "test/field/netcdf_builder.h"
#include "test/field/support.h"
#include "test/io/support.h"

namespace htfm {
namespace {

using namespace test;

// A field of 2 x 3 with values 0 to 5 and one attribute of numbers.
std::vector<double> with_attribute(const std::string& path, nc_type type, const char* name, nc_type own,
                                   const std::vector<double>& numbers, double packing = 1) {
  Builder file(path);
  file.dimension("y", 2), file.dimension("x", 3);
  const int v = file.variable("v", type, {"y", "x"});
  ok(nc_put_att_double(file.id(), v, name, own, numbers.size(), numbers.data()));
  if (packing != 1) ok(nc_put_att_double(file.id(), v, "scale_factor", NC_FLOAT, 1, &packing));
  file.values();
  const float values[] = {0, 1, 2, 3, 4, static_cast<float>(type == NC_FLOAT ? 143.1 : 1000)};
  ok(nc_put_var_float(file.id(), v, values));
  file.close();
  return fields_of(path).at(0).values;
}

// Python writes numbers of attributes as doubles, whatever the type of the values.
TEST(NetcdfMissing, AttributesAreReadInTheTypeOfTheValues) {
  const TemporaryFolder folder;
  EXPECT_TRUE(std::isnan(with_attribute(folder / "m.nc", NC_FLOAT, "missing_value", NC_DOUBLE, {143.1}).back()));
  EXPECT_FALSE(std::isnan(with_attribute(folder / "m.nc", NC_FLOAT, "missing_value", NC_DOUBLE, {1e300}).back()));
  EXPECT_FALSE(std::isnan(with_attribute(folder / "m.nc", NC_FLOAT, "valid_max", NC_DOUBLE, {143.1}).back()));
  EXPECT_TRUE(std::isnan(with_attribute(folder / "m.nc", NC_FLOAT, "valid_max", NC_DOUBLE, {143.0}).back()));
}

// The NetCDF user's guide: a range of whole numbers is one of packed values, with fractions of unpacked ones.
TEST(NetcdfMissing, ARangeWithFractionsIsOneOfUnpackedValues) {
  const TemporaryFolder folder;
  const auto last = [&](nc_type own, const std::vector<double>& range) {
    return with_attribute(folder / "r.nc", NC_SHORT, "valid_range", own, range, 0.1).back();
  };
  EXPECT_NEAR(last(NC_FLOAT, {0, 100}), 100, 1e-4);  // 1000 times 0.1F is more than 100
  EXPECT_TRUE(std::isnan(last(NC_FLOAT, {0, 99})));
  EXPECT_TRUE(std::isnan(last(NC_SHORT, {0, 100})));
  EXPECT_NEAR(last(NC_SHORT, {0, 1000}), 100, 1e-4);
}

// A packed coordinate may reach the number that stands for what was never written: CF has no missing values there. In a
// field that number is a missing value, also of unsigned numbers.
TEST(NetcdfMissing, DefaultFillValuesAreNumbersInCoordinatesAlone) {
  const TemporaryFolder folder;
  const std::string path = folder / "a.nc";
  Builder file(path, NC_NETCDF4);
  file.dimension("time", 1), file.dimension("lat", 2), file.dimension("lon", 3);
  const int t = file.variable("time", NC_DOUBLE, {"time"}), y = file.variable("lat", NC_INT, {"lat"}),
            x = file.variable("lon", NC_SHORT, {"lon"}), v = file.variable("v", NC_SHORT, {"time", "lat", "lon"}),
            u = file.variable("u", NC_USHORT, {"time", "lat", "lon"});
  file.text(t, "units", "days since 2000-01-01");
  file.text(y, "units", "degrees_north"), file.text(x, "units", "degrees_east");
  const double factor = 0.005;
  ok(nc_put_att_double(file.id(), x, "scale_factor", NC_DOUBLE, 1, &factor));
  file.values();
  const double day = 0;
  const int latitude[] = {10, 11};
  const short longitude[] = {NC_FILL_SHORT, -32567, -32367}, values[] = {1, 2, NC_FILL_SHORT, 4, 5, 6};
  const unsigned short other[] = {1, 2, NC_FILL_USHORT, 4, 5, 6};
  ok(nc_put_var_double(file.id(), t, &day)), ok(nc_put_var_int(file.id(), y, latitude));
  ok(nc_put_var_short(file.id(), x, longitude)), ok(nc_put_var_short(file.id(), v, values));
  ok(nc_put_var_ushort(file.id(), u, other));
  file.close();
  for (const char* name : {"v", "u"}) {
    const auto fields = fields_of(path, {.name = name});
    ASSERT_EQ(fields.size(), 1U);
    for (int64_t i = 0; i < 3; ++i)
      EXPECT_NEAR(fields[0].grid.at(0, i).longitude, -163.835 + static_cast<double>(i), 1e-9) << name;
    EXPECT_TRUE(std::isnan(fields[0].values[2])) << name;
    EXPECT_EQ(fields[0].values[3], 4) << name;
  }
}

TEST(NetcdfMissing, OneInACoordinateIsRefused) {
  const TemporaryFolder folder;
  const std::string path = folder / "a.nc";
  Builder file(path);
  file.dimension("lat", 2), file.dimension("lon", 3);
  const int y = file.variable("lat", NC_DOUBLE, {"lat"}), x = file.variable("lon", NC_DOUBLE, {"lon"});
  file.variable("v", NC_DOUBLE, {"lat", "lon"});
  file.text(y, "units", "degrees_north"), file.text(x, "units", "degrees_east");
  const double fill = -999, latitude[] = {10, 11}, longitude[] = {5, -999, 7};
  ok(nc_put_att_double(file.id(), x, "_FillValue", NC_DOUBLE, 1, &fill));
  file.values();
  ok(nc_put_var_double(file.id(), y, latitude)), ok(nc_put_var_double(file.id(), x, longitude));
  file.close();
  EXPECT_MENTIONS(input_error([&] { fields_of(path); }),
                  "a.nc: expected a number for each place along 'lon', got a missing one (_FillValue, missing_value or "
                  "outside the valid range) at 2 of 3");
}

}  // namespace
}  // namespace htfm
