#include "qdq/base_add.h"

#include <algorithm>
#include <string_view>
#include <utility>
#include <vector>

#include "errors.h"
#include "qdq/half_reals.h"
#include "qdq/parameters.h"
#include "qtx/format/annotation.h"
#include "qtx/format/attributes.h"
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
    // No Reshape has a short last block: each element has a factor of its own.
    if (size > 1 && counts[i] > 1 && dims[axis] % size != 0) blocks[axis] = {dims[axis], 1};
  }
  return blocks;
}

// A FLOAT for each parameter, or element of an axis whose last block is short, which broadcasts to
// the value after it is reshaped to `blocks`.
struct StockFactors {
  Dims blocks;  // each blocked dimension as blocks and elements of one; empty: no Reshape
  Dims shape;   // of the factors
  // Of each factor, in row-major order; empty where factor i is of parameter i, as with a type that
  // names all axes in their order.
  Dims parameters;
};

Result<StockFactors> FactorsOf(const Quantization& q, const Dims& dims) {
  QTX_ASSIGN_OR_RETURN(const std::vector<Blocks> blocks, BlocksOf(q, dims));
  const auto split = [](const Blocks& b) { return b.count > 1 && b.size > 1; };
  StockFactors stock;
  Dims counts;
  for (std::size_t d = 0; d < dims.size(); ++d) {
    counts.push_back(blocks[d].count);
    stock.shape.push_back(blocks[d].count);
    stock.blocks.push_back(split(blocks[d]) ? blocks[d].count : dims[d]);
    if (!split(blocks[d])) continue;
    stock.shape.push_back(1);
    stock.blocks.push_back(blocks[d].size);
  }
  if (std::ranges::none_of(blocks, split)) stock.blocks.clear();
  QTX_ASSIGN_OR_RETURN(const Dims of_type, format::ParameterDims(q, dims));
  if (NamesAllAxes(q, dims.size()) && counts == of_type) return stock;
  QTX_ASSIGN_OR_RETURN(const std::int64_t count, format::ElementCount(counts));
  if (count > format::kMaxParameters)
    return Error{ErrorCode::kTooLarge, "",
                 "a base or code book whose last block is short: more elements than one value may "
                 "have parameters"};
  const Dims strides = format::RowMajorStrides(dims);
  const Dims count_strides = format::RowMajorStrides(counts);
  const format::ParameterMap map(q, dims);
  for (std::int64_t i = 0; i < count; ++i) {
    std::int64_t element = 0;
    for (std::size_t d = 0; d < counts.size(); ++d) {
      element += i / count_strides[d] % counts[d] * blocks[d].size * strides[d];
    }
    stock.parameters.push_back(map(element));
  }
  return stock;
}

using ParameterAt = float (*)(const Quantization&, std::int64_t);

// Constants in the type of the reals.
Result<Tensor> Reals(const Quantization& q, const std::vector<float>& values, Dims dims) {
  const ElementType real = format::RealTypeOf(q);
  if (real != ElementType::kFloat) {
    auto halves = ToHalves(real, values, std::move(dims));
    if (!halves) {
      return Unsupported("a base or a code book of which a value is no " +
                         std::string(format::Name(real)));
    }
    return *std::move(halves);
  }
  const auto bytes = std::as_bytes(std::span(values));
  return Tensor{real, std::move(dims), std::nullopt, {bytes.begin(), bytes.end()}};
}

Result<Tensor> Broadcast(const StockFactors& stock, const Quantization& q, ParameterAt at) {
  std::vector<float> values;
  if (stock.parameters.empty()) {
    QTX_ASSIGN_OR_RETURN(const std::int64_t count, format::ElementCount(stock.shape));
    values.reserve(static_cast<std::size_t>(count));
    for (std::int64_t i = 0; i < count; ++i) values.push_back(at(q, i));
  }
  for (const std::int64_t parameter : stock.parameters) values.push_back(at(q, parameter));
  return Reals(q, values, stock.shape);
}

// The node that alone reads `value`, which is no graph output.
const Node* OnlyConsumer(const GraphIndex& index, const std::string& value, std::size_t* at) {
  const auto use = index.OnlyUse(value);
  if (!use) return nullptr;
  *at = use->node;
  const Node& node = index.node(*at);
  const bool first = IsStock(node, "Gather") ? node.inputs.size() == 2 && node.inputs[1] == value
                                             : node.inputs[0] == value;
  return first && node.outputs.size() == 1 && node.inputs.size() == 2 ? &node : nullptr;
}

Result<bool> IsConstant(const GraphIndex& index, const std::string& name, const Tensor& value) {
  QTX_ASSIGN_OR_RETURN(const std::optional<Tensor> found, index.Constant(name));
  return found && *found == value;
}

// The first node gives what the annotation says: dequantized integers, or codes.
Result<bool> BeginsAs(const GraphIndex& index, const Node& first,
                      const format::TensorType& annotation) {
  const Quantization& q = *annotation.quantization;
  if (IsDequantizeLinear(first)) {
    if (format::HasCodeBook(q)) return false;
    QTX_ASSIGN_OR_RETURN(const auto product, FromStock(index, first));
    return product && Agree(index.model(), annotation, *product);
  }
  const format::TensorData* stored = index.Initializer(first.inputs[0]);
  const auto to = static_cast<std::int64_t>(ElementType::kInt32);
  return format::HasCodeBook(q) && stored->data_type == q.storage_type &&
         format::Attributes(first).Int("to") == to;
}

// The annotation of `lowered.value` and the nodes agree in every scale, offset, base and table.
Result<bool> Says(const GraphIndex& index, const LoweredBase& lowered) {
  const format::TensorType* annotation = index.TypeOf(lowered.value);
  if (annotation == nullptr || !format::IsAnnotated(*annotation) ||
      !(format::HasBase(*annotation->quantization) ||
        format::HasCodeBook(*annotation->quantization))) {
    return false;
  }
  const Node& first = index.node(lowered.nodes[0]);
  const format::TensorData* stored = index.Initializer(first.inputs[0]);
  if (stored == nullptr) return false;
  QTX_ASSIGN_OR_RETURN(const bool begins, BeginsAs(index, first, *annotation));
  if (!begins) return false;
  format::TensorType type = format::Unannotated(*annotation);
  QTX_ASSIGN_OR_RETURN(type.quantization, format::Resolve(index.view(), type));
  const auto steps = StepsAfter(type);
  if (!steps.has_value() || lowered.nodes.size() != 1 + steps->size()) return false;
  bool same = stored->dims == *format::FixedDims(*type.shape);
  for (std::size_t i = 0; same && i < steps->size(); ++i) {
    const LoweredStep& step = (*steps)[i];
    const Node& node = index.node(lowered.nodes[1 + i]);
    if (!IsStock(node, step.op_type) || !node.attributes.empty()) return false;
    QTX_ASSIGN_OR_RETURN(same,
                         IsConstant(index, node.inputs[step.constant_first ? 0 : 1], step.value));
  }
  return same;
}

}  // namespace

Tensor ShapeTensor(const Dims& dims) {
  Tensor shape = *format::MakeTensor(ElementType::kInt64, {std::ssize(dims)});
  std::ranges::copy(dims, shape.As<std::int64_t>().begin());
  return shape;
}

Result<std::vector<LoweredStep>> StepsAfter(const format::TensorType& type) {
  const Quantization& q = *type.quantization;
  const bool based = format::HasBase(q), by_book = format::HasCodeBook(q);
  const auto dims = type.shape ? format::FixedDims(*type.shape) : std::nullopt;
  if (!dims) {
    return Unsupported(by_book ? "a code book on a value without fixed shape"
                               : "a base on a value without fixed shape");
  }
  QTX_ASSIGN_OR_RETURN(const StockFactors stock, FactorsOf(q, *dims));
  const bool blocked = !stock.blocks.empty();
  std::vector<LoweredStep> steps;
  if (by_book) {
    QTX_ASSIGN_OR_RETURN(Tensor table, Reals(q, q.code_book, {std::ssize(q.code_book)}));
    steps.push_back({"Gather", "", "values", "code_book", std::move(table), true});
  }
  if (blocked)
    steps.push_back({"Reshape", "blocks", "blocks", "blocks/shape", ShapeTensor(stock.blocks)});
  if (by_book) {
    QTX_ASSIGN_OR_RETURN(Tensor scale, Broadcast(stock, q, format::ScaleAt));
    const char* output = based ? "product" : blocked ? "scaled" : "";
    steps.push_back({"Mul", "", output, "scale", std::move(scale)});
  }
  if (based) {
    QTX_ASSIGN_OR_RETURN(Tensor base, Broadcast(stock, q, format::BaseAt));
    steps.push_back({"Add", "", blocked ? "biased" : "", "base", std::move(base)});
  }
  if (blocked) {
    const char* from = based ? "biased" : "scaled";
    steps.push_back(
        {"Reshape", from, "", based ? "biased/shape" : "scaled/shape", ShapeTensor(*dims)});
  }
  return steps;
}

Result<std::optional<LoweredBase>> BaseAfter(const GraphIndex& index, std::size_t node) {
  constexpr int kMostSteps = 5;  // Gather, Reshape, Mul, Add, Reshape
  LoweredBase lowered{index.node(node).outputs[0], {node}, {}};
  for (int steps = 0; steps < kMostSteps; ++steps) {
    std::size_t at = 0;
    const Node* next = OnlyConsumer(index, lowered.value, &at);
    const bool known = next != nullptr && (IsStock(*next, "Reshape") || IsStock(*next, "Add") ||
                                           IsStock(*next, "Mul") || IsStock(*next, "Gather"));
    if (!known) break;
    lowered.between.push_back(lowered.value);
    lowered.nodes.push_back(at);
    lowered.value = next->outputs[0];
    QTX_ASSIGN_OR_RETURN(const bool says, Says(index, lowered));
    if (says) return std::optional(std::move(lowered));
  }
  return std::optional<LoweredBase>();
}

}  // namespace qtx::convert
