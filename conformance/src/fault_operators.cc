// Fault models of operators: attributes, batches, tails and tables that are misread.
#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <numeric>
#include <utility>

#include "node_editor.h"
#include "test_model.h"

namespace qtx::conformance {
namespace {

using format::Attribute;
using format::ElementType;
using format::Node;
using format::Quantization;
using format::Tensor;
using Integers = std::vector<std::int64_t>;

bool IsProduct(const Node& node) {
  return node.op_type.find("MatMul") != std::string::npos || node.op_type == "Gemm";
}

bool Drop(NodeEditor& editor, std::initializer_list<std::string_view> names) {
  std::size_t dropped = 0;
  for (Node& node : editor.graph().nodes) {
    dropped += std::erase_if(node.attributes, [names](const Attribute& attribute) {
      return std::ranges::find(names, attribute.name) != names.end();
    });
  }
  return dropped > 0;
}
bool DropAlpha(NodeEditor& editor) { return Drop(editor, {"alpha"}); }
bool DropBeta(NodeEditor& editor) { return Drop(editor, {"beta"}); }
bool DropAxis(NodeEditor& editor) { return Drop(editor, {"axis"}); }
bool DropSaturate(NodeEditor& editor) { return Drop(editor, {"saturate"}); }
bool DropTransposeB(NodeEditor& editor) { return Drop(editor, {"transB"}); }
bool DropTransposeA(NodeEditor& editor) { return Drop(editor, {"transA"}); }

// Adds next to nothing to a variance; 0 may be refused.
bool DropEpsilon(NodeEditor& editor) {
  Node& node = editor.node();
  if (!node.op_type.ends_with("Normalization")) return false;
  std::erase_if(node.attributes, [](const Attribute& a) { return a.name == "epsilon"; });
  node.attributes.push_back(Attribute::Float("epsilon", std::numeric_limits<float>::min()));
  return true;
}

bool DropBias(NodeEditor& editor) {
  if (editor.Input(2) == nullptr) return false;
  const std::string& op = editor.node().op_type;
  if (op != "Conv" && op != "Gemm" && op != "ConvTranspose") return false;
  editor.node().inputs.resize(2);
  return true;
}

// Requantizes both operands to the output's scale before adding.
bool RoundOperands(NodeEditor& editor) {
  if (editor.node().op_type != "Add") return false;
  const Quantization* y = editor.Parameters(editor.Output());
  if (y == nullptr || !y->axis.empty()) return false;
  format::TensorType wide;
  wide.elem_type = ElementType::kInt32Q;
  wide.quantization = Quantization{};
  wide.quantization->scale = y->scale;
  format::Graph& graph = editor.graph();
  std::vector<Node> before;
  for (std::string& input : editor.node().inputs) {
    Node convert;
    convert.name = convert.op_type = "Identity";
    convert.name += std::to_string(before.size());
    convert.inputs = {input};
    input = "rounded" + std::to_string(before.size());
    convert.outputs = {input};
    editor.Declare(input, wide);
    before.push_back(std::move(convert));
  }
  graph.nodes.insert(graph.nodes.begin(), before.begin(), before.end());
  return true;
}

// Replaces every slice along the first axis by the first slice.
bool RepeatFirst(NodeEditor& editor, std::size_t operand, std::int64_t kept_axes) {
  return editor.EditIntegers(editor.Input(operand), [=](Integers& values, Tensor& tensor) {
    if (std::ssize(tensor.dims) <= kept_axes || values.empty()) return false;
    const auto size = std::accumulate(
        tensor.dims.end() - kept_axes, tensor.dims.end(), std::size_t{1},
        [](std::size_t a, std::int64_t b) { return a * static_cast<std::size_t>(b); });
    for (std::size_t i = size; i < values.size(); ++i) values[i] = values[i % size];
    return values.size() > size;
  });
}
bool ReadFirstBatch(NodeEditor& editor) {
  if (IsProduct(editor.node())) return RepeatFirst(editor, 1, 2);
  const auto dims = editor.Dims(editor.Input(0));
  return IsConv(editor.node()) && dims && RepeatFirst(editor, 0, std::ssize(*dims) - 1);
}

// Reads rows of the first matrix from the preceding aligned address.
bool AlignRows(NodeEditor& editor) {
  if (!IsProduct(editor.node()) || editor.node().IntOr("transA", 0) != 0) {
    return false;
  }
  return editor.EditIntegers(editor.Input(0), [](Integers& values, Tensor& tensor) {
    if (tensor.dims.size() < 2) return false;
    const auto columns = static_cast<std::size_t>(tensor.dims.back());
    const Integers before = values;
    for (std::size_t i = 0; i < values.size(); ++i) {
      values[i] = before[i - i / columns * columns % 4];
    }
    return values != before;
  });
}

// Handling of the elements after the last whole register of `lanes` products.
using Tail = void (*)(std::int64_t& value, std::int64_t offset, bool last, std::int64_t missing);

void DropTail(std::int64_t& value, std::int64_t offset, bool, std::int64_t) { value = offset; }
void RepeatLast(std::int64_t& value, std::int64_t offset, bool last, std::int64_t missing) {
  if (last) value = offset + (value - offset) * (1 + missing);
}

// Position of each weight in its sum of products, and the length of the sum; 0 if not a product.
std::int64_t Depth(const Node& node, const format::Dims& w) {
  if (w.size() < 2) return w.empty() || !IsProduct(node) ? 0 : w[0];
  if (node.op_type == "Gemm" && node.IntOr("transB", 0) != 0) return w[1];
  if (IsProduct(node)) return w[w.size() - 2];
  if (!IsConv(node) || node.op_type == "ConvTranspose") return 0;
  return std::accumulate(w.begin() + 1, w.end(), std::int64_t{1}, std::multiplies<>());
}
std::int64_t Position(const Node& node, const format::Dims& w, std::int64_t i) {
  if (w.size() < 2) return i;
  if (node.op_type == "Gemm" && node.IntOr("transB", 0) != 0) return i % w[1];
  if (IsProduct(node)) return i / w.back() % w[w.size() - 2];
  return i % Depth(node, w);
}

template <std::int64_t kLanes, Tail kTail>
bool SpoilTail(NodeEditor& editor) {
  const Node& node = editor.node();
  return editor.EditIntegers(editor.Input(1), [&node](Integers& values, Tensor& tensor) {
    const std::int64_t depth = Depth(node, tensor.dims);
    if (depth <= kLanes || depth % kLanes == 0 || values.empty()) return false;
    std::optional<format::ParameterMap> map;
    if (tensor.quantization && format::ParameterDims(*tensor.quantization, tensor.dims)) {
      map.emplace(*tensor.quantization, tensor.dims);
    }
    const std::int64_t whole = depth / kLanes * kLanes;
    for (std::int64_t i = 0; i < std::ssize(values); ++i) {
      const std::int64_t at = Position(node, tensor.dims, i);
      if (at < whole) continue;
      const std::int64_t offset = map ? format::OffsetAt(*tensor.quantization, (*map)(i)) : 0;
      kTail(values[static_cast<std::size_t>(i)], offset, at == depth - 1, whole + kLanes - depth);
    }
    if (tensor.quantization) Widen(tensor);
    return true;
  });
}

// The dims of a result whose operands are broadcast as ONNX's are; nullopt where they cannot be.
std::optional<format::Dims> Broadcast(format::Dims a, format::Dims b) {
  if (a.size() < b.size()) std::swap(a, b);
  b.insert(b.begin(), a.size() - b.size(), 1);
  for (std::size_t i = 0; i < a.size(); ++i) {
    if (a[i] != b[i] && a[i] != 1 && b[i] != 1) return std::nullopt;
    if (a[i] == 1) a[i] = b[i];
  }
  return a;
}

// Repeats a smaller second operand from its beginning, ignoring axes.
bool RepeatOperand(NodeEditor& editor) {
  if (editor.node().inputs.size() != 2) return false;
  const auto a = editor.Dims(editor.Input(0));
  const auto b = editor.Dims(editor.Input(1));
  const auto y = a && b ? Broadcast(*a, *b) : std::nullopt;
  const Quantization* q = editor.Parameters(editor.Input(1));
  if (!y || q == nullptr || !q->axis.empty() || IsProduct(editor.node())) return false;
  const auto count = format::ElementCount(*y);
  return count && editor.EditIntegers(editor.Input(1), [&](Integers& values, Tensor& tensor) {
    if (values.empty() || std::ssize(values) >= *count) return false;
    const std::size_t size = values.size();
    values.resize(static_cast<std::size_t>(*count));
    for (std::size_t i = size; i < values.size(); ++i) values[i] = values[i % size];
    tensor.dims = *y;
    return true;
  });
}

// Reads a lookup table one entry too far, or with an unsigned index.
bool EditTableIndex(NodeEditor& editor, std::int64_t (*index)(std::int64_t, format::IntegerRange)) {
  const std::string& op = editor.node().op_type;
  if (op != "Sigmoid" && op != "Tanh") return false;
  return editor.EditIntegers(editor.Input(0), [index](Integers& values, Tensor& tensor) {
    if (!tensor.quantization || format::BitWidth(tensor.elem_type) > 8) return false;
    const format::IntegerRange range = format::StorageRange(tensor.elem_type);
    for (std::int64_t& v : values) v = index(v, range);
    Widen(tensor);
    return true;
  });
}
bool ReadNextEntry(NodeEditor& editor) {
  return EditTableIndex(editor, [](std::int64_t v, format::IntegerRange range) {
    return std::min(v + 1, range.max);
  });
}
bool ReadUnsignedEntry(NodeEditor& editor) {
  return EditTableIndex(editor, [](std::int64_t v, format::IntegerRange range) {
    return v < 0 ? v + range.max - range.min + 1 : v;
  });
}

// Uses the stored integer of a quantized constant as its real: bounds of Clip, value of Pad.
bool TakeBoundsAsStored(NodeEditor& editor) {
  const std::string& op = editor.node().op_type;
  if (op != "Clip" && op != "Pad") return false;
  bool any = false;
  for (std::size_t i = op == "Clip" ? 1 : 2; i < 3; ++i) {
    const std::string* name = editor.Input(i);
    Quantization* q = editor.Parameters(name);
    if (q == nullptr) continue;
    q->scale.assign(q->scale.size(), 1.0F);
    q->offset.clear();
    any = true;
  }
  return any;
}

// Input and output of a node of one input, both quantized integers.
bool IsStoredToStored(const Question& question, const Outputs& outputs, std::string_view op_type) {
  const auto is_stored = [](const Tensor& tensor) {
    return tensor.quantization && format::IsIntegerStorage(tensor.elem_type);
  };
  return question.model.graph.nodes.front().op_type == op_type && question.inputs.size() == 1 &&
         outputs.size() == 1 && question.inputs[0].dims == outputs[0].dims &&
         is_stored(question.inputs[0]) && is_stored(outputs[0]);
}

// Clamps stored values at stored 0, ignoring the offset.
bool ClampAtStoredZero(const Question& question, Outputs& outputs) {
  if (!IsStoredToStored(question, outputs, "Relu")) return false;
  const Tensor& x = question.inputs[0];
  const Integers from = format::UnpackIntegers(x);
  Integers to = format::UnpackIntegers(outputs[0]);
  const format::IntegerRange range =
      format::StoredRange(outputs[0].elem_type, *outputs[0].quantization);
  for (std::size_t i = 0; i < to.size() && i < from.size(); ++i) {
    if (from[i] < 0) to[i] = std::clamp<std::int64_t>(0, range.min, range.max);
  }
  format::PackIntegers(to, outputs[0]);
  return true;
}
bool AsIdentity(NodeEditor& editor) {
  if (editor.node().op_type != "Relu") return false;
  editor.node().op_type = "Identity";
  return true;
}

// Reads a column of addends as a row.
bool ReadBiasAlongRow(NodeEditor& editor) {
  if (editor.node().op_type != "Gemm") return false;
  const auto w = editor.Dims(editor.Input(1));
  if (!w || w->size() != 2) return false;
  const std::int64_t columns = (*w)[editor.node().IntOr("transB", 0) != 0 ? 0 : 1];
  return editor.EditIntegers(editor.Input(2), [columns](Integers& values, Tensor& tensor) {
    if (values.empty() || !tensor.quantization || !tensor.quantization->axis.empty()) return false;
    const Integers before = values;
    values.resize(static_cast<std::size_t>(columns));
    for (std::size_t i = 0; i < values.size(); ++i) values[i] = before[i % before.size()];
    tensor.dims = {columns};
    return true;
  });
}

// Fills a Pad with stored 0 of the output's type.
bool FillWithStoredZero(NodeEditor& editor) {
  if (editor.node().op_type != "Pad") return false;
  Node& node = editor.node();
  const Quantization* y = editor.Parameters(editor.Output());
  if (y == nullptr || !y->axis.empty() || node.StringOr("mode", "constant") != "constant") {
    return false;
  }
  const auto zero = format::MakeTensor(editor.Type(editor.Output())->elem_type, {}, *y);
  if (!zero) return false;
  editor.AddConstant("stored.zero", *zero);
  node.inputs.resize(std::max<std::size_t>(node.inputs.size(), 3));
  node.inputs[2] = "stored.zero";
  return true;
}

// Computes slope * stored for negative stored values, in binary32, ignoring offsets.
bool LeakOnStored(const Question& question, Outputs& outputs) {
  if (!IsStoredToStored(question, outputs, "LeakyRelu")) return false;
  const Integers from = format::UnpackIntegers(question.inputs[0]);
  Integers to = format::UnpackIntegers(outputs[0]);
  const format::IntegerRange range =
      format::StoredRange(outputs[0].elem_type, *outputs[0].quantization);
  const float slope = question.model.graph.nodes.front().FloatOr("alpha", 0.01F);
  for (std::size_t i = 0; i < to.size() && i < from.size(); ++i) {
    if (from[i] >= 0) continue;
    const float leaked = std::clamp(slope * static_cast<float>(from[i]), -0x1p40F, 0x1p40F);
    to[i] = std::clamp(static_cast<std::int64_t>(std::nearbyint(leaked)), range.min, range.max);
  }
  format::PackIntegers(to, outputs[0]);
  return true;
}

// Reals of a tensor in binary32, as `float32` reads them: float32.S1.
std::vector<float> Binary32(const Tensor& tensor) {
  std::vector<float> reals;
  if (!tensor.quantization || !format::IsIntegerStorage(tensor.elem_type)) {
    for (const double value : format::StoredValues(tensor)) {
      reals.push_back(static_cast<float>(value));
    }
    return reals;
  }
  const format::ParameterMap map(*tensor.quantization, tensor.dims);
  const Integers stored = format::UnpackIntegers(tensor);
  for (std::size_t i = 0; i < stored.size(); ++i) {
    const std::int64_t k = map(static_cast<std::int64_t>(i));
    const std::int64_t offset = format::OffsetAt(*tensor.quantization, k);
    reals.push_back(static_cast<float>(stored[i] - offset) *
                    format::ScaleAt(*tensor.quantization, k));
  }
  return reals;
}

// float32.S2.
void StoreBinary32(const std::vector<float>& reals, Tensor& tensor) {
  if (!tensor.quantization) {
    std::ranges::copy(reals, tensor.As<float>().begin());
    return;
  }
  const format::IntegerRange range = format::StoredRange(tensor.elem_type, *tensor.quantization);
  const format::ParameterMap map(*tensor.quantization, tensor.dims);
  Integers stored(reals.size());
  for (std::size_t i = 0; i < stored.size(); ++i) {
    const std::int64_t k = map(static_cast<std::int64_t>(i));
    const float quotient = reals[i] / format::ScaleAt(*tensor.quantization, k);
    const float near = std::isnan(quotient) ? 0 : std::clamp(quotient, -0x1p40F, 0x1p40F);
    stored[i] = std::clamp(
        static_cast<std::int64_t>(std::nearbyint(near)) + format::OffsetAt(*tensor.quantization, k),
        range.min, range.max);
  }
  format::PackIntegers(stored, tensor);
}

// exp(x) / sum exp(x) in binary32: beyond 88 the sum is infinite.
bool SkipTheMaximum(const Question& question, Outputs& outputs) {
  const Node& node = question.model.graph.nodes.front();
  if (node.op_type != "Softmax" || question.inputs.size() != 1 || outputs.size() != 1) return false;
  const Tensor& x = question.inputs[0];
  Tensor& y = outputs[0];
  const bool stored = y.quantization && format::IsIntegerStorage(y.elem_type);
  // Until opset 12 Softmax flattens its input.
  if (x.dims != y.dims || question.model.OpsetVersion("") < 13) return false;
  const auto axis = format::NormalizeAxis(node.IntOr("axis", -1), std::ssize(x.dims));
  if ((!stored && y.elem_type != ElementType::kFloat) || !axis) return false;
  std::vector<float> shares = Binary32(x);
  for (float& share : shares) share = static_cast<float>(std::exp(static_cast<double>(share)));
  const auto count = static_cast<std::size_t>(x.dims[static_cast<std::size_t>(*axis)]);
  const auto step = static_cast<std::size_t>(std::accumulate(
      x.dims.begin() + *axis + 1, x.dims.end(), std::int64_t{1}, std::multiplies<>()));
  for (std::size_t i = 0; i < shares.size(); ++i) {
    if (i / step % count != 0) continue;
    float sum = 0;
    for (std::size_t k = 0; k < count; ++k) sum += shares[i + k * step];
    for (std::size_t k = 0; k < count; ++k) shares[i + k * step] /= sum;
  }
  StoreBinary32(shares, y);
  return true;
}

// What a kernel does not write is what a fresh buffer holds.
template <bool (*kIsLeft)(std::int64_t index, std::int64_t count)>
bool LeaveUnwritten(const Question& /*question*/, Outputs& outputs) {
  for (Tensor& output : outputs) {
    const std::int64_t count = format::ElementCount(output);
    for (std::int64_t i = 0; i < count; ++i) {
      if (kIsLeft(i, count)) ClearElement(output, i);
    }
  }
  return !outputs.empty();
}
bool IsAny(std::int64_t /*index*/, std::int64_t /*count*/) { return true; }
bool IsFirst(std::int64_t index, std::int64_t /*count*/) { return index == 0; }
bool IsLast(std::int64_t index, std::int64_t count) { return index + 1 == count; }

constexpr std::array kOperatorFaults = {
    Fault{.name = "transposed_b_ignored", .says = "ignores transB", .question = DropTransposeB},
    Fault{.name = "transposed_a_ignored", .says = "ignores transA", .question = DropTransposeA},
    Fault{.name = "alpha_ignored", .says = "ignores alpha", .question = DropAlpha},
    Fault{.name = "beta_ignored", .says = "ignores beta", .question = DropBeta},
    Fault{.name = "axis_ignored",
          .says = "takes the default axis whatever the attribute says",
          .question = DropAxis},
    Fault{.name = "saturate_ignored", .says = "ignores saturate", .question = DropSaturate},
    Fault{.name = "bias_ignored", .says = "ignores the bias", .question = DropBias},
    Fault{.name = "epsilon_ignored",
          .says = "adds no epsilon to a variance",
          .question = DropEpsilon},
    Fault{.name = "add_rounds_operands",
          .says = "rounds both addends to the output's scale before it adds them",
          .question = RoundOperands},
    Fault{.name = "batch_reads_first",
          .says = "reads the first batch for every batch",
          .question = ReadFirstBatch},
    Fault{.name = "unaligned_rows",
          .says = "reads rows from the aligned address before their own",
          .question = AlignRows},
    Fault{.name = "tail_of_2_dropped",
          .says = "drops the last product of an odd number",
          .question = SpoilTail<2, DropTail>},
    Fault{.name = "tail_of_4_dropped",
          .says = "drops the products after the last four",
          .question = SpoilTail<4, DropTail>},
    Fault{.name = "tail_of_8_dropped",
          .says = "drops the products after the last eight",
          .question = SpoilTail<8, DropTail>},
    Fault{.name = "tail_of_16_dropped",
          .says = "drops the products after the last sixteen",
          .question = SpoilTail<16, DropTail>},
    Fault{.name = "tail_of_32_dropped",
          .says = "drops the products after the last thirty-two",
          .question = SpoilTail<32, DropTail>},
    Fault{.name = "tail_repeats_last",
          .says = "fills the last four products with the last one",
          .question = SpoilTail<4, RepeatLast>},
    Fault{.name = "broadcast_repeats",
          .says = "repeats a smaller operand from its beginning, whatever its axes",
          .question = RepeatOperand},
    Fault{.name = "table_off_by_one",
          .says = "reads the entry of a table after the right one",
          .question = ReadNextEntry},
    Fault{.name = "table_index_unsigned",
          .says = "reads a table at the stored value as an unsigned index",
          .question = ReadUnsignedEntry},
    Fault{.name = "constants_as_stored",
          .says = "takes the stored integers of a bound or padding value for its real",
          .question = TakeBoundsAsStored},
    Fault{.name = "column_bias_as_row",
          .says = "reads a column of addends along the row",
          .question = ReadBiasAlongRow},
    Fault{.name = "pad_with_zero",
          .says = "fills padding with stored 0",
          .question = FillWithStoredZero},
    Fault{.name = "leaky_relu_on_stored",
          .says = "multiplies negative stored values by the slope, offsets forgotten",
          .answers = LeakOnStored},
    Fault{.name = "softmax_not_shifted",
          .says = "takes exponentials without subtracting the maximum, which overflow",
          .answers = SkipTheMaximum},
    Fault{.name = "relu_at_stored_zero",
          .says = "cuts off at stored 0 instead of the offset",
          .question = AsIdentity,
          .answers = ClampAtStoredZero},
    Fault{.name = "output_unwritten",
          .says = "leaves all elements of its outputs at stored 0",
          .answers = LeaveUnwritten<IsAny>},
    Fault{.name = "first_element_unwritten",
          .says = "leaves the first element of its outputs at stored 0",
          .answers = LeaveUnwritten<IsFirst>},
    Fault{.name = "last_element_unwritten",
          .says = "leaves the last element of its outputs at stored 0",
          .answers = LeaveUnwritten<IsLast>},
};

}  // namespace

std::span<const Fault> OperatorFaults() { return kOperatorFaults; }

}  // namespace qtx::conformance
