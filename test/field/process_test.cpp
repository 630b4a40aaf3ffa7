// Readers that crash, hang, fill the memory or throw: each in a process of its own, each a line that names the file.
#include <gtest/gtest.h>
#include <netcdf.h>

#include <cstdlib>
#include <cstring>
#include <thread>

#include "htfm/base/error.h"
#include "htfm/field/field_file.h"
#include "htfm/field/field_process.h"
#include "htfm/io/file.h"
#include "test/io/support.h"
#include "test/temporary_folder.h"

namespace htfm {
namespace {

using test::input_error;

class Message : public FieldMessage {
 public:
  void visit_rows(const Window& window, const RowVisitor& visitor) const override {
    std::vector<double> row(static_cast<size_t>(window.width));
    for (int64_t j = 0; j < window.height; ++j) {
      for (int64_t i = 0; i < window.width; ++i)
        row[static_cast<size_t>(i)] = static_cast<double>((window.row + j) * 100 + window.column + i);
      visitor(j, row.data());
    }
  }
};

// What the name of the file says.
class StandIn : public FieldReader {
 public:
  void visit_grib(const std::string& path, const FieldChoice& choice, const FieldVisitor& visitor) const override {
    if (path == "crash") std::abort();
    if (path == "end") ::_exit(0);
    if (path == "hang")
      for (;;) std::this_thread::sleep_for(std::chrono::seconds(1));
    if (path == "memory") std::vector<char>(size_t{1} << 34).assign(size_t{1} << 34, 'x');
    if (path == "input") throw InputError("[grib] {}: wrong", path);
    if (path == "error") throw Error("[grib] {}: failed", path);
    auto grid = std::make_shared<Grid>();
    grid->height = 3, grid->width = 4, grid->kind = "lambert", grid->key = "k", grid->south_first = true;
    grid->latitude = {1, 2, 3}, grid->longitude = {4, 5, 6, 7};
    for (int64_t k = 0; k < 3; ++k) {
      Message m;
      m.name = choice.name, m.text = "text", m.units = "mm", m.time = 7 + k, m.grid = grid;
      visitor(m);
    }
  }
  void visit_netcdf(const std::string&, const FieldChoice&, const FieldVisitor&) const override {}
  std::unique_ptr<FieldWriter> write_grib(const std::string&, const FieldFileHeader&) const override { return {}; }
  std::unique_ptr<FieldWriter> write_netcdf(const std::string&, const FieldFileHeader&) const override { return {}; }
};

const StandIn kReader;

int64_t visit(const std::string& path) {
  int64_t count = 0;
  visit_in_process(kReader, FieldFormat::grib, path, {.name = "rain", .level = 500}, [&](const FieldMessage& m) {
    EXPECT_EQ(m.name, "rain");
    EXPECT_EQ(m.text, "text");
    EXPECT_EQ(m.units, "mm");
    EXPECT_EQ(m.time, 7 + count++);
    EXPECT_EQ(m.grid->kind, "lambert");
    EXPECT_EQ(m.grid->key, "k");
    EXPECT_TRUE(m.grid->south_first);
    EXPECT_EQ(m.grid->longitude, (std::vector<double>{4, 5, 6, 7}));
    std::vector<double> values(4);
    m.read({1, 2, 2, 2}, values.data());
    EXPECT_EQ(values, (std::vector<double>{102, 103, 202, 203}));
  });
  return count;
}

TEST(FieldProcess, GivesWhatTheReaderGives) {
  EXPECT_EQ(visit("good"), 3);
  EXPECT_EQ(visit("good"), 3);
}

TEST(FieldProcess, OutlivesFilesThatBreakTheReader) {
  EXPECT_MENTIONS(input_error([] { visit("crash"); }), "crash: damaged: the process that decoded it ended (Aborted)");
  EXPECT_MENTIONS(input_error([] { visit("end"); }), "end: damaged: the process that decoded it ended");
  EXPECT_MENTIONS(input_error([] { visit("input"); }), "[grib] input: wrong");
  EXPECT_MENTIONS(test::plain_error([] { visit("error"); }), "[grib] error: failed");
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
  EXPECT_MENTIONS(input_error([] { visit("memory"); }), "memory: expected fields that take at most 8 GiB");
#endif
  ::setenv("HTFM_FIELD_SECONDS", "0.2", 1);
  EXPECT_MENTIONS(input_error([] { visit("hang"); }),
                  "hang: damaged, or a very slow disk: nothing was decoded in 0.2 seconds");
  ::unsetenv("HTFM_FIELD_SECONDS");
  EXPECT_EQ(visit("good"), 3) << "the next file has a new process";
  EXPECT_THROW(visit_in_process(kReader, FieldFormat::grib, "good", {.name = "rain"},
                                [](const FieldMessage&) { throw std::runtime_error("the visitor's own"); }),
               std::runtime_error);
  EXPECT_EQ(visit("good"), 3);
}

// The library copies a name of a classic file wherever the caller wants it, whatever its length.
TEST(Netcdf, HeadersOfClassicFilesAreCheckedBeforeTheyAreRead) {
  const test::TemporaryFolder folder;
  const auto read = [&](const char* name) {
    std::vector<double> v(2);
    visit_fields(folder / name, {}, [&](const FieldMessage& m) { m.read({0, 0, 1, 2}, v.data()); });
    return v;
  };
  for (const int format : {0, NC_64BIT_OFFSET, NC_64BIT_DATA}) {
    int id = 0, dims[2] = {}, variable = 0;
    const float values[] = {3, 4, 5, 6, 7, 8};
    const double range[] = {0, 10};
    ASSERT_EQ(nc_create((folder / "good.nc").c_str(), NC_CLOBBER | format, &id), 0);
    ASSERT_EQ(nc_def_dim(id, "rows", 2, &dims[0]), 0);
    ASSERT_EQ(nc_def_dim(id, "x", 3, &dims[1]), 0);
    ASSERT_EQ(nc_def_var(id, "rain", NC_FLOAT, 2, dims, &variable), 0);
    ASSERT_EQ(nc_put_att_text(id, NC_GLOBAL, "title", 5, "a day"), 0);
    ASSERT_EQ(nc_put_att_double(id, variable, "valid_range", NC_SHORT, 2, range), 0);
    ASSERT_EQ(nc_enddef(id), 0);
    ASSERT_EQ(nc_put_var_float(id, variable, values), 0);
    ASSERT_EQ(nc_close(id), 0);
    EXPECT_EQ(read("good.nc"), (std::vector<double>{3, 4}));

    const std::string good = read_file(folder / "good.nc");
    const size_t values_from = good.size() - sizeof values, name = good.find("rows");
    for (size_t size = 4; size < values_from; size += 4) {
      atomic_write(folder / "short.nc", good.substr(0, size));
      EXPECT_MENTIONS(input_error([&] { read("short.nc"); }), "short.nc: expected a NetCDF file");
    }
    std::string longer = good;
    longer[name - 2] = 0x20, longer.insert(name, 0x2000, 'a');
    atomic_write(folder / "long.nc", longer);
    EXPECT_MENTIONS(input_error([&] { read("long.nc"); }), "a name of 8196 bytes, 256 are the most");
  }
}

// Its places have as many values as the dimension has points, and were read as if they had those of the field.
TEST(Netcdf, AFieldOverOneDimensionTwiceHasNoPlaces) {
  const test::TemporaryFolder folder;
  int id = 0, dims[2] = {}, square[2] = {}, rain = 0;
  ASSERT_EQ(nc_create((folder / "square.nc").c_str(), NC_CLOBBER, &id), 0);
  ASSERT_EQ(nc_def_dim(id, "p", 40, &dims[0]), 0);
  ASSERT_EQ(nc_def_dim(id, "one", 1, &dims[1]), 0);
  for (const char* units : {"degrees_north", "degrees_east"}) {
    int places = 0;
    ASSERT_EQ(nc_def_var(id, units, NC_DOUBLE, 2, dims, &places), 0);
    ASSERT_EQ(nc_put_att_text(id, places, "units", std::strlen(units), units), 0);
  }
  square[0] = square[1] = dims[0];
  ASSERT_EQ(nc_def_var(id, "rain", NC_FLOAT, 2, square, &rain), 0);
  ASSERT_EQ(nc_enddef(id), 0);
  std::vector<float> values(1600);
  for (size_t k = 0; k < values.size(); ++k) values[k] = static_cast<float>(k);
  ASSERT_EQ(nc_put_var_float(id, rain, values.data()), 0);
  ASSERT_EQ(nc_close(id), 0);
  visit_fields(folder / "square.nc", {.name = "rain"}, [&](const FieldMessage& m) {
    EXPECT_TRUE(m.grid->latitude.empty() && m.grid->longitude.empty());
    std::vector<double> v(2);
    m.read({39, 38, 1, 2}, v.data());
    EXPECT_EQ(v, (std::vector<double>{1598, 1599}));
  });
}

// A dimension without points, and a grid that no memory holds.
TEST(Netcdf, DimensionsOfNoOrTooManyPoints) {
  const test::TemporaryFolder folder;
  const auto write = [&](const char* name, size_t rows, size_t columns, bool unlimited) {
    int id = 0, dims[2] = {}, variable = 0;
    ASSERT_EQ(nc_create((folder / name).c_str(), NC_CLOBBER | NC_64BIT_DATA, &id), 0);
    ASSERT_EQ(nc_def_dim(id, "y", unlimited ? NC_UNLIMITED : rows, &dims[0]), 0);
    ASSERT_EQ(nc_def_dim(id, "x", columns, &dims[1]), 0);
    ASSERT_EQ(nc_def_var(id, "rain", NC_BYTE, 2, dims, &variable), 0);
    int filled = 0;
    nc_set_fill(id, NC_NOFILL, &filled);
    ASSERT_EQ(nc_enddef(id), 0);
    ASSERT_EQ(nc_close(id), 0);
  };
  const auto read = [&](const char* name) {
    return input_error([&] {
      visit_fields(folder / name, {}, [](const FieldMessage& m) {
        std::vector<double> v(16);
        m.read({0, 0, 4, 4}, v.data());
      });
    });
  };
  write("none.nc", 0, 4, true);
  EXPECT_MENTIONS(read("none.nc"), "none.nc: expected fields in rain(y 0, x 4), got none: 'y' has length 0");
  write("vast.nc", size_t{1} << 17, size_t{1} << 17, false);
  EXPECT_MENTIONS(read("vast.nc"), "vast.nc: expected fields of at most 1073741824 points");
}

}  // namespace
}  // namespace htfm
