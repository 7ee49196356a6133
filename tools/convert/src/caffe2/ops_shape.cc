// Operators that move elements and compute nothing.
#include <algorithm>

#include "caffe2/ops.h"
#include "errors.h"

namespace qtx::convert {
namespace {

using format::Attribute;
using format::TensorType;
using Ints = std::vector<std::int64_t>;

bool IsPermutation(Ints perm) {
  std::ranges::sort(perm);
  for (std::size_t i = 0; i < perm.size(); ++i) {
    if (perm[i] != static_cast<std::int64_t>(i)) return false;
  }
  return !perm.empty();
}

Result<void> EmitTranspose(Caffe2Builder& builder, const Caffe2Operator& op, Ints perm) {
  QTX_ASSIGN_OR_RETURN(TensorType type, Caffe2ResultType(builder, op));
  if (type.shape && type.shape->size() != perm.size()) {
    return Invalid("blob '" + op.inputs[0] + "'", "rank " + std::to_string(type.shape->size()) +
                                                      ", expected " + std::to_string(perm.size()));
  }
  QTX_ASSIGN_OR_RETURN(const std::string x, builder.Use(op.inputs[0]));
  type = Permute(std::move(type), perm);
  return builder.Emit(op, {"Transpose", {x}, {Attribute::Ints("perm", std::move(perm))}},
                      std::move(type));
}

std::string OutputName(const Caffe2Operator& op) {
  return op.outputs.empty() ? op.type : op.outputs[0];
}

// Starts and ends of each dimension from the first on.
struct Bounds {
  Ints starts, ends, axes;
};

Result<Bounds> BoundsOf(const Caffe2Operator& op) {
  if (op.inputs.size() > 1) return Unsupported("inputs", "computed bounds");
  Bounds bounds{op.IntsOr("starts", {}), op.IntsOr("ends", {}), {}};
  if (op.Find("dim") != nullptr) {
    bounds = {{op.IntOr("start_idx", 0)}, {op.IntOr("end_idx", -1)}, {op.IntOr("dim", 0)}};
    return bounds;
  }
  if (bounds.starts.empty() || bounds.starts.size() != bounds.ends.size() ||
      bounds.starts.size() > 16)
    return Invalid("starts and ends", "expected one of each for every dimension");
  for (std::size_t i = 0; i < bounds.starts.size(); ++i)
    bounds.axes.push_back(static_cast<std::int64_t>(i));
  return bounds;
}

}  // namespace

Result<void> ConvertCaffe2Order(Caffe2Builder& builder, const Caffe2Operator& op) {
  return EmitTranspose(builder, op, op.type == "NCHW2NHWC" ? NchwToNhwc() : NhwcToNchw());
}

Result<void> ConvertCaffe2Transpose(Caffe2Builder& builder, const Caffe2Operator& op) {
  Ints axes = op.IntsOr("axes", {});
  if (axes.size() > 16 || !IsPermutation(axes))
    return Invalid("axes", "expected a permutation, found " + format::ToString(axes));
  return EmitTranspose(builder, op, std::move(axes));
}

// 0 keeps a dimension and -1 is what is left, as in ONNX.
Result<void> ConvertCaffe2Reshape(Caffe2Builder& builder, const Caffe2Operator& op) {
  QTX_ASSIGN_OR_RETURN(TensorType type, Caffe2ResultType(builder, op));
  const Ints shape = op.IntsOr("shape", {});
  if (shape.empty() || shape.size() > 16 || op.inputs.size() > 1)
    return Unsupported("shape", "expected as an argument of 1 to 16 values");
  type.shape = UnknownShape(shape.size());
  QTX_ASSIGN_OR_RETURN(const std::string x, builder.Use(op.inputs[0]));
  const std::string to = builder.AddInts(OutputName(op) + "/shape", shape);
  return builder.Emit(op, {"Reshape", {x, to}, {}}, std::move(type));
}

Result<void> ConvertCaffe2Flatten(Caffe2Builder& builder, const Caffe2Operator& op) {
  QTX_ASSIGN_OR_RETURN(TensorType type, Caffe2ResultType(builder, op));
  type.shape = UnknownShape(2);
  QTX_ASSIGN_OR_RETURN(const std::string x, builder.Use(op.inputs[0]));
  const std::int64_t axis = op.IntOr("axis", 1);
  return builder.Emit(op, {"Flatten", {x}, {Attribute::Int("axis", axis)}}, std::move(type));
}

// Source: PyTorch, concat_split_op.h and quantized/int8_concat_op.h: `axis`, else that of the
// channels in `order`, whose default is NCHW for FLOAT and none for quantized blobs.
Result<void> ConvertCaffe2Concat(Caffe2Builder& builder, const Caffe2Operator& op) {
  QTX_ASSIGN_OR_RETURN(TensorType type, Caffe2ResultType(builder, op));
  const std::string order = op.StringOr("order", IsInt8(op) ? "" : "NCHW");
  const std::int64_t channels = order == "NHWC" ? 3 : (order == "NCHW" ? 1 : 0);
  const std::int64_t axis = op.IntOr("axis", channels);
  if (op.IntOr("add_axis", 0) != 0) return Unsupported("add_axis", "a new dimension");
  if (op.outputs.size() > 1)
    builder.NoteChange(op.outputs[1], "value", "the sizes along the axis; not converted");
  Draft draft{"Concat", {}, {Attribute::Int("axis", axis)}};
  for (const std::string& input : op.inputs) {
    if (IsInt8(op)) QTX_RETURN_IF_ERROR(builder.QuantizedType(input));
    QTX_ASSIGN_OR_RETURN(const std::string name, builder.Use(input));
    draft.inputs.push_back(name);
  }
  if (type.shape) type.shape = UnknownShape(type.shape->size());
  return builder.Emit(op, std::move(draft), std::move(type));
}

// A negative end counts from one beyond the last element: -1 is all there is.
// Source: PyTorch, caffe2/operators/slice_op.h, SliceImpl.
Result<void> ConvertCaffe2Slice(Caffe2Builder& builder, const Caffe2Operator& op) {
  QTX_ASSIGN_OR_RETURN(TensorType type, Caffe2ResultType(builder, op));
  QTX_ASSIGN_OR_RETURN(Bounds bounds, BoundsOf(op));
  for (auto* values : {&bounds.starts, &bounds.ends}) {
    for (std::int64_t& value : *values) {
      if (value == -1) {
        value = INT64_MAX;
      } else if (value < 0) {
        ++value;
      }
    }
  }
  if (type.shape) type.shape = UnknownShape(type.shape->size());
  const std::string stem = OutputName(op);
  QTX_ASSIGN_OR_RETURN(const std::string x, builder.Use(op.inputs[0]));
  return builder.Emit(
      op,
      {"Slice",
       {x, builder.AddInts(stem + "/starts", bounds.starts),
        builder.AddInts(stem + "/ends", bounds.ends), builder.AddInts(stem + "/axes", bounds.axes)},
       {}},
      std::move(type));
}

// Channels of [N,H,W,group,C/group] become [N,H,W,C/group,group]; in NCHW likewise.
Result<void> ConvertCaffe2Shuffle(Caffe2Builder& builder, const Caffe2Operator& op) {
  QTX_ASSIGN_OR_RETURN(TensorType type, Caffe2ResultType(builder, op));
  const std::int64_t group = op.IntOr("group", 1);
  if (group < 1) return Invalid("group", "found " + std::to_string(group));
  const bool last = IsInt8(op) || op.StringOr("order", "NCHW") == "NHWC";
  QTX_ASSIGN_OR_RETURN(const std::string x, builder.Use(op.inputs[0]));
  if (!last) return Unsupported("order", "found order NCHW, which needs a known shape");
  const std::string stem = OutputName(op);
  TensorType inner = type;
  inner.shape = UnknownShape(5);
  const std::string split = builder.EmitInner(
      op, {"Reshape", {x, builder.AddInts(stem + "/groups", {0, 0, 0, group, -1})}, {}},
      stem + "/split", inner);
  const std::string turned =
      builder.EmitInner(op, {"Transpose", {split}, {Attribute::Ints("perm", {0, 1, 2, 4, 3})}},
                        stem + "/turned", inner);
  const std::string shape = builder.AddInts(stem + "/channels", {0, 0, 0, -1});
  return builder.Emit(op, {"Reshape", {turned, shape}, {}}, std::move(type));
}

// y takes x at floor(position / scale).  Source: PyTorch, quantized/int8_resize_nearest_op.h.
Result<void> ConvertCaffe2Resize(Caffe2Builder& builder, const Caffe2Operator& op) {
  QTX_ASSIGN_OR_RETURN(TensorType type, Caffe2ResultType(builder, op));
  if (op.inputs.size() > 1) return Unsupported("inputs", "computed scales");
  const std::string order = op.StringOr("order", IsInt8(op) ? "NHWC" : "NCHW");
  const std::vector<float> scales = {1, 1, op.FloatOr("height_scale", 1),
                                     op.FloatOr("width_scale", 1)};
  const auto bytes = std::as_bytes(std::span(scales));
  const format::Tensor tensor{
      format::ElementType::kFloat, {4}, std::nullopt, {bytes.begin(), bytes.end()}};
  const auto held = order == "NHWC" ? Layout::kFirst : Layout::kOwn;
  QTX_ASSIGN_OR_RETURN(const std::string x, builder.Use(op.inputs[0], held));
  type.shape = UnknownShape(4);
  return builder.Emit(
      op,
      {"Resize",
       {x, "", builder.AddInitializer(OutputName(op) + "/scales", tensor)},
       {Attribute::String("mode", "nearest"), Attribute::String("nearest_mode", "floor"),
        Attribute::String("coordinate_transformation_mode", "asymmetric")}},
      std::move(type), held);
}

}  // namespace qtx::convert
