// Folders of PNG files.
#pragma once

#include "htfm/data/image_set.h"

namespace htfm {

/// Reads the PNG files of a folder in the order of their names: those in sub-folders, each of which is a class, or,
/// without labels, those in the folder itself. All must be of one size and colour. Other files are left out with a
/// note.
ImageSet read_image_folder(const std::string& path);

/// Whether a folder holds PNG files, or folders that do.
bool has_png_files(const std::string& folder);

}  // namespace htfm
