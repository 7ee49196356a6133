#include "ops/reduce.h"

#include <algorithm>
#include <limits>

#include "ops/axes.h"
#include "parameters.h"

namespace qtx::reference {
namespace {

using format::AttributeType;
using format::Dims;

constexpr AttributeRule kReductionAttributes[] = {{"axes", AttributeType::kInts},
                                                  {"keepdims", AttributeType::kInt},
                                                  {"noop_with_empty_axes", AttributeType::kInt}};

Result<void> CheckForm(const Call& call, std::int64_t input_since) {
  const bool as_input = call.opset >= input_since;
  const std::string form = "in opset " + std::to_string(call.opset) + " axes are an " +
                           (as_input ? "input" : "attribute");
  for (const char* name : {"axes", "noop_with_empty_axes"}) {
    const bool fits = as_input == (name == std::string_view("noop_with_empty_axes"));
    if (fits || call.node.Find(name) == nullptr) continue;
    return Error{ErrorCode::kInvalid, "attribute '" + std::string(name) + "'", form};
  }
  if (as_input || call.Input(1) == nullptr) return {};
  return Error{ErrorCode::kInvalid, InputName(call, 1), form};
}

// One flag per axis: those that are summed away.
Result<std::vector<bool>> ReducedAxes(const Call& call, std::size_t rank) {
  QTX_ASSIGN_OR_RETURN(const auto named, NamedAxes(call, rank));
  const bool none = !named || std::ranges::find(*named, true) == named->end();
  if (!none) return *named;
  return std::vector<bool>(rank, call.node.IntOr("noop_with_empty_axes", 0) == 0);
}

// Of BOOL false is less than true (opset 20).  Source: reduce_max.C1.
Result<Operand> ComparableAt(const Call& call, std::size_t i) {
  const format::Tensor& x = *call.inputs[i];
  const bool flags = x.elem_type == format::ElementType::kBool &&
                     call.outputs[0].elem_type == format::ElementType::kBool;
  return flags ? Operand::Make(x) : NumberAt(call, i);
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

std::span<const AttributeRule> ReductionAttributes() { return kReductionAttributes; }

Result<Reduction> Reduction::Make(const Call& call, std::int64_t input_since) {
  QTX_RETURN_IF_ERROR(CheckForm(call, input_since));
  const Dims& from = call.inputs[0]->dims;
  QTX_ASSIGN_OR_RETURN(const std::vector<bool> reduced, ReducedAxes(call, from.size()));
  const bool keeps = call.node.IntOr("keepdims", 1) != 0;
  const Dims strides = format::RowMajorStrides(from);
  Reduction reduction;
  Dims kept_dims, kept_strides, reduced_dims, reduced_strides;
  for (std::size_t axis = 0; axis < from.size(); ++axis) {
    (reduced[axis] ? reduced_dims : kept_dims).push_back(from[axis]);
    (reduced[axis] ? reduced_strides : kept_strides).push_back(strides[axis]);
    if (!reduced[axis] || keeps) reduction.dims_.push_back(reduced[axis] ? 1 : from[axis]);
  }
  QTX_RETURN_IF_ERROR(CheckComputable(reduction.dims_));
  QTX_ASSIGN_OR_RETURN(reduction.results_, format::ElementCount(reduction.dims_));
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
  QTX_ASSIGN_OR_RETURN(const Operand x, ComparableAt(call, 0));
  QTX_ASSIGN_OR_RETURN(Reduction reduction, Reduction::Make(call, 18));
  QTX_ASSIGN_OR_RETURN(Output output, Output::Make(call, reduction.dims()));
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
