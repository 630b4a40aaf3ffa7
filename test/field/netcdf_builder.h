// NetCDF files of any shape for the tests of their reader.
#pragma once

#include <netcdf.h>

#include <stdexcept>
#include <string>
#include <vector>

namespace htfm::test {

inline void ok(int error) {
  if (error) throw std::runtime_error(nc_strerror(error));
}

/// A file under construction: dimensions, variables and their attributes by name.
class Builder {
 public:
  explicit Builder(const std::string& path, int mode = 0) { ok(nc_create(path.c_str(), NC_CLOBBER | mode, &id_)); }
  void dimension(const char* name, size_t size) {
    int d = 0;
    ok(nc_def_dim(id_, name, size, &d));
  }
  int variable(const char* name, nc_type type, const std::vector<const char*>& dimensions) {
    std::vector<int> ids;
    for (const char* d : dimensions) ids.push_back(dimension_id(d));
    int v = 0;
    ok(nc_def_var(id_, name, type, static_cast<int>(ids.size()), ids.data(), &v));
    return v;
  }
  void text(int v, const char* name, const std::string& value) {
    ok(nc_put_att_text(id_, v, name, value.size(), value.c_str()));
  }
  int id() const { return id_; }
  void values() { ok(nc_enddef(id_)); }
  void close() { ok(nc_close(id_)); }

 private:
  int dimension_id(const char* name) const {
    int d = 0;
    ok(nc_inq_dimid(id_, name, &d));
    return d;
  }
  int id_ = 0;
};

}  // namespace htfm::test
