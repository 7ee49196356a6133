#include "paddle/ops.h"

#include <algorithm>

#include "paddle/grid.h"

namespace qtx::convert::paddle {
namespace {

const Operator* FindOperator(std::string_view type) {
  for (const auto operators :
       {LayerOperators(), MathOperators(), ShapeOperators(), QuantizeOperators()}) {
    const auto found = std::ranges::find(operators, type, &Operator::type);
    if (found != operators.end()) return &*found;
  }
  return nullptr;
}

// The input with units.
std::optional<std::string> WholeInput(Builder& builder, const Op& op) {
  for (const auto& [parameter, vars] : op.inputs) {
    for (const std::string& var : vars) {
      if (std::string value = builder.Current(var); builder.units().contains(value)) return value;
    }
  }
  return std::nullopt;
}

// Paddle's quantization-aware training records for an output a moving average of its largest
// magnitude.  Source: python/paddle/static/quantization/quantization_pass.py, OutScaleForInference.
void AddThresholds(Builder& builder, const Op& op) {
  for (const auto& [parameter, vars] : op.outputs) {
    for (std::size_t i = 0; i < vars.size(); ++i) {
      float threshold = op.Float(parameter + std::to_string(i) + "_threshold", 0);
      if (threshold == 0 && i == 0 && parameter != "XShape")
        threshold = op.Float("out_threshold", 0);
      if (threshold > 0) builder.AnnotateThreshold(vars[i], threshold);
    }
  }
}

}  // namespace

Result<void> RefuseInput(const Builder& builder, const Op& op, std::string_view parameter) {
  if (!builder.Has(op, parameter)) return {};
  return Unsupported(op, "input " + std::string(parameter) + " in place of an attribute");
}

Result<void> RefuseSet(const Op& op, std::string_view attribute) {
  const Attribute* found = op.Find(attribute);
  if (found == nullptr) return {};
  const bool set = found->list ? !found->ints.empty() : op.Bool(attribute, false);
  if (!set) return {};
  return Unsupported(op, "attribute " + std::string(attribute));
}

Result<void> Unary(Builder& builder, const Op& op, const char* onnx,
                   std::vector<format::Attribute> attributes) {
  QTX_ASSIGN_OR_RETURN(const std::string x, builder.In(op, "X"));
  QTX_ASSIGN_OR_RETURN(const std::string y, builder.Out(op, "Out"));
  builder.Node(onnx, {x}, {y}, std::move(attributes));
  return {};
}

Result<void> ConvertOp(Builder& builder, const Op& op) {
  const Operator* found = FindOperator(op.type);
  if (found == nullptr) return Unsupported(op, "unknown operator");
  for (const auto& [name, attribute] : op.attributes) {
    if (attribute.var) return Unsupported(op, "attribute " + name + " is a variable");
  }
  builder.Begin(op);
  const auto whole = WholeInput(builder, op);
  if (whole && found->whole == Operator::Whole::kRefused) {
    return Unsupported(op, "reads integers of the old quantized form, and is not linear in them");
  }
  QTX_RETURN_IF_ERROR(found->convert(builder, op));
  if (whole && found->whole == Operator::Whole::kCarried) {
    Carry(builder, *whole, op.outputs.find("Out")->second.at(0));
  }
  builder.SettleUnits();
  AddThresholds(builder, op);
  return op.CheckTypes();
}

}  // namespace qtx::convert::paddle
