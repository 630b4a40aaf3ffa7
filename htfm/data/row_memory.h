// How many rows may be in memory; larger sets are read from a mapped file as they are asked for.
#pragma once

#include <cstdint>
#include <optional>

namespace htfm {

/// What the variable HTFM_ROW_MEMORY says, in MiB there, in bytes here; none where it is not set. InputError where it
/// is no number.
std::optional<int64_t> asked_row_memory();

/// Bytes of rows that fit into the memory of this machine: what was asked for, otherwise half of what is free and of
/// what the process's control group may use.
int64_t host_row_memory();

}  // namespace htfm
