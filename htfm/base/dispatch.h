// Kernels for several instruction sets in one program.
//
// A file named *_kernels.cpp is compiled once per instruction set with HTFM_ISA set to base, v3 (AVX2) or v4 (AVX-512).
// It defines one table of plain functions over raw pointers; kernels<Table>() returns the best one for this machine.
// Kernel files keep their helpers in an anonymous namespace and use no templates of the standard library: an instance
// compiled for a newer machine would otherwise be shared with the rest of the program.
#pragma once

#include "htfm/base/api.h"

namespace htfm HTFM_PUBLIC {

enum class Isa { base, v3, v4 };

/// The instruction set in use: the best this machine has, or a lower one named by the environment variable HTFM_ISA;
/// InputError where that names none.
Isa isa();
/// Its name, for logs and benchmarks.
const char* isa_name();

template <class Table, Isa I>
const Table& kernel_table();

#if defined(__x86_64__) && !defined(HTFM_ONE_ISA)
/// Declares the tables of one kernel file; stands in its header.
#define HTFM_DECLARE_KERNELS(Table)              \
  template <>                                    \
  const Table& kernel_table<Table, Isa::base>(); \
  template <>                                    \
  const Table& kernel_table<Table, Isa::v3>();   \
  template <>                                    \
  const Table& kernel_table<Table, Isa::v4>();
template <class Table>
const Table& kernels() {
  switch (isa()) {
    case Isa::v4: return kernel_table<Table, Isa::v4>();
    case Isa::v3: return kernel_table<Table, Isa::v3>();
    default: return kernel_table<Table, Isa::base>();
  }
}
#else
#define HTFM_DECLARE_KERNELS(Table) \
  template <>                       \
  const Table& kernel_table<Table, Isa::base>();
template <class Table>
const Table& kernels() {
  return kernel_table<Table, Isa::base>();
}
#endif

/// Defines the table in a kernel file, inside namespace htfm: HTFM_DEFINE_KERNELS(Table, &f, &g, ...)
#define HTFM_DEFINE_KERNELS(Table, ...)               \
  template <>                                         \
  const Table& kernel_table<Table, Isa::HTFM_ISA>() { \
    static constexpr Table table{__VA_ARGS__};        \
    return table;                                     \
  }

#if defined(__AVX512F__)
inline constexpr int kVectorBytes = 64;
#elif defined(__AVX2__)
inline constexpr int kVectorBytes = 32;
#else
inline constexpr int kVectorBytes = 16;
#endif

}  // namespace htfm
