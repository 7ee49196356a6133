// Fault models of operands: rounded to 8 bits at run time, padded to whole registers, parameters of
// another group.
#include <algorithm>
#include <array>
#include <cmath>
#include <span>
#include <utility>

#include "node_editor.h"

namespace qtx::conformance {
namespace {

using format::ElementType;
using format::Node;
using format::Quantization;
using format::Tensor;

// The reals as 8 bits hold them, with one scale for all.
using RoundReals = void (*)(std::span<float> reals);

// DynamicQuantizeLinear, onnx.ai: y_scale = (max(0, max) - min(0, min)) / 255, y_zero_point =
// clamp(round_half_even(0 - min / y_scale)), y = clamp(round_half_even(x / y_scale) +
// y_zero_point).
void RoundAsymmetric(std::span<float> reals) {
  const auto [low, high] = std::ranges::minmax(reals);
  const float least = std::min(0.0F, low);
  const float scale = (std::max(0.0F, high) - least) / 255.0F;
  if (!(scale > 0) || !std::isfinite(scale)) return;
  const float offset = std::clamp(std::nearbyint(-least / scale), 0.0F, 255.0F);
  for (float& real : reals) {
    real = scale * (std::clamp(std::nearbyint(real / scale) + offset, 0.0F, 255.0F) - offset);
  }
}

// scale = max |x| / 127, y = round_half_even(x / scale): what kernels of weights by activations do.
void RoundSymmetric(std::span<float> reals) {
  float most = 0;
  for (const float real : reals) most = std::max(most, std::abs(real));
  const float scale = most / 127.0F;
  if (!(scale > 0) || !std::isfinite(scale)) return;
  for (float& real : reals) real = scale * std::nearbyint(real / scale);
}

bool IsProductOfReals(NodeEditor& editor) {
  const Node& node = editor.node();
  const bool is_product =
      node.op_type.find("MatMul") != std::string::npos || node.op_type == "Gemm" || IsConv(node);
  const format::TensorType* x = editor.Type(editor.Input(0));
  const format::TensorType* w = editor.Type(editor.Input(1));
  return is_product && x != nullptr && w != nullptr && x->elem_type == ElementType::kFloat &&
         w->quantization;
}

// Elements that share a scale: all, those of a row, or 32 of a row.
enum class Shared { kAll, kRow, kBlock };

template <RoundReals kRound, Shared kShare>
bool RoundFirst(NodeEditor& editor) {
  if (!IsProductOfReals(editor)) return false;
  const std::string name = *editor.Input(0);
  std::optional<Tensor> x = editor.Load(&name);
  if (!x || x->dims.empty()) return false;
  const std::span<float> reals = x->As<float>();
  if (std::ranges::any_of(reals, [](float real) { return !std::isfinite(real); })) return false;
  constexpr std::size_t kBlock = 32;
  const auto row = static_cast<std::size_t>(x->dims.back());
  const std::size_t line = kShare == Shared::kAll ? reals.size() : row;
  const std::size_t step = kShare == Shared::kBlock ? kBlock : std::max<std::size_t>(line, 1);
  for (std::size_t first = 0; first < reals.size(); first += line) {
    for (std::size_t at = 0; at < line; at += step) {
      kRound(reals.subspan(first + at, std::min(step, line - at)));
    }
  }
  editor.Replace(name, *std::move(x));
  return true;
}

// The channel whose parameters channel `i` of `count` in `groups` gets.
using Channel = std::int64_t (*)(std::int64_t i, std::int64_t count, std::int64_t groups);
std::int64_t OfFirstGroup(std::int64_t i, std::int64_t count, std::int64_t groups) {
  return i % (count / groups);
}
std::int64_t OfNextGroup(std::int64_t i, std::int64_t count, std::int64_t groups) {
  return (i + count / groups) % count;
}

template <typename T>
bool TakeOthers(std::vector<T>& values, std::int64_t groups, Channel channel) {
  const std::int64_t count = std::ssize(values);
  if (count < 2 || count % groups != 0) return false;
  const std::vector<T> before = values;
  for (std::int64_t i = 0; i < count; ++i) {
    values[static_cast<std::size_t>(i)] =
        before[static_cast<std::size_t>(channel(i, count, groups))];
  }
  return values != before;
}

std::int64_t GroupsOf(NodeEditor& editor) {
  return IsConv(editor.node()) ? editor.node().IntOr("group", 1) : 1;
}

// Reads the weights' scales of another group.
template <Channel kChannel>
bool TakeScales(NodeEditor& editor) {
  const std::int64_t groups = GroupsOf(editor);
  Quantization* w = editor.Parameters(editor.Input(1));
  return groups > 1 && w != nullptr && TakeOthers(w->scale, groups, kChannel);
}

// Reads the stored biases of another group; their scales stay.
template <Channel kChannel>
bool TakeBiases(NodeEditor& editor) {
  const std::int64_t groups = GroupsOf(editor);
  if (groups < 2) return false;
  return editor.EditIntegers(editor.Input(2), [groups](std::vector<std::int64_t>& values, Tensor&) {
    return TakeOthers(values, groups, kChannel);
  });
}

// DynamicQuantizeLinear whose range may lack 0, and whose zero point is rounded by `kRound`.
// Source: dynamic_quantize_linear.S1, S2.
template <bool kWithZero, long double (*kRound)(long double)>
bool QuantizeDynamically(const Question& question, Outputs& outputs) {
  if (question.model.graph.nodes.front().op_type != "DynamicQuantizeLinear") return false;
  const Tensor& x = question.inputs.front();
  const bool is_known = x.elem_type == ElementType::kFloat && !x.bytes.empty() &&
                        outputs.size() == 3 && format::IsIntegerStorage(outputs[0].elem_type);
  if (!is_known) return false;
  const std::span<const float> reals = x.As<float>();
  const auto [least, most] = std::ranges::minmax(reals);
  const long double low = kWithZero ? std::min(least, 0.0F) : least;
  const long double high = kWithZero ? std::max(most, 0.0F) : most;
  const auto width = static_cast<float>((high - low) / 255);
  if (!std::isfinite(width)) return false;
  const long double scale = width == 0 ? 1.0F : width;
  const auto zero = std::clamp<std::int64_t>(
      static_cast<std::int64_t>(std::clamp(kRound(-low / scale), -0x1p40L, 0x1p40L)), 0, 255);
  std::vector<std::int64_t> stored;
  for (const float real : reals) {
    const long double quotient = std::clamp<long double>(real / scale, -0x1p40L, 0x1p40L);
    const auto rounded = static_cast<std::int64_t>(std::nearbyint(quotient));
    stored.push_back(std::clamp<std::int64_t>(rounded + zero, 0, 255));
  }
  format::PackIntegers(stored, outputs[0]);
  outputs[1].As<float>()[0] = static_cast<float>(scale);
  format::PackIntegers(std::vector{zero}, outputs[2]);
  return true;
}

// Inserts `count` elements of stored 0 at the end of an axis.
void Extend(std::vector<std::int64_t>& values, format::Dims& dims, std::size_t axis,
            std::int64_t count) {
  const auto inner = static_cast<std::size_t>(format::RowMajorStrides(dims)[axis]);
  const auto line = inner * static_cast<std::size_t>(dims[axis]);
  std::vector<std::int64_t> longer;
  for (std::size_t first = 0; first < values.size(); first += line) {
    const auto begin = values.begin() + static_cast<std::ptrdiff_t>(first);
    longer.insert(longer.end(), begin, begin + static_cast<std::ptrdiff_t>(line));
    longer.insert(longer.end(), inner * static_cast<std::size_t>(count), 0);
  }
  values = std::move(longer);
  dims[axis] += count;
}

bool LiesAlong(const Tensor& tensor, std::size_t axis) {
  return tensor.quantization &&
         std::ranges::find(tensor.quantization->axis, static_cast<std::int64_t>(axis)) !=
             tensor.quantization->axis.end();
}

// Fills the depth of a matrix product up to whole registers with stored 0, whose reals are not 0
// where an operand has an offset.
template <std::int64_t kLanes>
bool PadDepth(NodeEditor& editor) {
  const Node& node = editor.node();
  const auto a = editor.Dims(editor.Input(0));
  const auto b = editor.Dims(editor.Input(1));
  if ((node.op_type != "MatMul" && node.op_type != "Gemm") || !a || !b || a->size() < 2 ||
      b->size() < 2) {
    return false;
  }
  const std::size_t along_a = node.IntOr("transA", 0) != 0 ? 0 : a->size() - 1;
  const std::size_t along_b = b->size() - (node.IntOr("transB", 0) != 0 ? 1 : 2);
  const std::int64_t rest = (*a)[along_a] % kLanes;
  if (rest == 0 || (*a)[along_a] < 2) return false;
  const std::array axes = {along_a, along_b};
  for (std::size_t i = 0; i < axes.size(); ++i) {
    const bool done = editor.EditIntegers(editor.Input(i), [&](auto& values, Tensor& tensor) {
      if (LiesAlong(tensor, axes[i])) return false;
      Extend(values, tensor.dims, axes[i], kLanes - rest);
      return true;
    });
    if (!done) return false;
  }
  return true;
}

long double HalfEven(long double real) { return std::nearbyint(real); }
long double TowardZero(long double real) { return std::trunc(real); }
long double HalfAway(long double real) { return std::round(real); }

constexpr std::array kOperandFaults = {
    Fault{.name = "first_rounded_to_8_bits",
          .says = "rounds its first, FLOAT operand to UINT8 with one scale and offset",
          .question = RoundFirst<RoundAsymmetric, Shared::kAll>},
    Fault{.name = "first_rounded_to_int8",
          .says = "rounds its first, FLOAT operand to INT8 with one scale",
          .question = RoundFirst<RoundSymmetric, Shared::kAll>},
    Fault{.name = "rows_rounded_to_int8",
          .says = "rounds its first, FLOAT operand to INT8 with one scale a row",
          .question = RoundFirst<RoundSymmetric, Shared::kRow>},
    Fault{.name = "blocks_rounded_to_int8",
          .says = "rounds its first, FLOAT operand to INT8 with one scale for 32 elements of a row",
          .question = RoundFirst<RoundSymmetric, Shared::kBlock>},
    Fault{.name = "scales_of_first_group",
          .says = "takes the weights' scales of the first group for every group",
          .question = TakeScales<OfFirstGroup>},
    Fault{.name = "scales_of_next_group",
          .says = "takes the weights' scales of the group after the right one",
          .question = TakeScales<OfNextGroup>},
    Fault{.name = "biases_of_first_group",
          .says = "takes the biases of the first group for every group",
          .question = TakeBiases<OfFirstGroup>},
    Fault{.name = "biases_of_next_group",
          .says = "takes the biases of the group after the right one",
          .question = TakeBiases<OfNextGroup>},
    Fault{.name = "depth_padded_to_4",
          .says = "fills the depth of a product up to fours with stored 0 instead of the offsets",
          .question = PadDepth<4>},
    Fault{.name = "depth_padded_to_16",
          .says = "fills the depth of a product up to 16 with stored 0 instead of the offsets",
          .question = PadDepth<16>},
    Fault{.name = "depth_padded_to_64",
          .says = "fills the depth of a product up to 64 with stored 0 instead of the offsets",
          .question = PadDepth<64>},
    Fault{.name = "dynamic_range_without_zero",
          .says = "leaves 0 out of a range that it finds at run time",
          .answers = QuantizeDynamically<false, HalfEven>},
    Fault{.name = "dynamic_zero_point_truncated",
          .says = "drops the fraction of a zero point that it finds at run time",
          .answers = QuantizeDynamically<true, TowardZero>},
    Fault{.name = "dynamic_zero_point_half_away",
          .says = "rounds halves of a zero point that it finds at run time away from zero",
          .answers = QuantizeDynamically<true, HalfAway>},
};

}  // namespace

std::span<const Fault> OperandFaults() { return kOperandFaults; }

}  // namespace qtx::conformance
