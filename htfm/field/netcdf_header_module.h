// The header of a classic NetCDF file (versions 1, 2 and 5), checked before the NetCDF library sees it: it copies names
// of any length into the buffers of its callers, which are as long as a name may be.
#pragma once

#include "htfm/io/file.h"

namespace htfm {

/// Walks through the header of a classic file; of a file of another kind it says nothing. InputError, which names the
/// file, for a name that is longer than the library allows, a list or a type that the format does not know, and a
/// header, or values by that header, that the file does not hold.
void check_classic_header(const Source& file);

}  // namespace htfm
