// Values packed as a PNG image, row by row: what radar mosaics are. ecCodes unpacks such a message value by value into
// doubles after the whole image; here a row goes straight into the window that is wanted.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "htfm/field/field_message.h"

namespace htfm {

/// How whole numbers become values: (number * binary + reference) * decimal, in this order, as ecCodes has it.
struct PackedScale {
  double reference = 0, binary = 1, decimal = 1;
  double value(uint32_t number) const { return (static_cast<double>(number) * binary + reference) * decimal; }
};

/// Whether an image can be read here: grey with 8 or 16 bits, not interlaced, of the grid's size.
bool readable_png(std::string_view png, int64_t height, int64_t width, int64_t bits);

/// Visits the rows of a window of such an image. InputError, which begins with `where`, for a damaged one.
void visit_packed_png(std::string_view png, const PackedScale& scale, const Window& window, const RowVisitor& visitor,
                      const std::string& where);

}  // namespace htfm
