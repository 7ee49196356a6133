// Element-wise operators.
#include "caffe2/ops.h"
#include "errors.h"

namespace qtx::convert {
namespace {

using format::Attribute;
using format::ElementType;
using format::TensorType;

}  // namespace

Result<void> ConvertCaffe2Sum(Caffe2Builder& builder, const Caffe2Operator& op) {
  if (op.inputs.size() != 2) {
    return Unsupported("inputs",
                       "found " + std::to_string(op.inputs.size()) + ", expected 2 to be added");
  }
  QTX_ASSIGN_OR_RETURN(TensorType type, Caffe2ResultType(builder, op));
  if (IsInt8(op)) {
    QTX_RETURN_IF_ERROR(builder.QuantizedType(op.inputs[1]));
  } else if (op.IntOr("broadcast", 0) != 0 && op.Find("axis") != nullptr) {
    return Unsupported("axis", "broadcast that does not begin at the last dimension");
  }
  // Both operands in the first's current order; broadcast operands in the net's order.
  const TensorType other = builder.Type(op.inputs[1]);
  const bool same_rank = other.shape && other.shape->size() == 4;
  const Layout order = same_rank ? builder.Preferred(op.inputs[0]) : Layout::kOwn;
  QTX_ASSIGN_OR_RETURN(const std::string a, builder.Use(op.inputs[0], order));
  QTX_ASSIGN_OR_RETURN(const std::string b, builder.Use(op.inputs[1], order));
  return builder.Emit(op, {"Add", {a, b}, {}}, std::move(type), order, op.type.ends_with("Relu"));
}

Result<void> ConvertCaffe2Unary(Caffe2Builder& builder, const Caffe2Operator& op) {
  QTX_ASSIGN_OR_RETURN(TensorType type, Caffe2ResultType(builder, op));
  const Layout order = builder.Preferred(op.inputs[0]);
  QTX_ASSIGN_OR_RETURN(const std::string x, builder.Use(op.inputs[0], order));
  Draft draft{IsInt8(op) ? op.type.substr(4) : op.type, {x}, {}};
  if (draft.op_type == "LeakyRelu")
    draft.attributes.push_back(Attribute::Float("alpha", op.FloatOr("alpha", 0.01F)));
  return builder.Emit(op, std::move(draft), std::move(type), order);
}

// Caffe2 makes rows of all dimensions from `axis` on.
Result<void> ConvertCaffe2Softmax(Caffe2Builder& builder, const Caffe2Operator& op) {
  QTX_ASSIGN_OR_RETURN(TensorType type, Caffe2ResultType(builder, op));
  const std::int64_t axis = op.IntOr("axis", 1);
  const auto rank = type.shape ? static_cast<std::int64_t>(type.shape->size()) : 0;
  if (rank == 0 || (axis != rank - 1 && axis != -1)) {
    return Unsupported("axis",
                       "found " + std::to_string(axis) + " of " +
                           (rank == 0 ? "an unknown rank" : "rank " + std::to_string(rank)) +
                           ", expected the last dimension");
  }
  QTX_ASSIGN_OR_RETURN(const std::string x, builder.Use(op.inputs[0]));
  return builder.Emit(op, {"Softmax", {x}, {Attribute::Int("axis", -1)}}, std::move(type));
}

Result<void> ConvertCaffe2Cast(Caffe2Builder& builder, const Caffe2Operator& op) {
  QTX_ASSIGN_OR_RETURN(const std::string blob, Caffe2Input(op, 0));
  TensorType type;
  type.elem_type = ElementType::kFloat;
  if (op.type == "Int8Quantize") {
    const TensorType from = builder.Type(blob);
    if (from.elem_type != ElementType::kFloat)
      return Unsupported("blob '" + blob + "'",
                         "found " + std::string(format::Name(from.elem_type)) + ", expected FLOAT");
    QTX_ASSIGN_OR_RETURN(type, Caffe2OutputType(op));
  } else {
    QTX_RETURN_IF_ERROR(builder.QuantizedType(blob));
  }
  type.shape = builder.Type(blob).shape;
  const Layout order = builder.Preferred(blob);
  QTX_ASSIGN_OR_RETURN(const std::string x, builder.Use(blob, order));
  const auto to = static_cast<std::int64_t>(type.elem_type);
  return builder.Emit(op, {"Cast", {x}, {Attribute::Int("to", to)}}, std::move(type), order);
}

Result<void> ConvertCaffe2Copy(Caffe2Builder& builder, const Caffe2Operator& op) {
  QTX_ASSIGN_OR_RETURN(const std::string x, Caffe2Input(op, 0));
  TensorType type = builder.Type(x);
  const Layout order = builder.Preferred(x);
  QTX_ASSIGN_OR_RETURN(const std::string name, builder.Use(x, order));
  return builder.Emit(op, {"Identity", {name}, {}}, std::move(type), order);
}

}  // namespace qtx::convert
