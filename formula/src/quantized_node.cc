#include "quantized_node.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "qtx/format/element_type.h"

namespace qtx::formula {
namespace {

constexpr std::size_t kThree = 3;  // a tensor, its scale, its zero point

Error Refuse(const std::string& name, const std::string& expected) {
  return Error{ErrorCode::kInvalid, "", "found '" + name + "', expected " + expected};
}

Result<std::size_t> PlaceOf(const std::vector<std::string>& names, const std::string& name) {
  const auto found = std::ranges::find(names, name);
  if (found == names.end()) return Refuse(name, "the name of an input");
  return static_cast<std::size_t>(found - names.begin());
}

const format::Tensor* InputOf(const Call& call, std::size_t i) {
  return i < call.inputs.size() ? call.inputs[i] : nullptr;
}

// The clauses of the operator have seen to one scale, a FLOAT, and one zero point.
Result<format::Quantization> ParametersOf(const Call& call, const std::string& name,
                                          std::size_t scale, std::size_t zero_point) {
  const format::Tensor* s = InputOf(call, scale);
  if (s == nullptr || s->elem_type != format::ElementType::kFloat) {
    return Refuse(name, "a scale of type FLOAT");
  }
  format::Quantization quantization;
  quantization.scale = {s->As<float>()[0]};
  if (const format::Tensor* zero = InputOf(call, zero_point)) {
    quantization.offset = {format::UnpackInt32(*zero)[0]};
  }
  return quantization;
}

bool IsInitializer(const Call& call, std::size_t i) {
  return i < call.initializers.size() && call.initializers[i];
}

}  // namespace

Result<QuantizedNode> QuantizedNode::Make(const Text& text, const Statement& line,
                                          const Names& names, const Call& call) {
  QuantizedNode node;
  node.node_ = *call.node;
  node.node_.domain.clear();
  node.node_.op_type = line.signatures[0].op_type;
  node.node_.inputs.clear();
  node.schema_ = text.FindSchema("", node.node_.op_type);
  node.opset_ = call.opset;
  std::erase_if(node.node_.attributes, [&node](const format::Attribute& attribute) {
    if (attribute.name != "opset") return false;
    node.opset_ = attribute.i;
    return true;
  });
  const std::vector<std::string>& inputs = line.signatures[0].inputs;
  for (std::size_t i = 0; i < inputs.size(); i += kThree) {
    QTX_ASSIGN_OR_RETURN(const std::size_t first, PlaceOf(names.inputs, inputs[i]));
    const bool variadic = call.schema->inputs[first].variadic;
    const std::size_t end = variadic ? call.inputs.size() : first + kThree;
    QTX_RETURN_IF_ERROR(node.AddInputs(call, inputs[i], first, end));
  }
  if (line.parameters.size() != kThree) return Refuse(line.name, "an output and its parameters");
  QTX_ASSIGN_OR_RETURN(const std::size_t scale, PlaceOf(names.inputs, line.parameters[1]));
  QTX_ASSIGN_OR_RETURN(const std::size_t zero, PlaceOf(names.inputs, line.parameters[2]));
  QTX_ASSIGN_OR_RETURN(const auto parameters, ParametersOf(call, line.parameters[0], scale, zero));
  node.SetOutput(call, parameters);
  return node;
}

Result<void> QuantizedNode::AddInputs(const Call& call, const std::string& name, std::size_t first,
                                      std::size_t end) {
  for (std::size_t i = first; i < end; i += kThree) {
    const format::Tensor* tensor = InputOf(call, i);
    const auto type = tensor == nullptr ? std::nullopt : format::QuantizedOf(tensor->elem_type);
    if (!type) return Refuse(name, "a tensor whose type stores a quantized one");
    format::Tensor& input = inputs_.emplace_back(*tensor);
    input.elem_type = *type;
    QTX_ASSIGN_OR_RETURN(input.quantization, ParametersOf(call, name, i + 1, i + 2));
    initializers_.push_back(IsInitializer(call, i));
    node_.inputs.push_back(i < call.node->inputs.size() ? call.node->inputs[i] : name);
  }
  return {};
}

void QuantizedNode::SetOutput(const Call& call, const format::Quantization& quantization) {
  output_ = call.outputs[0];
  output_.type = format::QuantizedOf(output_.type).value_or(output_.type);
  output_.quantization = quantization;
}

Result<format::Tensor> QuantizedNode::Compute(const Text& text,
                                              const std::string& arithmetic) const {
  Call call;
  call.node = &node_;
  call.schema = schema_;
  call.opset = opset_;
  for (const format::Tensor& input : inputs_) call.inputs.push_back(&input);
  call.initializers = initializers_;
  call.outputs = {output_};
  call.scales_are_inputs = true;
  QTX_ASSIGN_OR_RETURN(std::vector<format::Tensor> outputs,
                       formula::Compute(text, call, arithmetic));
  format::Tensor result = std::move(outputs[0]);
  result.elem_type = format::StorageOf(result.elem_type);
  result.quantization.reset();
  return result;
}

}  // namespace qtx::formula
