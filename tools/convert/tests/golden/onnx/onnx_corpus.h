// ONNX models on plain integers with golden data, in the corpus beside the source tree.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "qtx/convert/convert.h"

namespace qtx::convert::golden {

/// One model, and one run of it: empty lists where the corpus has no golden data.
struct OnnxSet {
  std::string family, model, run;  // "onnx-node", "test_qlinearconv", "test_data_set_0"
  std::filesystem::path file;
  std::vector<std::filesystem::path> inputs, outputs;  // TensorProtos, in the order of the graph
  bool bound = false;  // every input but the first is a constant: so the parameters are known

  /// "onnx-node/test_qlinearconv/test_data_set_0 bound"
  std::string Name() const;
};

/// Every model of kind "qoperator", sorted; empty without the corpus.
std::vector<OnnxSet> OnnxSets();

/// Errors: kUnreadable, kInvalid.
Result<format::Tensor> LoadTensorProto(const std::filesystem::path& file);

/// The model as the set runs it: its bound inputs are initializers.
Result<Source> OpenSet(const OnnxSet& set);

}  // namespace qtx::convert::golden
