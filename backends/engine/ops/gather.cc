// Gather, GatherND, ScatterND, Where: elements named by other inputs.
#include <algorithm>
#include <array>
#include <cassert>
#include <string>
#include <utility>

#include "engine/elements.h"
#include "engine/ops/elementwise.h"
#include "engine/ops/indexing.h"
#include "engine/ops/operators.h"
#include "engine/ops/select.h"

namespace qtx::backend::engine {
namespace {

using format::Dims;
using format::ElementType;

std::span<const std::int64_t> After(const Dims& dims, std::size_t axis) {
  return std::span(dims).subspan(axis);
}

// `outside`: what an index breaks that is not one of the axis.
Result<std::int64_t> Inside(std::int64_t index, std::int64_t size, const Error& outside) {
  if (index >= -size && index < size) return index < 0 ? index + size : index;
  Error error = outside;
  error.message = "index " + std::to_string(index) + " of an axis of size " + std::to_string(size);
  return error;
}

/// What the tuples in the last axis of indices name: slices of `slice` elements.
struct Tuples {
  const Value* indices = nullptr;
  Dims sizes;    // of the axes a tuple names
  Dims strides;  // of those axes, in elements
  std::int64_t slice = 1;
  std::int64_t batches = 1, batch = 0;  // tuples come in equal parts; elements of data in each
  Error outside;

  /// The first element of the slice each tuple names.
  Result<Sources> Firsts() const {
    const std::vector<std::int64_t> values = IndicesOf(indices->tensor);
    const std::size_t count = values.size() / sizes.size();
    Sources firsts;
    for (std::size_t t = 0; t < count; ++t) {
      const std::size_t part = t / (count / static_cast<std::size_t>(batches));
      std::int64_t first = static_cast<std::int64_t>(part) * batch;
      for (std::size_t d = 0; d < sizes.size(); ++d) {
        QTX_ASSIGN_OR_RETURN(const std::int64_t at,
                             Inside(values[t * sizes.size() + d], sizes[d], outside));
        first += at * strides[d];
      }
      firsts.push_back(first);
    }
    return firsts;
  }
};

// `clause`: that of indices out of range.
Result<Tuples> TuplesOf(const NodePlan& node, const Dims& data, std::int64_t batch_dims,
                        std::string_view clause) {
  Tuples tuples;
  QTX_ASSIGN_OR_RETURN(tuples.indices, node.Input(1));
  const Dims& dims = tuples.indices->tensor.dims;
  const auto skipped = static_cast<std::size_t>(batch_dims);
  const Dims strides = format::RowMajorStrides(data);
  const std::size_t end = skipped + static_cast<std::size_t>(dims.back());
  tuples.sizes.assign(data.begin() + batch_dims, data.begin() + static_cast<std::ptrdiff_t>(end));
  tuples.strides.assign(strides.begin() + batch_dims,
                        strides.begin() + static_cast<std::ptrdiff_t>(end));
  tuples.slice = Product(After(data, end));
  tuples.batches = Product(std::span(data).first(skipped));
  tuples.batch = Product(After(data, skipped));
  tuples.outside = node.Breaks(clause, "");
  return tuples;
}

Sources Widened(const Sources& firsts, std::int64_t slice) {
  Sources elements;
  for (const std::int64_t first : firsts) {
    for (std::int64_t i = 0; i < slice; ++i) elements.push_back(first + i);
  }
  return elements;
}

using Combine = Number (*)(const Number&, const Number&);

struct Reduction {
  std::string_view name;
  Combine combine;
};
constexpr std::array kReductions{
    Reduction{"none", nullptr},
    Reduction{"add", [](const Number& a, const Number& b) { return a + b; }},
    Reduction{"mul", [](const Number& a, const Number& b) { return a * b; }},
    Reduction{"max", Greater},
    Reduction{"min", Lesser},
};

// ScatterND with a reduction: what names an element comes together with what is there.
class Scatter : public Step {
 public:
  Scatter(const Value* data, Tuples tuples, const Value* updates, Value* y, Combine combine)
      : data_(data), tuples_(std::move(tuples)), updates_(updates), y_(y), combine_(combine) {}

  Result<void> Run() override {
    QTX_ASSIGN_OR_RETURN(const Sources firsts, tuples_.Firsts());
    const NumberReader data(data_->tensor);
    const NumberReader updates(updates_->tensor);
    std::vector<Number> sums;
    for (std::int64_t i = 0; i < format::ElementCount(data_->tensor); ++i) sums.push_back(data(i));
    std::int64_t update = 0;
    for (const std::int64_t element : Widened(firsts, tuples_.slice)) {
      Number& sum = sums[static_cast<std::size_t>(element)];
      sum = combine_(sum, updates(update++));
    }
    NumberWriter writer(y_->tensor);
    for (std::size_t i = 0; i < sums.size(); ++i) {
      writer.Put(static_cast<std::int64_t>(i), sums[i]);
    }
    return {};
  }

 private:
  const Value* data_;
  Tuples tuples_;
  const Value* updates_;
  Value* y_;
  Combine combine_;
};

StepResult MakeScatter(const Value* data, const Tuples& tuples, const Value* updates, Value* y) {
  const std::int64_t count = format::ElementCount(data->tensor);
  const auto sources = [tuples, count]() -> Result<Sources> {
    QTX_ASSIGN_OR_RETURN(const Sources firsts, tuples.Firsts());
    Sources from;
    for (std::int64_t i = 0; i < count; ++i) from.push_back(i);
    std::int64_t update = count;
    for (const std::int64_t element : Widened(firsts, tuples.slice)) {
      from[static_cast<std::size_t>(element)] = update++;
    }
    return from;
  };
  return MakeSelection({data, updates}, y, sources, std::span(&tuples.indices, 1));
}

}  // namespace

StepResult PrepareGather(const NodePlan& node) {
  QTX_ASSIGN_OR_RETURN(const Value* data, node.Input(0));
  QTX_ASSIGN_OR_RETURN(const Value* indices, node.Input(1));
  const Dims& from = data->tensor.dims;
  const std::size_t axis = AxisOf(node.Int("axis"), from.size());
  QTX_ASSIGN_OR_RETURN(Dims to, node.InferredDims());
  QTX_ASSIGN_OR_RETURN(Value * y, node.Output(std::move(to)));
  QTX_RETURN_IF_ERROR(CheckTypes(node, std::span(&data, 1), y, Plain::kAny));
  const std::int64_t slice = Product(After(from, axis + 1));
  const std::int64_t size = from[axis];
  const std::int64_t outer = Product(std::span(from).first(axis));
  const auto sources = [=, outside = node.Breaks("C4", "")]() -> Result<Sources> {
    Sources firsts;
    for (const std::int64_t index : IndicesOf(indices->tensor)) {
      QTX_ASSIGN_OR_RETURN(const std::int64_t at, Inside(index, size, outside));
      firsts.push_back(at * slice);
    }
    Sources all;
    for (std::int64_t o = 0; o < outer; ++o) {
      for (const std::int64_t first : firsts) {
        for (std::int64_t i = 0; i < slice; ++i) all.push_back(o * size * slice + first + i);
      }
    }
    return all;
  };
  return MakeSelection({data}, y, sources, std::span(&indices, 1));
}

StepResult PrepareGatherNd(const NodePlan& node) {
  QTX_ASSIGN_OR_RETURN(const Value* data, node.Input(0));
  const Dims& from = data->tensor.dims;
  QTX_ASSIGN_OR_RETURN(const Tuples tuples, TuplesOf(node, from, node.Int("batch_dims"), "C5"));
  QTX_ASSIGN_OR_RETURN(Dims to, node.InferredDims());
  QTX_ASSIGN_OR_RETURN(Value * y, node.Output(std::move(to)));
  QTX_RETURN_IF_ERROR(CheckTypes(node, std::span(&data, 1), y, Plain::kAny));
  const auto sources = [tuples]() -> Result<Sources> {
    QTX_ASSIGN_OR_RETURN(const Sources firsts, tuples.Firsts());
    return Widened(firsts, tuples.slice);
  };
  return MakeSelection({data}, y, sources, std::span(&tuples.indices, 1));
}

StepResult PrepareScatterNd(const NodePlan& node) {
  QTX_ASSIGN_OR_RETURN(const Value* data, node.Input(0));
  QTX_ASSIGN_OR_RETURN(const Value* updates, node.Input(2));
  const Dims& dims = data->tensor.dims;
  QTX_ASSIGN_OR_RETURN(const Tuples tuples, TuplesOf(node, dims, 0, "C4"));
  const std::string name = node.String("reduction");
  const auto* reduction = std::ranges::find(kReductions, name, &Reduction::name);
  assert(reduction != kReductions.end());
  QTX_ASSIGN_OR_RETURN(Value * y, node.Output(dims));
  const bool replaces = reduction->combine == nullptr;
  QTX_RETURN_IF_ERROR(CheckTypes(node, std::array<const Value*, 2>{data, updates}, y,
                                 replaces ? Plain::kAny : Plain::kNumbers));
  if (replaces) return MakeScatter(data, tuples, updates, y);
  // An element that no tuple names may keep a value outside of the range (definitions.S2).
  const auto& from = data->tensor.quantization;
  if (from && (from->quant_min || from->quant_max)) {
    return node.Unsupported("a reduction of elements of a narrow range");
  }
  return std::make_unique<Scatter>(data, tuples, updates, y, reduction->combine);
}

StepResult PrepareWhere(const NodePlan& node) {
  QTX_ASSIGN_OR_RETURN(const std::vector<const Value*> inputs, AllInputs(node));
  QTX_ASSIGN_OR_RETURN(const Dims dims, node.InferredDims());
  // The type when none is declared is that of x.
  QTX_ASSIGN_OR_RETURN(Value * z, node.OutputAt(0, dims, inputs[1]->tensor));
  QTX_RETURN_IF_ERROR(CheckTypes(node, std::span(inputs).subspan(1), z, Plain::kAny));
  const Value* condition = inputs[0];
  const std::int64_t others = format::ElementCount(inputs[1]->tensor);
  const auto sources = [condition, others, which = BroadcastIndex(condition->tensor.dims, dims),
                        x = BroadcastIndex(inputs[1]->tensor.dims, dims),
                        y = BroadcastIndex(inputs[2]->tensor.dims, dims)]() -> Result<Sources> {
    const std::uint8_t* conditions = Bytes(condition->tensor);
    Sources from;
    for (std::size_t i = 0; i < x.size(); ++i) {
      from.push_back(conditions[which[i]] != 0 ? x[i] : others + y[i]);
    }
    return from;
  };
  return MakeSelection({inputs[1], inputs[2]}, z, sources, std::span(&condition, 1));
}

}  // namespace qtx::backend::engine
