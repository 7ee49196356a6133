#include "qoperator/lift.h"

#include <algorithm>
#include <cmath>

#include "qoperator/bnb4.h"
#include "qoperator/constants.h"
#include "qoperator/gather_blocks.h"
#include "qoperator/integer_product.h"
#include "qoperator/n_bits.h"
#include "qoperator/operators.h"
#include "qoperator/product_bias.h"
#include "qtx/format/accumulator.h"
#include "qtx/format/catalogue.h"

namespace qtx::convert {
namespace {

using format::ElementType;
using format::Node;
using MaybeLift = std::optional<Lift>;

// The axis of several scales of operand `i`: filters of Conv, rows and columns of a product.
std::int64_t AxisOfOperand(const Node& plain, std::size_t i) {
  if (plain.op_type == "Conv") return i == 0 ? 1 : 0;
  if (plain.op_type == "MatMul") return i == 0 ? -2 : -1;
  return plain.op_type == "Gemm" && i == 1 ? format::OutputAxis(plain, 2) : 0;
}

// The scale of the bias: the binary32 product of x_scale and w_scale, per channel as w_scale is.
// Source: ONNX QLinearConv, "bias is quantized with scale = x_scale * w_scale and zero_point = 0".
std::optional<QdqParameters> BiasParameters(const Lift& lift, std::int64_t rank) {
  const auto& x = lift.inputs.at(0).quantization;
  const auto& w = lift.inputs.at(1).quantization;
  if (x.scale.size() != 1) return std::nullopt;
  QdqParameters bias{ElementType::kInt32Q, {}};
  for (const float scale : w.scale) {
    const float product = x.scale[0] * scale;
    if (!std::isfinite(product) || product <= 0) return std::nullopt;
    bias.quantization.scale.push_back(product);
  }
  if (bias.quantization.scale.size() != 1) bias.quantization.axis = {rank - 1};
  return bias;
}

// True for constants and graph inputs, which may be INT32Q (no QuantizeLinear produces it).
Result<bool> IsGiven(const GraphIndex& index, const std::string& value) {
  if (index.IsInput(value)) return index.Initializer(value) == nullptr && !index.IsOutput(value);
  QTX_ASSIGN_OR_RETURN(const auto constant, index.Constant(value));
  return constant.has_value();
}

Result<bool> AddBias(const LiftContext& context, const std::string& bias, Lift& lift) {
  QTX_ASSIGN_OR_RETURN(const ElementType storage, StorageOfValue(context.index, bias));
  if (storage != ElementType::kInt32 && storage != ElementType::kUndefined)
    return Error{ErrorCode::kInvalid, "value '" + bias + "'",
                 "found " + std::string(format::Name(storage)) + ", expected INT32"};
  QTX_ASSIGN_OR_RETURN(const bool given, IsGiven(context.index, bias));
  const auto rank = context.index.RankOf(bias);
  const auto parameters = BiasParameters(lift, rank.value_or(1));
  if (!given) {
    context.why = "bias '" + bias + "' is computed at run time";
  } else if (!parameters) {
    context.why = "the scale of bias '" + bias + "', x_scale * w_scale, is not a positive binary32";
  } else if (parameters->quantization.scale.size() > 1 && (!rank || *rank < 1)) {
    context.why = "the axis of the scales of bias '" + bias + "' is unknown";
  } else {
    lift.inputs.emplace(lift.node.inputs.size(), *parameters);
    lift.node.inputs.push_back(bias);
    return true;
  }
  return false;
}

void Erase(Node& node, std::string_view attribute) {
  std::erase_if(node.attributes, [&](const auto& a) { return a.name == attribute; });
}

// Softmax of opset 13 runs along one axis, before over all axes from it on.
bool AdjustSoftmax(const LiftContext& context, const Node& node, Lift& lift) {
  const std::int64_t opset = format::Attributes(node).Int("opset");
  const bool new_meaning = opset >= 13;
  const bool new_model = context.index.model().OpsetVersion("") >= 13;
  const std::int64_t axis =
      format::Attributes(*format::FindSchema("", "Softmax"), node, opset).Int("axis");
  const auto rank = context.index.RankOf(node.inputs[0]);
  const bool last = axis == -1 || (rank && axis == *rank - 1);
  if (new_meaning != new_model && !last) {
    context.why = "Softmax changed between its opset and the model's";
    return false;
  }
  Erase(lift.node, "opset");
  if (node.Find("axis") == nullptr && new_meaning != new_model)
    lift.node.attributes.push_back(format::Attribute::Int("axis", axis));
  return true;
}

// Checks attributes that the plain operator lacks; false with `why` if they matter.
bool AdjustAttributes(const LiftContext& context, const Node& node, Lift& lift) {
  if (format::Attributes(node).Int("channels_last") != 0) {
    context.why = "channels_last layout";
    return false;
  }
  Erase(lift.node, "channels_last");
  if (lift.node.op_type == "Softmax") return AdjustSoftmax(context, node, lift);
  if (lift.node.op_type == "Gemm" && format::Attributes(lift.node).Float("alpha") != 1) {
    context.why = "alpha scales the accumulator and is not 1";
    return false;
  }
  if (lift.node.op_type == "ReduceMean" && context.index.model().OpsetVersion("") >= 18 &&
      node.Find("axes") != nullptr) {
    context.why = "ReduceMean of this opset has its axes as an input";
    return false;
  }
  return true;
}

Result<bool> AddOperands(const LiftContext& context, const Node& node,
                         const QOperatorLayout& layout, Lift& lift) {
  for (const std::size_t i : layout.untouched) lift.node.inputs.push_back(InputOf(node, i));
  for (std::size_t i = 0; i < layout.operands.size(); ++i) {
    const OperandSlots& slots = layout.operands[i];
    OperandQuery query{slots, InputOf(node, slots.value), AxisOfOperand(lift.node, i),
                       ElementType::kUndefined};
    if (i > 0) query.storage = format::StorageOf(lift.inputs.begin()->second.elem_type);
    if (query.value.empty() || InputOf(node, slots.scale).empty())
      return Error{ErrorCode::kInvalid, "inputs", "found " + std::to_string(node.inputs.size())};
    QTX_ASSIGN_OR_RETURN(const auto parameters,
                         ConstantParameters(context.index, node, query, context.why));
    if (!parameters) return false;
    lift.inputs.emplace(lift.node.inputs.size(), *parameters);
    lift.node.inputs.push_back(query.value);
  }
  return true;
}

Result<bool> AddResult(const LiftContext& context, const Node& node, const QOperatorLayout& layout,
                       Lift& lift) {
  if (!layout.result || InputOf(node, layout.result->scale).empty()) return true;
  const OperandQuery query{*layout.result, node.outputs[0], -2,
                           format::StorageOf(lift.inputs.begin()->second.elem_type)};
  QTX_ASSIGN_OR_RETURN(const auto parameters,
                       ConstantParameters(context.index, node, query, context.why));
  if (!parameters) return false;
  lift.outputs.emplace(0, *parameters);
  return true;
}

Result<MaybeLift> LiftByLayout(const LiftContext& context, const Node& node,
                               const QOperatorLayout& layout) {
  if (node.outputs.size() != 1)
    return Error{ErrorCode::kInvalid, "outputs", "found " + std::to_string(node.outputs.size())};
  Lift lift{PlainNode(node, layout.plain), {}, {}, {}, {}, {}};
  QTX_ASSIGN_OR_RETURN(bool said, AddOperands(context, node, layout, lift));
  if (!said || lift.inputs.empty()) return MaybeLift();
  QTX_ASSIGN_OR_RETURN(said, AddResult(context, node, layout, lift));
  if (said && layout.bias && !InputOf(node, *layout.bias).empty()) {
    QTX_ASSIGN_OR_RETURN(said, AddBias(context, InputOf(node, *layout.bias), lift));
  }
  if (!said || !AdjustAttributes(context, node, lift)) return MaybeLift();
  return MaybeLift(std::move(lift));
}

}  // namespace

Node PlainNode(const Node& from, std::string_view op_type) {
  Node node = from;
  node.op_type = op_type;
  node.domain.clear();
  node.inputs.clear();
  if (node.origin && node.origin->framework == kOwnFramework) {
    if (!node.origin->attributes.empty()) node.attributes = node.origin->attributes;
    node.origin.reset();
  } else if (!node.origin) {
    // Some files have com.microsoft's operators in ONNX's domain, which runtimes refuse.
    const std::string theirs(DomainOf(from.op_type));
    const std::string& domain = theirs.empty() ? from.domain : theirs;
    node.origin =
        format::Origin{"", kOnnxFramework, domain, from.op_type, from.name, from.attributes, ""};
  }
  return node;
}

std::optional<Node> PlainOperator(const LiftContext& context, const Node& node,
                                  const QOperatorLayout& layout) {
  Lift lift{PlainNode(node, layout.plain), {}, {}, {}, {}, {}};
  for (const std::size_t i : layout.untouched) lift.node.inputs.push_back(InputOf(node, i));
  for (const OperandSlots& slots : layout.operands)
    lift.node.inputs.push_back(InputOf(node, slots.value));
  return AdjustAttributes(context, node, lift) ? std::optional(std::move(lift.node)) : std::nullopt;
}

Result<MaybeLift> LiftNode(const LiftContext& context, std::size_t i) {
  const Node& node = context.index.node(i);
  if (IsContrib(node, "MatMulBnb4")) return LiftBnb4(context, node);
  if (IsContrib(node, "MatMulNBits")) return LiftNBits(context, node);
  if (IsContrib(node, "GatherBlockQuantized")) return LiftGatherBlocks(context, node);
  if (IsContrib(node, "MatMulInteger") || IsContrib(node, "ConvInteger"))
    return LiftIntegerProduct(context, i);
  if (const auto layout = LayoutOf(node)) {
    QTX_ASSIGN_OR_RETURN(MaybeLift lift, LiftByLayout(context, node, *layout));
    if (!lift || node.op_type != "MatMulIntegerToFloat") return lift;
    return LiftProductToFloat(context, node, *std::move(lift));
  }
  if (IsContrib(node, "DynamicQuantizeLinear") || IsContrib(node, "DynamicQuantizeMatMul"))
    context.why = "its scale is computed at run time";
  return MaybeLift();
}

}  // namespace qtx::convert
