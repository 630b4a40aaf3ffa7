// The safetensors format: named tensors and a map of strings in one file, with optional hashes that find damage.
#pragma once

#include <ATen/core/Tensor.h>

#include <map>
#include <string>
#include <vector>

#include "htfm/io/file.h"

namespace htfm {

/// Tensors and free text. Types: float32, float64, int64, uint8, bfloat16, float16.
struct SafeTensors {
  std::map<std::string, at::Tensor> tensors;
  std::map<std::string, std::string> metadata;
  bool hashed = false;  ///< of a file that was read: it carried hashes, and they fit
};

/// What the header says, without the data.
struct SafeTensorsHeader {
  struct Entry {
    at::ScalarType type;
    std::vector<int64_t> shape;
    uint64_t begin;  // offsets into the data section
    uint64_t end;
  };
  std::map<std::string, Entry> tensors;
  std::map<std::string, std::string> metadata;
  std::string data_hash;    // XXH64 of the data section, empty where the file has none
  uint64_t data_start = 0;  // of the file
};

/// Reads a file. Everything is checked against the file's size; where the file carries hashes (those that we write do)
/// they are verified. InputError for any damage.
SafeTensors read_safetensors(const std::string& path);
SafeTensors read_safetensors(const Source& source);
/// Reads the header alone: cheap however large the tensors are. Verifies the header's hash, not the data's.
SafeTensorsHeader read_safetensors_header(const std::string& path);
SafeTensorsHeader read_safetensors_header(const Source& source);

/// Writes a file, atomically, laid out as the PyPI package safetensors does (by type, then by name). `hash` adds the
/// metadata htfm.data_hash and htfm.header_hash; reading takes them out again.
void write_safetensors(const std::string& path, const SafeTensors& content, bool hash = true);
void write_safetensors(Sink& sink, const SafeTensors& content, bool hash = true);

}  // namespace htfm
