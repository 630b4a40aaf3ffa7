// A NetCDF file with the variables of all its groups, and their values with packing undone.
#pragma once

#include <netcdf.h>

#include <cstddef>
#include <string>
#include <utility>
#include <vector>

namespace htfm {

class NetcdfFile {
 public:
  /// InputError, which names the file, where it does not open.
  explicit NetcdfFile(const std::string& path);
  ~NetcdfFile();
  NetcdfFile(const NetcdfFile&) = delete;
  NetcdfFile& operator=(const NetcdfFile&) = delete;

  int id() const { return id_; }
  const std::string& path() const { return path_; }
  /// InputError where a call of the library failed.
  void check(int error, const std::string& what) const;

 private:
  std::string path_;
  int id_ = -1;
};

struct NetcdfDimension {
  int id = -1;  ///< one for the file, whatever the group
  std::string name = {};
  size_t size = 0;
};

/// A variable with its dimensions and the attributes that matter.
class NetcdfVariable {
 public:
  NetcdfVariable(const NetcdfFile& file, int group, int id, const std::string& group_path);

  std::string name = {};  ///< with its groups before it: "forecast/rain"
  std::string base = {};  ///< without
  std::vector<NetcdfDimension> dimensions = {};

  const std::string& file() const { return file_->path(); }
  bool characters() const { return type_ == NC_CHAR; }
  bool numeric() const { return type_ != NC_CHAR && type_ != NC_STRING && type_ < NC_FIRSTUSERTYPEID; }
  /// Whether its only dimension is that one.
  bool along(const NetcdfDimension& d) const { return dimensions.size() == 1 && dimensions[0].id == d.id; }
  /// Whether it holds the coordinates of its only dimension.
  bool is_coordinate() const { return dimensions.size() == 1 && dimensions[0].name == base; }
  bool has(const NetcdfDimension& d) const;
  size_t points() const;  ///< or the most that a size can be
  /// An attribute; empty where there is none of that kind.
  std::string text(const char* attribute) const;
  std::vector<double> numbers(const char* attribute) const;
  /// Values unpacked, missing ones as NaN.
  void read(const std::vector<size_t>& start, const std::vector<size_t>& count, double* out) const;
  std::vector<double> all() const;
  /// Of a variable of characters with two dimensions: its rows, without spaces and zeros at their ends.
  std::vector<std::string> words() const;
  std::string shape_text() const;  ///< "rain(time 4, lat 6, lon 8)"

 private:
  double fill() const;
  bool is_real(const char* attribute) const;  ///< numbers with a fraction
  double as_stored(double value) const;       ///< an attribute's number in the type of the values
  std::pair<double, double> valid_range() const;
  double packing(const char* attribute, double default_value) const;
  double unsigned_range() const;  ///< what is added to a negative value of _Unsigned numbers; 0: nothing
  const NetcdfFile* file_;
  int group_, id_;
  nc_type type_ = 0;
};

/// The variables of all groups.
std::vector<NetcdfVariable> netcdf_variables(const NetcdfFile& file);

}  // namespace htfm
