// One node of a model, ready to be computed.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "float/kernels/kernels.h"
#include "float/workers.h"
#include "qtx/backend/axis.h"
#include "qtx/format/catalogue.h"
#include "qtx/format/model.h"
#include "qtx/format/result.h"
#include "qtx/format/tensor.h"

namespace qtx::backend::floats {

struct Context {
  const Kernels& kernels;
  Workers& workers;
  Buffers& buffers;
};

/// Tensors of a node's inputs; nullptr for one that is absent.
using Inputs = std::span<const format::Tensor* const>;

inline const format::Tensor* InputOr(Inputs inputs, std::size_t i) {
  return i < inputs.size() ? inputs[i] : nullptr;
}

class Operator {
 public:
  virtual ~Operator() = default;
  /// Whether it computes inputs of these types and ranks, which alone it looks at. By default: all
  /// FLOAT.
  virtual bool Takes(Inputs inputs) const;
  /// REQUIRES: the inputs keep the clauses of the node's operator.  Errors: kUnsupported,
  /// kTooLarge.
  virtual Result<format::Tensor> Run(const Context& context, Inputs inputs) const = 0;
  /// Whether RunFused does more than Run.
  virtual bool Fuses() const { return false; }
  /// Run, then `epilogue` on each result; it has values for each of `channels()` channels (axis 1).
  virtual Result<format::Tensor> RunFused(const Context& context, Inputs inputs,
                                          const Epilogue& epilogue) const;
  /// Number of output channels; 0 if unknown at preparation.
  virtual std::int64_t channels() const { return 0; }
  /// The bounds of an operator that only clamps; nullopt for other operators and computed bounds.
  virtual std::optional<std::pair<float, float>> ClampOf(Inputs) const { return std::nullopt; }
  /// True if it has a copy of the elements of that constant input.
  virtual bool Packed(std::size_t) const { return false; }
};

/// A node from which an operator is made. `constants`: one for each input, nullptr if it is
/// computed.
struct NodeInfo {
  const format::Node& node;
  std::int64_t opset;
  format::Attributes attributes;
  Inputs constants;
  const Kernels& kernels;
};

/// nullptr for an operator without a kernel.  REQUIRES: the node keeps the clauses of its operator.
Result<std::unique_ptr<Operator>> MakeOperator(const NodeInfo& info);

/// ONNX's sizes as tensors hold them.
inline std::int64_t Rank(const format::Tensor& tensor) {
  return static_cast<std::int64_t>(tensor.dims.size());
}
/// Two spatial axes at most.
inline bool IsPlanar(const format::Tensor& tensor) { return tensor.dims.size() <= 4; }
inline std::int64_t DimAt(const format::Tensor& tensor, std::int64_t axis) {
  return tensor.dims[static_cast<std::size_t>(axis)];
}
/// REQUIRES: part of the dims of a tensor, which cannot overflow.
std::int64_t Product(std::span<const std::int64_t> dims);
inline const float* DataOf(const format::Tensor& tensor) { return tensor.As<float>().data(); }
inline float* DataOf(format::Tensor& tensor) { return tensor.As<float>().data(); }

Error Unsupported(std::string message);
/// The elements of a tensor of INT64 or INT32.
std::vector<std::int64_t> IntegersOf(const format::Tensor& tensor);

/// Calls run(begin, end) for ranges that together cover all channels, in any order.
void ForChannels(const Context& context, std::int64_t channels, std::int64_t multiply_adds,
                 const std::function<void(std::int64_t begin, std::int64_t end)>& run);

using MakeFunction = Result<std::unique_ptr<Operator>>(const NodeInfo&);
MakeFunction MakeConv, MakeGemm, MakeMatMul, MakeMaxPool, MakeAveragePool, MakeReduceMean,
    MakeUnary, MakeClip, MakeBinary, MakeBatchNormalization, MakeSoftmax, MakeReshaping, MakeConcat,
    MakeTranspose, MakePad;

}  // namespace qtx::backend::floats
