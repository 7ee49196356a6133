// AVERAGE_POOL_2D, MAX_POOL_2D, and MEAN over height and width.
#include <algorithm>

#include "qtx/format/shape.h"
#include "tflite_ops.h"
#include "tflite_types.h"
#include "tflite_window.h"

namespace qtx::convert {
namespace {

using format::Dims;

Error Invalid(std::string where, std::string message) {
  return {ErrorCode::kInvalid, std::move(where), std::move(message)};
}

// The axes of MEAN, non-negative and sorted.
Result<std::vector<std::int64_t>> AxesOf(const TfliteTensor& tensor, std::size_t rank) {
  QTX_ASSIGN_OR_RETURN(std::vector<std::int64_t> axes, IntegersOf(tensor));
  for (std::int64_t& axis : axes) {
    QTX_ASSIGN_OR_RETURN(axis, format::NormalizeAxis(axis, static_cast<std::int64_t>(rank)));
  }
  std::sort(axes.begin(), axes.end());
  return axes;
}

Result<void> EmitFlattened(TfliteBuilder& builder, const TfliteOperator& op, Draft pool, int y,
                           const Dims& pooled) {
  QTX_ASSIGN_OR_RETURN(format::TensorType type, builder.Type(y));
  type.shape = format::ToShape(pooled);
  const std::string& name = builder.tensor(y).name;
  Draft reshape{"Reshape", {builder.EmitInner(op, std::move(pool), name + "/pooled", type)}, {}};
  reshape.inputs.push_back(
      builder.AddInitializer(name + "/shape", Int64Vector(builder.tensor(y).dims)));
  return builder.Emit(op, std::move(reshape), y, Layout::kOwn);
}

}  // namespace

Result<void> ConvertPool2d(TfliteBuilder& builder, const TfliteOperator& op) {
  const auto* options = op.options->builtin_options_as_Pool2DOptions();
  if (options == nullptr) return Invalid("options", "missing");
  QTX_ASSIGN_OR_RETURN(const int x, builder.Input(op, 0));
  QTX_ASSIGN_OR_RETURN(const int y, builder.Output(op));
  const Window window{{options->filter_height(), options->filter_width()},
                      {options->stride_h(), options->stride_w()},
                      {1, 1},
                      options->padding()};
  const Dims& x_dims = builder.tensor(x).dims;
  const Dims& y_dims = builder.tensor(y).dims;
  Draft draft;
  draft.op_type = op.code == schema::BuiltinOperator::MAX_POOL_2D ? "MaxPool" : "AveragePool";
  QTX_ASSIGN_OR_RETURN(draft.attributes, WindowAttributes(window, x_dims, y_dims));
  if (x_dims[0] != y_dims[0] || x_dims[3] != y_dims[3]) {
    return Invalid("output",
                   "shape " + format::ToString(y_dims) + " for input " + format::ToString(x_dims));
  }
  QTX_ASSIGN_OR_RETURN(const std::string x_name, builder.Use(x, Layout::kNchw));
  draft.inputs = {x_name};
  return builder.Emit(op, std::move(draft), y, Layout::kNchw, options->fused_activation_function());
}

Result<void> ConvertMean(TfliteBuilder& builder, const TfliteOperator& op) {
  const auto* options = op.options->builtin_options_as_ReducerOptions();
  const bool keep = options != nullptr && options->keep_dims();
  QTX_ASSIGN_OR_RETURN(const int x, builder.Input(op, 0));
  QTX_ASSIGN_OR_RETURN(const int axes_tensor, builder.Input(op, 1));
  QTX_ASSIGN_OR_RETURN(const int y, builder.Output(op));
  const Dims& dims = builder.tensor(x).dims;
  auto axes = AxesOf(builder.tensor(axes_tensor), dims.size());
  if (!axes.has_value()) return At("axes '" + builder.tensor(axes_tensor).name + "'", axes.error());
  if (dims.size() != 4 || *axes != std::vector<std::int64_t>{1, 2}) {
    return Error{ErrorCode::kUnsupported, "axes", "only the mean over height and width of rank 4"};
  }
  const Dims expected = keep ? Dims{dims[0], 1, 1, dims[3]} : Dims{dims[0], dims[3]};
  if (builder.tensor(y).dims != expected) {
    return Invalid("output", "shape " + format::ToString(builder.tensor(y).dims) + ", expected " +
                                 format::ToString(expected));
  }
  QTX_ASSIGN_OR_RETURN(const std::string x_name, builder.Use(x, Layout::kNchw));
  Draft pool{"GlobalAveragePool", {x_name}, {}};
  if (keep) return builder.Emit(op, std::move(pool), y, Layout::kNchw);
  return EmitFlattened(builder, op, std::move(pool), y, {dims[0], dims[3], 1, 1});
}

}  // namespace qtx::convert
