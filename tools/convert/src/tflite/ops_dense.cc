// FULLY_CONNECTED, BATCH_MATMUL, SOFTMAX and LOG_SOFTMAX.
#include "errors.h"
#include "tflite/ops.h"
#include "tflite/window.h"

namespace qtx::convert {
namespace {

using format::Attribute;
using format::Dims;

// x as a matrix of `dims`, which hold the same elements in the same order.
Result<std::string> AsMatrix(TfliteBuilder& builder, const TfliteOperator& op, int x,
                             const Dims& dims) {
  if (builder.tensor(x).dims == dims) return builder.Use(x, Layout::kOwn);
  const bool nchw = builder.Preferred(x) == Layout::kFirst && SameOrder(builder.tensor(x).dims);
  QTX_ASSIGN_OR_RETURN(const std::string name,
                       builder.Use(x, nchw ? Layout::kFirst : Layout::kOwn));
  QTX_ASSIGN_OR_RETURN(const format::TensorType own, builder.Type(x));
  QTX_ASSIGN_OR_RETURN(format::TensorType type, Reshaped(own, dims));
  const std::string stem = builder.tensor(x).name;
  Draft reshape{
      "Reshape", {name, builder.AddConstant(stem + "/shape", graph::IntsTensor(dims))}, {}};
  return builder.EmitInner(op, std::move(reshape), stem + "/matrix", std::move(type));
}

struct Sizes {
  std::int64_t batch = 0, inputs = 0, outputs = 0;
};

Result<Sizes> SizesOf(const TfliteTensor& x, const TfliteTensor& w, const TfliteTensor& y) {
  if (w.dims.size() != 2) {
    return Invalid("weights '" + w.name + "'",
                   "shape " + format::ToString(w.dims) + ", expected rank 2");
  }
  QTX_ASSIGN_OR_RETURN(const std::int64_t x_count, format::ElementCount(x.dims));
  QTX_ASSIGN_OR_RETURN(const std::int64_t y_count, format::ElementCount(y.dims));
  const Sizes sizes{x_count / w.dims[1], w.dims[1], w.dims[0]};
  if (x_count % w.dims[1] != 0 || y_count % w.dims[0] != 0 || y_count / w.dims[0] != sizes.batch) {
    return Invalid("output", "shape " + format::ToString(y.dims) + " for input " +
                                 format::ToString(x.dims) + " and weights " +
                                 format::ToString(w.dims));
  }
  return sizes;
}

}  // namespace

Result<void> ConvertFullyConnected(TfliteBuilder& builder, const TfliteOperator& op) {
  const auto* options = op.options->builtin_options_as_FullyConnectedOptions();
  if (options == nullptr) return Invalid("options", "missing");
  if (options->weights_format() != schema::FullyConnectedOptionsWeightsFormat::DEFAULT) {
    return Error{ErrorCode::kUnsupported, "weights_format", "shuffled weights"};
  }
  QTX_ASSIGN_OR_RETURN(const int x, builder.Input(op, 0));
  QTX_ASSIGN_OR_RETURN(const int w, builder.Input(op, 1));
  QTX_ASSIGN_OR_RETURN(const int y, builder.Output(op));
  QTX_ASSIGN_OR_RETURN(const Sizes sizes,
                       SizesOf(builder.tensor(x), builder.tensor(w), builder.tensor(y)));
  QTX_ASSIGN_OR_RETURN(const std::string x_name,
                       AsMatrix(builder, op, x, {sizes.batch, sizes.inputs}));
  QTX_ASSIGN_OR_RETURN(const std::string w_name, builder.UsePermuted(op, w, {}));
  QTX_ASSIGN_OR_RETURN(const std::string bias, UseBias(builder, op, {x, w, 2}, sizes.outputs));
  QTX_RETURN_IF_ERROR(NoteHybrid(builder, op));
  Draft gemm{"Gemm", {x_name, w_name}, {Attribute::Int("transB", 1)}};
  if (!bias.empty()) gemm.inputs.push_back(bias);
  const Dims matrix = {sizes.batch, sizes.outputs};
  const TfliteTensor& output = builder.tensor(y);
  const auto activation = options->fused_activation_function();
  if (output.dims == matrix) return builder.Emit(op, std::move(gemm), y, Layout::kOwn, activation);
  QTX_ASSIGN_OR_RETURN(format::TensorType type, builder.Type(y));
  type.shape = format::ToShape(matrix);
  type.statistics.reset();
  Draft reshape{
      "Reshape", {builder.EmitInner(op, std::move(gemm), output.name + "/matrix", type)}, {}};
  reshape.inputs.push_back(
      builder.AddConstant(output.name + "/shape", graph::IntsTensor(output.dims)));
  return builder.Emit(op, std::move(reshape), y, Layout::kOwn, activation);
}

Result<void> ConvertBatchMatMul(TfliteBuilder& builder, const TfliteOperator& op) {
  const auto* options = op.options->builtin_options_as_BatchMatMulOptions();
  QTX_ASSIGN_OR_RETURN(const int y, builder.Output(op));
  Draft draft{"MatMul", {}, {}};
  for (const std::size_t position : {0U, 1U}) {
    QTX_ASSIGN_OR_RETURN(const int x, builder.Input(op, position));
    const std::size_t rank = builder.tensor(x).dims.size();
    if (rank < 2) return Invalid("input[" + std::to_string(position) + "]", "rank below 2");
    Permutation perm;
    if (options != nullptr && (position == 0 ? options->adj_x() : options->adj_y())) {
      for (std::size_t axis = 0; axis < rank; ++axis) perm.push_back(static_cast<int>(axis));
      std::swap(perm[rank - 1], perm[rank - 2]);
    }
    QTX_ASSIGN_OR_RETURN(std::string name, builder.UsePermuted(op, x, perm));
    draft.inputs.push_back(std::move(name));
  }
  QTX_RETURN_IF_ERROR(NoteHybrid(builder, op));
  return builder.Emit(op, std::move(draft), y, Layout::kOwn);
}

Result<void> ConvertSoftmax(TfliteBuilder& builder, const TfliteOperator& op) {
  const bool log = op.code == schema::BuiltinOperator::LOG_SOFTMAX;
  const auto* options = op.options->builtin_options_as_SoftmaxOptions();
  if (!log && options == nullptr) return NoOptions();
  if (!log && options->beta() != 1.0F) {
    return Error{ErrorCode::kUnsupported, "beta",
                 format::HexFloat(options->beta()) + ", expected 1"};
  }
  QTX_ASSIGN_OR_RETURN(const int x, builder.Input(op, 0));
  QTX_ASSIGN_OR_RETURN(const int y, builder.Output(op));
  if (builder.tensor(x).dims != builder.tensor(y).dims || builder.tensor(x).dims.empty()) {
    return BadOutput(builder.tensor(x), builder.tensor(y));
  }
  QTX_ASSIGN_OR_RETURN(const std::string x_name, builder.Use(x, Layout::kOwn));
  return builder.Emit(op, {log ? "LogSoftmax" : "Softmax", {x_name}, {Attribute::Int("axis", -1)}},
                      y, Layout::kOwn);
}

}  // namespace qtx::convert
