// Fields into NetCDF-4 by the CF conventions: one variable a channel, a chunk a field, compressed.
#include <netcdf.h>
#include <unistd.h>

#include <cctype>
#include <cerrno>
#include <cstdio>
#include <vector>

#include "htfm/base/error.h"
#include "htfm/field/readers_module.h"
#include "htfm/io/descriptor.h"

namespace htfm {
namespace {

// Letters, digits and underscores alone, a letter first: what every program takes.
std::string netcdf_name(const std::string& text) {
  std::string out;
  for (const char c : text) {
    const bool good = std::isalnum(static_cast<unsigned char>(c)) != 0;
    if (good || (!out.empty() && out.back() != '_')) out += good ? c : '_';
  }
  while (!out.empty() && out.back() == '_') out.pop_back();
  return out.empty() || std::isdigit(static_cast<unsigned char>(out.front())) ? "field_" + out : out;
}

class NetcdfWriter : public FieldWriter {
 public:
  NetcdfWriter(const std::string& path, const FieldFileHeader& header)
      : path_(path), scratch_(fmt::format("{}.{}.tmp", path, ::getpid())), header_(header) {
    const std::lock_guard lock(netcdf_mutex());
    check(nc_create(scratch_.c_str(), NC_NETCDF4 | NC_CLASSIC_MODEL | NC_CLOBBER, &id_));
    open_ = true;
    define();
    check(nc_enddef(id_));
    fill();
  }
  ~NetcdfWriter() override {
    const std::lock_guard lock(netcdf_mutex());
    if (open_) nc_close(id_);
    if (!closed_) std::remove(scratch_.c_str());
  }
  NetcdfWriter(const NetcdfWriter&) = delete;
  NetcdfWriter& operator=(const NetcdfWriter&) = delete;

  void write(const float* values, int64_t n) override {
    const std::lock_guard lock(netcdf_mutex());
    const int64_t plane = header_.height * header_.width, channels = static_cast<int64_t>(variables_.size());
    for (int64_t i = 0; i < n; ++i, ++done_)
      for (int64_t c = 0; c < channels; ++c) {
        const size_t start[] = {static_cast<size_t>(done_), 0, 0},
                     count[] = {1, static_cast<size_t>(header_.height), static_cast<size_t>(header_.width)};
        check(nc_put_vara_float(id_, variables_[static_cast<size_t>(c)], start, count,
                                values + (i * channels + c) * plane));
      }
  }
  void close() override {
    const std::lock_guard lock(netcdf_mutex());
    if (done_ != header_.count) throw Error("[netcdf] {}: expected {} fields, got {}", path_, header_.count, done_);
    open_ = false;
    check(nc_close(id_));
    if (std::rename(scratch_.c_str(), path_.c_str()) != 0) throw Error("[write] {}: {}", path_, system_reason(errno));
    closed_ = true;
  }

 private:
  void check(int error) const {
    if (error) throw Error("[netcdf] {}: cannot be written: {}", path_, nc_strerror(error));
  }
  void text(int variable, const char* name, const std::string& value) const {
    if (!value.empty()) check(nc_put_att_text(id_, variable, name, value.size(), value.c_str()));
  }
  int dimension(const std::string& name, int64_t size) const {
    int d = 0;
    check(nc_def_dim(id_, name.c_str(), static_cast<size_t>(size), &d));
    return d;
  }
  int variable(const std::string& name, nc_type type, const std::vector<int>& dimensions) const {
    int v = 0;
    check(nc_def_var(id_, name.c_str(), type, static_cast<int>(dimensions.size()), dimensions.data(), &v));
    return v;
  }

  void define() {
    const FieldFileHeader& h = header_;
    const bool straight = !h.latitude.empty() && static_cast<int64_t>(h.latitude.size()) == h.height &&
                          static_cast<int64_t>(h.longitude.size()) == h.width;
    const int each = dimension(h.each, h.count), y = dimension(straight ? "lat" : "y", h.height),
              x = dimension(straight ? "lon" : "x", h.width);
    std::string beside;  // coordinates that are no dimensions
    const auto place = [&](const char* name, const char* long_name, const char* units, const char* axis,
                           const std::vector<int>& dimensions) {
      const int v = variable(name, NC_DOUBLE, dimensions);
      text(v, "standard_name", long_name), text(v, "long_name", long_name), text(v, "units", units);
      if (dimensions.size() == 1) text(v, "axis", axis);
      if (dimensions.size() != 1) beside += (beside.empty() ? "" : " ") + std::string(name);
      return v;
    };
    if (straight)
      latitude_ = place("lat", "latitude", "degrees_north", "Y", {y}),
      longitude_ = place("lon", "longitude", "degrees_east", "X", {x});
    else if (!h.latitude.empty())
      latitude_ = place("lat", "latitude", "degrees_north", "", {y, x}),
      longitude_ = place("lon", "longitude", "degrees_east", "", {y, x});
    else if (!h.own_latitude.empty())
      latitude_ = place("lat", "latitude", "degrees_north", "", {each, y}),
      longitude_ = place("lon", "longitude", "degrees_east", "", {each, x});
    if (!h.time.empty()) {
      time_ = variable("time", NC_DOUBLE, {each});
      text(time_, "standard_name", "time"), text(time_, "units", "seconds since 1970-01-01 00:00:00");
      text(time_, "calendar", std::string(calendar_name(h.calendar))), text(time_, "axis", h.each == "time" ? "T" : "");
      if (h.each != "time") beside += " time";
    }
    if (!h.member.empty()) {
      member_ = variable("member", NC_INT, {each});
      text(member_, "standard_name", "realization");
      beside += " member";
    }
    if (!h.held_out.empty()) {
      held_out_ = variable("held_out", NC_BYTE, {each});
      const signed char flags[] = {0, 1};
      check(nc_put_att_schar(id_, held_out_, "flag_values", NC_BYTE, 2, flags));
      text(held_out_, "flag_meanings", "training held_out");
    }
    for (size_t c = 0; c < h.channels.size(); ++c) {
      std::string name = netcdf_name(h.channels[c]);
      int other = 0;
      if (nc_inq_varid(id_, name.c_str(), &other) == NC_NOERR) name += fmt::format("_{}", c + 1);
      const int v = variable(name, NC_FLOAT, {each, y, x});
      const size_t chunk[] = {1, static_cast<size_t>(h.height), static_cast<size_t>(h.width)};
      check(nc_def_var_chunking(id_, v, NC_CHUNKED, chunk));
      check(nc_def_var_deflate(id_, v, 1, 1, 1));
      text(v, "long_name", h.channels[c]), text(v, "units", h.units[c]), text(v, "coordinates", beside);
      variables_.push_back(v);
    }
    text(NC_GLOBAL, "Conventions", "CF-1.8");
    for (const auto& [key, value] : h.attributes) text(NC_GLOBAL, key.c_str(), value);
  }

  void fill() const {
    const FieldFileHeader& h = header_;
    const bool own = h.latitude.empty();
    if (latitude_ >= 0) {
      check(nc_put_var_double(id_, latitude_, (own ? h.own_latitude : h.latitude).data()));
      check(nc_put_var_double(id_, longitude_, (own ? h.own_longitude : h.longitude).data()));
    }
    if (time_ >= 0) check(nc_put_var_double(id_, time_, std::vector<double>(h.time.begin(), h.time.end()).data()));
    if (member_ >= 0) check(nc_put_var_int(id_, member_, std::vector<int>(h.member.begin(), h.member.end()).data()));
    if (held_out_ >= 0) check(nc_put_var_uchar(id_, held_out_, h.held_out.data()));
  }

  std::string path_, scratch_;
  FieldFileHeader header_;
  int id_ = -1, latitude_ = -1, longitude_ = -1, time_ = -1, member_ = -1, held_out_ = -1;
  std::vector<int> variables_;
  int64_t done_ = 0;
  bool open_ = false, closed_ = false;
};

}  // namespace

std::unique_ptr<FieldWriter> write_netcdf(const std::string& path, const FieldFileHeader& header) {
  return std::make_unique<NetcdfWriter>(path, header);
}

}  // namespace htfm
