#include "qtx/format/inference.h"

#include <algorithm>
#include <span>
#include <utility>

#include "body_facts.h"
#include "catalogue/microsoft.h"
#include "catalogue/onnx_application.h"
#include "catalogue/onnx_shapes.h"
#include "catalogue/propagation.h"
#include "catalogue/rules.h"

namespace qtx::format {
namespace {

// With UINT8 for a quantized type, where the operator moves values of any type.
std::vector<ElementType> TypesOf(const std::vector<ValueFacts>& values, bool moves = false) {
  std::vector<ElementType> types(values.size());
  std::ranges::transform(values, types.begin(), [moves](const ValueFacts& value) {
    return moves && IsQuantized(value.type) ? ElementType::kUint8 : value.type;
  });
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

// A type that is none is not known: element_types.C1 refuses it.
ElementType KnownType(ElementType type) {
  return ElementTypeFromCode(static_cast<std::int64_t>(type)).value_or(ElementType::kUndefined);
}

// A negative size is not known: shape.C1 refuses it.
Dims KnownDims(Dims dims) {
  for (std::int64_t& size : dims) size = std::max(size, kUnknownSize);
  return dims;
}

// True if the inputs of `old` are the first ones of `now`.
bool HaveSameInputs(const catalogue::OnnxOperator& old, const catalogue::OnnxOperator& now) {
  const auto first = now.Inputs().first(std::min(old.Inputs().size(), now.Inputs().size()));
  return std::ranges::equal(old.Inputs(), first, {}, &catalogue::OnnxParameter::name,
                            &catalogue::OnnxParameter::name);
}

}  // namespace

Inference::Inference(const FlatModel& flat, Rules rules)
    : opset_(OnnxOpset(flat.model())),
      is_stock_(rules == Rules::kOfTheModel && flat.model().OpsetVersion(kDomain) == 0),
      folder_(flat.model().folder) {
  const Graph& graph = flat.model().graph;
  Declare(graph.values);
  Declare(graph.outputs);
  Declare(graph.inputs);
  AddInitializers(flat.model());
  std::span<const Scope> bodies = std::span(flat.scopes()).subspan(1);
  in_branches_.resize(graph.nodes.size());
  for (const Scope& body : bodies) {
    if (!IsStock(graph.nodes[body.node], "If")) continue;
    for (std::size_t i = body.begin; i < body.end; ++i) in_branches_[i] = true;
  }
  for (std::size_t i = 0; i < graph.nodes.size(); ++i) {
    for (; !bodies.empty() && bodies.front().begin == i; bodies = bodies.subspan(1))
      Enter(bodies.front(), graph.nodes[bodies.front().node]);
    Visit(i, graph.nodes[i]);
  }
  body_outputs_.clear();
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
      facts.type = KnownType(value.type->elem_type);
      is_stock_ = is_stock_ && !IsQuantized(facts.type);  // versioning.C1 has the rest
      if (value.type->shape) facts.dims = DimsOf(*value.type->shape);
    }
    values_.insert_or_assign(value.name, std::move(facts));
  }
}

void Inference::AddInitializers(const Model& model) {
  for (const TensorData& data : model.graph.initializers) {
    ValueFacts& facts = values_[data.name];
    facts.given = true;
    facts.is_initializer = true;
    stored_.insert(data.name);
    if (facts.type == ElementType::kUndefined) facts.type = KnownType(data.data_type);
    if (!facts.dims || facts.type == data.data_type) facts.dims = KnownDims(data.dims);
    if (IsQuantized(facts.type)) continue;
    const auto count = ElementCount(data.dims);
    if (count.has_value() && *count <= kMostConstantElements) {
      if (auto tensor = Decode(data, model.folder); tensor.has_value()) {
        facts.constant = &constants_.emplace_back(*std::move(tensor));
        continue;
      }
    }
    undecoded_.insert(data.name);
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

// What ONNX itself says of a node: all of it where the operator has no section or the model is a
// stock one, otherwise whether the opset has the operator and its attributes.
Result<void> Inference::VisitOnnx(Application& a, bool has_section) const {
  const catalogue::OnnxOperator* op = catalogue::FindOnnxOperator(a.node.op_type, opset_);
  if (op == nullptr && catalogue::IsRuntimesInOnnxDomain(a.node.op_type))
    return CheckApplication(a);
  if (op == nullptr) return CheckOnnxForm(a.node, opset_);  // which refuses it
  if (has_section && !is_stock_) return catalogue::CheckOnnxAttributes(*op, a.node, opset_);
  const bool is_control_flow = IsControlFlow(a.node);  // which moves quantized values, too
  QTX_RETURN_IF_ERROR(catalogue::CheckOnnxApplication(*op, a.node, opset_,
                                                      TypesOf(a.inputs, is_control_flow),
                                                      TypesOf(a.outputs, is_control_flow)));
  if (is_control_flow) return VisitBodies(a);
  return has_section ? Result<void>() : catalogue::InferOnnxOutputs(*op, a);
}

// The clauses of the section. The text is of opset 13 and later: an older one's node of another
// form is not defined, unless ONNX refuses it, too.
Result<void> Inference::CheckSection(Application& a) const {
  constexpr std::int64_t kOldestDefined = 13;
  Result<void> checked = CheckApplication(a);
  if (checked.has_value() || opset_ >= kOldestDefined || !IsOnnxDomain(a.node.domain))
    return checked;
  Error& error = checked.error();
  const catalogue::OnnxOperator* op = catalogue::FindOnnxOperator(a.node.op_type, opset_);
  const catalogue::OnnxOperator* defined =
      catalogue::FindOnnxOperator(a.node.op_type, kOldestDefined);
  if (op == nullptr || defined == nullptr) return checked;
  if (error.clause != "graph.C5" && error.clause != "graph.C6" && HaveSameInputs(*op, *defined))
    return checked;
  if (!catalogue::CheckOnnxApplication(*op, a.node, opset_, TypesOf(a.inputs), TypesOf(a.outputs))
           .has_value()) {
    return checked;
  }
  error.code = ErrorCode::kUnsupported;
  error.message += "; the form of opset " + std::to_string(opset_) +
                   " is not defined by this version of the text";
  return checked;
}

// What ONNX Runtime says of a node of its domain in a stock model, whose operator has a section.
Result<void> Inference::VisitMicrosoft(const Application& a) const {
  const OpSchema* theirs = catalogue::FindMicrosoftOperator(a.node.op_type);
  if (theirs == nullptr || !is_stock_) return {};
  Application again{*theirs, a.node, opset_, a.inputs, a.outputs};
  return CheckApplication(again);
}

// The elements of the first output, where they follow.
void Inference::Propagate(Application& a) {
  if (a.outputs.empty() || IsQuantized(a.outputs[0].type)) return;
  std::optional<Tensor> elements;
  if (a.node.op_type == "Constant") {
    elements = ConstantOf(a.node, folder_);
    stored_.insert(a.node.outputs[0]);
  } else {
    for (const ValueFacts& input : a.inputs) {
      if (input.constant == nullptr) continue;
      propagated_ += std::min(ElementCount(*input.constant), catalogue::kMostPropagated);
    }
    if (propagated_ > kMostPropagated) {
      undecoded_.insert(a.node.outputs[0]);
      return;
    }
    elements = catalogue::PropagateElements(a, folder_);
    if (elements) propagated_ += ElementCount(*elements);
  }
  if (elements) {
    a.outputs[0].constant = &constants_.emplace_back(*std::move(elements));
  } else if (a.inputs.empty()) {
    undecoded_.insert(a.node.outputs[0]);
  }
}

bool Inference::IsComplete(const Application& a) const {
  const auto is_known = [](const ValueFacts& value) {
    return !value.given || (value.type != ElementType::kUndefined && value.dims &&
                            std::ranges::all_of(*value.dims, [](auto size) { return size >= 0; }));
  };
  return std::ranges::all_of(a.inputs, is_known) && std::ranges::all_of(a.outputs, is_known) &&
         std::ranges::none_of(
             a.node.inputs, [this](const std::string& name) { return undecoded_.contains(name); });
}

// The inputs of a body are what its node gives them, where they do not say it themselves.
void Inference::Enter(const Scope& body, const Node& node) {
  static const OpSchema kNoRules;
  body_outputs_[&node].push_back(body.outputs);
  if (!IsControlFlow(node)) return;
  const Application a{kNoRules, node, opset_, FactsOf(node.inputs), {}};
  const std::vector<ValueFacts> inputs = FactsOfBodyInputs(a, body.inputs.size());
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    ValueFacts& known = values_[body.inputs[i]];
    known.given = true;
    if (known.type == ElementType::kUndefined) known.type = inputs[i].type;
    if (!known.dims) known.dims = inputs[i].dims;
  }
}

Result<void> Inference::VisitBodies(Application& a) const {
  std::vector<std::vector<ValueFacts>> bodies;
  if (const auto found = body_outputs_.find(&a.node); found != body_outputs_.end()) {
    for (const std::vector<std::string>& outputs : found->second)
      bodies.push_back(FactsOf(outputs));
  }
  return AddFactsOfBodies(bodies, a);
}

Result<void> Inference::CheckNode(Application& a, bool has_rules) const {
  const bool has_section = FindSchema(a.node.domain, a.node.op_type) != nullptr;
  const bool is_microsoft = a.node.domain == catalogue::kMicrosoftDomain;
  const bool has_checks = has_section || (is_microsoft && has_rules);
  Result<void> checked = has_checks ? CheckSection(a) : Result<void>();
  const bool is_undefined = !checked.has_value() && checked.error().code == ErrorCode::kUnsupported;
  if (IsOnnxDomain(a.node.domain) && (checked.has_value() || is_undefined)) {
    auto by_onnx = VisitOnnx(a, has_section);
    if (!by_onnx.has_value()) checked = std::move(by_onnx);
  }
  if (is_microsoft && has_section && checked.has_value()) checked = VisitMicrosoft(a);
  return checked;
}

// A branch that is not taken may assume other sizes than the graph around it has. What is known of
// the outputs where the node conforms with the types alone, and its constants; nullopt where it
// does not.  Source: graph.S2.
std::optional<std::vector<ValueFacts>> Inference::OutputsInItself(const Application& refused,
                                                                  bool has_rules) const {
  Application a = refused;
  for (auto* values : {&a.inputs, &a.outputs}) {
    const auto& names = values == &a.inputs ? a.node.inputs : a.node.outputs;
    *values = FactsOf(names);
    for (std::size_t k = 0; k < names.size(); ++k) {
      if (stored_.contains(names[k])) continue;
      (*values)[k].dims.reset();
      (*values)[k].constant = nullptr;
    }
  }
  if (!CheckNode(a, has_rules).has_value()) return std::nullopt;
  std::vector<ValueFacts> outputs = FactsOf(a.node.outputs);
  for (std::size_t k = 0; k < outputs.size(); ++k) {
    if (outputs[k].type == ElementType::kUndefined) outputs[k].type = a.outputs[k].type;
  }
  return outputs;
}

void Inference::Visit(std::size_t i, const Node& node) {
  static const OpSchema kNoRules;
  complete_.push_back(false);
  const bool is_onnx = IsOnnxDomain(node.domain);
  const OpSchema* rules = catalogue::FindRow(node.domain, node.op_type);
  if (rules == nullptr) without_shape_rule_.push_back(i);
  Application a{rules == nullptr ? kNoRules : *rules, node, opset_, FactsOf(node.inputs),
                FactsOf(node.outputs)};

  Result<void> checked = CheckNode(a, rules != nullptr);
  auto in_itself =
      !checked.has_value() && in_branches_[i] ? OutputsInItself(a, rules != nullptr) : std::nullopt;
  if (checked.has_value()) {
    if (is_onnx) Propagate(a);
    complete_.back() = IsComplete(a);
  } else if (in_itself) {
    a.outputs = *std::move(in_itself);
  } else if (checked.error().code == ErrorCode::kUnsupported) {
    undefined_.push_back({i, std::move(checked).error()});
  } else {
    broken_.push_back({i, std::move(checked).error()});
    a.outputs = FactsOf(node.outputs);
  }
  for (std::size_t k = 0; k < a.outputs.size(); ++k) {
    if (node.outputs[k].empty()) continue;
    a.outputs[k].given = true;
    values_.insert_or_assign(node.outputs[k], std::move(a.outputs[k]));
  }
}

}  // namespace qtx::format
