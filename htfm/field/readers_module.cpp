#include "htfm/field/readers_module.h"

#include "htfm/base/api.h"
#include "htfm/field/field_reader.h"

namespace htfm {
namespace {

class Readers : public FieldReader {
 public:
  void visit_grib(const std::string& path, const FieldChoice& choice, const FieldVisitor& visitor) const override {
    htfm::visit_grib(path, choice, visitor);
  }
  void visit_netcdf(const std::string& path, const FieldChoice& choice, const FieldVisitor& visitor) const override {
    htfm::visit_netcdf(path, choice, visitor);
  }
  std::unique_ptr<FieldWriter> write_grib(const std::string& path, const FieldFileHeader& header) const override {
    return htfm::write_grib(path, header);
  }
  std::unique_ptr<FieldWriter> write_netcdf(const std::string& path, const FieldFileHeader& header) const override {
    return htfm::write_netcdf(path, header);
  }
};

}  // namespace

std::mutex& eccodes_mutex() {
  static std::mutex mutex;
  return mutex;
}

std::mutex& netcdf_mutex() {
  static std::mutex mutex;
  return mutex;
}

}  // namespace htfm

extern "C" HTFM_PUBLIC const void* htfm_field_reader(const char**) {
  static const htfm::Readers readers;
  return static_cast<const htfm::FieldReader*>(&readers);
}
