// AVERAGE_POOL_2D and MAX_POOL_2D.
#include "errors.h"
#include "qtx/format/shape.h"
#include "tflite/ops.h"
#include "tflite/window.h"

namespace qtx::convert {
namespace {

using format::Dims;

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
  QTX_ASSIGN_OR_RETURN(const std::string x_name, builder.Use(x, Layout::kFirst));
  draft.inputs = {x_name};
  return builder.Emit(op, std::move(draft), y, Layout::kFirst,
                      options->fused_activation_function());
}

}  // namespace qtx::convert
