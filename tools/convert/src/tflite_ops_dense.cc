// FULLY_CONNECTED and SOFTMAX.
#include "tflite_ops.h"
#include "tflite_window.h"

namespace qtx::convert {
namespace {

using format::Attribute;
using format::Dims;

Error Invalid(std::string where, std::string message) {
  return {ErrorCode::kInvalid, std::move(where), std::move(message)};
}

// x as a matrix of `dims`, which hold the same elements in the same order.
Result<std::string> AsMatrix(TfliteBuilder& builder, const TfliteOperator& op, int x,
                             const Dims& dims) {
  if (builder.tensor(x).dims == dims) return builder.Use(x, Layout::kOwn);
  const bool nchw = builder.Preferred(x) == Layout::kNchw && SameOrder(builder.tensor(x).dims);
  QTX_ASSIGN_OR_RETURN(const std::string name, builder.Use(x, nchw ? Layout::kNchw : Layout::kOwn));
  QTX_ASSIGN_OR_RETURN(format::TensorType type, builder.Type(x));
  if (type.quantization && !type.quantization->axis.empty()) {
    return Error{ErrorCode::kUnsupported, "input[0]",
                 "per-axis parameters across a change of shape"};
  }
  type.shape = format::ToShape(dims);
  type.statistics.reset();  // they stay on the tensor of the file
  const std::string stem = builder.tensor(x).name;
  Draft reshape{"Reshape", {name, builder.AddInitializer(stem + "/shape", Int64Vector(dims))}, {}};
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
  QTX_ASSIGN_OR_RETURN(const std::string w_name, builder.UseConstant(w, {}));
  QTX_ASSIGN_OR_RETURN(const std::string bias, UseBias(builder, op, 2, sizes.outputs));
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
      builder.AddInitializer(output.name + "/shape", Int64Vector(output.dims)));
  return builder.Emit(op, std::move(reshape), y, Layout::kOwn, activation);
}

Result<void> ConvertSoftmax(TfliteBuilder& builder, const TfliteOperator& op) {
  const auto* options = op.options->builtin_options_as_SoftmaxOptions();
  if (options == nullptr) return Invalid("options", "missing");
  if (options->beta() != 1.0F) {
    return Error{ErrorCode::kUnsupported, "beta",
                 format::HexFloat(options->beta()) + ", expected 1"};
  }
  QTX_ASSIGN_OR_RETURN(const int x, builder.Input(op, 0));
  QTX_ASSIGN_OR_RETURN(const int y, builder.Output(op));
  if (builder.tensor(x).dims != builder.tensor(y).dims || builder.tensor(x).dims.empty()) {
    return Invalid("output", "shape " + format::ToString(builder.tensor(y).dims) + " for input " +
                                 format::ToString(builder.tensor(x).dims));
  }
  QTX_ASSIGN_OR_RETURN(const std::string x_name, builder.Use(x, Layout::kOwn));
  return builder.Emit(op, {"Softmax", {x_name}, {Attribute::Int("axis", -1)}}, y, Layout::kOwn);
}

}  // namespace qtx::convert
