#include "qdq/normalize.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "onnx/graph_index.h"
#include "qdq/half_reals.h"
#include "qdq/parameters.h"
#include "qtx/format/annotation.h"

namespace qtx::convert {
namespace {

using format::ElementType;
using format::Node;
using format::Tensor;

// `value` as an element of `type` rounds it, infinities aside: they saturate all the same.
float RoundedTo(ElementType type, float value) {
  if (!format::IsHalf(type)) return value;
  const std::uint32_t code = format::EncodeSmallFloat(type, static_cast<double>(value));
  return static_cast<float>(format::DecodeSmallFloat(type, code));
}

// QuantizeLinear of one real.  Source: ONNX, operator QuantizeLinear: x / y_scale in `precision`,
// ties to even, then the zero point, then saturation.
std::int32_t Quantized(float real, float scale, ElementType precision, std::int32_t offset,
                       format::IntegerRange range) {
  const double rounded = std::nearbyint(static_cast<double>(RoundedTo(precision, real / scale)));
  const double stored = rounded + static_cast<double>(offset);
  return static_cast<std::int32_t>(
      std::clamp(stored, static_cast<double>(range.min), static_cast<double>(range.max)));
}

Result<Tensor> QuantizedTensor(const Tensor& real, ElementType precision,
                               const QdqParameters& parameters) {
  QTX_ASSIGN_OR_RETURN(Tensor stored,
                       format::MakeTensor(format::StorageOf(parameters.elem_type), real.dims));
  const format::Quantization& q = parameters.quantization;
  QTX_ASSIGN_OR_RETURN(const format::Dims counts, format::ParameterDims(q, real.dims));
  QTX_ASSIGN_OR_RETURN(const std::int64_t count, format::ElementCount(counts));
  if (q.scale.size() != 1 && count != static_cast<std::int64_t>(q.scale.size())) {
    return Error{
        ErrorCode::kInvalid, "scale",
        "found " + std::to_string(q.scale.size()) + " values, expected " + std::to_string(count)};
  }
  const format::ParameterMap map(q, real.dims);
  const format::IntegerRange range = format::StorageRange(parameters.elem_type);
  const std::vector<double> values = format::StoredValues(real);
  std::vector<std::int32_t> integers(values.size());
  for (std::size_t i = 0; i < values.size(); ++i) {
    const std::int64_t at = map(static_cast<std::int64_t>(i));
    if (std::isnan(values[i]))
      return Error{ErrorCode::kInvalid, "[" + std::to_string(i) + "]", "found NaN"};
    integers[i] = Quantized(static_cast<float>(values[i]), format::ScaleAt(q, at), precision,
                            format::OffsetAt(q, at), range);
  }
  format::PackInt32(integers, stored);
  return stored;
}

class Normalizer {
 public:
  Normalizer(const GraphIndex& index, Ledger& ledger)
      : index_(index), ledger_(ledger), result_(index.model()) {
    result_.graph.nodes.clear();
    for (std::size_t i = 0; i < result_.graph.initializers.size(); ++i)
      initializers_.emplace(result_.graph.initializers[i].name, i);
  }

  Result<format::Model> Run() {
    for (const Node& node : index_.model().graph.nodes) {
      auto visited = Visit(node);
      if (!visited.has_value()) return At(PlaceOf(node), visited.error());
    }
    AnnotateAll();
    DropUnread();
    return std::move(result_);
  }

 private:
  Result<void> Visit(Node node);
  Result<bool> FoldQuantizer(const Node& node);
  Result<bool> FoldClip(const Node& node);
  Result<bool> FindStored(const Node& clip);
  Result<bool> ReadsAgree(const std::string& integers, const QdqParameters& parameters) const;
  Result<std::optional<std::int64_t>> Bound(const Node& node, std::size_t position) const;
  void Annotate(const std::string& value, format::IntegerRange range,
                const std::vector<std::string>& dequantized);
  void AnnotateAll();
  void DropUnread();

  const GraphIndex& index_;
  Ledger& ledger_;
  format::Model result_;
  std::map<std::string, QdqParameters> stored_;  // what QuantizeLinears give
  std::map<std::string, Tensor> constants_;      // integers of folded initializers
  std::map<std::string, std::string> renamed_;   // the result of a Clip that is gone, to its input
  std::map<std::string, format::IntegerRange> narrowed_;
  std::map<std::string, std::size_t> initializers_;  // their places
  std::map<std::string, std::pair<std::vector<format::ValueInfo>*, std::size_t>> declared_;
  std::vector<std::string> unread_;  // initializers that a folded node read, once or more
};

Result<void> Normalizer::Visit(Node node) {
  for (std::string& input : node.inputs) {
    if (const auto found = renamed_.find(input); found != renamed_.end()) input = found->second;
  }
  if (IsQuantizeLinear(node)) {
    QTX_ASSIGN_OR_RETURN(const bool folded, FoldQuantizer(node));
    if (folded) return {};
  } else if (IsStock(node, "Clip")) {
    QTX_ASSIGN_OR_RETURN(const bool folded, FoldClip(node));
    if (folded) return {};
  }
  result_.graph.nodes.push_back(std::move(node));
  return {};
}

// Replaces the node by an initializer; true if done.
Result<bool> Normalizer::FoldQuantizer(const Node& node) {
  if (node.inputs.empty() || node.outputs.size() != 1) return false;
  QTX_ASSIGN_OR_RETURN(const auto parameters, FromStock(index_, node));
  if (!parameters) return false;
  stored_.emplace(node.outputs[0], *parameters);
  const std::string& real = node.inputs[0];
  const format::TensorData* data = index_.IsInput(real) ? nullptr : index_.Initializer(real);
  if (data == nullptr || !format::IsRealType(data->data_type) ||
      !format::IsIntegerStorage(parameters->elem_type) || index_.IsOutput(node.outputs[0]))
    return false;
  auto tensor = format::Decode(*data, index_.model().folder);
  if (!tensor.has_value()) return At("initializer '" + real + "'", tensor.error());
  const ElementType type = tensor->elem_type;
  const bool in_half = DividesInHalf(index_.model().OpsetVersion(""), node, type);
  auto integers = QuantizedTensor(*tensor, in_half ? type : ElementType::kFloat, *parameters);
  if (!integers.has_value()) return At("initializer '" + real + "'", integers.error());
  ledger_.Changed(real, "data", "its integers, as QuantizeLinear computes them");
  initializers_.emplace(node.outputs[0], result_.graph.initializers.size());
  result_.graph.initializers.push_back(format::ToTensorData(node.outputs[0], *integers));
  constants_.emplace(node.outputs[0], *std::move(integers));
  unread_.push_back(real);
  return true;
}

// A bound of a Clip, which is an input since opset 11. nullopt if absent or not constant.
Result<std::optional<std::int64_t>> Normalizer::Bound(const Node& node,
                                                      std::size_t position) const {
  if (node.inputs.size() <= position || node.inputs[position].empty())
    return std::optional<std::int64_t>();
  QTX_ASSIGN_OR_RETURN(const auto tensor, index_.Constant(node.inputs[position]));
  if (!tensor || !format::IsIntegerStorage(tensor->elem_type) || format::ElementCount(*tensor) != 1)
    return std::optional<std::int64_t>();
  return std::optional(format::UnpackIntegers(*tensor)[0]);
}

// True if every use of `integers` is a DequantizeLinear with these parameters, so that a type can
// express the range.
Result<bool> Normalizer::ReadsAgree(const std::string& integers,
                                    const QdqParameters& parameters) const {
  for (const Use& use : index_.Uses(integers)) {
    const Node& node = index_.node(use.node);
    if (!IsDequantizeLinear(node) || node.inputs[0] != integers) return false;
    QTX_ASSIGN_OR_RETURN(const auto read, FromStock(index_, node));
    if (!read || *read != parameters) return false;
  }
  return true;
}

// An initializer's integers get the parameters of the first reader of the clipped ones.
Result<bool> Normalizer::FindStored(const Node& clip) {
  const std::string& integers = clip.inputs[0];
  if (stored_.contains(integers)) return true;
  const format::TensorData* data =
      index_.IsInput(integers) ? nullptr : index_.Initializer(integers);
  const auto& readers = index_.Uses(clip.outputs[0]);
  if (data == nullptr || readers.empty() || !IsDequantizeLinear(index_.node(readers[0].node)))
    return false;
  QTX_ASSIGN_OR_RETURN(const auto parameters, FromStock(index_, index_.node(readers[0].node)));
  if (!parameters || format::StorageOf(parameters->elem_type) != data->data_type) return false;
  auto tensor = format::Decode(*data, index_.model().folder);
  if (!tensor.has_value()) return At("initializer '" + integers + "'", tensor.error());
  constants_.emplace(integers, *std::move(tensor));
  stored_.emplace(integers, *parameters);
  return true;
}

// Removes the Clip if nothing else reads its input; true if done.
Result<bool> Normalizer::FoldClip(const Node& node) {
  if (node.inputs.empty() || node.outputs.size() != 1) return false;
  const std::string integers = node.inputs[0];
  QTX_ASSIGN_OR_RETURN(const bool found, FindStored(node));
  if (!found) return false;
  const auto known = stored_.find(integers);
  if (!index_.OnlyUse(integers) || index_.IsOutput(node.outputs[0]) ||
      !format::IsIntegerStorage(known->second.elem_type))
    return false;
  QTX_ASSIGN_OR_RETURN(const bool agree, ReadsAgree(node.outputs[0], known->second));
  if (!agree) return false;
  QTX_ASSIGN_OR_RETURN(const auto low, Bound(node, 1));
  QTX_ASSIGN_OR_RETURN(const auto high, Bound(node, 2));
  format::IntegerRange range = format::StorageRange(known->second.elem_type);
  if (!low && !high) return false;
  range.min = std::max(range.min, low.value_or(range.min));
  range.max = std::min(range.max, high.value_or(range.max));
  if (range.min > range.max) return Error{ErrorCode::kInvalid, "", "min is above max"};
  if (const auto constant = constants_.find(integers); constant != constants_.end()) {
    auto values = format::UnpackIntegers(constant->second);
    for (std::int64_t& value : values) value = std::clamp(value, range.min, range.max);
    format::PackIntegers(values, constant->second);
    result_.graph.initializers[initializers_.at(integers)] =
        format::ToTensorData(integers, constant->second);
  }
  unread_.insert(unread_.end(), node.inputs.begin() + 1, node.inputs.end());
  renamed_[node.outputs[0]] = integers;
  narrowed_[integers] = range;
  ledger_.Changed(node.outputs[0], "Clip", "quant_min and quant_max of the value it clips");
  return true;
}

// Sets the range of the integers `value` on the reals that they give.
void Normalizer::Annotate(const std::string& value, format::IntegerRange range,
                          const std::vector<std::string>& dequantized) {
  const QdqParameters& parameters = stored_.at(value);
  const format::IntegerRange full = format::StorageRange(parameters.elem_type);
  format::TensorType type = format::Annotated(
      {.elem_type = parameters.elem_type, .quantization = parameters.quantization});
  if (range.min != full.min) type.quantization->quant_min = range.min;
  if (range.max != full.max) type.quantization->quant_max = range.max;
  format::Graph& graph = result_.graph;
  for (const std::string& real : dequantized) {
    const auto [declared, added] = declared_.try_emplace(real, &graph.values, graph.values.size());
    if (added) graph.values.emplace_back().name = real;
    format::ValueInfo& info = (*declared->second.first)[declared->second.second];
    if (info.type) {
      type.shape = info.type->shape;
      type.statistics = info.type->statistics;
    }
    info.type = type;
  }
}

// Sets quant_min and quant_max on every value that dequantizes narrowed integers.
void Normalizer::AnnotateAll() {
  if (narrowed_.empty()) return;
  format::Graph& graph = result_.graph;
  for (auto* list : {&graph.inputs, &graph.outputs, &graph.values}) {
    for (std::size_t i = 0; i < list->size(); ++i)
      declared_.insert_or_assign((*list)[i].name, std::pair(list, i));
  }
  std::map<std::string, std::vector<std::string>> dequantized;  // by integers
  for (const Node& node : graph.nodes) {
    if (IsDequantizeLinear(node)) dequantized[node.inputs[0]].push_back(node.outputs[0]);
  }
  for (const auto& [value, range] : narrowed_) Annotate(value, range, dequantized[value]);
}

void Normalizer::DropUnread() {
  format::Graph& graph = result_.graph;
  std::set<std::string_view> unread(unread_.begin(), unread_.end());
  for (const Node& node : graph.nodes) {
    for (const std::string& input : node.inputs) unread.erase(input);
  }
  const auto drop = [&](const auto& entry) {
    return unread.contains(entry.name) && !index_.IsOutput(entry.name);
  };
  std::erase_if(graph.initializers, drop);
  std::erase_if(graph.values, drop);
}

}  // namespace

Result<format::Model> NormalizePairs(const format::Model& model, Ledger& ledger) {
  QTX_ASSIGN_OR_RETURN(const GraphIndex index, GraphIndex::Of(model));
  return Normalizer(index, ledger).Run();
}

}  // namespace qtx::convert
