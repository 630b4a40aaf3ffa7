#include "htfm/sample/training_set.h"

namespace htfm {

std::optional<FieldSet> open_training_set(const Model& model) {
  const std::string& path = model.config().data.path;
  if (!model.field() || !is_field_set(path)) return std::nullopt;
  FieldSet set = open_field_set(path);
  const ImageShape& shape = *model.image();
  if (set.fields.size(1) != shape.channels || set.fields.size(2) != shape.height || set.fields.size(3) != shape.width ||
      set.transform.mean != model.field()->mean)
    return std::nullopt;
  return set;
}

}  // namespace htfm
