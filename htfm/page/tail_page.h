// The page of a data set's tails.
#pragma once

#include <string>

#include "htfm/base/api.h"
#include "htfm/data/dataset.h"
#include "htfm/model/choose_clock.h"
#include "htfm/report/page.h"
#include "htfm/tail/diagnosis.h"
#include "htfm/tail/joint_extremes.h"

namespace htfm HTFM_PUBLIC {

/// The page of a data set called `name`, as HTML: what was found of its tails, and the clock that they speak for
/// (suggest_clock). `origin`: what the page says first of its making, such as the command and the program's version.
std::string tail_page(const std::string& name, const Dataset& data, const Diagnosis& diagnosis,
                      const ChosenClock& clock, const report::KeyValues& origin = {}, const JointExtremes& joint = {});

/// The verdicts as tables, and for the radius and the first `columns` columns the plots behind them: a part of a page.
void add_tail_sections(report::Page& page, const Diagnosis& diagnosis, int64_t columns = 12);

}  // namespace htfm
