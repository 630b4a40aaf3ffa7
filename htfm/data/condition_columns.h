// The parts of a data set that are given and not modelled, set apart from its rows.
#pragma once

#include "htfm/base/api.h"
#include "htfm/condition/condition_table.h"
#include "htfm/data/dataset.h"

namespace htfm HTFM_PUBLIC {

/// The data set with its conditions apart: columns that are given leave the rows, those of a file stand beside them,
/// fields are those of given_fields(), classes of images are taken up as "class". As it is where nothing is given, or
/// where it has its conditions already. A column of numbers is a category where the specification says so, or where it
/// has few different values, all whole. InputError for columns that are not there, for a file with another number of
/// rows, and for images without classes.
Dataset with_conditions(Dataset data, const ConditionSpec& spec);
/// The same of a file alone, which belongs to the data as it was read: before rows of it are chosen.
Dataset with_condition_file(Dataset data, const ConditionSpec& spec);

}  // namespace htfm
