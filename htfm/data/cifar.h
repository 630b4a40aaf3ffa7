// CIFAR-10's binary version: records of a label byte and 3 x 32 x 32 bytes, one plane a colour.
#pragma once

#include "htfm/data/image_set.h"

namespace htfm {

/// Reads one file of records, or the data_batch_1.bin, data_batch_2.bin, ... of a folder in this order. InputError that
/// names file and record for a missing batch, a truncated one, or a label beyond 9.
ImageSet read_cifar10(const std::string& path);

/// Whether a folder holds such batches.
bool has_cifar10_batches(const std::string& folder);

}  // namespace htfm
