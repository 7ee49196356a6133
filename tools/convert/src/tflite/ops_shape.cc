// RESHAPE and its kin, SHAPE, TRANSPOSE, PAD, CONCATENATION, PACK, TILE: operators that move
// elements.
#include <algorithm>

#include "errors.h"
#include "tflite/ops.h"
#include "tflite/types.h"

namespace qtx::convert {
namespace {

using format::Attribute;
using format::Dims;

bool IsPermutation(std::vector<std::int64_t> perm, std::size_t rank) {
  std::sort(perm.begin(), perm.end());
  for (std::size_t i = 0; i < perm.size(); ++i) {
    if (perm[i] != static_cast<std::int64_t>(i)) return false;
  }
  return perm.size() == rank;
}

// Begins then ends, from TFLite's [rank,2] rows of begin and end.  Errors: kInvalid when the
// output's shape is not the padded one.
Result<std::vector<std::int64_t>> PadsOf(const std::vector<std::int64_t>& rows, const Dims& x,
                                         const Dims& y) {
  if (rows.size() != 2 * x.size() || y.size() != x.size()) {
    return Invalid("pads", "found " + std::to_string(rows.size()) + " values for rank " +
                               std::to_string(x.size()));
  }
  std::vector<std::int64_t> pads(rows.size());
  for (std::size_t axis = 0; axis < x.size(); ++axis) {
    const std::int64_t begin = rows[2 * axis], end = rows[2 * axis + 1];
    // A pad beyond the output cannot be right, and the sum of three sizes does not overflow.
    if (begin < 0 || end < 0 || begin > y[axis] || end > y[axis] ||
        x[axis] + begin + end != y[axis]) {
      return Invalid("output", "size " + std::to_string(y[axis]) + " on axis " +
                                   std::to_string(axis) + " for input size " +
                                   std::to_string(x[axis]) + " and pads " + std::to_string(begin) +
                                   ", " + std::to_string(end));
    }
    pads[axis] = begin;
    pads[x.size() + axis] = end;
  }
  return pads;
}

// Pads of [N,H,W,C], in the order of [N,C,H,W].
std::vector<std::int64_t> ToNchw(const std::vector<std::int64_t>& pads) {
  std::vector<std::int64_t> moved = Permute(std::span(pads).first(4), NhwcToNchw());
  const std::vector<std::int64_t> ends = Permute(std::span(pads).last(4), NhwcToNchw());
  moved.insert(moved.end(), ends.begin(), ends.end());
  return moved;
}

}  // namespace

Result<void> ConvertReshape(TfliteBuilder& builder, const TfliteOperator& op) {
  QTX_ASSIGN_OR_RETURN(const int x, builder.Input(op, 0));
  QTX_ASSIGN_OR_RETURN(const int y, builder.Output(op));
  const Dims& x_dims = builder.tensor(x).dims;
  const Dims& y_dims = builder.tensor(y).dims;
  QTX_ASSIGN_OR_RETURN(const std::int64_t x_count, format::ElementCount(x_dims));
  QTX_ASSIGN_OR_RETURN(const std::int64_t y_count, format::ElementCount(y_dims));
  if (x_count != y_count) {
    return BadOutput(builder.tensor(x), builder.tensor(y));
  }
  const bool nchw = builder.Preferred(x) == Layout::kFirst && SameOrder(x_dims);
  QTX_ASSIGN_OR_RETURN(const std::string x_name,
                       builder.Use(x, nchw ? Layout::kFirst : Layout::kOwn));
  Draft draft{"Reshape", {x_name}, {}};
  draft.inputs.push_back(
      builder.AddConstant(builder.tensor(y).name + "/shape", graph::IntsTensor(y_dims)));
  return builder.Emit(op, std::move(draft), y, Layout::kOwn);
}

Result<void> ConvertTranspose(TfliteBuilder& builder, const TfliteOperator& op) {
  QTX_ASSIGN_OR_RETURN(const int x, builder.Input(op, 0));
  QTX_ASSIGN_OR_RETURN(const int y, builder.Output(op));
  QTX_ASSIGN_OR_RETURN(const std::vector<std::int64_t> perm, ConstantInput(builder, op, 1));
  const Dims& x_dims = builder.tensor(x).dims;
  if (!IsPermutation(perm, x_dims.size()) || Permute(x_dims, perm) != builder.tensor(y).dims) {
    return Invalid("perm", "does not take shape " + format::ToString(x_dims) + " to " +
                               format::ToString(builder.tensor(y).dims));
  }
  QTX_ASSIGN_OR_RETURN(const std::string x_name, builder.Use(x, Layout::kOwn));
  return builder.Emit(op, {"Transpose", {x_name}, {Attribute::Ints("perm", perm)}}, y,
                      Layout::kOwn);
}

Result<void> ConvertPad(TfliteBuilder& builder, const TfliteOperator& op) {
  QTX_ASSIGN_OR_RETURN(const int x, builder.Input(op, 0));
  QTX_ASSIGN_OR_RETURN(const int y, builder.Output(op));
  QTX_ASSIGN_OR_RETURN(const std::vector<std::int64_t> rows, ConstantInput(builder, op, 1));
  QTX_ASSIGN_OR_RETURN(std::vector<std::int64_t> pads,
                       PadsOf(rows, builder.tensor(x).dims, builder.tensor(y).dims));
  const Layout layout = CommonLayout(builder, std::vector<int>{x, y});
  if (layout == Layout::kFirst) pads = ToNchw(pads);
  QTX_ASSIGN_OR_RETURN(const std::string x_name, builder.Use(x, layout));
  Draft draft{"Pad", {x_name}, {}};
  draft.inputs.push_back(
      builder.AddConstant(builder.tensor(y).name + "/pads", graph::IntsTensor(pads)));
  if (op.code == schema::BuiltinOperator::PADV2) {
    QTX_ASSIGN_OR_RETURN(const int value, builder.Input(op, 2));
    QTX_ASSIGN_OR_RETURN(std::string name, builder.Use(value, Layout::kOwn));
    draft.inputs.push_back(std::move(name));
  } else if (op.code == schema::BuiltinOperator::MIRROR_PAD) {
    const auto* options = op.options->builtin_options_as_MirrorPadOptions();
    if (options == nullptr || options->mode() != schema::MirrorPadMode::REFLECT) {
      return Error{ErrorCode::kUnsupported, "mode", "a mirror that repeats the edge"};
    }
    draft.attributes.push_back(Attribute::String("mode", "reflect"));
  }
  return builder.Emit(op, std::move(draft), y, layout);
}

Result<void> ConvertConcatenation(TfliteBuilder& builder, const TfliteOperator& op) {
  const auto* options = op.options->builtin_options_as_ConcatenationOptions();
  if (options == nullptr) return Invalid("options", "missing");
  QTX_ASSIGN_OR_RETURN(const int y, builder.Output(op));
  const Dims& dims = builder.tensor(y).dims;
  auto axis = format::NormalizeAxis(options->axis(), static_cast<std::int64_t>(dims.size()));
  if (!axis.has_value()) return At("axis", axis.error());
  std::vector<int> tensors = {y};
  for (std::size_t i = 0; i < op.inputs.size(); ++i) {
    QTX_ASSIGN_OR_RETURN(const int x, builder.Input(op, i));
    tensors.push_back(x);
  }
  const Layout layout = CommonLayout(builder, tensors);
  if (layout == Layout::kFirst) *axis = PermuteAxis(*axis, NhwcToNchw());
  Draft draft{"Concat", {}, {Attribute::Int("axis", *axis)}};
  for (std::size_t i = 1; i < tensors.size(); ++i) {
    QTX_ASSIGN_OR_RETURN(std::string name, builder.Use(tensors[i], layout));
    draft.inputs.push_back(std::move(name));
  }
  return builder.Emit(op, std::move(draft), y, layout, options->fused_activation_function());
}

Result<void> ConvertPack(TfliteBuilder& builder, const TfliteOperator& op) {
  const auto* options = op.options->builtin_options_as_PackOptions();
  if (options == nullptr) return NoOptions();
  QTX_ASSIGN_OR_RETURN(const int y, builder.Output(op));
  const Dims& dims = builder.tensor(y).dims;
  auto axis = format::NormalizeAxis(options->axis(), static_cast<std::int64_t>(dims.size()));
  if (!axis.has_value()) return At("axis", axis.error());
  Dims part = dims;
  part.erase(part.begin() + *axis);
  if (static_cast<std::int64_t>(op.inputs.size()) != dims[static_cast<std::size_t>(*axis)]) {
    return Invalid("inputs", "found " + std::to_string(op.inputs.size()) + " for output " +
                                 format::ToString(dims));
  }
  Draft concat{"Concat", {}, {Attribute::Int("axis", *axis)}};
  for (std::size_t i = 0; i < op.inputs.size(); ++i) {
    QTX_ASSIGN_OR_RETURN(const int x, builder.Input(op, i));
    if (builder.tensor(x).dims != part) return BadOutput(builder.tensor(x), builder.tensor(y));
    QTX_ASSIGN_OR_RETURN(const std::string name, builder.Use(x, Layout::kOwn));
    QTX_ASSIGN_OR_RETURN(const format::TensorType own, builder.Type(x));
    Dims shape = part;
    shape.insert(shape.begin() + *axis, 1);
    QTX_ASSIGN_OR_RETURN(format::TensorType type, Reshaped(own, shape));
    const std::string axes =
        builder.AddConstant(builder.tensor(x).name + "/axes", graph::IntsTensor({&*axis, 1}));
    concat.inputs.push_back(builder.EmitInner(op, {"Unsqueeze", {name, axes}, {}},
                                              builder.tensor(x).name + "/part", std::move(type)));
  }
  return builder.Emit(op, std::move(concat), y, Layout::kOwn);
}

Result<void> ConvertShape(TfliteBuilder& builder, const TfliteOperator& op) {
  QTX_ASSIGN_OR_RETURN(const int x, builder.Input(op, 0));
  QTX_ASSIGN_OR_RETURN(const int y, builder.Output(op));
  const Dims expected = {static_cast<std::int64_t>(builder.tensor(x).dims.size())};
  if (builder.tensor(y).dims != expected) return BadOutput(builder.tensor(x), builder.tensor(y));
  QTX_ASSIGN_OR_RETURN(const std::string name, builder.Use(x, Layout::kOwn));
  return EmitIndices(builder, op, {"Shape", {name}, {}}, y);
}

Result<void> ConvertTile(TfliteBuilder& builder, const TfliteOperator& op) {
  QTX_ASSIGN_OR_RETURN(const int x, builder.Input(op, 0));
  QTX_ASSIGN_OR_RETURN(const int y, builder.Output(op));
  QTX_ASSIGN_OR_RETURN(const std::vector<std::int64_t> repeats, ConstantInput(builder, op, 1));
  QTX_ASSIGN_OR_RETURN(const std::string x_name, builder.Use(x, Layout::kOwn));
  const std::string name =
      builder.AddConstant(builder.tensor(y).name + "/repeats", graph::IntsTensor(repeats));
  return builder.Emit(op, {"Tile", {x_name, name}, {}}, y, Layout::kOwn);
}

// FILL repeats its second input, ZEROS_LIKE a zero.
Result<void> ConvertFill(TfliteBuilder& builder, const TfliteOperator& op) {
  QTX_ASSIGN_OR_RETURN(const int y, builder.Output(op));
  QTX_ASSIGN_OR_RETURN(const format::TensorType type, builder.Type(y));
  const TfliteTensor& output = builder.tensor(y);
  std::string value;
  if (op.code == schema::BuiltinOperator::FILL) {
    QTX_ASSIGN_OR_RETURN(const int x, builder.Input(op, 1));
    QTX_ASSIGN_OR_RETURN(value, builder.Use(x, Layout::kOwn));
  } else if (type.quantization) {
    return Error{ErrorCode::kUnsupported, "output", "a quantized zero, expected plain numbers"};
  } else {
    QTX_ASSIGN_OR_RETURN(const format::Tensor zero, format::MakeTensor(type.elem_type, {}));
    value = builder.AddConstant(output.name + "/zero", zero);
  }
  const std::string shape =
      builder.AddConstant(output.name + "/shape", graph::IntsTensor(output.dims));
  return builder.Emit(op, {"Expand", {value, shape}, {}}, y, Layout::kOwn);
}

Result<void> ConvertBroadcastTo(TfliteBuilder& builder, const TfliteOperator& op) {
  QTX_ASSIGN_OR_RETURN(const int x, builder.Input(op, 0));
  QTX_ASSIGN_OR_RETURN(const int y, builder.Output(op));
  QTX_ASSIGN_OR_RETURN(const std::string x_name, builder.Use(x, Layout::kOwn));
  const std::string shape = builder.AddConstant(builder.tensor(y).name + "/shape",
                                                graph::IntsTensor(builder.tensor(y).dims));
  return builder.Emit(op, {"Expand", {x_name, shape}, {}}, y, Layout::kOwn);
}

}  // namespace qtx::convert
