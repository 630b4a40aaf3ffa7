// A prepared set on a coarser grid: the means of its fields over blocks of points, in the same order and parts. A model
// of them, and one of the fields given them, are a cascade.
#pragma once

#include "htfm/base/api.h"
#include "htfm/field/field_set.h"

namespace htfm HTFM_PUBLIC {

/// How a network sees the means over blocks of rows x columns points where it sees the points as `fine` says. A block
/// with one wet point is wet, and the reach is counted in blocks, at least two. Not fitted yet.
FieldTransform coarse_transform(const FieldTransform& fine, int64_t rows, int64_t columns);

/// The means of the fields of a set over a grid of height x width blocks: field i of it is that of field i, of the same
/// time, place and part. The transform is fitted to its own training part. InputError where the sizes do not divide
/// those of the fields.
FieldSet coarse_field_set(const FieldSet& fine, int64_t height, int64_t width, const std::string& where = "fields");

}  // namespace htfm
