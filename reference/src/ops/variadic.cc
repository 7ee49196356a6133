#include "ops/variadic.h"

#include <span>
#include <utility>
#include <vector>

#include "arithmetic/sum_across.h"

namespace qtx::reference {
namespace {

using format::Dims;

struct Inputs {
  std::vector<Operand> operands;
  Dims dims;  // what they are broadcast to
};

Result<Inputs> ReadInputs(const Call& call) {
  Inputs inputs;
  QTX_ASSIGN_OR_RETURN(inputs.dims, call.OutputDims());
  for (std::size_t i = 0; i < call.inputs.size(); ++i) {
    QTX_ASSIGN_OR_RETURN(Operand operand, OperandAt(call, i));
    inputs.operands.push_back(std::move(operand));
  }
  return inputs;
}

Dims BroadcastStrides(const Dims& from, const Dims& dims) {
  const Dims full = format::RowMajorStrides(from);
  Dims strides(dims.size(), 0);
  for (std::size_t i = 0; i < from.size(); ++i) {
    if (from[i] != 1) strides[dims.size() - from.size() + i] = full[i];
  }
  return strides;
}

// Calls put(element, indices) for each element of the result, with that of each operand.
template <typename Put>
void ForEachElement(const Inputs& inputs, std::int64_t count, const Put& put) {
  std::vector<StridedIndex> walks;
  for (const Operand& operand : inputs.operands) {
    walks.emplace_back(inputs.dims, BroadcastStrides(operand.tensor().dims, inputs.dims));
  }
  std::vector<std::int64_t> indices(walks.size());
  for (std::int64_t i = 0; i < count; ++i) {
    for (std::size_t k = 0; k < walks.size(); ++k) {
      indices[k] = *walks[k];
      walks[k].Next();
    }
    put(i, std::span<const std::int64_t>(indices));
  }
}

}  // namespace

Result<format::Tensor> SumOfInputs(const Call& call, SumKind kind) {
  QTX_ASSIGN_OR_RETURN(const Inputs inputs, ReadInputs(call));
  QTX_ASSIGN_OR_RETURN(Output output, Output::Make(call, inputs.dims));
  SumAcross sum(call.arithmetic, inputs.operands, &output);
  const auto divisor =
      kind == SumKind::kMean ? static_cast<std::int64_t>(inputs.operands.size()) : 1;
  ForEachElement(inputs, format::ElementCount(output.tensor()),
                 [&](std::int64_t i, auto indices) { sum.Put(i, indices, divisor); });
  return output.Take();
}

Result<format::Tensor> ExtremeOfInputs(const Call& call, End end) {
  QTX_ASSIGN_OR_RETURN(const Inputs inputs, ReadInputs(call));
  QTX_ASSIGN_OR_RETURN(Output output, Output::Make(call, inputs.dims));
  ExtremeAcross extreme(end, call.arithmetic, inputs.operands, &output);
  ForEachElement(inputs, format::ElementCount(output.tensor()),
                 [&](std::int64_t i, auto indices) { extreme.Put(i, indices); });
  return output.Take();
}

}  // namespace qtx::reference
