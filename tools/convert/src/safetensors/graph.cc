#include "safetensors/graph.h"

#include <algorithm>
#include <unordered_map>
#include <unordered_set>

#include "qtx/format/external_elements.h"
#include "qtx/format/limits.h"
#include "safetensors/schemes.h"

namespace qtx::convert::safetensors {
namespace {

using format::ElementType;

// The opset in which ONNX has every type that a tensor may be of.
constexpr std::int64_t kOpset = 24;
constexpr std::int64_t kIrVersion = 12;
constexpr std::int32_t kCodeBookTensorField = 16;

class GraphMaker {
 public:
  GraphMaker(const Container& files, const Config& config, Ledger& ledger, format::DataFile* data)
      : files_(files), config_(config), ledger_(ledger), data_(data) {}

  Result<void> FindWeights() {
    for (const Tensor& tensor : files_.tensors()) {
      const auto found = SchemeOf(files_, tensor);
      if (!found) continue;
      auto weight = found->make(files_, config_, found->stem);
      if (weight.has_value()) weight = WithoutClash(*std::move(weight));
      if (weight.has_value()) weight = WithAllScales(*std::move(weight));
      if (weight.has_value()) {
        ledger_.Kept(weight->name, "type");
        Take(*std::move(weight));
      } else if (weight.error().code == ErrorCode::kUnsupported) {
        ledger_.Dropped(tensor.name, "quantization", weight.error().Text());
      } else {
        return weight.error();
      }
    }
    return {};
  }

  Result<void> AddInitializers() {
    for (const Tensor& tensor : files_.tensors()) {
      const auto weight = by_tensor_.find(tensor.name);
      if (weight != by_tensor_.end()) {
        const Weight& w = weights_[weight->second];
        QTX_RETURN_IF_ERROR(Add(w.name, w.carrier, w.carrier_dims, tensor));
        continue;
      }
      const auto retyped = retyped_.find(tensor.name);
      const ElementType type = retyped != retyped_.end() ? retyped->second : tensor.dtype->type;
      const bool bytes = type == ElementType::kUndefined;
      QTX_RETURN_IF_ERROR(Add(tensor.name, bytes ? ElementType::kUint8 : type,
                              bytes ? format::Dims{tensor.size} : tensor.dims, tensor));
    }
    for (Weight& weight : weights_) QTX_RETURN_IF_ERROR(AddWeight(weight));
    return {};
  }

  format::Graph Finish() { return std::move(graph_); }

 private:
  // A weight's own names must be new.
  Result<Weight> WithoutClash(Weight weight) const {
    std::vector<std::string> names = {weight.name};
    for (const auto& [name, unused] : weight.made) names.push_back(name);
    if (weight.row_order) names.push_back(weight.row_order->weight);
    for (const std::string& name : names) {
      const bool own = name == weight.tensor;
      if ((!own && files_.Find(name) != nullptr) || names_.contains(name))
        return Error{ErrorCode::kUnsupported, name, "is the name of another tensor of the files"};
    }
    return weight;
  }

  // A weight has a scale for each of its blocks.
  Result<Weight> WithAllScales(Weight weight) const {
    const format::Dims dims = *format::FixedDims(*weight.type.shape);
    QTX_ASSIGN_OR_RETURN(const format::Dims counts, format::ParameterDims(weight.q(), dims));
    QTX_ASSIGN_OR_RETURN(const std::int64_t expected,
                         format::ElementCount(std::span<const std::int64_t>(counts)));
    const std::string& name = weight.q().scale_levels.front().tensor;
    const Tensor* scales = files_.Find(name);
    const format::Dims& found = scales != nullptr ? scales->dims : MadeOf(weight, name)->dims;
    QTX_ASSIGN_OR_RETURN(const std::int64_t count,
                         format::ElementCount(std::span<const std::int64_t>(found)));
    if (count == expected && expected <= format::kMaxParameters) return weight;
    return Error{ErrorCode::kUnsupported, name,
                 "found " + std::to_string(count) + " scales, expected " +
                     std::to_string(expected) + ", at most " +
                     std::to_string(format::kMaxParameters)};
  }

  void Take(Weight weight) {
    names_.insert(weight.name);
    for (const auto& [name, unused] : weight.made) names_.insert(name);
    if (weight.row_order) names_.insert(weight.row_order->weight);
    for (const auto& [name, type] : weight.retyped) retyped_.emplace(name, type);
    if (!weight.tensor.empty()) by_tensor_.emplace(weight.tensor, weights_.size());
    weights_.push_back(std::move(weight));
  }

  Result<void> Add(const std::string& name, ElementType type, const format::Dims& dims,
                   const Tensor& tensor) {
    if (const auto* range = std::get_if<format::FileRange>(&tensor.bytes)) {
      graph_.initializers.push_back(format::ToExternalData(
          name, type, dims, files_.shards[tensor.shard].file, range->offset, range->size));
      return {};
    }
    QTX_ASSIGN_OR_RETURN(format::Tensor value, format::MakeTensor(type, dims));
    std::ranges::transform(std::get<std::string>(tensor.bytes), value.bytes.begin(),
                           [](char c) { return std::byte(c); });
    graph_.initializers.push_back(format::ToTensorData(name, value));
    return {};
  }

  Result<void> AddWeight(Weight& weight) {
    format::Quantization& q = weight.q();
    if (q.scale_levels.size() == 1 && IsFloat(weight, q.scale_levels[0].tensor)) {
      q.scale_tensor = std::move(q.scale_levels[0].tensor);
      q.scale_levels.clear();
    }
    if (!q.code_book_tensor.empty()) q.must_understand = {kCodeBookTensorField};
    if (weight.row_order) AddRowOrder(*weight.row_order, weight);
    format::ValueInfo value{.name = weight.name, .type = std::move(weight.type)};
    if (!weight.tensor.empty() && weight.tensor != weight.name)
      value.metadata.emplace_back(kTensorKey, weight.tensor);
    graph_.values.push_back(std::move(value));
    for (const auto& [name, tensor] : weight.made) {
      QTX_ASSIGN_OR_RETURN(auto data, format::MakeTensorData(name, tensor, data_));
      graph_.initializers.push_back(std::move(data));
    }
    weight.made.clear();
    return {};
  }

  void AddRowOrder(const RowOrder& order, const Weight& weight) {
    graph_.nodes.push_back({.name = order.weight,
                            .op_type = "Gather",
                            .inputs = {weight.name, order.places},
                            .outputs = {order.weight}});
    graph_.outputs.push_back(
        {.name = order.weight,
         .type = format::TensorType{.elem_type = ElementType::kFloat, .shape = weight.type.shape}});
  }

  bool IsFloat(const Weight& weight, const std::string& name) const {
    const Tensor* tensor = files_.Find(name);
    return tensor != nullptr ? tensor->Is("F32") : MadeOf(weight, name) != nullptr;
  }

  // nullptr: the scheme made no such tensor.
  static const format::Tensor* MadeOf(const Weight& weight, const std::string& name) {
    const auto found =
        std::ranges::find(weight.made, name, [](const auto& made) { return made.first; });
    return found == weight.made.end() ? nullptr : &found->second;
  }

  const Container& files_;
  const Config& config_;
  Ledger& ledger_;
  format::DataFile* data_;
  std::vector<Weight> weights_;
  std::unordered_map<std::string, std::size_t> by_tensor_;  // codes of a weight
  std::unordered_map<std::string, ElementType> retyped_;
  std::unordered_set<std::string> names_;
  format::Graph graph_;
};

}  // namespace

Result<format::Model> MakeModel(const Container& files, Ledger& ledger, format::DataFile* data) {
  const auto config = ParseConfig(files.config);
  if (!config.has_value()) return At("config.json", config.error());
  GraphMaker maker(files, *config, ledger, data);
  QTX_RETURN_IF_ERROR(maker.FindWeights());
  QTX_RETURN_IF_ERROR(maker.AddInitializers());
  format::Model model;
  model.ir_version = kIrVersion;
  model.opset_imports = {{"", kOpset}, {std::string(format::kDomain), format::kVersion}};
  model.producer_name = "qtx";
  model.graph = maker.Finish();
  model.graph.name = "safetensors";
  for (const NamedText& shard : files.shards)
    model.metadata.emplace_back(std::string(kHeaderKey) + shard.file, shard.text);
  if (!files.index.file.empty())
    model.metadata.emplace_back(std::string(kIndexKey) + files.index.file, files.index.text);
  if (!files.config.empty()) model.metadata.emplace_back(kConfigKey, files.config);
  return model;
}

}  // namespace qtx::convert::safetensors
