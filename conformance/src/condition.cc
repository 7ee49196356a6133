#include "condition.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <numeric>
#include <optional>

namespace qtx::conformance {
namespace {

using format::ElementType;
using format::Node;
using format::Tensor;

const Node& First(const Question& question) { return question.model.graph.nodes.front(); }

const format::TensorType* TypeOf(const Question& question, std::size_t input) {
  const auto& inputs = First(question).inputs;
  if (input >= inputs.size() || inputs[input].empty()) return nullptr;
  const format::ValueInfo* value = question.model.graph.FindValue(inputs[input]);
  return value != nullptr && value->type ? &*value->type : nullptr;
}

std::optional<format::Dims> DimsOf(const Question& question, std::size_t input) {
  const format::TensorType* type = TypeOf(question, input);
  if (type != nullptr && type->shape) return format::FixedDims(*type->shape);
  const auto& inputs = First(question).inputs;
  if (input >= inputs.size()) return std::nullopt;
  const auto* data = question.model.graph.FindInitializer(inputs[input]);
  return data == nullptr ? std::nullopt : std::optional(data->dims);
}

bool IsMatrixProduct(const Node& node) {
  return node.op_type.find("MatMul") != std::string::npos || node.op_type == "Gemm";
}
bool IsConv(const Node& node) { return node.op_type.find("Conv") != std::string::npos; }
bool IsWindow(const Node& node) {
  return IsConv(node) || node.op_type.find("Pool") != std::string::npos;
}

// Position of the second operand; QLinear operators have parameters in between.
std::size_t WeightsAt(const Node& node) { return node.op_type.starts_with("QLinear") ? 3 : 1; }

// Number of products in one sum; 0 if unknown or not a sum of products.
std::int64_t DepthOf(const Question& question) {
  const Node& node = First(question);
  const auto x = DimsOf(question, 0);
  const auto w = DimsOf(question, WeightsAt(node));
  if (IsMatrixProduct(node) && x && !x->empty()) {
    const bool transposed = node.IntOr("transA", 0) != 0;
    return transposed ? x->front() : x->back();
  }
  if (!IsConv(node) || !w || w->size() < 2) return 0;
  return std::accumulate(w->begin() + 1, w->end(), std::int64_t{1}, std::multiplies<>());
}

template <std::int64_t kMultiple>
bool DepthLeavesTail(const Question& question) {
  return DepthOf(question) % kMultiple != 0;
}

template <std::int64_t kMultiple>
bool ElementsLeaveTail(const Question& question) {
  if (question.inputs.empty()) return false;
  return format::ElementCount(question.inputs[0]) % kMultiple != 0;
}

template <std::int64_t kMultiple>
bool LastAxisLeavesTail(const Question& question) {
  return !question.inputs.empty() && !question.inputs[0].dims.empty() &&
         question.inputs[0].dims.back() % kMultiple != 0;
}

bool AnyInts(const Question& question, std::string_view name, std::int64_t neutral) {
  return std::ranges::any_of(First(question).IntsOr(name, {}),
                             [neutral](std::int64_t v) { return v != neutral; });
}

bool HasDilation(const Question& question) { return AnyInts(question, "dilations", 1); }
bool HasStride(const Question& question) { return AnyInts(question, "strides", 1); }
bool HasPads(const Question& question) {
  return AnyInts(question, "pads", 0) ||
         First(question).StringOr("auto_pad", "").starts_with("SAME");
}
bool HasGroups(const Question& question) { return First(question).IntOr("group", 1) != 1; }
bool HasBatch(const Question& question) {
  const auto x = DimsOf(question, 0);
  if (!x || x->empty()) return false;
  if (IsMatrixProduct(First(question))) return x->size() > 2 && x->front() > 1;
  return IsWindow(First(question)) && x->front() > 1;
}
bool HasOneRow(const Question& question) {
  const auto x = DimsOf(question, 0);
  return IsMatrixProduct(First(question)) && x && x->size() >= 2 && (*x)[x->size() - 2] == 1;
}
bool IsPointwise(const Question& question) {
  const auto w = DimsOf(question, WeightsAt(First(question)));
  return IsConv(First(question)) && w && w->size() > 2 &&
         std::all_of(w->begin() + 2, w->end(), [](std::int64_t d) { return d == 1; });
}
bool HasOneSpatialAxis(const Question& question) {
  const auto x = DimsOf(question, 0);
  return IsWindow(First(question)) && x && x->size() == 3;
}
bool HasThreeSpatialAxes(const Question& question) {
  const auto x = DimsOf(question, 0);
  return IsWindow(First(question)) && x && x->size() == 5;
}
bool RoundsUp(const Question& question) { return First(question).IntOr("ceil_mode", 0) != 0; }
bool HasBias(const Question& question) {
  const std::size_t bias = First(question).op_type == "QLinearConv" ? 8 : 2;
  return (IsConv(First(question)) || First(question).op_type == "Gemm") &&
         First(question).inputs.size() > bias;
}
bool Broadcasts(const Question& question) {
  const auto a = DimsOf(question, 0);
  const auto b = DimsOf(question, 1);
  return a && b && *a != *b && !IsConv(First(question));
}

bool AnyQuantization(const Question& question,
                     const std::function<bool(const format::TensorType&)>& holds) {
  const Node& node = First(question);
  for (const auto* names : {&node.inputs, &node.outputs}) {
    for (const std::string& name : *names) {
      const format::ValueInfo* value = question.model.graph.FindValue(name);
      if (value != nullptr && value->type && value->type->quantization && holds(*value->type)) {
        return true;
      }
    }
  }
  return false;
}
bool HasBlocks(const Question& question) {
  return AnyQuantization(question, [](const format::TensorType& type) {
    return std::ranges::any_of(type.quantization->block_shape,
                               [](std::int64_t block) { return block > 1; });
  });
}
bool HasAxes(const Question& question) {
  return AnyQuantization(
      question, [](const format::TensorType& type) { return !type.quantization->axis.empty(); });
}
template <int kBits>
bool HasWidth(const Question& question) {
  return AnyQuantization(question, [](const format::TensorType& type) {
    return format::BitWidth(type.elem_type) == kBits;
  });
}
template <ElementType kType>
bool FirstIs(const Question& question) {
  const format::TensorType* type = TypeOf(question, 0);
  return type != nullptr && type->elem_type == kType;
}

bool IsQuantizedFirst(const Question& question) {
  const format::TensorType* type = TypeOf(question, 0);
  return type != nullptr && type->quantization;
}

template <bool (*kTest)(double)>
bool AnyInput(const Question& question) {
  return std::ranges::any_of(question.inputs, [](const Tensor& tensor) {
    if (tensor.elem_type != ElementType::kFloat) return false;
    return std::ranges::any_of(tensor.As<float>(),
                               [](float v) { return kTest(static_cast<double>(v)); });
  });
}
bool IsNan(double value) { return std::isnan(value); }
bool IsInfinite(double value) { return std::isinf(value); }

bool HasOutputPadding(const Question& question) { return AnyInts(question, "output_padding", 0); }
bool IsDepthwiseMultiplied(const Question& question) {
  const auto x = DimsOf(question, 0);
  const auto w = DimsOf(question, WeightsAt(First(question)));
  if (!IsConv(First(question)) || !x || !w || x->size() < 2 || w->size() < 2) return false;
  const bool transposed = First(question).op_type == "ConvTranspose";
  const std::int64_t filters = transposed ? (*w)[1] : (*w)[0] / std::max<std::int64_t>((*x)[1], 1);
  return First(question).IntOr("group", 1) == (*x)[1] && filters > 1;
}
bool IsEmpty(const Question& question) {
  return std::ranges::any_of(
      question.inputs, [](const Tensor& tensor) { return format::ElementCount(tensor) == 0; });
}
bool DropsAxes(const Question& question) { return First(question).IntOr("keepdims", 1) == 0; }
bool HasNegativeIndex(const Question& question) {
  return question.inputs.size() > 1 && question.inputs[1].elem_type == ElementType::kInt64 &&
         std::ranges::any_of(question.inputs[1].As<std::int64_t>(),
                             [](std::int64_t v) { return v < 0; });
}
bool CountsPadding(const Question& question) {
  return First(question).IntOr("count_include_pad", 0) != 0;
}
template <std::size_t kOperand>
bool HasOffset(const Question& question) {
  const format::TensorType* type = TypeOf(question, kOperand);
  return type != nullptr && type->quantization &&
         std::ranges::any_of(type->quantization->offset, [](std::int32_t o) { return o != 0; });
}

constexpr std::array kConditions = {
    Condition{"empty", "where an input has no elements", IsEmpty},
    Condition{"nan", "where an input is NaN", AnyInput<IsNan>},
    Condition{"infinity", "where an input is infinite", AnyInput<IsInfinite>},
    Condition{"dilation", "where dilations are not 1", HasDilation},
    Condition{"depthwise_multiplier", "where a depthwise convolution has several filters a channel",
              IsDepthwiseMultiplied},
    Condition{"groups", "where there is more than one group", HasGroups},
    Condition{"ceil_mode", "where ceil_mode is set", RoundsUp},
    Condition{"output_padding", "where there is output_padding", HasOutputPadding},
    Condition{"keepdims", "where keepdims is 0", DropsAxes},
    Condition{"negative_index", "where an index is negative", HasNegativeIndex},
    Condition{"count_include_pad", "where count_include_pad is set", CountsPadding},
    Condition{"float16_input", "where the first input is FLOAT16", FirstIs<ElementType::kFloat16>},
    Condition{"blocks", "where parameters are blocked", HasBlocks},
    Condition{"batch", "where there is more than one batch", HasBatch},
    Condition{"one_row", "where the first matrix has one row", HasOneRow},
    Condition{"pointwise", "where the kernel is 1x1", IsPointwise},
    Condition{"one_spatial_axis", "where there is one spatial axis", HasOneSpatialAxis},
    Condition{"three_spatial_axes", "where there are three spatial axes", HasThreeSpatialAxes},
    Condition{"broadcast", "where shapes are broadcast", Broadcasts},
    Condition{"bias", "where there is a bias", HasBias},
    Condition{"padding", "where there is padding", HasPads},
    Condition{"stride", "where strides are not 1", HasStride},
    Condition{"float_input", "where the first input is FLOAT", FirstIs<ElementType::kFloat>},
    Condition{"quantized_input", "where the first input is quantized", IsQuantizedFirst},
    Condition{"per_tensor", "where every value has one scale",
              [](const Question& question) { return !HasAxes(question); }},
    Condition{"per_axis", "where parameters lie along an axis", HasAxes},
    Condition{"four_bits", "where a value has 4 bits", HasWidth<4>},
    Condition{"two_bits", "where a value has 2 bits", HasWidth<2>},
    Condition{"sixteen_bits", "where a value has 16 bits", HasWidth<16>},
    Condition{"first_offset", "where the first input has an offset", HasOffset<0>},
    Condition{"second_offset", "where the second input has an offset", HasOffset<1>},
    Condition{"unsigned_input", "where the first input is UINT8Q", FirstIs<ElementType::kUint8Q>},
    Condition{"signed_input", "where the first input is INT8Q", FirstIs<ElementType::kInt8Q>},
    Condition{"depth_tail_2", "where the depth of the sums is odd", DepthLeavesTail<2>},
    Condition{"depth_tail_4", "where the depth of the sums is no multiple of 4",
              DepthLeavesTail<4>},
    Condition{"depth_tail_8", "where the depth of the sums is no multiple of 8",
              DepthLeavesTail<8>},
    Condition{"depth_tail_16", "where the depth of the sums is no multiple of 16",
              DepthLeavesTail<16>},
    Condition{"depth_tail_32", "where the depth of the sums is no multiple of 32",
              DepthLeavesTail<32>},
    Condition{"tail_2", "where the number of elements is odd", ElementsLeaveTail<2>},
    Condition{"tail_4", "where the number of elements is no multiple of 4", ElementsLeaveTail<4>},
    Condition{"tail_8", "where the number of elements is no multiple of 8", ElementsLeaveTail<8>},
    Condition{"tail_16", "where the number of elements is no multiple of 16",
              ElementsLeaveTail<16>},
    Condition{"tail_32", "where the number of elements is no multiple of 32",
              ElementsLeaveTail<32>},
    Condition{"last_axis_tail_2", "where the last axis is odd", LastAxisLeavesTail<2>},
    Condition{"last_axis_tail_8", "where the last axis is no multiple of 8", LastAxisLeavesTail<8>},
};

}  // namespace

std::span<const Condition> Conditions() { return kConditions; }

}  // namespace qtx::conformance
