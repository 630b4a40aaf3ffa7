#include "htfm/io/array_file.h"

#include "htfm/io/csv.h"
#include "htfm/io/npy.h"

namespace htfm {

at::Tensor read_array(const std::string& path) {
  return path.ends_with(".npy") ? read_npy(path).to(at::kDouble) : read_csv(path).values;
}

void write_array(const std::string& path, const at::Tensor& values) {
  path.ends_with(".csv") ? write_csv(path, values) : write_npy(path, values);
}

}  // namespace htfm
