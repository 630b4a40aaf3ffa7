// What a checkpoint file holds: tensors, the configuration and a record of figures. Model and training state each save
// their own part.
#pragma once

#include <nlohmann/json.hpp>

#include "htfm/io/safetensors.h"
#include "htfm/model/model.h"

namespace htfm {

struct Checkpoint {
  std::string path;  ///< for messages
  SafeTensors content;
  nlohmann::json record = nlohmann::json::object();

  /// InputError for damage, a missing hash, or a file that is no checkpoint.
  static Checkpoint read(const std::string& path);
  /// Atomically.
  void write() const;
  /// InputError where it is not there.
  const at::Tensor& tensor(const std::string& name) const;
  bool has(const std::string& name) const { return content.tensors.contains(name); }
};

/// The model's part of a checkpoint.
Model load_model(const Checkpoint& file);
void save_model(const Model& model, Checkpoint& file);

/// Adds the slices of a flat buffer as named tensors, and reads them back.
void save_parameters(const ParameterLayout& layout, const at::Tensor& flat, const std::string& prefix,
                     Checkpoint& file);
at::Tensor load_parameters(const ParameterLayout& layout, const std::string& prefix, const Checkpoint& file);

}  // namespace htfm
