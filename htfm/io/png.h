// Images as 8-bit PNG, grey or RGB, through libpng.
#pragma once

#include <ATen/core/Tensor.h>

#include <string>
#include <string_view>

#include "htfm/base/api.h"

namespace htfm HTFM_PUBLIC {

/// Reads an image as c x h x w uint8: c = 1 for grey, 3 for colours (a palette included). InputError for a file that is
/// damaged or no PNG, for 16 bits a sample and for transparency.
at::Tensor read_png(const std::string& path);
/// The same from memory; `path` is for messages.
at::Tensor parse_png(std::string_view bytes, const std::string& path);

/// Writes c x h x w uint8, c = 1 or 3; a file is written atomically.
void write_png(const std::string& path, const at::Tensor& image);
/// The same as bytes.
std::string format_png(const at::Tensor& image);

}  // namespace htfm
