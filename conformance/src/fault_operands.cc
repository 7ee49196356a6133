// Fault models of operands: rounded to 8 bits at run time, parameters of another group, averages
// of narrow sums.
#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <numeric>
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

// The positions of one window in an image, and how many the average counts.
struct Window {
  std::vector<std::int64_t> elements;
  std::int64_t count = 0;
};

// What the sums of an AveragePool run over, as average_pool.S1 defines it; without ceil_mode and auto_pad.
class Windows {
 public:
  static std::optional<Windows> Of(const Node& node, const format::Dims& x, const format::Dims& y) {
    const bool global = node.op_type == "GlobalAveragePool";
    if ((!global && node.op_type != "AveragePool") || x.size() < 3 || y.size() != x.size()) {
      return std::nullopt;
    }
    Windows windows;
    const std::size_t rank = x.size() - 2;
    windows.size_ = {x.begin() + 2, x.end()};
    windows.outputs_ = {y.begin() + 2, y.end()};
    windows.kernel_ = global ? windows.size_ : node.IntsOr("kernel_shape", {});
    windows.strides_ = node.IntsOr("strides", format::Dims(rank, 1));
    windows.dilations_ = node.IntsOr("dilations", format::Dims(rank, 1));
    windows.pads_ = node.IntsOr("pads", format::Dims(2 * rank, 0));
    windows.counts_padding_ = node.IntOr("count_include_pad", 0) != 0;
    const bool sound = windows.kernel_.size() == rank && windows.strides_.size() == rank &&
                       windows.dilations_.size() == rank && windows.pads_.size() == 2 * rank &&
                       node.IntOr("ceil_mode", 0) == 0 &&
                       node.StringOr("auto_pad", "NOTSET") == "NOTSET";
    return sound ? std::optional(windows) : std::nullopt;
  }

  std::int64_t image() const { return Product(size_); }
  std::int64_t outputs() const { return Product(outputs_); }

  Window At(std::int64_t output) const {
    Window window;
    const std::int64_t kernel = Product(kernel_);
    for (std::int64_t k = 0; k < kernel; ++k) {
      std::int64_t element = 0;
      std::int64_t step = 1;
      std::int64_t rest = k;
      std::int64_t at = output;
      bool inside = true;
      for (std::size_t d = size_.size(); d-- > 0; rest /= kernel_[d], at /= outputs_[d]) {
        const std::int64_t i =
            at % outputs_[d] * strides_[d] + rest % kernel_[d] * dilations_[d] - pads_[d];
        inside = inside && i >= 0 && i < size_[d];
        element += i * step;
        step *= size_[d];
      }
      if (inside) window.elements.push_back(element);
    }
    window.count = counts_padding_ ? kernel : std::ssize(window.elements);
    return window;
  }

 private:
  static std::int64_t Product(const format::Dims& dims) {
    return std::accumulate(dims.begin(), dims.end(), std::int64_t{1}, std::multiplies<>());
  }

  format::Dims size_, outputs_, kernel_, strides_, dilations_, pads_;
  bool counts_padding_ = false;
};

std::int64_t WrapTo16(std::int64_t sum) { return static_cast<std::int16_t>(sum); }
std::int64_t ClampTo16(std::int64_t sum) {
  return std::clamp<std::int64_t>(sum, INT16_MIN, INT16_MAX);
}

// Sums stored values in 16 bits: changes the averages whose sum does not fit.
template <std::int64_t (*kHold)(std::int64_t)>
bool AverageIn16Bits(const Question& question, Outputs& outputs) {
  if (question.inputs.size() != 1 || outputs.size() != 1) return false;
  const Tensor& x = question.inputs[0];
  Tensor& y = outputs[0];
  const auto windows = Windows::Of(question.model.graph.nodes.front(), x.dims, y.dims);
  const auto is_plain = [](const Tensor& tensor) {
    return tensor.quantization && format::IsIntegerStorage(tensor.elem_type) &&
           tensor.quantization->axis.empty() && tensor.quantization->scale.size() == 1;
  };
  if (!windows || !is_plain(x) || !is_plain(y)) return false;
  const std::vector<std::int64_t> from = format::UnpackIntegers(x);
  std::vector<std::int64_t> to = format::UnpackIntegers(y);
  const format::IntegerRange range = format::StoredRange(y.elem_type, *y.quantization);
  const auto factor = static_cast<long double>(x.quantization->scale[0]) /
                      static_cast<long double>(y.quantization->scale[0]);
  bool any = false;
  for (std::int64_t i = 0; i < std::ssize(to); ++i) {
    const Window window = windows->At(i % windows->outputs());
    if (window.count == 0) continue;
    std::int64_t sum = 0;
    for (const std::int64_t element : window.elements) {
      sum += from[static_cast<std::size_t>(i / windows->outputs() * windows->image() + element)];
    }
    if (kHold(sum) == sum) continue;
    any = true;
    const std::int64_t real =
        kHold(sum) - std::ssize(window.elements) * format::OffsetAt(*x.quantization, 0);
    const long double rounded =
        std::nearbyint(static_cast<long double>(real) * factor / window.count);
    to[static_cast<std::size_t>(i)] =
        std::clamp(static_cast<std::int64_t>(std::clamp(rounded, -0x1p40L, 0x1p40L)) +
                       format::OffsetAt(*y.quantization, 0),
                   range.min, range.max);
  }
  format::PackIntegers(to, y);
  return any;
}

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
    Fault{.name = "average_16_bits_wraps",
          .says = "adds the values of an average in 16 bits that wrap",
          .answers = AverageIn16Bits<WrapTo16>},
    Fault{.name = "average_16_bits_saturates",
          .says = "adds the values of an average in 16 bits that saturate",
          .answers = AverageIn16Bits<ClampTo16>},
};

}  // namespace

std::span<const Fault> OperandFaults() { return kOperandFaults; }

}  // namespace qtx::conformance
