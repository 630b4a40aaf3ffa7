// The page about samples of fields.
#pragma once

#include <string>

#include "htfm/base/api.h"
#include "htfm/evaluate/fields.h"
#include "htfm/report/page.h"

namespace htfm HTFM_PUBLIC {

/// Maps of the examples, real fields first, on one scale of colours: 3 x H x W of bytes. The evaluation must have
/// examples.
at::Tensor field_example_maps(const FieldEvaluation& evaluation);

/// Maps, scores, tails and structure; the evaluation must have examples. `provenance`: what stands first at the foot.
std::string field_page(const std::string& title, const FieldEvaluation& evaluation,
                       const report::KeyValues& provenance = {});

}  // namespace htfm
