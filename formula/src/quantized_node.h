// A node whose tensors have their parameters beside them among its inputs, as one of quantized
// tensors: the line `as Add(A, A_scale, A_zero_point, ...) = C, C_scale, C_zero_point`.
#pragma once

#include <deque>
#include <string>

#include "qtx/formula/computation.h"
#include "qtx/formula/text.h"
#include "scope.h"

namespace qtx::formula {

class QuantizedNode {
 public:
  /// `line`: of kind kAs; `names`: of the inputs and outputs of `call`, whose inputs are known.
  /// An absent zero point is 0. The attribute `opset`, where the node has it, is the opset.
  /// Errors: kInvalid for a name that is no input, or inputs that are no threes.
  static Result<QuantizedNode> Make(const Text& text, const Statement& line, const Names& names,
                                    const Call& call);

  /// Output 0, of the plain type that stores it.  Errors: those of Compute.
  Result<format::Tensor> Compute(const Text& text, const std::string& arithmetic) const;

 private:
  Result<void> AddInputs(const Call& call, const std::string& name, std::size_t first,
                         std::size_t end);
  void SetOutput(const Call& call, const format::Quantization& quantization);

  format::Node node_;
  const format::OpSchema* schema_ = nullptr;
  std::int64_t opset_ = 0;
  std::deque<format::Tensor> inputs_;
  std::vector<bool> initializers_;
  ValueType output_;
};

}  // namespace qtx::formula
