#include "engine/ops/quantized_call.h"

#include <algorithm>
#include <utility>

#include "engine/elements.h"
#include "engine/nested_model.h"

namespace qtx::backend::engine {
namespace {

using format::Dims;
using format::ElementType;
using format::Quantization;
using format::Tensor;

// `Call` says which clause of the node it is.
Error Broken(std::string message) { return {ErrorCode::kInvalid, "", std::move(message)}; }

bool IsScalar(const Dims& dims) { return dims.empty() || dims == Dims{1}; }

Result<std::vector<float>> ScalesOf(const Value* value) {
  std::vector<float> scales;
  if (value == nullptr) return std::vector<float>{1.0F};
  const NumberReader read(value->tensor);
  for (std::int64_t i = 0; i < format::ElementCount(value->tensor); ++i) {
    const Number scale = read(i);
    if (!scale.finite() || scale.Sign() <= 0) {
      return Broken("'" + value->name + "': a scale that is not positive and finite");
    }
    scales.push_back(static_cast<float>(scale.value().get_d()));  // a binary32 or narrower
  }
  return scales;
}

// The parameters of the present run.
Result<Quantization> Read(const CallParameters& p) {
  Quantization q;
  q.axis = p.axis;
  QTX_ASSIGN_OR_RETURN(q.scale, ScalesOf(p.scale));
  if (p.zero_point == nullptr) return q;
  if (format::IsIntegerStorage(p.zero_point->tensor.elem_type)) {
    q.offset = format::UnpackInt32(p.zero_point->tensor);
    if (q.scale.size() == 1) q.scale.resize(q.offset.size(), q.scale[0]);  // those without a scale
    return q;
  }
  const NumberReader zeros(p.zero_point->tensor);
  for (std::int64_t i = 0; i < format::ElementCount(p.zero_point->tensor); ++i) {
    if (zeros(i).finite() && zeros(i).Sign() == 0) continue;
    return Broken("'" + p.zero_point->name + "': a zero point of floats that is not 0");
  }
  return q;
}

bool IsKnown(const CallParameters& p) {
  return (p.scale == nullptr || p.scale->constant) &&
         (p.zero_point == nullptr || p.zero_point->constant);
}

bool IsKnown(const QuantizedCall& call) {
  const auto known = [](const CallInput& input) { return IsKnown(input.parameters); };
  return std::ranges::all_of(call.inputs, known) && IsKnown(call.output) &&
         (!call.bias.has_value() || known(*call.bias)) &&
         std::ranges::all_of(call.bias_scales, &Value::constant);
}

format::ValueInfo InfoOf(const std::string& name, const Tensor& tensor) {
  format::ValueInfo info;
  info.name = name;
  info.type.emplace();
  info.type->elem_type = tensor.elem_type;
  info.type->quantization = tensor.quantization;
  info.type->shape = format::ToShape(tensor.dims);
  return info;
}

/// A model of one node under construction, and the values that are its inputs when it runs.
struct Building {
  format::Model model;
  format::Node node;
  std::optional<float> bias_factor;
  std::vector<std::pair<const Value*, Tensor>> inputs;  // with types and dims

  Result<void> Add(const CallInput& input, const std::string& name) {
    Tensor tensor{.elem_type = *format::QuantizedOf(input.value->tensor.elem_type),
                  .dims = input.value->tensor.dims};
    QTX_ASSIGN_OR_RETURN(tensor.quantization, Read(input.parameters));
    node.inputs.push_back(name);
    if (input.value->constant) {
      tensor.bytes = input.value->tensor.bytes;
      model.graph.values.push_back(InfoOf(name, tensor));
      model.graph.initializers.push_back(format::ToTensorData(name, tensor));
      return {};
    }
    model.graph.inputs.push_back(InfoOf(name, tensor));
    inputs.emplace_back(input.value, std::move(tensor));
    return {};
  }
};

// The product of the scales by which a bias is multiplied beside its own.
Result<float> BiasFactor(const QuantizedCall& call) {
  float factor = 1;
  for (const Value* scale : call.bias_scales) {
    QTX_ASSIGN_OR_RETURN(const std::vector<float> values, ScalesOf(scale));
    factor = values[0];
  }
  return factor;
}

Result<Building> Build(const QuantizedCall& call) {
  Building building;
  building.model.ir_version = 8;
  building.model.opset_imports = {{"", call.opset, ""},
                                  {std::string(format::kDomain), format::kVersion, ""}};
  building.node.op_type = call.op_type;
  building.node.outputs = {"y"};
  building.node.attributes = call.attributes;
  for (std::size_t i = 0; i < call.inputs.size(); ++i) {
    QTX_RETURN_IF_ERROR(building.Add(call.inputs[i], "input " + std::to_string(i)));
  }
  if (call.bias.has_value()) {
    QTX_RETURN_IF_ERROR(building.Add(*call.bias, "bias"));
    QTX_ASSIGN_OR_RETURN(const float factor, BiasFactor(call));
    // Gemm alone has a factor for it of its own, which alpha does not multiply.
    if (call.op_type == "Gemm" &&
        format::Attributes(building.node, call.opset).Float("alpha") == 1) {
      building.node.attributes.push_back(format::Attribute::Float("beta", factor));
    } else {
      building.bias_factor = factor;
    }
  }
  format::ValueInfo y;
  y.name = "y";
  y.type.emplace();
  y.type->elem_type = call.real_output ? call.type : *format::QuantizedOf(call.type);
  if (!call.real_output) {
    QTX_ASSIGN_OR_RETURN(y.type->quantization, Read(call.output));
  }
  building.model.graph.outputs.push_back(std::move(y));
  building.model.graph.nodes.push_back(building.node);
  return building;
}

// The call with parameters that any tensor of these types and shapes may have: it says whether
// shapes and attributes fit, and the shape of the result.
QuantizedCall WithoutParameters(QuantizedCall call) {
  for (CallInput& input : call.inputs) input.parameters = {};
  if (call.bias.has_value()) call.bias->parameters = {};
  call.bias_scales.clear();
  call.output = {};
  return call;
}

class Call : public Step {
 public:
  Call(QuantizedCall call, const NodePlan& node)
      : call_(std::move(call)),
        kernels_(node.kernels()),
        threads_(node.threads()),
        broken_(node.Breaks("C2", "")) {}

  Result<Dims> Prepare(const QuantizedCall& call) {
    auto building = Build(call);
    if (!building.has_value()) return OfNode(building.error());
    auto nested = PrepareNested(building->model, kernels_, threads_, building->bias_factor);
    if (!nested.has_value()) return OfNode(nested.error());
    inputs_ = std::move(building->inputs);
    prepared_ = std::move(nested->prepared);
    return std::move(nested->dims);
  }
  void SetOutput(Value* y) { y_ = y; }

  std::string_view Path() const override { return "nested"; }
  Result<void> Run() override {
    if (!IsKnown(call_)) QTX_RETURN_IF_ERROR(Prepare(call_));
    std::vector<Tensor> inputs;
    for (const auto& [value, type] : inputs_) {
      inputs.push_back(type);
      inputs.back().bytes = value->tensor.bytes;
    }
    QTX_ASSIGN_OR_RETURN(std::vector<Tensor> outputs, prepared_->Run(inputs));
    y_->tensor.bytes = std::move(outputs[0].bytes);
    return {};
  }

 private:
  // Scales and zero points are all that the node's own clauses leave open.
  Error OfNode(Error error) const {
    if (error.code == ErrorCode::kInvalid) error.clause = broken_.clause;
    return At(broken_.where, std::move(error));
  }

  QuantizedCall call_;
  Value* y_ = nullptr;
  const Kernels& kernels_;
  Threads& threads_;
  Error broken_;  // where, and the clause that parameters break
  std::vector<std::pair<const Value*, Tensor>> inputs_;
  std::unique_ptr<PreparedModel> prepared_;
};

// The axes along which parameters of the tensor's own rank vary.
std::vector<std::int64_t> VaryingAxes(const Dims& own) {
  std::vector<std::int64_t> axes;
  for (std::size_t d = 0; d < own.size(); ++d) {
    if (own[d] != 1) axes.push_back(static_cast<std::int64_t>(d));
  }
  return axes;
}

}  // namespace

Result<CallParameters> ReadParameters(const NodePlan& node, std::size_t scale,
                                      std::size_t zero_point, std::int64_t channel_axis) {
  CallParameters p;
  if (scale != zero_point) {
    QTX_ASSIGN_OR_RETURN(p.scale, node.Input(scale));
  }
  if (node.HasInput(zero_point)) {
    QTX_ASSIGN_OR_RETURN(p.zero_point, node.Input(zero_point));
  }
  const Value* shape = p.scale != nullptr ? p.scale : p.zero_point;
  if (shape == nullptr) return p;
  const Dims& own = shape->tensor.dims;
  if (IsScalar(own)) return p;
  p.axis = own.size() == 1 ? std::vector{channel_axis} : VaryingAxes(own);
  return p;
}

StepResult MakeCall(const NodePlan& node, QuantizedCall call) {
  call.opset = call.opset != 0 ? call.opset : std::max<std::int64_t>(node.opset(), 13);
  const bool known = IsKnown(call);
  const ElementType type = call.type;
  const QuantizedCall first = known ? call : WithoutParameters(call);
  auto step = std::make_unique<Call>(std::move(call), node);
  QTX_ASSIGN_OR_RETURN(Dims dims, step->Prepare(first));
  QTX_ASSIGN_OR_RETURN(Value * y, node.OutputOfType(std::move(dims), type));
  step->SetOutput(y);
  return step;
}

}  // namespace qtx::backend::engine
