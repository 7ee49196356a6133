#include "tflite/halves.h"

#include <array>
#include <map>
#include <optional>

#include "onnx/evaluate.h"
#include "onnx/graph_index.h"

namespace qtx::convert {
namespace {

using format::ElementType;
using format::Node;
using format::Tensor;

class Widener {
 public:
  explicit Widener(const GraphIndex& index) : index_(index) {}

  Widened Run() {
    Widened widened;
    const format::Graph& graph = index_.model().graph;
    for (const Node& node : graph.nodes) Visit(node);
    widened.model = index_.model();
    std::erase_if(widened.model.graph.nodes, [&](const Node& node) {
      return node.outputs.size() == 1 && computed_.contains(node.outputs[0]);
    });
    for (const auto& [name, tensor] : computed_) {
      widened.model.graph.initializers.push_back(format::ToTensorData(name, tensor));
      widened.halves.insert(name);
    }
    return widened;
  }

 private:
  void Visit(const Node& node) {
    const bool cast = format::IsStock(node, "Cast");
    if ((!cast && !format::IsStock(node, "Transpose")) || node.inputs.size() != 1 ||
        node.outputs.size() != 1 || index_.IsOutput(node.outputs[0])) {
      return;
    }
    const std::optional<Tensor> x = cast ? HalfOf(node.inputs[0]) : WideOf(node.inputs[0]);
    if (!x) return;
    const std::array<const Tensor*, 1> inputs = {&*x};
    // A value of FLOAT16 has half the bytes of its FLOAT.
    auto y = Evaluate(node, inputs, 2 * std::ssize(x->bytes));
    if (y && y->elem_type == ElementType::kFloat) computed_.emplace(node.outputs[0], *std::move(y));
  }
  std::optional<Tensor> HalfOf(const std::string& name) const {
    const format::TensorData* data = index_.IsInput(name) ? nullptr : index_.Initializer(name);
    if (data == nullptr || data->data_type != ElementType::kFloat16) return std::nullopt;
    auto half = format::LoadInitializer(index_.view(), name);
    return half.has_value() ? std::optional(*std::move(half)) : std::nullopt;
  }
  std::optional<Tensor> WideOf(const std::string& name) const {
    const auto found = computed_.find(name);
    return found == computed_.end() ? std::nullopt : std::optional(found->second);
  }

  const GraphIndex& index_;
  std::map<std::string, Tensor> computed_;
};

}  // namespace

Result<Widened> WidenHalves(const format::Model& model) {
  QTX_ASSIGN_OR_RETURN(const GraphIndex index, GraphIndex::Of(model));
  return Widener(index).Run();
}

}  // namespace qtx::convert
