// GATHER, GATHER_ND, SCATTER_ND, ONE_HOT and REVERSE_SEQUENCE: operators that indices steer.
#include <algorithm>

#include "errors.h"
#include "qtx/format/shape.h"
#include "tflite/ops.h"

namespace qtx::convert {
namespace {

using format::Attribute;
using format::Dims;
using schema::BuiltinOperator;

}  // namespace

Result<void> ConvertGather(TfliteBuilder& builder, const TfliteOperator& op) {
  const bool lookup = op.code == BuiltinOperator::EMBEDDING_LOOKUP;
  const auto* options = op.options->builtin_options_as_GatherOptions();
  if (options != nullptr && options->batch_dims() != 0) {
    return Error{ErrorCode::kUnsupported, "batch_dims", std::to_string(options->batch_dims())};
  }
  QTX_ASSIGN_OR_RETURN(const int x, builder.Input(op, lookup ? 1 : 0));
  QTX_ASSIGN_OR_RETURN(const int indices, builder.Input(op, lookup ? 0 : 1));
  QTX_ASSIGN_OR_RETURN(const int y, builder.Output(op));
  const Dims& dims = builder.tensor(x).dims;
  auto axis = format::NormalizeAxis(options == nullptr ? 0 : options->axis(),
                                    static_cast<std::int64_t>(dims.size()));
  if (!axis.has_value()) return At("axis", axis.error());
  QTX_ASSIGN_OR_RETURN(const std::string x_name, builder.Use(x, Layout::kOwn));
  QTX_ASSIGN_OR_RETURN(const std::string i_name, builder.Use(indices, Layout::kOwn));
  return builder.Emit(op, {"Gather", {x_name, i_name}, {Attribute::Int("axis", *axis)}}, y,
                      Layout::kOwn);
}

Result<void> ConvertGatherNd(TfliteBuilder& builder, const TfliteOperator& op) {
  QTX_ASSIGN_OR_RETURN(const int x, builder.Input(op, 0));
  QTX_ASSIGN_OR_RETURN(const int indices, builder.Input(op, 1));
  QTX_ASSIGN_OR_RETURN(const int y, builder.Output(op));
  QTX_ASSIGN_OR_RETURN(const std::string x_name, builder.Use(x, Layout::kOwn));
  QTX_ASSIGN_OR_RETURN(const std::string wide, builder.UseInt64(op, indices));
  return builder.Emit(op, {"GatherND", {x_name, wide}, {}}, y, Layout::kOwn);
}

// The reals of all updates of an element are added up, onto zeros.
Result<void> ConvertScatterNd(TfliteBuilder& builder, const TfliteOperator& op) {
  QTX_ASSIGN_OR_RETURN(const int indices, builder.Input(op, 0));
  QTX_ASSIGN_OR_RETURN(const int updates, builder.Input(op, 1));
  QTX_ASSIGN_OR_RETURN(const int y, builder.Output(op));
  QTX_ASSIGN_OR_RETURN(const format::TensorType type, builder.Type(y));
  if (type.quantization) {
    return Error{ErrorCode::kUnsupported, "output",
                 "quantized; TFLite fills with the stored 0, which need not be zero"};
  }
  QTX_ASSIGN_OR_RETURN(const std::string wide, builder.UseInt64(op, indices));
  QTX_ASSIGN_OR_RETURN(const std::string values, builder.Use(updates, Layout::kOwn));
  const TfliteTensor& output = builder.tensor(y);
  QTX_ASSIGN_OR_RETURN(const format::Tensor zero, format::MakeTensor(type.elem_type, {}));
  const std::string shape =
      builder.AddConstant(output.name + "/shape", graph::IntsTensor(output.dims));
  format::TensorType plain = type;
  plain.statistics.reset();
  const std::string zeros = builder.EmitInner(
      op, {"Expand", {builder.AddConstant(output.name + "/zero", zero), shape}, {}},
      output.name + "/zeros", std::move(plain));
  return builder.Emit(op,
                      {"ScatterND", {zeros, wide, values}, {Attribute::String("reduction", "add")}},
                      y, Layout::kOwn);
}

Result<void> ConvertOneHot(TfliteBuilder& builder, const TfliteOperator& op) {
  const auto* options = op.options->builtin_options_as_OneHotOptions();
  if (options == nullptr) return NoOptions();
  QTX_ASSIGN_OR_RETURN(const int indices, builder.Input(op, 0));
  QTX_ASSIGN_OR_RETURN(const std::vector<std::int64_t> depth, ConstantInput(builder, op, 1));
  QTX_ASSIGN_OR_RETURN(const int y, builder.Output(op));
  if (depth.size() != 1) return Invalid("depth", "expected one");
  QTX_ASSIGN_OR_RETURN(const std::string name, builder.Use(indices, Layout::kOwn));
  Draft values{"Concat", {}, {Attribute::Int("axis", 0)}};  // off, on
  const std::string stem = builder.tensor(y).name;
  const std::string one =
      builder.AddConstant(stem + "/one", graph::IntsTensor(std::vector<std::int64_t>{1}));
  for (const std::size_t position : {3U, 2U}) {
    QTX_ASSIGN_OR_RETURN(const int value, builder.Input(op, position));
    QTX_ASSIGN_OR_RETURN(const std::string scalar, builder.Use(value, Layout::kOwn));
    QTX_ASSIGN_OR_RETURN(const format::TensorType own, builder.Type(value));
    QTX_ASSIGN_OR_RETURN(format::TensorType type, Reshaped(own, {1}));
    values.inputs.push_back(
        builder.EmitInner(op, {"Reshape", {scalar, one}, {}}, stem + "/value", std::move(type)));
  }
  QTX_ASSIGN_OR_RETURN(const format::TensorType own, builder.Type(y));
  QTX_ASSIGN_OR_RETURN(format::TensorType type, Reshaped(own, {2}));
  const std::string pair =
      builder.EmitInner(op, std::move(values), stem + "/values", std::move(type));
  const std::string count = builder.AddConstant(stem + "/depth", Int64Scalar(depth[0]));
  return builder.Emit(op,
                      {"OneHot", {name, count, pair}, {Attribute::Int("axis", options->axis())}}, y,
                      Layout::kOwn);
}

Result<void> ConvertReverseSequence(TfliteBuilder& builder, const TfliteOperator& op) {
  const auto* options = op.options->builtin_options_as_ReverseSequenceOptions();
  if (options == nullptr) return NoOptions();
  QTX_ASSIGN_OR_RETURN(const int x, builder.Input(op, 0));
  QTX_ASSIGN_OR_RETURN(const int lengths, builder.Input(op, 1));
  QTX_ASSIGN_OR_RETURN(const int y, builder.Output(op));
  if (builder.tensor(x).dims != builder.tensor(y).dims) {
    return BadOutput(builder.tensor(x), builder.tensor(y));
  }
  const std::int64_t time = options->seq_dim(), batch = options->batch_dim();
  if (time + batch != 1 || time * batch != 0) {
    return Error{ErrorCode::kUnsupported, "seq_dim", "axes other than 0 and 1"};
  }
  QTX_ASSIGN_OR_RETURN(const std::string x_name, builder.Use(x, Layout::kOwn));
  QTX_ASSIGN_OR_RETURN(const std::string wide, builder.UseInt64(op, lengths));
  return builder.Emit(op,
                      {"ReverseSequence",
                       {x_name, wide},
                       {Attribute::Int("batch_axis", batch), Attribute::Int("time_axis", time)}},
                      y, Layout::kOwn);
}

}  // namespace qtx::convert
