// Fields without dates: they are counted, and nothing that is written says a time.
#include <gtest/gtest.h>
#include <netcdf.h>

#include <cstdio>
#include <filesystem>
#include <numeric>
#include <stdexcept>
#include <string>
#include <vector>

#include "htfm/field/field_export.h"
#include "htfm/field/list_fields.h"
#include "htfm/field/prepare.h"
#include "htfm/page/field_list_text.h"
#include "test/field/support.h"
#include "test/io/support.h"

namespace htfm {
namespace {

using namespace test;

void must_be(int error) {
  if (error) throw std::runtime_error(nc_strerror(error));
}

struct Dimension {
  const char* name;
  size_t size;
  bool numbers = false;  // a coordinate 0, 1, ... without units
};

// v over dimensions, 2 x 3 points last; the values of field k are 6 k, 6 k + 1, ...
void write_undated(const std::string& path, std::vector<Dimension> dimensions, double first = 0) {
  int id = 0, v = 0;
  must_be(nc_create(path.c_str(), NC_CLOBBER, &id));
  dimensions.push_back({"y", 2}), dimensions.push_back({"x", 3});
  std::vector<int> dims, coordinates;
  size_t size = 1;
  for (const Dimension& d : dimensions) {
    must_be(nc_def_dim(id, d.name, d.size, &dims.emplace_back()));
    if (int c = 0; d.numbers) must_be(nc_def_var(id, d.name, NC_DOUBLE, 1, &dims.back(), &c)), coordinates.push_back(c);
    size *= d.size;
  }
  must_be(nc_def_var(id, "v", NC_DOUBLE, static_cast<int>(dims.size()), dims.data(), &v));
  must_be(nc_enddef(id));
  std::vector<double> values(size);
  std::iota(values.begin(), values.end(), 0.0);
  for (const int c : coordinates) must_be(nc_put_var_double(id, c, values.data()));
  for (double& x : values) x += first;
  must_be(nc_put_var_double(id, v, values.data()));
  must_be(nc_close(id));
}

PrepareSpec spec_of(const std::string& test) {
  PrepareSpec out;
  out.channels = {{.name = "v"}}, out.test = test;
  return out;
}

std::vector<int64_t> numbers(const at::Tensor& t) {
  const at::Tensor own = t.to(at::kLong).contiguous();
  return {own.const_data_ptr<int64_t>(), own.const_data_ptr<int64_t>() + own.numel()};
}

TEST(Undated, FieldsAreCountedAndWrittenWithoutATime) {
  const TemporaryFolder folder;
  for (const char* name : {"time", "Time", "t", "record", "field"})
    for (const bool coordinate : {false, true}) {
      write_undated(folder / "a.nc", {{name, 4, coordinate}});
      const auto list = list_fields(folder / "a.nc");
      ASSERT_EQ(list.size(), 1U) << name;
      EXPECT_EQ(list[0].count, 4);
      EXPECT_FALSE(list[0].dated);
      EXPECT_MENTIONS(field_list_text(list, "a.nc", false), "no dates");
      EXPECT_EQ(field_list_json(list, "a.nc").find("time\":"), std::string::npos);
      EXPECT_EQ(prepare_fields({folder / "a.nc"}, spec_of("0.25"), folder / "set").test, 1);
      const FieldSet set = open_field_set(folder / "set");
      EXPECT_FALSE(set.dated);
      EXPECT_MENTIONS(field_set_json(set, "set"), "\"times\":\"no dates\"");
      EXPECT_EQ(numbers(set.time), (std::vector<int64_t>{0, 1, 2, 3}));
      EXPECT_EQ(numbers(set.held_out), (std::vector<int64_t>{0, 0, 0, 1}));
      export_fields(set, {0, 1, 2, 3}, folder / "x.nc", {});
      int id = 0, variable = 0;
      must_be(nc_open((folder / "x.nc").c_str(), NC_NOWRITE, &id));
      EXPECT_EQ(nc_inq_varid(id, "time", &variable), NC_ENOTVAR);
      EXPECT_EQ(nc_inq_dimid(id, "field", &variable), NC_NOERR);
      must_be(nc_close(id));
      // What was written is the same set again.
      prepare_fields({folder / "x.nc"}, spec_of("0.25"), folder / "again");
      EXPECT_TRUE(open_field_set(folder / "again").fields.equal(set.fields));
      EXPECT_TRUE(open_field_set(folder / "again").held_out.equal(set.held_out));
    }
}

TEST(Undated, MembersOfATimeStayTogetherAndAreCountedWhereTheyAreAll) {
  const TemporaryFolder folder;
  write_undated(folder / "a.nc", {{"time", 3}, {"member", 2}});
  prepare_fields({folder / "a.nc"}, spec_of("0.34"), folder / "set");
  FieldSet set = open_field_set(folder / "set");
  EXPECT_EQ(numbers(set.time), (std::vector<int64_t>{0, 0, 1, 1, 2, 2}));
  EXPECT_EQ(numbers(set.member), (std::vector<int64_t>{0, 1, 0, 1, 0, 1}));
  EXPECT_EQ(numbers(set.held_out), (std::vector<int64_t>{0, 0, 0, 0, 1, 1}));
  write_undated(folder / "b.nc", {{"sample", 4}});
  prepare_fields({folder / "b.nc"}, spec_of("0.25"), folder / "set");
  set = open_field_set(folder / "set");
  EXPECT_EQ(numbers(set.time), (std::vector<int64_t>{0, 1, 2, 3}));
  EXPECT_EQ(numbers(set.held_out), (std::vector<int64_t>{0, 0, 0, 1}));
}

// GRIB has no message without a date: it says that the date means nothing, and is read so. No centre is named.
TEST(Undated, SamplesInGribHaveNoDate) {
  const TemporaryFolder folder;
  FieldFileHeader header{.count = 4, .height = 2, .width = 3};
  header.channels = {"t", "q"}, header.units = {"K", ""}, header.latitude = {1, 2}, header.longitude = {1, 2, 3};
  const auto file = open_field_writer(folder / "s.grib2", header);
  std::vector<float> values(4 * 2 * 6);
  std::iota(values.begin(), values.end(), 0.0F);
  file->write(values.data(), 4);
  file->close();
  for (const ListedFields& list : list_fields(folder / "s.grib2")) {
    EXPECT_FALSE(list.dated);
    EXPECT_EQ(list.members.size(), 4U);
  }
  std::FILE* raw = std::fopen((folder / "s.grib2").c_str(), "rb");
  int error = 0;
  codes_handle* h = codes_handle_new_from_file(nullptr, raw, PRODUCT_GRIB, &error);
  long centre = 0;
  must(codes_get_long(h, "centre", &centre));
  EXPECT_EQ(centre, 65535);
  codes_handle_delete(h), std::fclose(raw);
  PrepareSpec spec;
  spec.channels = {{.name = "t"}, {.name = "q"}}, spec.test = "0.25";
  prepare_fields({folder / "s.grib2"}, spec, folder / "set");
  const FieldSet set = open_field_set(folder / "set");
  EXPECT_FALSE(set.dated);
  EXPECT_EQ(numbers(set.time), (std::vector<int64_t>{0, 1, 2, 3}));
  EXPECT_EQ(numbers(set.held_out), (std::vector<int64_t>{0, 0, 0, 1}));
  EXPECT_EQ(set.fields[3][1][0][0].item<double>(), 42);
}

TEST(Undated, FilesGoOnCounting) {
  const TemporaryFolder folder;
  write_undated(folder / "a.nc", {}), write_undated(folder / "b.nc", {{"time", 2}}, 6);
  write_undated(folder / "c.nc", {}, 18);
  const std::vector<std::string> files{folder / "a.nc", folder / "b.nc", folder / "c.nc"};
  prepare_fields(files, spec_of("0.25"), folder / "set");
  const FieldSet set = open_field_set(folder / "set");
  EXPECT_EQ(numbers(set.time), (std::vector<int64_t>{0, 1, 2, 3}));
  EXPECT_EQ(numbers(set.held_out), (std::vector<int64_t>{0, 0, 0, 1}));
  EXPECT_EQ(set.fields[3][0][0][0].item<double>(), 18);
  // Also where an earlier run read some of them: this one ends after its second file.
  PrepareSpec resumed = spec_of("0.25");
  resumed.resume = true;
  std::filesystem::rename(folder / "c.nc", folder / "later.nc");
  input_error([&] { prepare_fields(files, resumed, folder / "set2"); });
  std::filesystem::rename(folder / "later.nc", folder / "c.nc");
  prepare_fields(files, resumed, folder / "set2");
  EXPECT_TRUE(open_field_set(folder / "set2").time.equal(set.time));
  EXPECT_TRUE(open_field_set(folder / "set2").fields.equal(set.fields));
}

TEST(Undated, WhatNeedsDatesIsRefused) {
  const TemporaryFolder folder;
  write_undated(folder / "a.nc", {{"time", 4}}),
      write_netcdf_grid(folder / "dated.nc", {1, 2}, {1, 2, 3}, [](auto...) { return 1.0; });
  const auto refusal = [&](const PrepareSpec& spec, std::vector<std::string> files) {
    return input_error([&] { prepare_fields(files, spec, folder / "set"); });
  };
  for (const char* part : {"2021", "2021-06", "06"})
    EXPECT_MENTIONS(refusal(spec_of(part), {folder / "a.nc"}),
                    "a.nc: expected a share such as 0.25 for fields without dates, got '" + std::string(part) + "'");
  PrepareSpec train = spec_of("");
  train.train = "2020";
  EXPECT_MENTIONS(refusal(train, {folder / "a.nc"}), "[train]");
  PrepareSpec sequence = spec_of("");
  sequence.sequence = 2;
  EXPECT_MENTIONS(refusal(sequence, {folder / "a.nc"}), "[sequence] ");
  EXPECT_MENTIONS(refusal(sequence, {folder / "a.nc"}), "expected fields with dates, got some without");
  write_undated(folder / "one.nc", {});
  EXPECT_MENTIONS(refusal(spec_of("0.25"), {folder / "one.nc"}),
                  "expected fields to train on (all but 0.25), got none: there are 1 without dates");
  PrepareSpec places = spec_of("");  // the same points, with latitudes: another grid
  EXPECT_MENTIONS(refusal(places, {folder / "a.nc", folder / "dated.nc"}), "dated.nc: expected the grid of ");
}

TEST(Undated, FilesWithAndWithoutDatesDoNotMix) {
  const TemporaryFolder folder;
  write_undated(folder / "a.nc", {{"time", 2}});
  int id = 0, time = 0, dim = 0;
  std::filesystem::copy_file(folder / "a.nc", folder / "b.nc");
  must_be(nc_open((folder / "b.nc").c_str(), NC_WRITE, &id));
  must_be(nc_redef(id));
  must_be(nc_inq_dimid(id, "time", &dim));
  must_be(nc_def_var(id, "time", NC_DOUBLE, 1, &dim, &time));
  const std::string units = "days since 2020-01-01";
  must_be(nc_put_att_text(id, time, "units", units.size(), units.c_str()));
  must_be(nc_enddef(id));
  const double days[] = {0, 1};
  must_be(nc_put_var_double(id, time, days));
  must_be(nc_close(id));
  const auto refusal = [&](const char* first, const char* second) {
    return input_error([&] { prepare_fields({folder / first, folder / second}, spec_of(""), folder / "set"); });
  };
  EXPECT_MENTIONS(refusal("a.nc", "b.nc"), "b.nc: expected fields without dates, as in ");
  EXPECT_MENTIONS(refusal("b.nc", "a.nc"), "a.nc: expected fields with a date, as in ");
}

}  // namespace
}  // namespace htfm
