// The part of a page that shows a model's law given its conditions.
#pragma once

#include "htfm/evaluate/given_quantiles.h"
#include "htfm/report/page.h"

namespace htfm {

/// A section with what is given (in words) and far quantiles of each category; nothing where nothing is given.
void add_given_section(report::Page& page, const std::string& given, const GivenQuantiles& quantiles);

}  // namespace htfm
