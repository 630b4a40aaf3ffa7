// Whether extremes come together or alone, as text, as JSON and as a section of a page.
#pragma once

#include <string>

#include "htfm/base/api.h"
#include "htfm/report/page.h"
#include "htfm/tail/joint_extremes.h"

namespace htfm HTFM_PUBLIC {

/// An aligned table: every pair in the corner where extremes come together most, as many pairs as there is room for,
/// the strongest first; then the verdict. Empty where there are no pairs.
std::string joint_text(const JointExtremes& joint, size_t most = 20);

/// One JSON object: the verdict, groups, and every pair with its four corners.
std::string joint_json(const JointExtremes& joint);

/// A section with both corners of every pair, the strongest pairs first; nothing where there are no pairs.
void add_joint_section(report::Page& page, const JointExtremes& joint, size_t most = 60);

}  // namespace htfm
