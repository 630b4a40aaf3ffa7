#include <charconv>
#include <cmath>
#include <limits>

#include "htfm/base/error.h"
#include "htfm/base/parallel.h"
#include "htfm/io/csv.h"
#include "htfm/io/csv_cell.h"
#include "htfm/io/dtype.h"
#include "htfm/io/file.h"

namespace htfm {
namespace {

char* put_number(char* to, char* end, int64_t value, int) { return std::to_chars(to, end, value).ptr; }

template <class T>
char* put_number(char* to, char* end, T value, int digits) {
  if (digits > 0) {
    if (std::abs(value) < static_cast<T>(9e15) && value == std::trunc(value))
      return std::to_chars(to, end, static_cast<int64_t>(value)).ptr;
    // All digits: as few as give the value back, 0.1 and not 0.10000000000000001.
    if (digits >= std::numeric_limits<double>::max_digits10) return std::to_chars(to, end, value).ptr;
    return std::to_chars(to, end, value, std::chars_format::general, digits).ptr;
  }
  return std::to_chars(to, end, value).ptr;
}

template <class T>
void format_rows(const T* data, int64_t rows, int64_t columns, const std::vector<int>& digits, const CellText& cells,
                 std::string& text) {
  char number[64];
  std::string cell;
  for (int64_t i = 0; i < rows; ++i) {
    for (int64_t j = 0; j < columns; ++j) {
      if (cells && (cell.clear(), cells(j, static_cast<double>(*data), cell))) {
        append_csv_cell(cell, text, cell.starts_with(' ') || cell.ends_with(' '));
        text.push_back(j + 1 < columns ? ',' : '\n');
        ++data;
        continue;
      }
      text.append(number, put_number(number, number + sizeof number, *data++, digits.empty() ? 0 : digits[j]));
      text.push_back(j + 1 < columns ? ',' : '\n');
    }
  }
}

std::string header(const std::vector<std::string>& names) {
  std::string text;
  for (size_t j = 0; j < names.size(); ++j) {
    std::string name = names[j];
    for (char& c : name) c = c == '\n' || c == '\r' ? ' ' : c;
    append_csv_cell(name, text, name.empty() || name.find(' ') != std::string::npos);
    text += j + 1 < names.size() ? ',' : '\n';
  }
  return text;
}

// Blocks of rows are formatted in parallel, some at a time, and written in order: the text of a large table is never
// whole in memory.
template <class T>
void write_rows(const at::Tensor& array, const std::vector<int>& digits, const CellText& cells, Sink& sink) {
  constexpr int64_t kRows = 4096, kAtATime = 64;
  const int64_t n = array.size(0), columns = array.size(1), blocks = (n + kRows - 1) / kRows;
  const T* data = array.const_data_ptr<T>();
  std::vector<std::string> texts(static_cast<size_t>(std::min(blocks, kAtATime)));
  for (int64_t first = 0; first < blocks; first += kAtATime) {
    const int64_t count = std::min(kAtATime, blocks - first);
    parallel_for(count, [&](int64_t k) {
      const int64_t row = (first + k) * kRows;
      std::string& text = texts[static_cast<size_t>(k)];
      text.clear();
      format_rows(data + row * columns, std::min(kRows, n - row), columns, digits, cells, text);
    });
    for (int64_t k = 0; k < count; ++k) sink.write(texts[static_cast<size_t>(k)]);
  }
}

void write_csv(Sink& sink, const at::Tensor& values, const std::vector<std::string>& names,
               const std::vector<int>& digits, const CellText& text = {}) {
  write_csv_header(sink, names);
  write_csv_rows(sink, values, digits, text);
}

void check_writable(const at::Tensor& values, const std::vector<std::string>& names, const std::vector<int>& digits) {
  if (values.dim() != 2)
    throw InputError("[csv] expected a matrix n x d to write, got shape {}", shape_text(values.sizes()));
  if (!names.empty() && static_cast<int64_t>(names.size()) != values.size(1))
    throw InputError("[csv] expected {} column names, got {}", values.size(1), names.size());
  if (!digits.empty() && static_cast<int64_t>(digits.size()) != values.size(1))
    throw InputError("[csv] expected digits for {} columns, got {}", values.size(1), digits.size());
  const at::ScalarType type = values.scalar_type();
  if (type != at::kFloat && type != at::kDouble && type != at::kLong)
    throw InputError("[csv] expected float32, float64 or int64 to write, got {}", dtype_name(type));
}

}  // namespace

void write_csv_header(Sink& sink, const std::vector<std::string>& names) { sink.write(header(names)); }

void write_csv_rows(Sink& sink, const at::Tensor& values, const std::vector<int>& digits, const CellText& text) {
  check_writable(values, {}, digits);
  const at::Tensor array = packed(values);
  switch (array.scalar_type()) {
    case at::kFloat: write_rows<float>(array, digits, text, sink); break;
    case at::kDouble: write_rows<double>(array, digits, text, sink); break;
    default: write_rows<int64_t>(array, digits, text, sink);
  }
}

std::string format_csv(const at::Tensor& values, const std::vector<std::string>& names,
                       const std::vector<int>& digits) {
  check_writable(values, names, digits);
  StringSink sink;
  write_csv(sink, values, names, digits);
  return sink.bytes();
}

void write_csv(const std::string& path, const at::Tensor& values, const std::vector<std::string>& names,
               const std::vector<int>& digits, const CellText& text) {
  check_writable(values, names, digits);
  atomic_write(path, [&](Sink& sink) { write_csv(sink, values, names, digits, text); });
}

}  // namespace htfm
