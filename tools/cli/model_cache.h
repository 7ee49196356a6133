// Models of any kind QTX converts, read once while they are asked for in turn.
#pragma once

#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "qtx/conformance/case.h"
#include "qtx/format/model.h"

namespace qtx::cli {

/// The extended form of a TFLite file, of stock ONNX with Q/DQ nodes, or a model as it is.
/// Errors: those of Model::Load and of the converters, with the path in `where`.
Result<format::Model> LoadAnyModel(const std::string& path);

/// LoadAnyModel with a memory of the models asked for last: the sets of one model are neighbours.
/// Safe to share among threads; it outlives the cases that load by it.
class ModelCache {
 public:
  Result<format::Model> Load(const std::string& path);
  conformance::ModelLoader Loader() {
    return [this](const std::string& path) { return Load(path); };
  }

 private:
  std::mutex mutex_;
  std::vector<std::pair<std::string, Result<format::Model>>> models_;  // the latest first
};

}  // namespace qtx::cli
