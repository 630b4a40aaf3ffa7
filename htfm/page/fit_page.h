// The page of a fitted table: its model beside held-out rows and beside simpler models.
#pragma once

#include <string>

#include "htfm/base/api.h"
#include "htfm/fit/fit_table.h"
#include "htfm/report/page.h"

namespace htfm HTFM_PUBLIC {

/// The page as HTML. `origin`: what it says first of its making, such as the command and the program's version.
std::string fit_page(const TableFit& fit, const report::KeyValues& origin = {});

}  // namespace htfm
