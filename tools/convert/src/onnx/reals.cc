#include "onnx/reals.h"

#include <algorithm>
#include <array>
#include <map>
#include <set>

#include "errors.h"
#include "layout.h"
#include "onnx/graph_index.h"
#include "qoperator/type_inference.h"
#include "qtx/format/accumulator.h"
#include "qtx/format/annotation.h"
#include "qtx/format/attributes.h"

namespace qtx::convert {
namespace {

using format::ElementType;
using format::Node;
using format::TensorType;

// Operators on reals whose result has another type, an explicit type, or is not a tensor. Sorted.
// clang-format off
constexpr std::array<std::string_view, 28> kNotReal = {
    "ArgMax", "ArgMin", "Bernoulli", "Cast", "CastLike", "DequantizeLinear",
    "DynamicQuantizeLinear", "Equal", "EyeLike", "Greater", "GreaterOrEqual", "IsInf", "IsNaN",
    "Less", "LessOrEqual", "Multinomial", "NonMaxSuppression", "NonZero", "Optional",
    "OptionalHasElement", "QuantizeLinear", "RandomNormalLike", "RandomUniformLike",
    "SequenceConstruct", "SequenceInsert", "Shape", "Size", "SplitToSequence"};
// clang-format on
// Operators of which only the first result is real. Sorted.
constexpr std::array<std::string_view, 4> kFirstReal = {"Dropout", "MaxPool", "TopK", "Unique"};

std::size_t RealOutputs(const Node& node) {
  const std::string_view name = node.op_type;
  if (!IsStock(node, name) || std::ranges::binary_search(kNotReal, name)) return 0;
  const std::size_t most = std::ranges::binary_search(kFirstReal, name) ? 1 : node.outputs.size();
  return std::min(most, node.outputs.size());
}

// The type of a quantized initializer behind a Transpose.
std::optional<TensorType> Transposed(const Node& node, const TensorType& from) {
  const auto dims = from.shape ? format::FixedDims(*from.shape) : std::nullopt;
  if (!IsStock(node, "Transpose") || !dims || from.quantization->axis.size() > 1 ||
      from.statistics) {
    return std::nullopt;
  }
  Permutation perm = node.IntsOr("perm", {});
  if (perm.empty()) {
    for (std::size_t i = dims->size(); i-- > 0;) perm.push_back(static_cast<std::int64_t>(i));
  }
  Permutation sorted = perm;
  std::ranges::sort(sorted);
  for (std::size_t i = 0; i < sorted.size(); ++i) {
    if (sorted[i] != static_cast<std::int64_t>(i)) return std::nullopt;
  }
  if (perm.size() != dims->size()) return std::nullopt;
  return Permute(from, perm);
}

class Declarer {
 public:
  explicit Declarer(format::Graph& graph) : graph_(graph) {
    for (const auto& data : graph.initializers) constants_.insert(data.name);
    for (const auto* list : {&graph.inputs, &graph.outputs, &graph.values}) {
      for (const format::ValueInfo& info : *list) Note(info);
    }
  }

  void Run() {
    for (const Node& node : graph_.nodes) Visit(node);
  }

 private:
  void Note(const format::ValueInfo& info) {
    declared_.insert(info.name);
    if (info.type && info.type->quantization && format::IsQuantized(info.type->elem_type))
      quantized_.emplace(info.name, *info.type);
  }
  void Declare(const std::string& name, TensorType type) {
    if (name.empty() || declared_.contains(name)) return;
    format::ValueInfo info;
    info.name = name;
    info.type = std::move(type);
    Note(info);
    graph_.values.push_back(std::move(info));
  }
  void Visit(const Node& node) {
    const auto is_quantized = [&](const std::string& input) { return quantized_.contains(input); };
    const auto first = std::ranges::find_if(node.inputs, is_quantized);
    if (first == node.inputs.end()) return;
    const std::string& from = node.inputs[0];
    if (constants_.contains(from) && is_quantized(from) && node.outputs.size() == 1) {
      if (auto transposed = Transposed(node, quantized_.at(from)))
        return Declare(node.outputs[0], *std::move(transposed));
    }
    for (std::size_t i = 0; i < RealOutputs(node); ++i)
      Declare(node.outputs[i], {.elem_type = format::RealTypeOf(quantized_.at(*first))});
  }

  format::Graph& graph_;
  std::map<std::string, TensorType> quantized_;
  std::set<std::string> declared_, constants_;
};

// What OperandCheck knows of a value.
struct KnownType {
  ElementType elem_type = ElementType::kUndefined;
  ElementType real = ElementType::kUndefined;  // of a quantized value's reals; else elem_type
};

// Walks the nodes and propagates known types: declared, of initializers, or inferred.
class OperandCheck {
 public:
  explicit OperandCheck(const format::Graph& graph) : graph_(graph) {
    for (const auto* list : {&graph.inputs, &graph.outputs, &graph.values}) {
      for (const format::ValueInfo& info : *list) {
        if (info.type) Add(info.name, {info.type->elem_type, format::RealTypeOf(*info.type)});
      }
    }
    for (const auto& data : graph.initializers) Add(data.name, {data.data_type, data.data_type});
  }

  Result<void> Run() {
    for (const Node& node : graph_.nodes) {
      auto checked = Check(node);
      if (!checked.has_value()) return At(PlaceOf(node), checked.error());
      PassOn(node);
    }
    return {};
  }

 private:
  void Add(const std::string& value, KnownType type) { types_.emplace(value, type); }
  ElementType TypeOf(const std::string& value) const { return Find(value).elem_type; }
  ElementType RealOf(const std::string& value) const { return Find(value).real; }
  KnownType Find(const std::string& value) const {
    const auto found = types_.find(value);
    return found == types_.end() ? KnownType() : found->second;
  }
  std::string TextOf(const std::string& value) const {
    const auto [type, real] = Find(value);
    const std::string name(format::Name(type));
    return type == real ? name : name + " of " + std::string(format::Name(real)) + " reals";
  }
  // Every value of `node` after another: those whose type is known.
  std::vector<std::string> Known(const Node& node, bool outputs) const {
    std::vector<std::string> known = node.inputs;
    if (outputs) known.insert(known.end(), node.outputs.begin(), node.outputs.end());
    std::erase_if(known,
                  [&](const auto& value) { return TypeOf(value) == ElementType::kUndefined; });
    return known;
  }
  Error Beside(ErrorCode code, const std::string& value, const std::string& other,
               const char* why) const {
    return {code, "value '" + value + "'",
            "found " + TextOf(value) + " beside " + TextOf(other) + " '" + other + "'; " + why};
  }
  Result<void> Check(const Node& node) const {
    if (RealOutputs(node) == 0) return {};
    std::vector<std::string> values = Known(node, true);
    // A ratio and a region of interest are not real operands.
    if ((IsStock(node, "Dropout") || IsStock(node, "Resize")) && node.inputs.size() > 1) {
      std::erase(values, node.inputs[1]);
    }
    const auto quantized =
        std::ranges::find_if(values, [&](auto& v) { return format::IsQuantized(TypeOf(v)); });
    if (quantized != values.end()) {
      const auto other = std::ranges::find_if(values, [&](auto& v) {
        return format::IsRealType(RealOf(v)) && RealOf(v) != RealOf(*quantized);
      });
      if (other != values.end()) {
        return Beside(ErrorCode::kUnsupported, *other, *quantized,
                      "ONNX has one type of reals there (real_type)");
      }
    }
    return CheckProduct(node);
  }
  Result<void> CheckProduct(const Node& node) const {
    if (!format::HasAccumulator(node)) return {};
    const std::vector<std::string> values = Known(node, false);
    const auto plain = std::ranges::find_if(values, [&](auto& v) {
      return format::IsIntegerStorage(TypeOf(v)) && !format::IsQuantized(TypeOf(v));
    });
    if (plain == values.end()) return {};
    const auto other =
        std::ranges::find_if(values, [&](auto& v) { return TypeOf(v) != TypeOf(*plain); });
    if (other == values.end()) return {};
    return Beside(ErrorCode::kInvalid, *other, *plain,
                  "expected reals, or operands of one plain type");
  }
  void PassOn(const Node& node) {
    ElementType type = ElementType::kUndefined;
    if (IsQuantizeLinear(node)) {
      type = node.inputs.size() > 2 ? TypeOf(node.inputs[2]) : ElementType::kUint8;
    } else if (MovesElements(node) && format::IsQuantized(TypeOf(node.inputs[0]))) {
      type = RealOf(node.inputs[0]);
    } else if (MovesElements(node)) {
      type = TypeOf(node.inputs[0]);
    } else if (RealOutputs(node) > 0) {
      for (const std::string& input : node.inputs) {
        if (format::IsHalf(RealOf(input))) type = RealOf(input);
      }
    } else if (IsStock(node, "Cast")) {
      type = format::ElementTypeFromCode(format::Attributes(node).Int("to")).value_or(type);
    }
    if (type == ElementType::kUndefined || node.outputs.empty()) return;
    for (const std::string& output : node.outputs) Add(output, {type, type});
  }

  const format::Graph& graph_;
  std::map<std::string, KnownType> types_;
};

}  // namespace

void DeclareReals(format::Graph& graph) { Declarer(graph).Run(); }

Result<void> CheckOperands(const format::Graph& graph) { return OperandCheck(graph).Run(); }

Result<void> CheckComputesReals(const Node& node) {
  if (!IsStock(node, "ConstantOfShape")) return {};
  return Error{ErrorCode::kUnsupported, graph::PlaceOf(node),
               "'value' holds a stored value, which stock ONNX has no quantized output for"};
}

}  // namespace qtx::convert
