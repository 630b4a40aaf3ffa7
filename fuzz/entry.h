// What the fuzzers call, one function a parser: true where the bytes were accepted, false where they were refused with
// an InputError. Any other exception, or an accepted value that does not survive writing and reading, is a defect.
#pragma once

#include <algorithm>
#include <cstdlib>
#include <string_view>

#include "htfm/base/error.h"
#include "htfm/io/csv.h"
#include "htfm/io/npy.h"
#include "htfm/io/png.h"
#include "htfm/io/safetensors.h"

namespace htfm::fuzz {

/// Ends the program where a law about accepted input is broken or cannot even be tried.
template <class Law>
void must_hold(Law law) noexcept {
  if (!law()) std::abort();
}

/// Equal bit by bit: a NaN equals itself.
inline bool same(const at::Tensor& a, const at::Tensor& b) {
  return a.scalar_type() == b.scalar_type() && a.sizes() == b.sizes() &&
         std::string_view(static_cast<const char*>(a.data_ptr()), a.nbytes()) ==
             std::string_view(static_cast<const char*>(b.data_ptr()), b.nbytes());
}

inline bool npy(std::string_view bytes) {
  bool accepted = false;
  for (const NpyNumbers numbers : {NpyNumbers::floating, NpyNumbers::integer, NpyNumbers::pixels, NpyNumbers::real}) {
    at::Tensor tensor;
    try {
      tensor = read_npy(MemorySource(bytes, "fuzz.npy"), numbers);
    } catch (const InputError&) {
      continue;
    }
    accepted = true;
    must_hold([&] {
      StringSink sink;
      write_npy(sink, tensor);
      return same(tensor, read_npy(MemorySource(sink.bytes(), "again.npy"), numbers));
    });
  }
  return accepted;
}

inline bool csv(std::string_view text) {
  bool accepted = false;
  // The first choice reads everything; the others also walk over columns that are not read.
  for (const ColumnChoice& choice :
       {ColumnChoice{}, ColumnChoice{.columns = {"2", "1"}, .drop = {}}, ColumnChoice{.columns = {}, .drop = {"x"}}}) {
    Table table;
    try {
      table = parse_csv(text, "fuzz.csv", choice);
    } catch (const InputError&) {
      continue;
    }
    accepted = true;
    must_hold([&] {
      const at::Tensor& values = table.values;
      return values.dim() == 2 && values.size(0) > 0 && values.size(1) > 0 &&
             (table.names.empty() || static_cast<int64_t>(table.names.size()) == values.size(1)) &&
             same(values, parse_csv(format_csv(values), "again.csv").values);
    });
  }
  try {
    parse_csv(text, "fuzz.csv", {}, {.lenient = true, .advice = "drop it"});
  } catch (const InputError&) {
  }
  return accepted;
}

inline bool safetensors(std::string_view bytes) {
  SafeTensors content;
  try {
    content = read_safetensors(MemorySource(bytes, "fuzz.safetensors"));
  } catch (const InputError&) {
    return false;
  }
  must_hold([&] {
    StringSink sink;
    write_safetensors(sink, content);
    const SafeTensors again = read_safetensors(MemorySource(sink.bytes(), "again.safetensors"));
    if (content.metadata != again.metadata || content.tensors.size() != again.tensors.size()) return false;
    return std::all_of(content.tensors.begin(), content.tensors.end(),
                       [&](const auto& item) { return same(item.second, again.tensors.at(item.first)); });
  });
  return true;
}

inline bool png(std::string_view bytes) {
  at::Tensor image;
  try {
    image = parse_png(bytes, "fuzz.png");
  } catch (const InputError&) {
    return false;
  }
  must_hold([&] { return image.dim() == 3 && same(image, parse_png(format_png(image), "again.png")); });
  return true;
}

}  // namespace htfm::fuzz
