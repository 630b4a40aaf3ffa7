// As entry.h, of what is read beside tables: batches of images, prepared sets, logs, conditions of rare
// events.
#pragma once

#include <nlohmann/json.hpp>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "fuzz/support.h"
#include "htfm/data/cifar.h"
#include "htfm/field/field_set.h"
#include "htfm/io/json_lines.h"
#include "htfm/rare/expression.h"

namespace htfm::fuzz {

inline bool cifar(std::string_view bytes) {
  const MemoryFile file(bytes);
  return accepts([&] { read_cifar10(file.path()); });
}

inline bool field_set(std::string_view bytes) {
  const MemoryFile file(bytes);
  return accepts([&] { open_field_set(file.path()); });
}

/// A condition that is accepted is true or false of every row.
inline bool expression(std::string_view bytes) {
  return accepts([&] {
    RowNames names;
    names.columns = {"loss", "region_a", "b"}, names.count = 3;
    names.size = [](std::span<const double> row) { return row[0]; };
    const Expression read(std::string(bytes), names, "fuzz");
    const std::vector<double> row{1, -2, 3};
    if (read.is_condition())
      (void)read.truth(row);
    else
      (void)read.number(row);
  });
}

inline bool json_lines(std::string_view bytes) {
  const MemoryFile file(bytes);
  return accepts([&] {
    for (const auto& line : JsonLines::read(file.path())) must_hold([&] { return line.is_object(); });
  });
}

}  // namespace htfm::fuzz
