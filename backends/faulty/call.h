// The call of an operator: its node, its tensors, and the fault to commit.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "fault.h"
#include "number.h"
#include "qtx/format/catalogue.h"
#include "qtx/format/model.h"
#include "qtx/format/result.h"
#include "qtx/format/tensor.h"

namespace qtx::backend::faulty {

using format::Dims;
using format::ElementType;
using format::Tensor;
using Outputs = Result<std::vector<Tensor>>;

/// State that an instance keeps from run to run, for faults only.
struct Memory {
  std::int64_t runs = 0;
  std::vector<std::int64_t> accumulators;
};

struct OutputType {
  ElementType elem_type = ElementType::kUndefined;  // kUndefined: not declared
  std::optional<format::Quantization> quantization;
  std::optional<Dims> dims;
};

struct Call {
  const format::Node& node;
  std::int64_t opset = 0;
  bool exact = true;  // else binary32
  Fault fault = Fault::kNone;
  Memory* memory = nullptr;
  std::vector<const Tensor*> inputs;  // nullptr: absent
  std::vector<OutputType> outputs;

  bool Has(std::size_t i) const { return i < inputs.size() && inputs[i] != nullptr; }
  bool Is(Fault other) const { return fault == other; }
  /// Attributes, or their defaults in the catalogue.
  std::int64_t Int(std::string_view name) const { return attributes().Int(name); }
  float Float(std::string_view name) const { return attributes().Float(name); }
  std::string String(std::string_view name) const { return attributes().String(name); }
  /// Whether it is a pool with ceil_mode.
  bool RoundsUp() const {
    const bool pools = node.op_type == "AveragePool" || node.op_type == "MaxPool";
    return pools && Int("ceil_mode") != 0;
  }
  format::Attributes attributes() const { return format::Attributes(node, opset); }
};

/// The error for a node that this backend does not compute, with the reason.
inline Error Declined(const Call& call, std::string reason) {
  return {ErrorCode::kUnsupported, "node '" + call.node.op_type + "'", std::move(reason)};
}

inline std::int64_t Size(const Dims& dims) {
  std::int64_t size = 1;
  for (const std::int64_t dim : dims) size *= dim;
  return size;
}
inline std::size_t At(std::int64_t i) { return static_cast<std::size_t>(i); }

/// The coordinates of row-major element `i`.
Dims Coordinates(std::int64_t i, const Dims& dims);

/// Checks, before anything is allocated, that a tensor is not too large.  Errors: kUnsupported.
Result<void> CheckSize(const Call& call, const Dims& dims);
/// `axis` counted from the front.  Errors: kUnsupported outside [-rank, rank).
Result<std::size_t> AxisOf(const Call& call, std::int64_t axis, std::size_t rank);
/// The elements of an INT64 or INT32 input of rank 1 (or 0).  Errors: kUnsupported for any other.
Result<std::vector<std::int64_t>> IntegersAt(const Call& call, std::size_t i);
/// The shape two tensors broadcast to.  Errors: kUnsupported when they do not.
Result<Dims> Broadcast(const Call& call, const Dims& a, const Dims& b);
/// For each element of `to` the element of a tensor of shape `from` that broadcasts to it.
std::vector<std::int64_t> BroadcastIndex(const Dims& from, const Dims& to);

// Operators, by file. Each declines what it does not know to be valid.
Outputs QuantizeLinear(const Call& call);  // convert.cc
Outputs DequantizeLinear(const Call& call);
Outputs DynamicQuantizeLinear(const Call& call);
Outputs Convert(const Call& call);      // Cast, Identity, Relu, Clip, LeakyRelu, Sigmoid, Tanh
Outputs Elementwise(const Call& call);  // elementwise.cc: Add, Sub, Mul, Div
Outputs SoftmaxOf(const Call& call);
Outputs Reduce(const Call& call);  // ReduceMean, ReduceSum
Outputs MatMul(const Call& call);  // product.cc
Outputs Gemm(const Call& call);
Outputs Convolution(const Call& call);    // Conv, ConvTranspose, ConvInteger
Outputs MatMulInteger(const Call& call);  // linear.cc
Outputs ConvInteger(const Call& call);
Outputs QLinearMatMul(const Call& call);
Outputs QLinearConv(const Call& call);
Outputs Pool(const Call& call);    // pool.cc: AveragePool, GlobalAveragePool, MaxPool
Outputs Concat(const Call& call);  // move.cc
Outputs Split(const Call& call);
Outputs Pad(const Call& call);
Outputs Slice(const Call& call);
Outputs Gather(const Call& call);
Outputs Transpose(const Call& call);
Outputs Reshape(const Call& call);  // and Flatten, Squeeze, Unsqueeze

}  // namespace qtx::backend::faulty
