// SUM, REDUCE_*, MEAN, ARG_MAX, ARG_MIN, TOPK_V2, L2_NORMALIZATION: operators along axes.
#include <algorithm>

#include "qtx/format/shape.h"
#include "tflite/ops.h"

namespace qtx::convert {
namespace {

using format::Attribute;
using format::Dims;
using format::ElementType;
using schema::BuiltinOperator;

struct Reduction {
  int x = 0, y = 0;
  std::vector<std::int64_t> axes;  // non-negative, sorted
  bool keep = false;
};

Result<Reduction> ReductionOf(const TfliteBuilder& builder, const TfliteOperator& op) {
  const auto* options = op.options->builtin_options_as_ReducerOptions();
  Reduction reduction;
  reduction.keep = options != nullptr && options->keep_dims();
  QTX_ASSIGN_OR_RETURN(reduction.x, builder.Input(op, 0));
  QTX_ASSIGN_OR_RETURN(reduction.y, builder.Output(op));
  QTX_ASSIGN_OR_RETURN(reduction.axes, ConstantInput(builder, op, 1));
  const Dims& dims = builder.tensor(reduction.x).dims;
  for (std::int64_t& axis : reduction.axes) {
    auto normal = format::NormalizeAxis(axis, static_cast<std::int64_t>(dims.size()));
    if (!normal.has_value()) return At("axes", normal.error());
    axis = *normal;
  }
  std::vector<std::int64_t>& axes = reduction.axes;
  std::sort(axes.begin(), axes.end());
  axes.erase(std::unique(axes.begin(), axes.end()), axes.end());
  Dims expected;
  for (std::size_t i = 0; i < dims.size(); ++i) {
    const bool reduced = std::binary_search(axes.begin(), axes.end(), static_cast<std::int64_t>(i));
    if (!reduced || reduction.keep) expected.push_back(reduced ? 1 : dims[i]);
  }
  if (builder.tensor(reduction.y).dims != expected) {
    return BadOutput(builder.tensor(reduction.x), builder.tensor(reduction.y));
  }
  return reduction;
}

Result<void> AddAxes(TfliteBuilder& builder, const TfliteOperator& op, const Reduction& reduction,
                     Draft& draft) {
  // Axes are an input since version 13 of ReduceSum, and version 18 of the others (reduce_mean.S3).
  if (op.code == BuiltinOperator::SUM || builder.opset() >= 18) {
    draft.inputs.push_back(builder.AddConstant(builder.tensor(reduction.y).name + "/axes",
                                               graph::IntsTensor(reduction.axes)));
    if (reduction.axes.empty()) {
      draft.attributes.push_back(Attribute::Int("noop_with_empty_axes", 1));
    }
  } else if (reduction.axes.empty()) {
    return Error{ErrorCode::kUnsupported, "axes", "none"};
  } else {
    draft.attributes.push_back(Attribute::Ints("axes", reduction.axes));
  }
  draft.attributes.push_back(Attribute::Int("keepdims", reduction.keep ? 1 : 0));
  return {};
}

Result<void> EmitReduction(TfliteBuilder& builder, const TfliteOperator& op, const char* op_type,
                           Reduction reduction) {
  // With the dimensions kept, the result has the layout of x; else TFLite's own.
  const bool nchw =
      reduction.keep &&
      CommonLayout(builder, std::vector<int>{reduction.x, reduction.y}) == Layout::kFirst;
  const Layout layout = nchw ? Layout::kFirst : Layout::kOwn;
  if (nchw) {
    for (std::int64_t& axis : reduction.axes) axis = PermuteAxis(axis, NhwcToNchw());
    std::sort(reduction.axes.begin(), reduction.axes.end());
  }
  QTX_ASSIGN_OR_RETURN(const std::string name, builder.Use(reduction.x, layout));
  Draft draft{op_type, {name}, {}};
  QTX_RETURN_IF_ERROR(AddAxes(builder, op, reduction, draft));
  return builder.Emit(op, std::move(draft), reduction.y, layout);
}

// The mean over height and width, which every backend has as a pool.
Result<void> EmitGlobalPool(TfliteBuilder& builder, const TfliteOperator& op,
                            const Reduction& reduction) {
  const Dims& dims = builder.tensor(reduction.x).dims;
  QTX_ASSIGN_OR_RETURN(const std::string x_name, builder.Use(reduction.x, Layout::kFirst));
  Draft pool{"GlobalAveragePool", {x_name}, {}};
  if (reduction.keep) return builder.Emit(op, std::move(pool), reduction.y, Layout::kFirst);
  QTX_ASSIGN_OR_RETURN(format::TensorType type, builder.Type(reduction.y));
  type.shape = format::ToShape(Dims{dims[0], dims[3], 1, 1});
  const TfliteTensor& y = builder.tensor(reduction.y);
  Draft reshape{"Reshape", {builder.EmitInner(op, std::move(pool), y.name + "/pooled", type)}, {}};
  reshape.inputs.push_back(builder.AddConstant(y.name + "/shape", graph::IntsTensor(y.dims)));
  return builder.Emit(op, std::move(reshape), reduction.y, Layout::kOwn);
}

}  // namespace

Result<void> EmitIndices(TfliteBuilder& builder, const TfliteOperator& op, Draft draft, int y) {
  QTX_ASSIGN_OR_RETURN(format::TensorType type, builder.Type(y));
  if (type.elem_type == ElementType::kInt64) {
    return builder.Emit(op, std::move(draft), y, Layout::kOwn);
  }
  const auto to = static_cast<std::int64_t>(type.elem_type);
  type.elem_type = ElementType::kInt64;
  const std::string wide =
      builder.EmitInner(op, std::move(draft), builder.tensor(y).name + "/int64", std::move(type));
  return builder.Emit(op, {"Cast", {wide}, {Attribute::Int("to", to)}}, y, Layout::kOwn);
}

Result<void> ConvertReduce(TfliteBuilder& builder, const TfliteOperator& op) {
  QTX_ASSIGN_OR_RETURN(Reduction reduction, ReductionOf(builder, op));
  const char* op_type = op.code == BuiltinOperator::SUM          ? "ReduceSum"
                        : op.code == BuiltinOperator::REDUCE_MAX ? "ReduceMax"
                        : op.code == BuiltinOperator::REDUCE_MIN ? "ReduceMin"
                                                                 : "ReduceProd";
  return EmitReduction(builder, op, op_type, std::move(reduction));
}

// ONNX reduces no BOOL below opset 20: the greatest or least of 0 and 1.
Result<void> ConvertReduceBool(TfliteBuilder& builder, const TfliteOperator& op) {
  QTX_ASSIGN_OR_RETURN(const Reduction reduction, ReductionOf(builder, op));
  const std::string stem = builder.tensor(reduction.y).name;
  const auto integers = [&](const Dims& dims) {
    format::TensorType type;
    type.elem_type = ElementType::kInt32;
    type.shape = format::ToShape(dims);
    return type;
  };
  const auto cast = [](const std::string& x, ElementType to) {
    return Draft{"Cast", {x}, {Attribute::Int("to", static_cast<std::int64_t>(to))}};
  };
  QTX_ASSIGN_OR_RETURN(const std::string x, builder.Use(reduction.x, Layout::kOwn));
  Draft draft{op.code == BuiltinOperator::REDUCE_ANY ? "ReduceMax" : "ReduceMin",
              {builder.EmitInner(op, cast(x, ElementType::kInt32), stem + "/integers",
                                 integers(builder.tensor(reduction.x).dims))},
              {}};
  QTX_RETURN_IF_ERROR(AddAxes(builder, op, reduction, draft));
  const std::string extreme = builder.EmitInner(op, std::move(draft), stem + "/extreme",
                                                integers(builder.tensor(reduction.y).dims));
  return builder.Emit(op, cast(extreme, ElementType::kBool), reduction.y, Layout::kOwn);
}

Result<void> ConvertMean(TfliteBuilder& builder, const TfliteOperator& op) {
  QTX_ASSIGN_OR_RETURN(Reduction reduction, ReductionOf(builder, op));
  if (builder.tensor(reduction.x).dims.size() == 4 &&
      reduction.axes == std::vector<std::int64_t>{1, 2}) {
    return EmitGlobalPool(builder, op, reduction);
  }
  return EmitReduction(builder, op, "ReduceMean", std::move(reduction));
}

Result<void> ConvertArg(TfliteBuilder& builder, const TfliteOperator& op) {
  QTX_ASSIGN_OR_RETURN(const int x, builder.Input(op, 0));
  QTX_ASSIGN_OR_RETURN(const int y, builder.Output(op));
  QTX_ASSIGN_OR_RETURN(const std::vector<std::int64_t> axes, ConstantInput(builder, op, 1));
  Dims expected = builder.tensor(x).dims;
  if (axes.size() != 1) return Error{ErrorCode::kInvalid, "axis", "expected one"};
  auto axis = format::NormalizeAxis(axes[0], static_cast<std::int64_t>(expected.size()));
  if (!axis.has_value()) return At("axis", axis.error());
  expected.erase(expected.begin() + *axis);
  if (builder.tensor(y).dims != expected) return BadOutput(builder.tensor(x), builder.tensor(y));
  QTX_ASSIGN_OR_RETURN(const std::string name, builder.Use(x, Layout::kOwn));
  const bool max = op.code == BuiltinOperator::ARG_MAX;
  return EmitIndices(builder, op,
                     {max ? "ArgMax" : "ArgMin",
                      {name},
                      {Attribute::Int("axis", *axis), Attribute::Int("keepdims", 0)}},
                     y);
}

Result<void> ConvertTopK(TfliteBuilder& builder, const TfliteOperator& op) {
  QTX_ASSIGN_OR_RETURN(const int x, builder.Input(op, 0));
  QTX_ASSIGN_OR_RETURN(const std::vector<std::int64_t> k, ConstantInput(builder, op, 1));
  if (k.size() != 1 || op.outputs.size() != 2) {
    return Error{ErrorCode::kInvalid, "k", "expected one, and two outputs"};
  }
  const int values = op.outputs[0], indices = op.outputs[1];
  Dims expected = builder.tensor(x).dims;
  if (expected.empty()) return BadOutput(builder.tensor(x), builder.tensor(values));
  expected.back() = k[0];
  for (const int y : {values, indices}) {
    if (builder.tensor(y).dims != expected) return BadOutput(builder.tensor(x), builder.tensor(y));
  }
  QTX_ASSIGN_OR_RETURN(const std::string name, builder.Use(x, Layout::kOwn));
  const std::string count =
      builder.AddConstant(builder.tensor(values).name + "/k", graph::IntsTensor(k));
  QTX_ASSIGN_OR_RETURN(const format::TensorType type, builder.Type(indices));
  if (type.elem_type == ElementType::kInt64) {
    return builder.EmitAll(op, {"TopK", {name, count}, {}}, op.outputs, Layout::kOwn);
  }
  format::TensorType wide_type = type;
  wide_type.elem_type = ElementType::kInt64;
  const std::string wide =
      builder.Inner(builder.tensor(indices).name + "/int64", std::move(wide_type));
  QTX_RETURN_IF_ERROR(builder.EmitAll(op, {"TopK", {name, count}, {}}, std::vector<int>{values},
                                      Layout::kOwn, {wide}));
  const auto to = static_cast<std::int64_t>(type.elem_type);
  return builder.Emit(op, {"Cast", {wide}, {Attribute::Int("to", to)}}, indices, Layout::kOwn);
}

Result<void> ConvertCumsum(TfliteBuilder& builder, const TfliteOperator& op) {
  const auto* options = op.options->builtin_options_as_CumsumOptions();
  QTX_ASSIGN_OR_RETURN(const int x, builder.Input(op, 0));
  QTX_ASSIGN_OR_RETURN(const int y, builder.Output(op));
  QTX_ASSIGN_OR_RETURN(const std::vector<std::int64_t> axes, ConstantInput(builder, op, 1));
  const Dims& dims = builder.tensor(x).dims;
  if (axes.size() != 1) return Error{ErrorCode::kInvalid, "axis", "expected one"};
  auto axis = format::NormalizeAxis(axes[0], static_cast<std::int64_t>(dims.size()));
  if (!axis.has_value()) return At("axis", axis.error());
  if (builder.tensor(y).dims != dims) return BadOutput(builder.tensor(x), builder.tensor(y));
  QTX_ASSIGN_OR_RETURN(const std::string name, builder.Use(x, Layout::kOwn));
  Draft draft{"CumSum",
              {name, builder.AddConstant(builder.tensor(y).name + "/axis", Int64Scalar(*axis))},
              {}};
  if (options != nullptr && options->exclusive())
    draft.attributes.push_back(Attribute::Int("exclusive", 1));
  if (options != nullptr && options->reverse())
    draft.attributes.push_back(Attribute::Int("reverse", 1));
  return builder.Emit(op, std::move(draft), y, Layout::kOwn);
}

Result<void> ConvertL2Normalization(TfliteBuilder& builder, const TfliteOperator& op) {
  QTX_ASSIGN_OR_RETURN(const int x, builder.Input(op, 0));
  QTX_ASSIGN_OR_RETURN(const int y, builder.Output(op));
  if (builder.tensor(x).dims != builder.tensor(y).dims || builder.tensor(x).dims.empty()) {
    return BadOutput(builder.tensor(x), builder.tensor(y));
  }
  QTX_ASSIGN_OR_RETURN(const std::string name, builder.Use(x, Layout::kOwn));
  builder.Note(builder.tensor(y).name, "epsilon", "none; TFLite divides by at least 1e-6");
  return builder.Emit(
      op, {"LpNormalization", {name}, {Attribute::Int("axis", -1), Attribute::Int("p", 2)}}, y,
      Layout::kOwn);
}

}  // namespace qtx::convert
