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
};

}  // namespace
}  // namespace htfm

extern "C" HTFM_PUBLIC const void* htfm_field_reader(const char**) {
  static const htfm::Readers readers;
  return static_cast<const htfm::FieldReader*>(&readers);
}
