#include "qtx/format/inference.h"

#include <algorithm>
#include <utility>

#include "catalogue/onnx_operators.h"

namespace qtx::format {
namespace {

std::vector<ElementType> TypesOf(const std::vector<ValueFacts>& values) {
  std::vector<ElementType> types;
  for (const ValueFacts& value : values) types.push_back(value.type);
  return types;
}

// The elements that a Constant gives.  Source: constant.S1.
std::optional<Tensor> ConstantOf(const Node& node, const std::string& folder) {
  if (node.attributes.size() != 1) return std::nullopt;
  const Attribute& attribute = node.attributes[0];
  if (attribute.t) {
    const auto count = ElementCount(attribute.t->dims);
    if (!count.has_value() || *count > Inference::kMostConstantElements) return std::nullopt;
    auto tensor = Decode(*attribute.t, folder);
    return tensor.has_value() ? std::optional(*std::move(tensor)) : std::nullopt;
  }
  const bool one = attribute.type == AttributeType::kInt;
  if (!one && attribute.type != AttributeType::kInts) return std::nullopt;
  const std::vector<std::int64_t> values = one ? std::vector{attribute.i} : attribute.ints;
  const auto count = static_cast<std::int64_t>(values.size());
  auto tensor = MakeTensor(ElementType::kInt64, one ? Dims() : Dims{count});
  if (!tensor.has_value()) return std::nullopt;
  PackIntegers(values, *tensor);
  return *std::move(tensor);
}

bool IsOnnx(std::string_view domain) { return domain.empty() || domain == "ai.onnx"; }

}  // namespace

Inference::Inference(const Model& model) : opset_(OnnxOpset(model)), folder_(model.folder) {
  Declare(model.graph.values);
  Declare(model.graph.outputs);
  Declare(model.graph.inputs);
  AddInitializers(model);
  for (std::size_t i = 0; i < model.graph.nodes.size(); ++i) Visit(i, model.graph.nodes[i]);
}

const ValueFacts* Inference::Find(const std::string& name) const {
  const auto found = values_.find(name);
  return found == values_.end() ? nullptr : &found->second;
}

std::string_view Inference::Symbol(std::int64_t size) const {
  return size < kUnknownSize ? std::string_view(names_[static_cast<std::size_t>(-2 - size)])
                             : std::string_view();
}

Dims Inference::DimsOf(const Shape& shape) {
  Dims dims;
  for (const Dimension& dimension : shape) {
    std::int64_t size = kUnknownSize;
    if (dimension.value) {
      size = std::max(*dimension.value, kUnknownSize);  // a negative one is not known
    } else if (!dimension.symbol.empty()) {
      const auto next = -2 - static_cast<std::int64_t>(names_.size());
      const auto [symbol, is_new] = symbols_.emplace(dimension.symbol, next);
      if (is_new) names_.push_back(dimension.symbol);
      size = symbol->second;
    }
    dims.push_back(size);
  }
  return dims;
}

void Inference::Declare(const std::vector<ValueInfo>& values) {
  for (const ValueInfo& value : values) {
    ValueFacts facts{.given = true};
    if (value.type) {
      facts.type = value.type->elem_type;
      if (value.type->shape) facts.dims = DimsOf(*value.type->shape);
    }
    values_.insert_or_assign(value.name, std::move(facts));
  }
}

void Inference::AddInitializers(const Model& model) {
  for (const TensorData& data : model.graph.initializers) {
    ValueFacts& facts = values_[data.name];
    facts.given = true;
    if (facts.type == ElementType::kUndefined) facts.type = data.data_type;
    if (!facts.dims || facts.type == data.data_type) facts.dims = data.dims;
    const auto count = ElementCount(data.dims);
    if (IsQuantized(facts.type) || !count.has_value() || *count > kMostConstantElements) continue;
    auto tensor = Decode(data, model.folder);
    if (!tensor.has_value()) continue;
    facts.constant = &constants_.emplace_back(*std::move(tensor));
  }
}

std::vector<ValueFacts> Inference::FactsOf(const std::vector<std::string>& names) const {
  std::vector<ValueFacts> facts;
  for (const std::string& name : names) {
    const ValueFacts* known = Find(name);
    facts.push_back(known != nullptr ? *known : ValueFacts{});
    facts.back().given = !name.empty();
  }
  return facts;
}

// What ONNX itself says of a node: all there is to say where its operator has no section, else
// whether the opset has the operator and its attributes.
Result<void> Inference::VisitOnnx(const Node& node, const std::vector<ValueFacts>& outputs,
                                  bool has_section) const {
  const catalogue::OnnxOperator* op = catalogue::FindOnnxOperator(node.op_type, opset_);
  if (op == nullptr) {
    return Error{ErrorCode::kInvalid, "",
                 "ONNX has no operator " + node.op_type + " in opset " + std::to_string(opset_),
                 "graph.C4"};
  }
  if (has_section) return catalogue::CheckOnnxAttributes(*op, node, opset_);
  return catalogue::CheckOnnxApplication(*op, node, opset_, TypesOf(FactsOf(node.inputs)),
                                         TypesOf(outputs));
}

void Inference::Visit(std::size_t i, const Node& node) {
  std::vector<ValueFacts> outputs = FactsOf(node.outputs);
  const OpSchema* schema = FindSchema(node.domain, node.op_type);
  Result<void> checked;
  if (schema != nullptr) {
    Application application{*schema, node, opset_, FactsOf(node.inputs), outputs};
    checked = CheckApplication(application);
    if (checked.has_value()) outputs = std::move(application.outputs);
  } else {
    without_shape_rule_.push_back(i);
  }
  if (checked.has_value() && IsOnnx(node.domain)) {
    checked = VisitOnnx(node, outputs, schema != nullptr);
  }
  if (!checked.has_value()) {
    broken_.push_back({i, std::move(checked).error()});
  } else if (node.op_type == "Constant" && IsOnnx(node.domain) && !IsQuantized(outputs[0].type)) {
    if (auto constant = ConstantOf(node, folder_)) {
      outputs[0].constant = &constants_.emplace_back(*std::move(constant));
    }
  }
  for (std::size_t k = 0; k < outputs.size(); ++k) {
    if (node.outputs[k].empty()) continue;
    outputs[k].given = true;
    values_.insert_or_assign(node.outputs[k], std::move(outputs[k]));
  }
}

}  // namespace qtx::format
