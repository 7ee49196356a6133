// The boundaries at which the form of a node changed, or what it means.
#include <algorithm>
#include <array>

#include "opset/history.h"
#include "opset/moved_inputs.h"
#include "opset/resize.h"
#include "opset/shapes.h"
#include "opset/softmax.h"
#include "opset/step.h"

namespace qtx::convert {
namespace {

using format::Attribute;
using format::ElementType;
using format::Tensor;

bool HasOutput(const OpsetStep& step, std::size_t output) {
  return output < step.node.outputs.size() && !step.node.outputs[output].empty();
}

Result<void> BatchNormalizationTo9(OpsetStep& step) {
  if (step.node.IntOr("spatial", 1) != 1)
    return RefusedAttribute("spatial", "is 0; opset 9 has no statistics of single activations");
  step.Erase("spatial");
  return {};
}

Result<void> BatchNormalizationTraining(OpsetStep& step) {
  for (std::size_t i = 1; i < step.node.outputs.size(); ++i) {
    if (!HasOutput(step, i)) continue;
    return Unsupported("output[" + std::to_string(i) + "] '" + step.node.outputs[i] + "'",
                       "training of opsets 9 and 14 differs");
  }
  step.node.outputs.resize(1);
  return {};
}

Result<void> DropoutMask(OpsetStep& step) {
  if (!HasOutput(step, 1)) return {};
  return Unsupported("output[1] '" + step.node.outputs[1] + "'",
                     "the mask is BOOL since opset 10, and of the data's type before");
}

// Where nothing trains the mask is all true since 12, and not defined before.
Result<void> DropoutMaskOf12(const OpsetStep& step) {
  if (!HasOutput(step, 1)) return {};
  return Unsupported("output[1] '" + step.node.outputs[1] + "'",
                     "the mask is all true since opset 12, and not defined before");
}

Result<void> DropoutTo12(OpsetStep& step) {
  QTX_RETURN_IF_ERROR(DropoutMaskOf12(step));
  return AttributesToInputs(step);
}

Result<void> DropoutFrom12(OpsetStep& step) {
  QTX_RETURN_IF_ERROR(DropoutMaskOf12(step));
  constexpr std::size_t kTraining = 2;
  if (step.Has(kTraining)) {
    QTX_ASSIGN_OR_RETURN(const Tensor* training, step.Constant(kTraining));
    const auto is_set = [](std::byte byte) { return byte != std::byte{0}; };
    if (std::ranges::any_of(training->bytes, is_set))
      return Unsupported(step.PlaceOf(kTraining), "is true; before opset 12 no model trains");
    step.DropInput(kTraining);
  }
  step.Erase("seed");
  return InputsToAttributes(step);
}

// C is required before 11.
Result<void> GemmFrom11(OpsetStep& step) {
  if (step.Has(2)) return {};
  auto zero = RealTensor({0}, step.TypeOf(0), true);
  if (!zero.has_value()) return At(step.PlaceOf(0), zero.error());
  step.SetConstant(2, "C", *std::move(zero));
  return {};
}

// value_float, value_floats, value_int and value_ints are values.
Result<void> ConstantFrom12(OpsetStep& step) {
  for (const Attribute& attribute : std::vector(step.node.attributes)) {
    Tensor tensor;
    if (attribute.name == "value_int") {
      tensor = IntegerTensor({attribute.i}, true);
    } else if (attribute.name == "value_ints") {
      tensor = IntegerTensor(attribute.ints);
    } else if (attribute.name == "value_float") {
      QTX_ASSIGN_OR_RETURN(tensor, RealTensor({attribute.f}, ElementType::kFloat, true));
    } else if (attribute.name == "value_floats") {
      QTX_ASSIGN_OR_RETURN(tensor, RealTensor(attribute.floats, ElementType::kFloat, false));
    } else {
      continue;
    }
    Attribute value;
    value.name = "value";
    value.type = format::AttributeType::kTensor;
    value.t = format::ToTensorData("", tensor);
    step.Erase(attribute.name);
    step.Set(std::move(value));
  }
  return {};
}

// The axis was attribute 1 by default; as an input it is -2 where it is left out.
Result<void> DftTo20(OpsetStep& step) {
  step.Set(Attribute::Int("axis", step.node.IntOr("axis", 1)));
  return AttributesToInputs(step);
}

Result<void> DftFrom20(OpsetStep& step) {
  constexpr std::size_t kAxis = 2;
  if (step.node.IntOr("inverse", 0) != 0 && step.node.IntOr("onesided", 0) != 0)
    return RefusedAttribute("onesided",
                            "of an inverse transform has a meaning only since opset 20");
  if (step.Has(kAxis)) {
    QTX_RETURN_IF_ERROR(InputsToAttributes(step));
  } else {
    step.Set(Attribute::Int("axis", -2));
  }
  const std::int64_t axis = step.node.IntOr("axis", 1);
  if (axis >= 0) return {};
  const auto rank = step.RankOf(0);
  if (!rank) return RefusedAttribute("axis", "counts from the back of a tensor of an unknown rank");
  step.Set(Attribute::Int("axis", axis + *rank));
  return {};
}

// One scale for the whole tensor has no axis.
Result<void> QuantizerFrom13(OpsetStep& step) {
  const auto rank = step.RankOf(1);
  if (!rank || *rank != 0)
    return Unsupported(step.PlaceOf(1), "is no scalar; before opset 13 a scale is one");
  step.Erase("axis");
  return {};
}

// The type of a zero point says the same as output_dtype.
Result<void> QuantizeLinearFrom21(OpsetStep& step) {
  const auto type = static_cast<ElementType>(step.node.IntOr("output_dtype", 0));
  if (type == ElementType::kUndefined) return {};
  if (!step.Has(2) && type != ElementType::kUint8) {
    const auto dims = step.DimsOf(1);
    const auto count = format::ElementCount(dims.value_or(format::Dims{-1}));
    if (!count.has_value() || *count > format::Inference::kMostConstantElements)
      return RefusedAttribute("output_dtype",
                              "needs a zero point of a known shape before opset 21");
    QTX_ASSIGN_OR_RETURN(Tensor zeros, format::MakeTensor(type, *dims));
    step.SetConstant(2, "zero_point", std::move(zeros));
  }
  step.Erase("output_dtype");
  return {};
}

Result<void> DequantizeLinearFrom23(OpsetStep& step) {
  const auto type = static_cast<ElementType>(step.node.IntOr("output_dtype", 0));
  if (type != ElementType::kUndefined && type == step.TypeOf(1)) step.Erase("output_dtype");
  return {};
}

constexpr auto kGridModes = std::to_array<std::pair<std::string_view, std::string_view>>(
    {{"bilinear", "linear"}, {"bicubic", "cubic"}});

Result<void> GridSampleTo20(OpsetStep& step) {
  const std::string mode = step.node.StringOr("mode", "");
  for (const auto& [old, now] : kGridModes) {
    if (mode == old) step.Set(Attribute::String("mode", std::string(now)));
  }
  return {};
}

Result<void> GridSampleFrom20(OpsetStep& step) {
  if (step.RankOf(0) != 4)
    return Unsupported(step.PlaceOf(0), "is not known to be of rank 4, as before opset 20");
  const std::string mode = step.node.StringOr("mode", "");
  for (const auto& [old, now] : kGridModes) {
    if (mode == now) step.Set(Attribute::String("mode", std::string(old)));
  }
  return {};
}

// Scale and bias of each group become those of each channel.
Result<void> GroupNormalizationTo21(OpsetStep& step) {
  const auto dims = step.DimsOf(0);
  const std::int64_t groups = step.node.IntOr("num_groups", 0);
  const std::int64_t channels = dims && dims->size() > 1 ? (*dims)[1] : format::kUnknownSize;
  if (!step.Has(1) || !step.Has(2)) return Invalid("input", "expected a scale and a bias");
  if (channels < 0 || groups <= 0 || channels % groups != 0)
    return Unsupported(step.PlaceOf(0),
                       "has a number of channels that is not known, which "
                       "since opset 21 scale and bias have");
  if (channels == groups) return {};
  const std::string column = step.AddConstant("column", IntegerTensor({groups, 1}));
  const std::string matrix = step.AddConstant("matrix", IntegerTensor({groups, channels / groups}));
  const std::string row = step.AddConstant("row", IntegerTensor({-1}));
  for (const std::size_t i : {std::size_t{1}, std::size_t{2}}) {
    const std::string name = i == 1 ? "scale" : "bias";
    const std::string tall = step.NewValue(name + "/column");
    const std::string wide = step.NewValue(name + "/matrix"), flat = step.NewValue(name);
    step.before.push_back(step.NewNode("Reshape", {step.node.inputs.at(i), column}, tall));
    step.before.push_back(step.NewNode("Expand", {tall, matrix}, wide));
    step.before.push_back(step.NewNode("Reshape", {wide, row}, flat));
    step.SetInput(i, flat);
  }
  return {};
}

Result<void> ModFrom28(OpsetStep& step) {
  if (step.node.IntOr("fmod", 0) == 1) return {};
  const ElementType type = step.TypeOf(0);
  if (type != ElementType::kUndefined && format::IsIntegerStorage(type)) return {};
  return RefusedAttribute("fmod", "is 0 for what is not known to be integers, as before opset 28");
}

Result<void> ReduceFromInput(OpsetStep& step) {
  if (step.node.IntOr("noop_with_empty_axes", 0) != 0) {
    const Tensor* axes = step.Has(1) ? step.ConstantOf(1) : nullptr;
    if (axes == nullptr || axes->bytes.empty())
      return RefusedAttribute("noop_with_empty_axes",
                              "is 1 where there may be no axes; before opset " +
                                  std::to_string(step.since) + " these are all axes");
    step.Erase("noop_with_empty_axes");
  }
  return InputsToAttributes(step);
}

// Regions lie half a pixel further before 16.
Result<void> RoiAlignTo16(OpsetStep& step) {
  step.Set(Attribute::String("coordinate_transformation_mode", "output_half_pixel"));
  return {};
}

Result<void> RoiAlignFrom16(OpsetStep& step) {
  if (step.node.StringOr("coordinate_transformation_mode", "half_pixel") != "output_half_pixel")
    return RefusedAttribute("coordinate_transformation_mode",
                            "is 'half_pixel'; before opset 16 it is 'output_half_pixel'");
  step.Erase("coordinate_transformation_mode");
  return {};
}

Result<void> RefuseScan(OpsetStep&) {
  return Unsupported("scans along the batch in opset 8, along any axis since 9");
}

// Before 8 nothing is broadcast.
Result<void> VariadicFrom8(OpsetStep& step) {
  const auto first = step.DimsOf(0);
  for (std::size_t i = 0; i < step.node.inputs.size(); ++i) {
    const auto dims = step.DimsOf(i);
    const bool known = dims && std::ranges::find(*dims, format::kUnknownSize) == dims->end();
    if (known && dims == first) continue;
    return Unsupported(step.PlaceOf(i),
                       "is not known to be of the first one's shape, as before opset 8");
  }
  return {};
}

constexpr auto kForms = std::to_array<OpsetForm>({
    {"BatchNormalization", 9, BatchNormalizationTo9, nullptr},
    {"BatchNormalization", 14, BatchNormalizationTraining, BatchNormalizationTraining},
    {"Clip", 11, AttributesToInputs, InputsToAttributes},
    {"Constant", 12, nullptr, ConstantFrom12},
    {"DFT", 20, DftTo20, DftFrom20},
    {"DequantizeLinear", 13, nullptr, QuantizerFrom13},
    {"DequantizeLinear", 23, nullptr, DequantizeLinearFrom23},
    {"Dropout", 10, DropoutMask, DropoutMask},
    {"Dropout", 12, DropoutTo12, DropoutFrom12},
    {"Gemm", 11, nullptr, GemmFrom11},
    {"GridSample", 20, GridSampleTo20, GridSampleFrom20},
    {"GroupNormalization", 21, GroupNormalizationTo21, nullptr},
    {"Hardmax", 13, SoftmaxTo13, SoftmaxFrom13},
    {"LogSoftmax", 13, SoftmaxTo13, SoftmaxFrom13},
    {"Max", 8, nullptr, VariadicFrom8},
    {"Mean", 8, nullptr, VariadicFrom8},
    {"Min", 8, nullptr, VariadicFrom8},
    {"Mod", 28, nullptr, ModFrom28},
    {"OneHot", 11, nullptr, OneHotFrom11},
    {"Pad", 11, AttributesToInputs, InputsToAttributes},
    {"Pad", 18, nullptr, PadFrom18},
    {"QuantizeLinear", 13, nullptr, QuantizerFrom13},
    {"QuantizeLinear", 21, nullptr, QuantizeLinearFrom21},
    {"ReduceL1", 18, AttributesToInputs, ReduceFromInput},
    {"ReduceL2", 18, AttributesToInputs, ReduceFromInput},
    {"ReduceLogSum", 18, AttributesToInputs, ReduceFromInput},
    {"ReduceLogSumExp", 18, AttributesToInputs, ReduceFromInput},
    {"ReduceMax", 18, AttributesToInputs, ReduceFromInput},
    {"ReduceMean", 18, AttributesToInputs, ReduceFromInput},
    {"ReduceMin", 18, AttributesToInputs, ReduceFromInput},
    {"ReduceProd", 18, AttributesToInputs, ReduceFromInput},
    {"ReduceSum", 13, AttributesToInputs, ReduceFromInput},
    {"ReduceSumSquare", 18, AttributesToInputs, ReduceFromInput},
    {"Reshape", 14, nullptr, ReshapeFrom14},
    {"Resize", 11, ResizeTo11, ResizeFrom11},
    {"Resize", 13, ResizeTo13, ResizeFrom13},
    {"Resize", 18, nullptr, ResizeFrom18},
    {"RoiAlign", 16, RoiAlignTo16, RoiAlignFrom16},
    {"Scan", 9, RefuseScan, RefuseScan},
    {"Shape", 15, nullptr, ShapeFrom15},
    {"Slice", 10, AttributesToInputs, SliceFrom10},
    {"Slice", 11, nullptr, SliceFrom11},
    {"Softmax", 13, SoftmaxTo13, SoftmaxFrom13},
    {"Split", 13, AttributesToInputs, InputsToAttributes},
    {"Split", 18, SplitTo18, SplitFrom18},
    {"Squeeze", 13, AttributesToInputs, InputsToAttributes},
    {"Sum", 8, nullptr, VariadicFrom8},
    {"TopK", 10, AttributesToInputs, InputsToAttributes},
    {"Unsqueeze", 13, AttributesToInputs, InputsToAttributes},
    {"Upsample", 9, AttributesToInputs, InputsToAttributes},
});

}  // namespace

std::span<const OpsetForm> OpsetForms() { return kForms; }

}  // namespace qtx::convert
