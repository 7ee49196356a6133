#include "tflite/known.h"

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "onnx/evaluate.h"
#include "qtx/format/inference.h"
#include "qtx/format/levels.h"

namespace qtx::convert {
namespace {

using format::Node;
using format::Tensor;

class Knowledge {
 public:
  explicit Knowledge(const format::Model& model) : view_(model), inference_(model) {
    constexpr std::int64_t kLeast = std::int64_t{1} << 20;
    budget_ = kLeast;
    for (const format::TensorData& data : model.graph.initializers) {
      const auto count = format::ElementCount(data.dims);
      const auto bytes =
          count.has_value() ? format::PackedBytes(data.data_type, *count) : Result<std::int64_t>(0);
      if (bytes.has_value()) budget_ += *bytes;
    }
    for (const format::ValueInfo& value : model.graph.outputs) computed_.insert(value.name);
    for (const format::ValueInfo& value : model.graph.inputs) computed_.insert(value.name);
  }

  /// The node's results, if all are known.
  std::vector<std::pair<std::string, Tensor>> ResultsOf(const Node& node) {
    std::vector<std::pair<std::string, Tensor>> results;
    for (const std::string& name : node.outputs) {
      if (name.empty()) continue;
      if (computed_.contains(name)) return {};
      const format::ValueFacts* facts = inference_.Find(name);
      if (facts != nullptr && facts->constant != nullptr) {
        results.emplace_back(name, *facts->constant);
      } else if (auto tensor = Evaluated(node); tensor && !Rounds(name, *tensor)) {
        results.emplace_back(name, *std::move(tensor));
      } else {
        return {};
      }
    }
    for (const auto& [name, tensor] : results) known_.emplace(name, tensor);
    return results;
  }

 private:
  // True where the value's declaration has other parameters than the tensor that is moved there.
  bool Rounds(const std::string& name, const Tensor& moved) const {
    const format::ValueInfo* value = view_.FindValue(name);
    if (value == nullptr || !value->type || !value->type->quantization) return false;
    return !moved.quantization || moved.elem_type != value->type->elem_type ||
           !format::SameParameters(*moved.quantization, *value->type->quantization);
  }

  std::optional<Tensor> Evaluated(const Node& node) {
    if (!CanEvaluate(node) || node.outputs.size() != 1) return {};
    std::vector<Tensor> values(node.inputs.size());
    std::vector<const Tensor*> inputs(node.inputs.size(), nullptr);
    for (std::size_t i = 0; i < node.inputs.size(); ++i) {
      if (node.inputs[i].empty()) continue;
      auto value = ValueOf(node.inputs[i]);
      // A constant of FLOAT16 stays half as large: WidenHalves.
      if (!value || value->elem_type == format::ElementType::kFloat16) return {};
      values[i] = *std::move(value);
      inputs[i] = &values[i];
    }
    const bool quantized = !values.empty() && values[0].quantization;
    if (quantized && !MovesQuantized(node, *values[0].quantization)) return {};
    auto result = Evaluate(node, inputs, budget_);
    if (result) budget_ = std::max<std::int64_t>(budget_ - std::ssize(result->bytes), 0);
    return result;
  }

  // Elements that move keep their scales, but where a block of them has one.
  static bool MovesQuantized(const Node& node, const format::Quantization& q) {
    return (node.op_type == "Transpose" || node.op_type == "Identity") && q.axis.size() <= 1 &&
           q.block_shape.empty() && q.scale_tensor.empty() && !format::HasLevels(q);
  }

  std::optional<Tensor> ValueOf(const std::string& name) const {
    if (const auto found = known_.find(name); found != known_.end()) return found->second;
    if (computed_.contains(name) || view_.FindInitializer(name) == nullptr) return {};
    auto tensor = format::LoadInitializer(view_, name);
    return tensor.has_value() ? std::optional(*std::move(tensor)) : std::nullopt;
  }

  format::ModelView view_;
  format::Inference inference_;
  std::set<std::string> computed_;  // inputs and outputs of the graph
  std::map<std::string, Tensor> known_;
  std::int64_t budget_ = 0;  // bytes
};

}  // namespace

format::Model WithKnownValues(format::Model model, Ledger& ledger) {
  std::map<std::string, Tensor> known;
  std::vector<Node> computed;
  {
    Knowledge knowledge(model);
    for (const Node& node : model.graph.nodes) {
      const auto results = knowledge.ResultsOf(node);
      if (results.empty()) {
        computed.push_back(node);
        continue;
      }
      for (const auto& [name, tensor] : results) {
        known.emplace(name, tensor);
        if (node.op_type != "Constant")
          ledger.Changed(name, "producer", "what " + node.op_type + " gives is a constant");
      }
    }
  }
  model.graph.nodes = std::move(computed);
  std::erase_if(model.graph.values, [&](const format::ValueInfo& value) {
    const auto found = known.find(value.name);
    return found != known.end() && found->second.quantization;
  });
  for (const auto& [name, tensor] : known) {
    model.graph.initializers.push_back(format::ToTensorData(name, tensor));
    if (!tensor.quantization) continue;
    format::ValueInfo& value = model.graph.values.emplace_back();
    value.name = name;
    value.type = format::TensorType{
        tensor.elem_type, format::ToShape(tensor.dims), tensor.quantization, {}, ""};
  }
  return model;
}

}  // namespace qtx::convert
