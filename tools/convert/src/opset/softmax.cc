#include "opset/softmax.h"

#include <algorithm>
#include <numeric>

namespace qtx::convert {
namespace {

using format::Attribute;

// The only axis of `dims` from `first` on that is not of size 1; nullopt where there are several,
// or may be. The last one where all are 1.
std::optional<std::int64_t> OnlyAxis(const format::Dims& dims, std::int64_t first) {
  std::optional<std::int64_t> only;
  for (std::int64_t axis = first; axis < std::ssize(dims); ++axis) {
    if (dims[static_cast<std::size_t>(axis)] == 1) continue;
    if (only) return std::nullopt;
    only = axis;
  }
  return only ? only : std::optional(std::ssize(dims) - 1);
}

std::vector<std::string> InputOf(const OpsetStep& step) { return {step.node.inputs.at(0)}; }

}  // namespace

// Several axes: the tensor as a matrix, whose rows are those axes, and back to its shape.
Result<void> SoftmaxTo13(OpsetStep& step) {
  const std::int64_t axis = step.node.IntOr("axis", 1);
  const auto dims = step.DimsOf(0);
  if (axis == -1) return {};
  const std::int64_t first = axis < 0 && dims ? axis + std::ssize(*dims) : axis;
  if (dims && first >= 0 && first < std::ssize(*dims)) {
    if (const auto only = OnlyAxis(*dims, first)) {
      step.Set(Attribute::Int("axis", *only));
      return {};
    }
  }
  const std::string shape = step.NewValue("shape"), rows = step.NewValue("rows");
  const std::string result = step.NewValue("result"), output = step.node.outputs.at(0);
  step.before = {step.NewNode("Shape", InputOf(step), shape),
                 step.NewNode("Flatten", InputOf(step), rows, {Attribute::Int("axis", axis)})};
  step.after = {step.NewNode("Reshape", {result, shape}, output)};
  step.after[0].name = output + "/Reshape";
  step.node.inputs[0] = rows;
  step.node.outputs[0] = result;
  step.Set(Attribute::Int("axis", 1));
  return {};
}

// An axis that is not the last one changes places with it.
Result<void> SoftmaxFrom13(OpsetStep& step) {
  const std::int64_t axis = step.node.IntOr("axis", -1);
  const auto dims = step.DimsOf(0);
  if (axis == -1 && !dims) {
    step.Set(Attribute::Int("axis", -1));
    return {};
  }
  if (!dims) {
    return Unsupported("attribute 'axis'",
                       "is not the last axis of a known rank; before opset 13 " +
                           step.node.op_type + " is over all axes from one on");
  }
  const std::int64_t rank = std::ssize(*dims);
  const std::int64_t first = axis < 0 ? axis + rank : axis;
  if (rank == 0 || first < 0 || first >= rank)
    return Invalid("attribute 'axis'", "found " + std::to_string(axis) + " of a tensor of rank " +
                                           std::to_string(rank));
  step.Set(Attribute::Int("axis", first));
  const bool alone = std::ranges::all_of(dims->begin() + first + 1, dims->end(),
                                         [](std::int64_t size) { return size == 1; });
  if (alone) return {};
  std::vector<std::int64_t> order(dims->size());
  std::iota(order.begin(), order.end(), 0);
  std::swap(order[static_cast<std::size_t>(first)], order.back());
  const Attribute permutation = Attribute::Ints("perm", order);
  const std::string last = step.NewValue("last"), result = step.NewValue("result");
  const std::string output = step.node.outputs.at(0);
  step.before = {step.NewNode("Transpose", InputOf(step), last, {permutation})};
  step.after = {step.NewNode("Transpose", {result}, output, {permutation})};
  step.after[0].name = output + "/Transpose";
  step.node.inputs[0] = last;
  step.node.outputs[0] = result;
  step.Set(Attribute::Int("axis", rank - 1));
  return {};
}

}  // namespace qtx::convert
