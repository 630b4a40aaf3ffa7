// What the fuzzers call, one function a parser: true where the bytes were accepted, false where they were refused with
// an InputError. Any other exception, or an accepted value that does not survive writing and reading, is a defect.
// Here: the files that module io reads.
#pragma once

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <string_view>

#include "fuzz/support.h"
#include "htfm/io/csv.h"
#include "htfm/io/gzip.h"
#include "htfm/io/npy.h"
#include "htfm/io/png.h"
#include "htfm/io/python_bridge.h"
#include "htfm/io/safetensors.h"
#include "htfm/io/toml_options.h"

namespace htfm::fuzz {

/// Equal bit by bit: a NaN equals itself.
inline bool same(const at::Tensor& a, const at::Tensor& b) {
  return a.scalar_type() == b.scalar_type() && a.sizes() == b.sizes() &&
         std::string_view(static_cast<const char*>(a.data_ptr()), a.nbytes()) ==
             std::string_view(static_cast<const char*>(b.data_ptr()), b.nbytes());
}

/// Each array is asked for as one of four kinds of numbers, which its last byte and its length choose.
inline bool npy(std::string_view bytes) {
  constexpr NpyNumbers kKinds[] = {NpyNumbers::floating, NpyNumbers::integer, NpyNumbers::pixels, NpyNumbers::real};
  if (bytes.empty()) return false;
  const NpyNumbers numbers = kKinds[(static_cast<uint8_t>(bytes.back()) + bytes.size()) % std::size(kKinds)];
  return accepts([&] {
    const at::Tensor tensor = read_npy(MemorySource(bytes, "fuzz.npy"), numbers);
    must_hold([&] {
      StringSink sink;
      write_npy(sink, tensor);
      return same(tensor, read_npy(MemorySource(sink.bytes(), "again.npy"), numbers));
    });
  });
}

/// The same table, its text in parts of a few bytes.
inline Table read_in_parts(std::string_view text, const ColumnChoice& choice) {
  const auto source = [&](std::string& buffer) {
    const std::string_view part = text.substr(0, 7);
    text.remove_prefix(part.size());
    buffer += part;
    return !part.empty();
  };
  return read_csv(source, "parts.csv", choice);
}

/// Each text is read in one of four ways, which its length chooses: everything; columns in another order; without a
/// column; leniently.
inline bool csv(std::string_view text) {
  const ColumnChoice choices[] = {{}, {.columns = {"2", "1"}, .drop = {}}, {.columns = {}, .drop = {"x"}}};
  const size_t way = text.size() % 4;
  if (way == 3) return accepts([&] { parse_csv(text, "fuzz.csv", {}, {.lenient = true, .advice = "drop it"}); });
  return accepts([&] {
    const Table table = parse_csv(text, "fuzz.csv", choices[way]);
    must_hold([&] {
      const at::Tensor& values = table.values;
      return values.dim() == 2 && values.size(0) > 0 && values.size(1) > 0 &&
             (table.names.empty() || static_cast<int64_t>(table.names.size()) == values.size(1)) &&
             same(values, parse_csv(format_csv(values), "again.csv").values) &&
             same(values, read_in_parts(text, choices[way]).values);
    });
  });
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

/// A packed table is the table that it holds.
inline bool packed_csv(std::string_view bytes) {
  const MemoryFile file(bytes);
  std::string text;
  return accepts([&] {
    GzipFile packed(file.path());
    while (text.size() < (size_t{1} << 20) && packed.append_to(text, 512)) {
    }
    parse_csv(text, "fuzz.csv.gz");
  });
}

/// What a Python that reads Parquet or Excel files hands over: its exit status (the first byte), its messages up to a
/// zero, then the table.
inline bool python_table(std::string_view bytes) {
  if (bytes.empty()) return false;
  const int status = bytes[0];
  const std::string_view rest = bytes.substr(1);
  const size_t end = std::min(rest.find('\0'), rest.size());
  const PythonAnswer answer{status, std::string(rest.substr(std::min(end + 1, rest.size()))),
                            last_line_of(std::string(rest.substr(0, end)))};
  must_hold([&] { return answer.last_line.find('\n') == std::string::npos; });
  return accepts([&] {
    const std::string text =
        text_of_answer(answer, {"parquet", "pyarrow", "a Parquet file"}, "fuzz.parquet", "python3");
    must_hold([&] { return status == 0; });
    parse_csv(text, "fuzz.parquet", {}, {.lenient = true, .header = true, .texts = true});
    parse_csv(text, "fuzz.parquet", {}, {.header = true});
  });
}

inline bool toml_options(std::string_view bytes) {
  const MemoryFile file(bytes);
  return accepts([&] { read_toml_options(file.path()); });
}

}  // namespace htfm::fuzz
