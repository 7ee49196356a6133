// What a model declares of its inputs, which a run must give it.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "qtx/format/model.h"
#include "qtx/format/result.h"
#include "qtx/format/tensor.h"

namespace qtx::backend {

class DeclaredInputs {
 public:
  /// The types of graph.input without initializers; parameters that are not to be had stay open.
  explicit DeclaredInputs(const format::Model& model);

  /// Errors: kInvalid for an input of another type, shape or parameters than declared; FLOAT may
  /// stand for a quantized type. How many there are is the backend's own to check.
  /// Source: backend_protocol.S13.
  Result<void> Check(std::span<const format::Tensor> inputs) const;

 private:
  struct Input {
    std::string name;
    std::optional<format::TensorType> type;
    std::optional<format::Quantization> parameters;  // inline
  };
  std::vector<Input> inputs_;
};

}  // namespace qtx::backend
