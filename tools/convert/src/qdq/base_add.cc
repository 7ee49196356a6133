#include "qdq/base_add.h"

#include <algorithm>
#include <string_view>
#include <utility>
#include <vector>

#include "errors.h"
#include "qdq/parameters.h"
#include "qtx/format/annotation.h"
#include "qtx/format/levels.h"
#include "qtx/format/limits.h"

namespace qtx::convert {
namespace {

using format::Dims;
using format::ElementType;
using format::Node;
using format::Quantization;
using format::Tensor;

// One dimension of the value: how its blocks lie.
struct Blocks {
  std::int64_t count = 1;  // bases along it
  std::int64_t size = 1;   // elements that share one
};

Result<std::vector<Blocks>> BlocksOf(const Quantization& q, const Dims& dims) {
  std::vector<Blocks> blocks;
  for (const std::int64_t dim : dims) blocks.push_back({1, dim});
  QTX_ASSIGN_OR_RETURN(const Dims counts, format::ParameterDims(q, dims));
  for (std::size_t i = 0; i < q.axis.size(); ++i) {
    const auto axis = static_cast<std::size_t>(q.axis[i]);
    const std::int64_t size = q.block_shape.empty() ? 1 : q.block_shape[i];
    blocks[axis] = {counts[i], size};
    if (size > 1 && counts[i] > 1 && dims[axis] % size != 0) {
      return Unsupported("a base whose last block along axis " + std::to_string(axis) +
                         " is short: found " + std::to_string(dims[axis] % size) +
                         " elements, a Reshape needs " + std::to_string(size));
    }
  }
  return blocks;
}

// The only use of a value that is not a graph output.
const Node* OnlyConsumer(const GraphIndex& index, const std::string& value, std::size_t* at) {
  const auto use = index.OnlyUse(value);
  if (!use) return nullptr;
  *at = use->node;
  const Node& node = index.node(*at);
  return node.inputs[0] == value && node.outputs.size() == 1 && node.inputs.size() == 2 ? &node
                                                                                        : nullptr;
}

Result<bool> IsConstant(const GraphIndex& index, const std::string& name, const Tensor& value) {
  QTX_ASSIGN_OR_RETURN(const std::optional<Tensor> found, index.Constant(name));
  return found && *found == value;
}

// The annotation of `lowered.value` and the nodes agree in every scale, offset and base.
Result<bool> Says(const GraphIndex& index, const LoweredBase& lowered) {
  const format::TensorType* annotation = index.TypeOf(lowered.value);
  if (annotation == nullptr || !format::IsAnnotated(*annotation) ||
      !format::HasBase(*annotation->quantization)) {
    return false;
  }
  const Node& dequantize = index.node(lowered.nodes[0]);
  QTX_ASSIGN_OR_RETURN(const auto product, FromStock(index, dequantize));
  if (!product || !Agree(index.model(), *annotation, *product)) return false;
  format::TensorType type = format::Unannotated(*annotation);
  QTX_ASSIGN_OR_RETURN(type.quantization, format::Resolve(index.view(), type));
  const auto base = ToStockBase(type);
  const format::TensorData* stored = index.Initializer(dequantize.inputs[0]);
  if (!base.has_value() || stored == nullptr) return false;
  bool same = stored->dims == *format::FixedDims(*type.shape);
  // The nodes after it, and the constant that each has.
  std::vector<std::pair<std::string_view, Tensor>> expected;
  const bool blocked = !base->blocks.empty();
  if (blocked) expected.emplace_back("Reshape", ShapeTensor(base->blocks));
  expected.emplace_back("Add", base->value);
  if (blocked) expected.emplace_back("Reshape", ShapeTensor(*format::FixedDims(*type.shape)));
  if (lowered.nodes.size() != 1 + expected.size()) return false;
  for (std::size_t i = 0; same && i < expected.size(); ++i) {
    const Node& node = index.node(lowered.nodes[1 + i]);
    if (!IsStock(node, expected[i].first) || !node.attributes.empty()) return false;
    QTX_ASSIGN_OR_RETURN(same, IsConstant(index, node.inputs[1], expected[i].second));
  }
  return same;
}

}  // namespace

Tensor ShapeTensor(const Dims& dims) {
  Tensor shape = *format::MakeTensor(ElementType::kInt64, {std::ssize(dims)});
  std::ranges::copy(dims, shape.As<std::int64_t>().begin());
  return shape;
}

Result<StockBase> ToStockBase(const format::TensorType& type) {
  const auto dims = type.shape ? format::FixedDims(*type.shape) : std::nullopt;
  if (!dims) return Unsupported("a base on a value without fixed shape");
  const Quantization& q = *type.quantization;
  QTX_ASSIGN_OR_RETURN(const std::vector<Blocks> blocks, BlocksOf(q, *dims));
  const auto split = [](const Blocks& b) { return b.count > 1 && b.size > 1; };
  StockBase stock;
  Dims counts, shape;
  for (std::size_t d = 0; d < dims->size(); ++d) {
    counts.push_back(blocks[d].count);
    shape.push_back(blocks[d].count);
    stock.blocks.push_back(split(blocks[d]) ? blocks[d].count : (*dims)[d]);
    if (!split(blocks[d])) continue;
    shape.push_back(1);
    stock.blocks.push_back(blocks[d].size);
  }
  if (std::ranges::none_of(blocks, split)) stock.blocks.clear();
  QTX_ASSIGN_OR_RETURN(stock.value, format::MakeTensor(ElementType::kFloat, shape));
  const Dims strides = format::RowMajorStrides(*dims);
  const Dims count_strides = format::RowMajorStrides(counts);
  const format::ParameterMap map(q, *dims);
  const auto values = stock.value.As<float>();
  for (std::size_t i = 0; i < values.size(); ++i) {
    std::int64_t element = 0;
    for (std::size_t d = 0; d < counts.size(); ++d) {
      const std::int64_t at = static_cast<std::int64_t>(i) / count_strides[d] % counts[d];
      element += at * blocks[d].size * strides[d];
    }
    values[i] = format::BaseAt(q, map(element));
  }
  const ElementType real = format::RealTypeOf(q);
  if (real == ElementType::kFloat) return stock;
  auto halves = ToHalves(real, values, shape);
  if (!halves) return Unsupported("a base that is no " + std::string(format::Name(real)));
  stock.value = *std::move(halves);
  return stock;
}

Result<std::optional<LoweredBase>> BaseAfter(const GraphIndex& index, std::size_t node) {
  LoweredBase lowered{index.node(node).outputs[0], {node}, {}};
  bool added = false;
  for (int steps = 0; steps < 3; ++steps) {
    std::size_t at = 0;
    const Node* next = OnlyConsumer(index, lowered.value, &at);
    const bool known =
        next != nullptr && (IsStock(*next, "Reshape") || (!added && IsStock(*next, "Add")));
    if (!known) break;
    added = added || IsStock(*next, "Add");
    lowered.between.push_back(lowered.value);
    lowered.nodes.push_back(at);
    lowered.value = next->outputs[0];
    QTX_ASSIGN_OR_RETURN(const bool says, Says(index, lowered));
    if (says) return std::optional(std::move(lowered));
  }
  return std::optional<LoweredBase>();
}

}  // namespace qtx::convert
