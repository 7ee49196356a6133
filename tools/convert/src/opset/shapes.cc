#include "opset/shapes.h"

#include <algorithm>

#include "opset/moved_inputs.h"

namespace qtx::convert {

using format::Attribute;
using format::Tensor;

// Indices below zero count from the back since 11, and are outside before.
Result<void> OneHotFrom11(OpsetStep& step) {
  QTX_ASSIGN_OR_RETURN(const std::vector<std::int64_t> indices, step.Integers(0));
  if (std::ranges::any_of(indices, [](std::int64_t index) { return index < 0; }))
    return Unsupported(step.PlaceOf(0), "has negative indices, which count only since 11");
  const Attribute* axis = step.node.Find("axis");
  if (axis == nullptr || axis->i >= -1) return {};
  step.Set(Attribute::Int("axis", axis->i + *step.RankOf(0) + 1));
  return {};
}

Result<void> ReshapeFrom14(OpsetStep& step) {
  if (step.node.IntOr("allowzero", 0) == 0) return {};
  QTX_ASSIGN_OR_RETURN(const std::vector<std::int64_t> shape, step.Integers(1));
  if (std::ranges::find(shape, 0) != shape.end())
    return RefusedAttribute("allowzero", "is 1; before opset 14 a 0 of the shape copies a size");
  step.Erase("allowzero");
  return {};
}

// A part of a shape is a Slice of it.
Result<void> ShapeFrom15(OpsetStep& step) {
  const Attribute* start = step.node.Find("start");
  const Attribute* end = step.node.Find("end");
  if (end == nullptr && (start == nullptr || start->i == 0)) return {};
  const std::string whole = step.NewValue("shape"), output = step.node.outputs.at(0);
  const std::string from = step.AddConstant("start", IntegerTensor({start ? start->i : 0}));
  const std::string to = step.AddConstant("end", IntegerTensor({end ? end->i : INT64_MAX}));
  step.after = {step.NewNode("Slice", {whole, from, to}, output)};
  step.after[0].name = output + "/Slice";
  step.node.outputs[0] = whole;
  step.Erase("start");
  step.Erase("end");
  return {};
}

Result<void> SliceFrom11(OpsetStep& step) {
  constexpr std::size_t kAxes = 3;
  if (!step.Has(kAxes)) return {};
  const Tensor* known = step.ConstantOf(kAxes);
  if (known == nullptr) return {};  // nothing says that one is negative
  QTX_ASSIGN_OR_RETURN(std::vector<std::int64_t> axes, step.Integers(kAxes));
  if (std::ranges::all_of(axes, [](std::int64_t axis) { return axis >= 0; })) return {};
  const auto rank = step.RankOf(0);
  if (!rank)
    return Unsupported(step.PlaceOf(kAxes),
                       "has negative axes of an unknown rank, which count "
                       "only since opset 11");
  for (std::int64_t& axis : axes) axis += axis < 0 ? *rank : 0;
  step.DropInput(kAxes);
  step.SetConstant(kAxes, "axes", IntegerTensor(axes));
  return {};
}

Result<void> SliceFrom10(OpsetStep& step) {
  constexpr std::size_t kSteps = 4;
  if (step.Has(kSteps)) {
    QTX_ASSIGN_OR_RETURN(const std::vector<std::int64_t> steps, step.Integers(kSteps));
    if (std::ranges::any_of(steps, [](std::int64_t each) { return each != 1; }))
      return Unsupported(step.PlaceOf(kSteps), "has steps, which are there since opset 10");
    step.DropInput(kSteps);
  }
  return InputsToAttributes(step);
}

// Equal parts have a number since 18.
Result<void> SplitTo18(OpsetStep& step) {
  if (!step.Has(1)) step.Set(Attribute::Int("num_outputs", std::ssize(step.node.outputs)));
  return {};
}

// Before 18 parts without sizes are equal, so that the last one is not smaller.
Result<void> SplitFrom18(OpsetStep& step) {
  const Attribute* given = step.node.Find("num_outputs");
  if (given == nullptr) return {};
  const std::int64_t parts = given->i;
  const auto dims = step.DimsOf(0);
  const std::int64_t axis = step.node.IntOr("axis", 0);
  const std::int64_t place = axis < 0 && dims ? axis + std::ssize(*dims) : axis;
  const bool known = dims && place >= 0 && place < std::ssize(*dims) &&
                     (*dims)[static_cast<std::size_t>(place)] >= 0;
  if (!known || parts <= 0 || parts != std::ssize(step.node.outputs))
    return RefusedAttribute("num_outputs",
                            "divides a size that is not known; before opset 18 all "
                            "parts are equal");
  const std::int64_t size = (*dims)[static_cast<std::size_t>(place)];
  step.Erase("num_outputs");
  if (size % parts == 0) return {};
  const std::int64_t part = (size + parts - 1) / parts;
  std::vector<std::int64_t> sizes;
  for (std::int64_t left = size, i = 0; i < parts; ++i, left -= sizes.back())
    sizes.push_back(std::min(left, part));
  step.SetConstant(1, "split", IntegerTensor(sizes));
  return {};
}

}  // namespace qtx::convert
