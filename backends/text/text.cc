// The specification as a backend: each node is computed by the formulas of its text. Slow, and
// independent of the reference. Source: spec/README.md, "Formulas".
#include "qtx/formula/text.h"

#include <algorithm>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "qtx/backend/backend.h"
#include "qtx/backend/options.h"
#include "qtx/format/check.h"
#include "qtx/format/levels.h"
#include "qtx/formula/computation.h"

namespace qtx::backend {
namespace {

std::string PlaceOf(const format::Node& node, std::size_t i) {
  return "graph.node[" + std::to_string(i) + "] '" +
         (node.name.empty() && !node.outputs.empty() ? node.outputs[0] : node.name) + "'";
}

Result<formula::ValueType> TypeOf(const format::ModelView& view, const format::Inference& inference,
                                  const std::string& name) {
  formula::ValueType type;
  if (name.empty()) return type;
  type.given = true;
  if (const format::ValueFacts* facts = inference.Find(name)) type.type = facts->type;
  const format::ValueInfo* declared = view.FindValue(name);
  if (declared == nullptr || !declared->type) return type;
  type.type = declared->type->elem_type;
  if (declared->type->quantization) {
    QTX_ASSIGN_OR_RETURN(type.quantization, format::Resolve(view, *declared->type));
  }
  if (declared->type->shape) type.dims = format::FixedDims(*declared->type->shape);
  return type;
}

// A node whose constants and types are known; nullopt where the sizes of an input are not.
struct KnownNode {
  formula::Call call;
  std::vector<std::unique_ptr<format::Tensor>> constants;
};

Result<std::optional<KnownNode>> Known(const format::ModelView& view,
                                       const format::Inference& inference, std::int64_t opset,
                                       const format::Node& node) {
  KnownNode known;
  known.call.node = &node;
  known.call.schema = format::FindSchema(node.domain, node.op_type);
  known.call.opset = opset;
  for (const std::string& input : node.inputs) {
    const bool constant = view.FindInitializer(input) != nullptr;
    known.call.initializers.push_back(constant);
    known.call.inputs.push_back(nullptr);
    auto& type = known.call.input_types.emplace_back();
    if (constant) {
      QTX_ASSIGN_OR_RETURN(format::Tensor tensor, format::LoadInitializer(view, input));
      known.constants.push_back(std::make_unique<format::Tensor>(std::move(tensor)));
      known.call.inputs.back() = known.constants.back().get();
    } else if (!input.empty()) {
      QTX_ASSIGN_OR_RETURN(type, TypeOf(view, inference, input));
      if (!type.dims) return std::nullopt;
    }
  }
  for (const std::string& output : node.outputs) {
    QTX_ASSIGN_OR_RETURN(known.call.outputs.emplace_back(), TypeOf(view, inference, output));
  }
  return known;
}

// The model's own rules are the format library's; those that the text states as constraints of
// operators are the text's alone, as far as constants and declared types decide.
Result<void> Check(const formula::Text& text, const format::Model& model,
                   const format::Inference& inference) {
  const auto checked = format::CheckFirst(model);
  const bool by_format = !checked && !text.Constrains(checked.error().clause);
  if (by_format) return checked.error();
  const format::ModelView view = format::ModelView::Indexed(model);
  for (std::size_t i = 0; i < model.graph.nodes.size(); ++i) {
    const format::Node& node = model.graph.nodes[i];
    auto known = Known(view, inference, format::OnnxOpset(model), node);
    if (!known || !*known) continue;
    const auto kept = formula::CheckNode(text, (*known)->call);
    if (!kept && !kept.error().clause.empty()) return At(PlaceOf(node, i), kept.error());
  }
  return {};
}

class PreparedText : public PreparedModel {
 public:
  PreparedText(const formula::Text& text, format::Model model, std::string arithmetic,
               format::Inference inference)
      : text_(text),
        model_(std::move(model)),
        arithmetic_(std::move(arithmetic)),
        inference_(std::move(inference)) {}

  /// Reads the constants.
  Result<void> Prepare() {
    const format::ModelView view = format::ModelView::Indexed(model_);
    for (const format::TensorData& initializer : model_.graph.initializers) {
      QTX_ASSIGN_OR_RETURN(format::Tensor tensor, format::LoadInitializer(view, initializer.name));
      constants_.emplace(initializer.name, std::move(tensor));
    }
    for (const format::ValueInfo& input : model_.graph.inputs) {
      if (constants_.contains(input.name)) continue;
      auto& quantization = inputs_.emplace_back();
      if (!input.type || !input.type->quantization) continue;
      QTX_ASSIGN_OR_RETURN(quantization, format::Resolve(view, *input.type));
    }
    for (const format::Node& node : model_.graph.nodes) {
      std::vector<formula::ValueType>& types = types_.emplace_back();
      for (const std::string& name : node.outputs) {
        QTX_ASSIGN_OR_RETURN(types.emplace_back(), TypeOf(view, inference_, name));
      }
    }
    return {};
  }

  Result<std::vector<format::Tensor>> Run(std::span<const format::Tensor> inputs) override {
    if (inputs.size() != inputs_.size()) {
      return Error{ErrorCode::kInvalid, "inputs",
                   "found " + std::to_string(inputs.size()) + " tensors, expected " +
                       std::to_string(inputs_.size())};
    }
    std::vector<format::Tensor> given(inputs.begin(), inputs.end());
    std::map<std::string, const format::Tensor*, std::less<>> values;
    std::size_t next = 0;
    for (const format::ValueInfo& input : model_.graph.inputs) {
      if (constants_.contains(input.name)) continue;
      given[next].quantization = inputs_[next];
      values[input.name] = &given[next++];
    }
    for (const auto& [name, tensor] : constants_) values[name] = &tensor;
    std::vector<std::vector<format::Tensor>> computed(model_.graph.nodes.size());
    for (std::size_t i = 0; i < model_.graph.nodes.size(); ++i) {
      const format::Node& node = model_.graph.nodes[i];
      auto outputs = formula::Compute(text_, CallOf(i, values), arithmetic_);
      if (!outputs) return At(PlaceOf(node, i), outputs.error());
      computed[i] = *std::move(outputs);
      for (std::size_t k = 0; k < node.outputs.size(); ++k) {
        if (!node.outputs[k].empty()) values[node.outputs[k]] = &computed[i][k];
      }
    }
    std::vector<format::Tensor> outputs;
    for (const format::ValueInfo& output : model_.graph.outputs) {
      outputs.push_back(*values.find(output.name)->second);
    }
    return outputs;
  }

 private:
  formula::Call CallOf(std::size_t i,
                       const std::map<std::string, const format::Tensor*, std::less<>>& values) {
    const format::Node& node = model_.graph.nodes[i];
    formula::Call call;
    call.node = &node;
    call.schema = format::FindSchema(node.domain, node.op_type);
    call.opset = format::OnnxOpset(model_);
    for (const std::string& input : node.inputs) {
      const auto found = values.find(input);
      call.inputs.push_back(input.empty() || found == values.end() ? nullptr : found->second);
      call.initializers.push_back(constants_.contains(input));
    }
    call.outputs = types_[i];
    return call;
  }

  const formula::Text& text_;
  format::Model model_;
  std::string arithmetic_;
  format::Inference inference_;
  std::map<std::string, format::Tensor, std::less<>> constants_;
  std::vector<std::optional<format::Quantization>> inputs_;  // parameters inline
  std::vector<std::vector<formula::ValueType>> types_;       // of each node's outputs
};

class TextBackend : public Backend {
 public:
  explicit TextBackend(formula::Text text) : text_(std::move(text)) {}

  Result<Description> Describe() override {
    return Description{"text", QTX_VERSION, text_.Arithmetics(), "rationals"};
  }

  Result<std::unique_ptr<PreparedModel>> Prepare(const format::Model& model,
                                                 std::string_view arithmetic) override {
    const std::vector<std::string> known = text_.Arithmetics();
    if (std::ranges::find(known, arithmetic) == known.end()) {
      return Error{ErrorCode::kUnsupported, "",
                   "found arithmetic '" + std::string(arithmetic) + "', expected one of the text"};
    }
    format::Inference inference(model);
    QTX_RETURN_IF_ERROR(Check(text_, model, inference));
    auto prepared =
        std::make_unique<PreparedText>(text_, model, std::string(arithmetic), std::move(inference));
    QTX_RETURN_IF_ERROR(prepared->Prepare());
    return prepared;
  }

 private:
  formula::Text text_;
};

}  // namespace

Result<std::unique_ptr<Backend>> Make_text(std::string_view options) {
  QTX_ASSIGN_OR_RETURN(const Options parsed, Options::Parse(options, {"spec"}));
  const std::string folder = parsed.Text("spec");
  QTX_ASSIGN_OR_RETURN(formula::Text text,
                       folder.empty() ? formula::Text::Embedded() : formula::Text::Read(folder));
  return std::make_unique<TextBackend>(std::move(text));
}

}  // namespace qtx::backend
