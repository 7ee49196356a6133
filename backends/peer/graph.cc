#include "peer/graph.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <utility>

#include "qtx/backend/half_reals.h"
#include "qtx/format/check.h"
#include "qtx/format/levels.h"
#include "qtx/format/limits.h"

namespace qtx::backend::peer {
namespace {

using format::ElementType;

// The declared type of a value, its parameters inline.
Result<format::Tensor> Declared(const format::Model& model, const std::string& name) {
  format::Tensor tensor;
  const format::ValueInfo* info = model.graph.FindValue(name);
  if (info == nullptr || !info->type.has_value()) {
    tensor.elem_type = ElementType::kFloat;
    return tensor;
  }
  tensor.elem_type = info->type->elem_type;
  if (!format::IsQuantized(tensor.elem_type)) return tensor;
  QTX_ASSIGN_OR_RETURN(tensor.quantization, format::Resolve(model, *info->type, name));
  return tensor;
}

std::optional<format::Dims> DeclaredDims(const format::Model& model, const std::string& name) {
  const format::ValueInfo* info = model.graph.FindValue(name);
  if (info == nullptr || !info->type.has_value() || !info->type->shape.has_value()) return {};
  return format::FixedDims(*info->type->shape);
}

// How often each value is read; graph outputs count.
std::map<std::string, int> Uses(const format::Graph& graph) {
  std::map<std::string, int> uses;
  for (const format::Node& node : graph.nodes) {
    for (const std::string& name : node.inputs) ++uses[name];
  }
  for (const format::ValueInfo& output : graph.outputs) ++uses[output.name];
  return uses;
}

bool TakesBounds(const format::Node& node) {
  constexpr std::string_view kOps = " Add Conv Gemm MatMul Mul Sub ";
  return kOps.find(" " + node.op_type + " ") != std::string_view::npos && node.outputs.size() == 1;
}

}  // namespace

bool Value::is_byte() const {
  return type() == ElementType::kInt8Q || type() == ElementType::kUint8Q;
}

bool Value::per_tensor() const {
  return tensor.quantization.has_value() && tensor.quantization->scale.size() == 1;
}

std::vector<float> Value::Reals() const {
  const std::vector<double> stored = format::StoredValues(tensor);
  std::vector<float> reals(stored.size());
  if (!tensor.quantization.has_value()) {
    std::ranges::transform(stored, reals.begin(), [](double x) { return static_cast<float>(x); });
    return reals;
  }
  const format::Quantization& q = *tensor.quantization;
  const format::ParameterMap parameter(q, tensor.dims);
  for (std::size_t i = 0; i < reals.size(); ++i) {
    const std::int64_t p = parameter(static_cast<std::int64_t>(i));
    reals[i] = static_cast<float>(stored[i] - format::OffsetAt(q, p)) * format::ScaleAt(q, p);
  }
  return reals;
}

bool SameType(const Value& a, const Value& b) {
  if (a.type() != b.type()) return false;
  if (!a.tensor.quantization.has_value()) return true;
  return a.per_tensor() && b.per_tensor() && a.scale() == b.scale() && a.offset() == b.offset() &&
         a.range() == b.range();
}

bool Bounds::any() const { return std::isfinite(low) || std::isfinite(high); }

format::IntegerRange StoredBounds(const Value& value, const Bounds& bounds) {
  format::IntegerRange range = value.range();
  // A clamp at the nearest stored value is the clamp of the real, rounded: both are monotone.
  const auto stored = [&](float real) {
    const double nearest = std::nearbyint(static_cast<double>(real) / value.scale());
    return static_cast<std::int64_t>(std::clamp(nearest, -1e9, 1e9)) + value.offset();
  };
  if (std::isfinite(bounds.low)) {
    range.min = std::clamp(stored(bounds.low), range.min, range.max);
  }
  if (std::isfinite(bounds.high)) {
    range.max = std::clamp(stored(bounds.high), range.min, range.max);
  }
  return range;
}

Reader::Reader(const format::Node& node, const format::Model& model, Bounds bounds,
               std::function<Value*(const std::string&)> find,
               std::function<Result<Value*>(const std::string&, format::Dims)> define)
    : node_(node),
      model_(model),
      bounds_(bounds),
      opset_(format::OnnxOpset(model)),
      attributes_(node, opset_),
      find_(std::move(find)),
      define_(std::move(define)) {}

Result<void> Reader::Check() {
  const format::OpSchema* schema = attributes_.schema();
  if (schema == nullptr) return {};
  format::Application application{*schema, node_, opset_, {}, {}};
  for (const std::string& name : node_.inputs) {
    const Value* value = find_(name);
    application.inputs.push_back(value != nullptr ? format::FactsOf(value->tensor, value->constant)
                                                  : format::ValueFacts());
    application.inputs.back().given = !name.empty();
  }
  for (const std::string& name : node_.outputs) {
    const format::ValueInfo* declared = model_.graph.FindValue(name);
    application.outputs.push_back(declared != nullptr ? format::FactsOf(*declared)
                                                      : format::ValueFacts());
    application.outputs.back().given = !name.empty();
  }
  auto checked = format::CheckApplication(application);
  if (!checked.has_value()) return At(Place(), checked.error());
  outputs_ = std::move(application.outputs);
  return {};
}

Result<format::Dims> Reader::InferredDims() const {
  const bool known = !outputs_.empty() && outputs_[0].dims.has_value() &&
                     std::ranges::all_of(*outputs_[0].dims, [](std::int64_t d) { return d >= 0; });
  if (!known) return Unsupported("a shape that the model computes");
  return *outputs_[0].dims;
}

Result<Value*> Reader::Input(std::size_t i) const {
  if (!Has(i)) return Unsupported("input " + std::to_string(i) + " is absent");
  Value* value = find_(node_.inputs[i]);
  if (value == nullptr) return Unsupported("input '" + node_.inputs[i] + "' is not available");
  return value;
}

Result<Value*> Reader::Output(format::Dims dims) const {
  if (node_.outputs.empty() || node_.outputs[0].empty()) return Unsupported("no output");
  auto value = define_(node_.outputs[0], std::move(dims));
  if (!value.has_value()) return At(Place(), value.error());
  return value;
}

Result<void> Reader::HasOneOutput() const {
  for (std::size_t i = 1; i < node_.outputs.size(); ++i) {
    if (!node_.outputs[i].empty()) return Unsupported("output " + std::to_string(i));
  }
  return {};
}

Error Reader::Unsupported(std::string message) const {
  return {ErrorCode::kUnsupported, Place(), std::move(message)};
}

Result<std::unique_ptr<Graph>> Graph::Read(const format::Model& model) {
  QTX_RETURN_IF_ERROR(format::CheckFirst(model));
  QTX_RETURN_IF_ERROR(DeclineHalfReals(model.graph));
  std::unique_ptr<Graph> graph(new Graph(model));
  QTX_RETURN_IF_ERROR(graph->ReadInputs());
  graph->JoinActivations();
  return graph;
}

Result<void> Graph::ReadInputs() {
  for (const format::TensorData& data : model_.graph.initializers) {
    auto tensor = format::LoadInitializer(model_, data.name);
    if (!tensor.has_value()) return At("initializer '" + data.name + "'", tensor.error());
    if (tensor->quantization && !format::HasIntegerForm(*tensor->quantization)) {
      return Error{ErrorCode::kUnsupported, "initializer '" + data.name + "'",
                   "its type has a base, a code book or a scale of 0 or below"};
    }
    by_name_[data.name] = &values_.emplace_back(Value{data.name, *std::move(tensor), true});
  }
  for (const format::ValueInfo& input : model_.graph.inputs) {
    if (model_.graph.FindInitializer(input.name) != nullptr) continue;
    const auto dims = DeclaredDims(model_, input.name);
    if (!dims) {
      return Error{ErrorCode::kUnsupported, "input '" + input.name + "'", "no fixed shape"};
    }
    auto value = Define(input.name, *dims);
    if (!value.has_value()) return At("input '" + input.name + "'", value.error());
    (*value)->is_input = true;
    inputs_.push_back(*value);
  }
  return {};
}

Result<Value*> Graph::Define(const std::string& name, format::Dims dims) {
  QTX_ASSIGN_OR_RETURN(format::Tensor tensor, Declared(model_, name));
  if (const auto declared = DeclaredDims(model_, name); declared && *declared != dims) {
    return Error{
        ErrorCode::kUnsupported, "value '" + name + "'",
        "declared " + format::ToString(*declared) + ", computed " + format::ToString(dims)};
  }
  QTX_ASSIGN_OR_RETURN(const std::int64_t count, format::ElementCount(dims));
  QTX_ASSIGN_OR_RETURN(const std::int64_t bytes, format::PackedBytes(tensor.elem_type, count));
  total_bytes_ += bytes;
  if (total_bytes_ > format::kMaxTensorBytes) {
    return Error{ErrorCode::kTooLarge, "value '" + name + "'", "all values together are too large"};
  }
  if (count == 0) return Error{ErrorCode::kUnsupported, "value '" + name + "'", "it is empty"};
  tensor.dims = std::move(dims);
  return by_name_[name] = &values_.emplace_back(Value{name, std::move(tensor), false});
}

Value* Graph::Find(const std::string& name) {
  const auto found = by_name_.find(name);
  return found == by_name_.end() ? nullptr : found->second;
}

Result<Bounds> Graph::BoundsOf(const format::Node& node) {
  Bounds bounds;
  if (node.op_type == "Relu" && node.attributes.empty()) return Bounds{.low = 0};
  const Error declined{ErrorCode::kUnsupported, "", ""};
  if (node.op_type != "Clip") return declined;
  for (std::size_t i = 1; i < node.inputs.size(); ++i) {
    if (node.inputs[i].empty()) continue;
    const Value* bound = Find(node.inputs[i]);
    if (bound == nullptr || !bound->constant || !bound->is_float()) return declined;
    if (bound->tensor.bytes.size() != sizeof(float)) return declined;
    (i == 1 ? bounds.low : bounds.high) = bound->tensor.As<float>()[0];
  }
  bounds.low = node.FloatOr("min", bounds.low);
  bounds.high = node.FloatOr("max", bounds.high);
  if (!(bounds.low <= bounds.high) || !bounds.any()) return declined;
  return bounds;
}

// A Relu or Clip that is the only reader of a node's output becomes that node's bounds, if both
// outputs have the same type, so that there is no rounding between them.
void Graph::JoinActivations() {
  std::vector<format::Node>& nodes = model_.graph.nodes;
  const std::map<std::string, int> uses = Uses(model_.graph);
  std::map<std::string, std::size_t> producers;
  std::vector<format::Node> kept;
  for (format::Node& node : nodes) {
    const auto producer = node.inputs.empty() ? producers.end() : producers.find(node.inputs[0]);
    if (producer != producers.end() && uses.at(node.inputs[0]) == 1 && node.outputs.size() == 1) {
      const auto before = Declared(model_, node.inputs[0]);
      const auto after = Declared(model_, node.outputs[0]);
      const auto bounds = BoundsOf(node);
      if (bounds.has_value() && before.has_value() && after.has_value() &&
          SameType({"", *before}, {"", *after})) {
        kept[producer->second].outputs[0] = node.outputs[0];
        bounds_[producer->second] = *bounds;
        continue;
      }
    }
    if (TakesBounds(node)) producers[node.outputs[0]] = kept.size();
    bounds_.push_back(BoundsOf(node).value_or(Bounds()));
    kept.push_back(std::move(node));
  }
  nodes = std::move(kept);
}

Result<void> Graph::ForEachNode(const std::function<Result<void>(const Reader&)>& add) {
  const auto find = [this](const std::string& name) { return Find(name); };
  const auto define = [this](const std::string& name, format::Dims dims) {
    return Define(name, std::move(dims));
  };
  for (std::size_t i = 0; i < model_.graph.nodes.size(); ++i) {
    const format::Node& node = model_.graph.nodes[i];
    Reader reader(node, model_, bounds_[i], find, define);
    if (!node.domain.empty() && node.domain != "ai.onnx") {
      return reader.Unsupported("domain '" + node.domain + "'");
    }
    QTX_RETURN_IF_ERROR(reader.Check());
    QTX_RETURN_IF_ERROR(add(reader));
  }
  return {};
}

Result<std::vector<Value*>> Graph::Outputs() {
  std::vector<Value*> outputs;
  for (const format::ValueInfo& output : model_.graph.outputs) {
    Value* value = Find(output.name);
    if (value == nullptr || value->constant) {
      return Error{ErrorCode::kUnsupported, "output '" + output.name + "'", "no node computes it"};
    }
    outputs.push_back(value);
  }
  return outputs;
}

void Graph::Forget() {
  model_ = {};
  for (Value& value : values_) {
    if (value.constant) std::vector<std::byte>().swap(value.tensor.bytes);
  }
}

Result<void> Graph::CheckInputs(std::span<const format::Tensor> inputs) const {
  if (inputs.size() != inputs_.size()) {
    return Error{
        ErrorCode::kInvalid, "inputs",
        "found " + std::to_string(inputs.size()) + ", expected " + std::to_string(inputs_.size())};
  }
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    const Value& value = *inputs_[i];
    if (inputs[i].elem_type != value.type() || inputs[i].dims != value.dims()) {
      const bool is_real =
          inputs[i].elem_type == format::ElementType::kFloat && format::IsQuantized(value.type());
      return Error{is_real ? ErrorCode::kUnsupported : ErrorCode::kInvalid,
                   "input '" + value.name + "'",
                   "found " + std::string(format::Name(inputs[i].elem_type)) +
                       format::ToString(inputs[i].dims) + ", expected " +
                       std::string(format::Name(value.type())) + format::ToString(value.dims())};
    }
  }
  return {};
}

}  // namespace qtx::backend::peer
