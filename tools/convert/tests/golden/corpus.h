// Third-party golden data of TFLite models, in the corpus beside the source tree (absent: nothing).
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "qtx/format/result.h"
#include "qtx/format/tensor.h"
#include "qtx/format/tensor_type.h"

namespace qtx::convert::golden {

/// One run of a model: files of its inputs and outputs, in the order of the graph.
struct Set {
  std::string family, model, run;  // "tflite-net", "aww", "uniform"
  std::filesystem::path file;      // the .tflite
  enum class Kernels { kBuiltin, kXnnpack } kernels = Kernels::kBuiltin;
  std::vector<std::filesystem::path> inputs, outputs;

  /// "tflite-net/aww/uniform builtin"
  std::string Name() const;
};

/// All sets of the families, sorted; empty without the corpus.
std::vector<Set> Sets();

/// A .npy, .csv of integers, or a headed raw file, as a tensor of `type`'s storage. Where the file
/// says no shape, it has that of `type`.  Errors: kInvalid when the size is another.
Result<format::Tensor> Load(const std::filesystem::path& file, const format::TensorType& type);

}  // namespace qtx::convert::golden
