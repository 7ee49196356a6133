// Loads models: ONNX as it is, or any kind that QTX converts, with a cache.
#pragma once

#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "qtx/conformance/case.h"
#include "qtx/format/model.h"

namespace qtx::cli {

/// An ONNX model as it is, and of any other kind the extended form. External data may be missing.
/// Errors: those of Model::Load and convert::Read, with the path in `where`; for a kind that is
/// read with further files, they name the `qtx convert` that takes those.
Result<format::Model> LoadForm(const std::string& path);

/// LoadForm, with all external data there.  Errors: those of CheckExternalData, too.
Result<format::Model> LoadModel(const std::string& path);

/// The extended form of a TFLite file, of stock ONNX with Q/DQ nodes, or a model as it is.
/// Errors: those of Model::Load and of the converters, with the path in `where`.
Result<format::Model> LoadAnyModel(const std::string& path);

/// LoadAnyModel with a cache of the latest models, because cases of one model are neighbours.
/// Thread-safe; must outlive the cases that use it.
class ModelCache {
 public:
  Result<format::Model> Load(const std::string& path);
  conformance::ModelLoader Loader() {
    return [this](const std::string& path) { return Load(path); };
  }

 private:
  std::mutex mutex_;
  std::vector<std::pair<std::string, Result<format::Model>>> models_;  // most recent first
};

}  // namespace qtx::cli
