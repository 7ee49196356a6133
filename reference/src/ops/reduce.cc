#include "ops/reduce.h"

#include <algorithm>
#include <limits>

#include "parameters.h"

namespace qtx::reference {
namespace {

using format::Dims;

// One flag per axis: those that are summed away.  Source: reduce_sum.S3.
std::vector<bool> ReducedAxes(const Call& call, std::size_t rank) {
  const std::vector<std::int64_t> axes =
      call.Input(1) != nullptr ? IntegersAt(call, 1) : call.node.IntsOr("axes", {});
  if (axes.empty()) return std::vector<bool>(rank, call.Int("noop_with_empty_axes") == 0);
  std::vector<bool> reduced(rank, false);
  for (const std::int64_t axis : axes) reduced[FromFirst(axis, rank)] = true;
  return reduced;
}

// What no number precedes at that end.  Source: reduce_max.S5.
void PutLimit(std::int64_t element, End end, Output* output) {
  if (output->tensor().elem_type == format::ElementType::kBool) {
    return output->PutInteger(element, end == End::kLeast ? 1 : 0);
  }
  const double infinity = std::numeric_limits<double>::infinity();
  output->PutReal(element, {false, end == End::kLeast ? infinity : -infinity, {}});
}

}  // namespace

Result<Reduction> Reduction::Make(const Call& call) {
  const Dims& from = call.inputs[0]->dims;
  const std::vector<bool> reduced = ReducedAxes(call, from.size());
  const Dims strides = format::RowMajorStrides(from);
  Reduction reduction;
  Dims kept_dims, kept_strides, reduced_dims, reduced_strides;
  for (std::size_t axis = 0; axis < from.size(); ++axis) {
    if (reduced[axis]) reduction.axes_.push_back(axis);
    (reduced[axis] ? reduced_dims : kept_dims).push_back(from[axis]);
    (reduced[axis] ? reduced_strides : kept_strides).push_back(strides[axis]);
  }
  QTX_RETURN_IF_ERROR(CheckComputable(kept_dims));
  QTX_ASSIGN_OR_RETURN(reduction.results_, format::ElementCount(kept_dims));
  if (reduction.results_ == 0) return reduction;
  // There are results, so the input has at least as many elements as one of them.
  QTX_ASSIGN_OR_RETURN(const std::int64_t count, format::ElementCount(reduced_dims));
  reduction.relative_.reserve(static_cast<std::size_t>(count));
  StridedIndex step(reduced_dims, reduced_strides);
  for (std::int64_t i = 0; i < count; ++i, step.Next()) reduction.relative_.push_back(*step);
  reduction.sources_.resize(reduction.relative_.size());
  reduction.first_.emplace(std::move(kept_dims), std::move(kept_strides));
  return reduction;
}

bool Reduction::Next() {
  if (++element_ >= results_) return false;
  if (element_ > 0) first_->Next();
  for (std::size_t i = 0; i < sources_.size(); ++i) sources_[i] = **first_ + relative_[i];
  return true;
}

Result<format::Tensor> ReduceExtreme(const Call& call, End end) {
  QTX_ASSIGN_OR_RETURN(const Operand x, OperandAt(call, 0));
  QTX_ASSIGN_OR_RETURN(Reduction reduction, Reduction::Make(call));
  QTX_ASSIGN_OR_RETURN(Output output, Output::Of(call));
  const ExtremeFinder finder(end, x);
  Converter converter(call.arithmetic, x, &output, Purpose::kSelect);
  while (reduction.Next()) {
    if (reduction.count() > 0) {
      converter.Put(reduction.element(), finder.At(reduction.sources()));
    } else {
      PutLimit(reduction.element(), end, &output);
    }
  }
  return output.Take();
}

}  // namespace qtx::reference
