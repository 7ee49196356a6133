#include "faulty.h"

#include <algorithm>
#include <array>
#include <map>
#include <string>

#include "call.h"
#include "faults.h"
#include "qtx/backend/half_reals.h"
#include "qtx/format/check.h"
#include "qtx/format/levels.h"

namespace qtx::backend::faulty {
namespace {

// Limits: this backend computes single operators, not networks.
constexpr std::size_t kMostNodes = 8;
constexpr std::int64_t kMostElements = std::int64_t{1} << 20;  // of a constant
constexpr std::int64_t kMostResults = std::int64_t{1} << 24;

struct Operator {
  std::string_view op_type;
  Outputs (*run)(const Call&);
  std::string_view declined = "";  // attributes that it does not compute, each between two blanks
};

constexpr std::array kOperators{
    Operator{"Add", Elementwise},
    Operator{"AveragePool", Pool},
    Operator{"Cast", Convert, " round_mode "},
    Operator{"Clip", Convert, " max min "},
    Operator{"Concat", Concat},
    Operator{"Conv", Convolution},
    Operator{"ConvInteger", ConvInteger},
    Operator{"ConvTranspose", Convolution},
    Operator{"DequantizeLinear", DequantizeLinear},
    Operator{"Div", Elementwise},
    Operator{"DynamicQuantizeLinear", DynamicQuantizeLinear},
    Operator{"Flatten", Reshape},
    Operator{"Gather", Gather},
    Operator{"Gemm", Gemm},
    Operator{"GlobalAveragePool", Pool},
    Operator{"Identity", Convert},
    Operator{"LeakyRelu", Convert},
    Operator{"MatMul", MatMul},
    Operator{"MatMulInteger", MatMulInteger},
    Operator{"MaxPool", Pool, " storage_order "},
    Operator{"Mul", Elementwise},
    Operator{"Pad", Pad},
    Operator{"QLinearConv", QLinearConv},
    Operator{"QLinearMatMul", QLinearMatMul},
    Operator{"QuantizeLinear", QuantizeLinear},
    Operator{"ReduceMean", Reduce},
    Operator{"ReduceSum", Reduce},
    Operator{"Relu", Convert},
    Operator{"Reshape", Reshape, " shape "},
    Operator{"Sigmoid", Convert},
    Operator{"Slice", Slice},
    Operator{"Softmax", SoftmaxOf},
    Operator{"Split", Split},
    Operator{"Squeeze", Reshape},
    Operator{"Sub", Elementwise},
    Operator{"Tanh", Convert},
    Operator{"Transpose", Transpose},
    Operator{"Unsqueeze", Reshape},
};

Result<const Operator*> FindOperator(const format::Node& node) {
  const auto place = "node '" + node.op_type + "'";
  const auto* found = std::ranges::find(kOperators, node.op_type, &Operator::op_type);
  if (found == kOperators.end() || !(node.domain.empty() || node.domain == "ai.onnx")) {
    return Error{ErrorCode::kUnsupported, place, "no such operator here"};
  }
  for (const format::Attribute& attribute : node.attributes) {
    if (found->declined.find(" " + attribute.name + " ") == std::string_view::npos) continue;
    return Error{ErrorCode::kUnsupported, place, "attribute '" + attribute.name + "'"};
  }
  return found;
}

Result<OutputType> TypeOf(const format::Model& model, const std::string& name) {
  OutputType type;
  const format::ValueInfo* info = model.graph.FindValue(name);
  if (info == nullptr || !info->type) {
    return Error{ErrorCode::kUnsupported, "value '" + name + "'", "no declared type"};
  }
  type.elem_type = info->type->elem_type;
  if (info->type->quantization) {
    QTX_ASSIGN_OR_RETURN(type.quantization, format::Resolve(model, *info->type, name));
  }
  if (!info->type->shape) return type;
  type.dims = format::FixedDims(*info->type->shape);
  if (!type.dims) {
    return Error{ErrorCode::kUnsupported, "value '" + name + "'", "a shape that is not fixed"};
  }
  return type;
}

// Replaces the factors that a fault ignores by 1.
void DistortLevels(const format::Graph& graph, Fault fault,
                   std::vector<format::BlockFactors>& levels) {
  if (levels.size() < 2) return;
  if (fault == Fault::kCoarseLevelIgnored) levels.resize(1);
  if (fault != Fault::kFineLevelIgnored) return;
  std::size_t count = levels[0].value.size();
  if (const format::TensorData* data = graph.FindInitializer(levels[0].tensor)) {
    count = At(format::ElementCount(data->dims).value_or(0));
  }
  levels[0].tensor.clear();
  levels[0].value.assign(count, 1.0F);
}

// Low bits of `span`'s values, or nothing of it.
bool KeepFourBits(format::BitSpan& span) {
  span.width = std::min(span.width, 4 - span.value_bit);
  return span.width > 0;
}

// Halves of 4-bit values that share bytes, the first half in their low nibbles.
bool HasHalves(const format::BitSpan& span) {
  const std::size_t digits = span.count.size();
  return span.width == 4 && digits >= 2 && span.count[digits - 1] == 2 &&
         span.stride[digits - 1] == 4 && span.stride[0] == 8;
}

void DistortRecords(Fault fault, format::Encoding& encoding) {
  for (format::EncodedField& field : encoding.fields) {
    const bool code = field.role == format::EncodedRole::kCode;
    const auto width = [&field] {
      std::int32_t bits = 0;
      for (const format::BitSpan& span : field.bits)
        bits = std::max(bits, span.value_bit + span.width);
      return bits;
    };
    if (fault == Fault::kRecordFactorsFirstOnly && !code) {
      for (format::BitSpan& span : field.bits) std::ranges::fill(span.stride, 0);
    }
    if (fault == Fault::kRecordHighBitsDropped && (width() == 5 || width() == 6)) {
      std::erase_if(field.bits, [](format::BitSpan& span) { return !KeepFourBits(span); });
    }
    for (format::BitSpan& span : field.bits) {
      if (fault != Fault::kRecordNibblesInterleaved || !code || !HasHalves(span)) continue;
      std::rotate(span.count.rbegin(), span.count.rbegin() + 1, span.count.rend());
      std::rotate(span.stride.rbegin(), span.stride.rbegin() + 1, span.stride.rend());
    }
  }
}

format::Model Distorted(format::Model model, Fault fault) {
  for (auto* list : {&model.graph.inputs, &model.graph.outputs, &model.graph.values}) {
    for (format::ValueInfo& value : *list) {
      if (!value.type || !value.type->quantization) continue;
      format::Quantization& q = *value.type->quantization;
      if (fault == Fault::kBaseIgnored) q.base_levels.clear();
      if (q.encoding) DistortRecords(fault, *q.encoding);
      DistortLevels(model.graph, fault, q.scale_levels);
      DistortLevels(model.graph, fault, q.base_levels);
    }
  }
  return model;
}

struct PreparedStep {
  const Operator* op;
  const format::Node* node;
  std::vector<OutputType> outputs;
};

class Prepared : public PreparedModel {
 public:
  Prepared(const format::Model& model, bool exact, Fault fault, Memory& memory)
      : model_(Distorted(model, fault)), exact_(exact), fault_(fault), memory_(memory) {}

  Result<void> Plan() {
    const format::Graph& graph = model_.graph;
    if (graph.nodes.empty() || graph.nodes.size() > kMostNodes) {
      return Error{ErrorCode::kUnsupported, "graph", "a network: this backend is for operators"};
    }
    // Operators whose reals are each operand and the result.
    const bool plain = std::ranges::all_of(graph.nodes, [](const format::Node& node) {
      return node.op_type == "Cast" || node.op_type == "Add";
    });
    if (!exact_ && !plain) QTX_RETURN_IF_ERROR(DeclineHalfReals(graph));
    for (const format::TensorData& initializer : graph.initializers) {
      QTX_ASSIGN_OR_RETURN(Tensor tensor, format::LoadInitializer(model_, initializer.name));
      if (format::ElementCount(tensor) > kMostElements) {
        return Error{ErrorCode::kUnsupported, initializer.name, "more elements than here"};
      }
      constants_.emplace(initializer.name, std::move(tensor));
    }
    for (const format::Node& node : graph.nodes) {
      QTX_ASSIGN_OR_RETURN(const Operator* op, FindOperator(node));
      PreparedStep step{op, &node, {}};
      for (const std::string& name : node.outputs) {
        QTX_ASSIGN_OR_RETURN(OutputType type, TypeOf(model_, name));
        step.outputs.push_back(std::move(type));
      }
      steps_.push_back(std::move(step));
    }
    for (const format::ValueInfo& input : graph.inputs) {
      if (constants_.contains(input.name)) continue;
      QTX_ASSIGN_OR_RETURN(OutputType type, TypeOf(model_, input.name));
      inputs_.emplace_back(input.name, std::move(type));
    }
    return {};
  }

  Result<std::vector<Tensor>> Run(std::span<const Tensor> inputs) override {
    std::map<std::string, Tensor> values = constants_;
    if (inputs.size() != inputs_.size()) {
      return Error{ErrorCode::kInvalid, "inputs", "found " + std::to_string(inputs.size())};
    }
    for (std::size_t i = 0; i < inputs.size(); ++i) {
      const auto& [name, type] = inputs_[i];
      const bool is_float = inputs[i].elem_type == ElementType::kFloat && type.quantization;
      if (is_float) return Error{ErrorCode::kUnsupported, name, "FLOAT for a quantized input"};
      const bool fits = inputs[i].elem_type == type.elem_type && type.dims == inputs[i].dims;
      if (!fits) return Error{ErrorCode::kInvalid, name, "of another type or shape than declared"};
      Tensor& value = values[name] = inputs[i];
      value.quantization = type.quantization;
    }
    ++memory_.runs;
    for (const PreparedStep& step : steps_) QTX_RETURN_IF_ERROR(RunStep(step, values));
    std::vector<Tensor> outputs;
    for (const format::ValueInfo& output : model_.graph.outputs) {
      const auto found = values.find(output.name);
      if (found == values.end()) return Error{ErrorCode::kInvalid, output.name, "is not computed"};
      outputs.push_back(found->second);
    }
    return outputs;
  }

 private:
  Result<void> RunStep(const PreparedStep& step, std::map<std::string, Tensor>& values) {
    Call call{*step.node, model_.OpsetVersion(""), exact_, fault_, &memory_, {}, step.outputs};
    for (std::size_t i = 0; i < step.node->inputs.size(); ++i) {
      const std::string& name = step.node->inputs[i];
      const auto found = values.find(name);
      if (found == values.end() && !name.empty()) {
        return Error{ErrorCode::kUnsupported, name, "is not computed"};
      }
      call.inputs.push_back(name.empty() ? nullptr : &found->second);
    }
    QTX_ASSIGN_OR_RETURN(std::vector<Tensor> results, step.op->run(call));
    for (std::size_t i = 0; i < results.size() && i < step.node->outputs.size(); ++i) {
      values.insert_or_assign(step.node->outputs[i], std::move(results[i]));
    }
    return {};
  }

  format::Model model_;
  bool exact_;
  Fault fault_;
  Memory& memory_;
  std::map<std::string, Tensor> constants_;
  std::vector<std::pair<std::string, OutputType>> inputs_;
  std::vector<PreparedStep> steps_;
};

class FaultyBackend : public Backend {
 public:
  FaultyBackend(std::string name, Fault fault, std::vector<std::string> arithmetics)
      : name_(std::move(name)), fault_(fault), arithmetics_(std::move(arithmetics)) {}

  Result<Description> Describe() override {
    return Description{"faulty:" + name_, QTX_VERSION, arithmetics_, "portable"};
  }

  Result<std::unique_ptr<PreparedModel>> Prepare(const format::Model& model,
                                                 std::string_view arithmetic) override {
    const std::string name(arithmetic.empty() ? arithmetics_.front() : arithmetic);
    if (std::ranges::find(arithmetics_, name) == arithmetics_.end()) {
      return Error{ErrorCode::kUnsupported, "arithmetic", "'" + name + "'"};
    }
    QTX_RETURN_IF_ERROR(format::CheckFirst(model));
    auto prepared = std::make_unique<Prepared>(model, name == "exact", fault_, memory_);
    QTX_RETURN_IF_ERROR(prepared->Plan());
    return prepared;
  }

 private:
  std::string name_;
  Fault fault_;
  std::vector<std::string> arithmetics_;
  Memory memory_;
};

}  // namespace

Result<void> CheckSize(const Call& call, const Dims& dims) {
  const auto count = format::ElementCount(dims);
  if (count && *count <= kMostResults) return {};
  return Declined(call, "a result or kernel of shape " + format::ToString(dims));
}

Result<std::size_t> AxisOf(const Call& call, std::int64_t axis, std::size_t rank) {
  const auto found = format::NormalizeAxis(axis, static_cast<std::int64_t>(rank));
  if (!found) return Declined(call, "axis " + std::to_string(axis));
  return At(*found);
}

Result<std::vector<std::int64_t>> IntegersAt(const Call& call, std::size_t i) {
  if (!call.Has(i)) return Declined(call, "no input " + std::to_string(i));
  const Tensor& tensor = *call.inputs[i];
  const bool integers =
      tensor.elem_type == ElementType::kInt64 || tensor.elem_type == ElementType::kInt32;
  const bool wide_only = call.node.op_type != "Slice" && tensor.elem_type == ElementType::kInt32;
  if (!integers || wide_only || tensor.dims.size() != 1) return Declined(call, "such a list");
  return format::UnpackIntegers(tensor);
}

Result<Dims> Broadcast(const Call& call, const Dims& a, const Dims& b) {
  Dims dims(std::max(a.size(), b.size()));
  for (std::size_t d = 0; d < dims.size(); ++d) {
    const std::int64_t x = d < a.size() ? a[a.size() - 1 - d] : 1;
    const std::int64_t y = d < b.size() ? b[b.size() - 1 - d] : 1;
    if (x != y && x != 1 && y != 1) return Declined(call, "shapes that do not broadcast");
    dims[dims.size() - 1 - d] = x == 1 ? y : x;
  }
  QTX_RETURN_IF_ERROR(CheckSize(call, dims));
  return dims;
}

Dims Coordinates(std::int64_t i, const Dims& dims) {
  Dims at(dims.size());
  for (std::size_t d = dims.size(); d-- > 0; i /= dims[d]) at[d] = i % dims[d];
  return at;
}

std::vector<std::int64_t> BroadcastIndex(const Dims& from, const Dims& to) {
  std::vector<std::int64_t> index;
  for (std::int64_t i = 0; i < Size(to); ++i) {
    std::int64_t rest = i;
    std::int64_t element = 0;
    std::int64_t stride = 1;
    for (std::size_t d = 0; d < from.size(); ++d) {
      const std::int64_t size = to[to.size() - 1 - d];
      const std::int64_t own = from[from.size() - 1 - d];
      element += (own == 1 ? 0 : rest % size) * stride;
      stride *= own;
      rest /= size;
    }
    index.push_back(element);
  }
  return index;
}

Result<std::unique_ptr<Backend>> MakeFaulty(std::string_view name) {
  if (name == "none") {
    return std::make_unique<FaultyBackend>("none", Fault::kNone,
                                           std::vector<std::string>{"exact", "float32"});
  }
  const auto faults = Faults();
  const auto found = std::ranges::find(faults, name, &FaultInfo::name);
  if (found == faults.end()) {
    return Error{ErrorCode::kInvalid, "faulty:" + std::string(name), "no fault of this name"};
  }
  return std::make_unique<FaultyBackend>(std::string(name),
                                         FaultAt(static_cast<std::size_t>(found - faults.begin())),
                                         std::vector<std::string>{std::string(found->arithmetic)});
}

}  // namespace qtx::backend::faulty
