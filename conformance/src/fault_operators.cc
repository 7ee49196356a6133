// Faults of operators: attributes, padding, batches and tails taken otherwise than written.
#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <numeric>
#include <utility>

#include "reading.h"

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
bool IsConv(const Node& node) { return node.op_type.find("Conv") != std::string::npos; }
std::size_t WeightsAt(const Node& node) { return node.op_type.starts_with("QLinear") ? 3 : 1; }

// Attributes; false where nothing changes.
template <typename Change>
bool EditInts(Question& question, std::string_view name, Change change) {
  bool any = false;
  for (Node& node : question.model.graph.nodes) {
    for (Attribute& attribute : node.attributes) {
      if (attribute.name != name) continue;
      const Integers before = attribute.ints;
      change(attribute.ints);
      any = any || attribute.ints != before;
    }
  }
  return any;
}

bool Drop(Question& question, std::initializer_list<std::string_view> names) {
  std::size_t dropped = 0;
  for (Node& node : question.model.graph.nodes) {
    dropped += std::erase_if(node.attributes, [names](const Attribute& attribute) {
      return std::ranges::find(names, attribute.name) != names.end();
    });
  }
  return dropped > 0;
}
bool DropAlpha(Question& question) { return Drop(question, {"alpha"}); }
bool DropBeta(Question& question) { return Drop(question, {"beta"}); }
bool DropAxis(Question& question) { return Drop(question, {"axis"}); }
bool DropSaturate(Question& question) { return Drop(question, {"saturate"}); }
bool DropTransposeB(Question& question) { return Drop(question, {"transB"}); }
bool DropTransposeA(Question& question) { return Drop(question, {"transA"}); }

template <bool kUpperToo>
bool SwapSame(Question& question) {
  bool any = false;
  for (Node& node : question.model.graph.nodes) {
    for (Attribute& attribute : node.attributes) {
      if (attribute.name != "auto_pad" || !attribute.s.starts_with("SAME")) continue;
      const bool upper = attribute.s == "SAME_UPPER";
      if (upper && !kUpperToo) continue;
      attribute.s = upper ? "SAME_LOWER" : "SAME_UPPER";
      any = true;
    }
  }
  return any;
}
bool SwapPads(Question& question) {
  const bool pads = EditInts(question, "pads", [](Integers& values) {
    std::rotate(values.begin(), values.begin() + std::ssize(values) / 2, values.end());
  });
  return SwapSame<true>(question) || pads;
}
bool InterleavePads(Question& question) {
  return EditInts(question, "pads", [](Integers& pads) {
    if (pads.size() == 4) std::swap(pads[1], pads[2]);
  });
}
bool TransposePads(Question& question) {
  return EditInts(question, "pads", [](Integers& pads) {
    const auto half = std::ssize(pads) / 2;
    std::reverse(pads.begin(), pads.begin() + half);
    std::reverse(pads.begin() + half, pads.end());
  });
}
bool TransposeStrides(Question& question) {
  return EditInts(question, "strides", [](Integers& strides) { std::ranges::reverse(strides); });
}

template <std::int64_t kValue>
bool CountPadding(Question& question) {
  bool any = false;
  for (Node& node : question.model.graph.nodes) {
    if (node.op_type != "AveragePool" || node.IntOr("count_include_pad", 0) == kValue) continue;
    std::erase_if(node.attributes,
                  [](const Attribute& a) { return a.name == "count_include_pad"; });
    node.attributes.push_back(Attribute::Int("count_include_pad", kValue));
    any = true;
  }
  return any;
}

bool DropBias(Question& question) {
  Reading reading(question);
  if (!reading.single() || reading.Input(2) == nullptr) return false;
  const std::string& op = reading.node().op_type;
  if (op != "Conv" && op != "Gemm" && op != "ConvTranspose") return false;
  reading.node().inputs.resize(2);
  return true;
}

// A value declared beside the model's own, with the shape left open.
void Declare(format::Graph& graph, std::string name, format::TensorType type) {
  format::ValueInfo info;
  info.name = std::move(name);
  info.type = std::move(type);
  info.type->shape.reset();
  graph.values.push_back(std::move(info));
}

// A Pad with stored 0 in front, and no padding left in the node itself.
bool PadWithStoredZero(Question& question) {
  Reading reading(question);
  if (!reading.single()) return false;
  Node& node = reading.node();
  const Quantization* q = reading.Parameters(reading.Input(0));
  const Integers pads = node.IntsOr("pads", {});
  if (q == nullptr || pads.empty() || !q->axis.empty()) return false;
  const format::TensorType type = *reading.Type(reading.Input(0));
  const auto half = static_cast<std::ptrdiff_t>(pads.size() / 2);
  Integers amounts = {0, 0};
  amounts.insert(amounts.end(), pads.begin(), pads.begin() + half);
  amounts.insert(amounts.end(), {0, 0});
  amounts.insert(amounts.end(), pads.begin() + half, pads.end());
  Tensor list = *format::MakeTensor(ElementType::kInt64, {std::ssize(amounts)});
  format::PackIntegers(amounts, list);
  const Tensor zero = *format::MakeTensor(type.elem_type, {}, type.quantization);
  format::Graph& graph = reading.graph();
  graph.initializers.push_back(format::ToTensorData("padded.amounts", list));
  graph.initializers.push_back(format::ToTensorData("padded.value", zero));
  Declare(graph, "padded.value", type);
  graph.values.back().type->shape = format::Shape{};
  Declare(graph, "padded", type);
  std::erase_if(node.attributes, [](const Attribute& a) { return a.name == "pads"; });
  Node pad;
  pad.name = "pad";
  pad.op_type = "Pad";
  pad.inputs = {node.inputs[0], "padded.amounts", "padded.value"};
  pad.outputs = {"padded"};
  node.inputs[0] = "padded";
  graph.nodes.insert(graph.nodes.begin(), std::move(pad));
  return true;
}

// Both operands brought to the output's scale, and rounded, before they are added.
bool RoundOperands(Question& question) {
  Reading reading(question);
  if (!reading.single() || reading.node().op_type != "Add") return false;
  const Quantization* y = reading.Parameters(reading.Output());
  if (y == nullptr || !y->axis.empty()) return false;
  format::TensorType wide;
  wide.elem_type = ElementType::kInt32Q;
  wide.quantization = Quantization{};
  wide.quantization->scale = y->scale;
  format::Graph& graph = reading.graph();
  std::vector<Node> before;
  for (std::string& input : reading.node().inputs) {
    Node convert;
    convert.name = convert.op_type = "Identity";
    convert.name += std::to_string(before.size());
    convert.inputs = {input};
    input = "rounded" + std::to_string(before.size());
    convert.outputs = {input};
    Declare(graph, input, wide);
    before.push_back(std::move(convert));
  }
  graph.nodes.insert(graph.nodes.begin(), before.begin(), before.end());
  return true;
}

// The elements of an operand, grouped along its first axis: all groups become the first.
bool RepeatFirst(Reading& reading, std::size_t operand, std::int64_t kept_axes) {
  return reading.EditIntegers(reading.Input(operand), [=](Integers& values, Tensor& tensor) {
    if (std::ssize(tensor.dims) <= kept_axes || values.empty()) return false;
    const auto size = std::accumulate(
        tensor.dims.end() - kept_axes, tensor.dims.end(), std::size_t{1},
        [](std::size_t a, std::int64_t b) { return a * static_cast<std::size_t>(b); });
    for (std::size_t i = size; i < values.size(); ++i) values[i] = values[i % size];
    return values.size() > size;
  });
}
bool ReadFirstBatch(Question& question) {
  Reading reading(question);
  if (!reading.single()) return false;
  if (IsProduct(reading.node())) return RepeatFirst(reading, WeightsAt(reading.node()), 2);
  const auto dims = reading.Dims(reading.Input(0));
  return IsConv(reading.node()) && dims && RepeatFirst(reading, 0, std::ssize(*dims) - 1);
}

// Rows of the first matrix read from the aligned address before theirs.
bool AlignRows(Question& question) {
  Reading reading(question);
  if (!reading.single() || !IsProduct(reading.node()) || reading.node().IntOr("transA", 0) != 0) {
    return false;
  }
  return reading.EditIntegers(reading.Input(0), [](Integers& values, Tensor& tensor) {
    if (tensor.dims.size() < 2) return false;
    const auto columns = static_cast<std::size_t>(tensor.dims.back());
    const Integers before = values;
    for (std::size_t i = 0; i < values.size(); ++i) {
      values[i] = before[i - i / columns * columns % 4];
    }
    return values != before;
  });
}

// What happens to the elements after the last whole register of `lanes` products.
using Tail = void (*)(std::int64_t& value, std::int64_t offset, bool last, std::int64_t missing);

void DropTail(std::int64_t& value, std::int64_t offset, bool, std::int64_t) { value = offset; }
void RepeatLast(std::int64_t& value, std::int64_t offset, bool last, std::int64_t missing) {
  if (last) value = offset + (value - offset) * (1 + missing);
}

// Position of each weight in its sum of products, and how many there are; 0 where it has none.
std::int64_t Depth(const Node& node, const format::Dims& w) {
  if (w.size() < 2) return w.empty() ? 0 : w[0];
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
bool SpoilTail(Question& question) {
  Reading reading(question);
  if (!reading.single()) return false;
  const Node& node = reading.node();
  return reading.EditIntegers(reading.Input(WeightsAt(node)), [&node](Integers& values,
                                                                      Tensor& tensor) {
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

bool FlipKernels(Question& question) {
  Reading reading(question);
  if (!reading.single() || !IsConv(reading.node())) return false;
  return reading.EditIntegers(
      reading.Input(WeightsAt(reading.node())), [](Integers& values, Tensor& tensor) {
        if (tensor.dims.size() < 3 || values.empty()) return false;
        const std::ptrdiff_t size = std::accumulate(tensor.dims.begin() + 2, tensor.dims.end(),
                                                    std::ptrdiff_t{1}, std::multiplies<>());
        for (auto i = values.begin(); i != values.end(); i += size) {
          std::reverse(i, i + size);
        }
        return size > 1;
      });
}

// A smaller second operand repeated from its beginning, whatever its axes.
bool RepeatOperand(Question& question) {
  Reading reading(question);
  if (!reading.single() || reading.node().inputs.size() != 2) return false;
  const auto a = reading.Dims(reading.Input(0));
  const Quantization* q = reading.Parameters(reading.Input(1));
  if (!a || q == nullptr || !q->axis.empty()) return false;
  const auto count = format::ElementCount(*a);
  return count && reading.EditIntegers(reading.Input(1), [&](Integers& values, Tensor& tensor) {
    if (values.empty() || std::ssize(values) >= *count) return false;
    const std::size_t size = values.size();
    values.resize(static_cast<std::size_t>(*count));
    for (std::size_t i = size; i < values.size(); ++i) values[i] = values[i % size];
    tensor.dims = *a;
    return true;
  });
}

// A table read one entry further, or with the stored value as an unsigned index.
bool EditTableIndex(Question& question, std::int64_t (*index)(std::int64_t, format::IntegerRange)) {
  Reading reading(question);
  if (!reading.single()) return false;
  const std::string& op = reading.node().op_type;
  if (op != "Sigmoid" && op != "Tanh") return false;
  return reading.EditIntegers(reading.Input(0), [index](Integers& values, Tensor& tensor) {
    if (!tensor.quantization || format::BitWidth(tensor.elem_type) > 8) return false;
    const format::IntegerRange range = format::StorageRange(tensor.elem_type);
    for (std::int64_t& v : values) v = index(v, range);
    Widen(tensor);
    return true;
  });
}
bool ReadNextEntry(Question& question) {
  return EditTableIndex(question, [](std::int64_t v, format::IntegerRange range) {
    return std::min(v + 1, range.max);
  });
}
bool ReadUnsignedEntry(Question& question) {
  return EditTableIndex(question, [](std::int64_t v, format::IntegerRange range) {
    return v < 0 ? v + range.max - range.min + 1 : v;
  });
}

// A quantized constant's stored integer taken for its real: bounds of Clip, the value of Pad.
bool TakeBoundsAsStored(Question& question) {
  Reading reading(question);
  if (!reading.single()) return false;
  const std::string& op = reading.node().op_type;
  if (op != "Clip" && op != "Pad") return false;
  bool any = false;
  for (std::size_t i = op == "Clip" ? 1 : 2; i < 3; ++i) {
    const std::string* name = reading.Input(i);
    Quantization* q = reading.Parameters(name);
    if (q == nullptr) continue;
    q->scale.assign(q->scale.size(), 1.0F);
    q->offset.clear();
    any = true;
  }
  return any;
}

// The greater of two int8 by their bits as unsigned numbers.
bool FlipTopBits(Question& question) {
  Reading reading(question);
  if (!reading.single() || reading.node().op_type != "MaxPool") return false;
  return reading.EditIntegers(reading.Input(0), [](Integers& values, Tensor& tensor) {
    if (tensor.elem_type != ElementType::kInt8Q) return false;
    for (std::int64_t& v : values) v += v < 0 ? 128 : -128;
    return true;
  });
}
bool FlipBack(const Question&, Outputs& outputs) {
  for (Tensor& output : outputs) {
    if (output.elem_type != ElementType::kInt8Q) continue;
    Integers values = format::UnpackIntegers(output);
    for (std::int64_t& v : values) v += v < 0 ? 128 : -128;
    format::PackIntegers(values, output);
  }
  return true;
}

// Negative stored values become stored 0, whatever the offset.
bool ClampAtStoredZero(const Question& question, Outputs& outputs) {
  const Node& node = question.model.graph.nodes.front();
  if (node.op_type != "Relu" || question.inputs.size() != 1 || outputs.size() != 1) return false;
  const Tensor& x = question.inputs[0];
  if (!x.quantization || !outputs[0].quantization || !format::IsIntegerStorage(x.elem_type) ||
      !format::IsIntegerStorage(outputs[0].elem_type)) {
    return false;
  }
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
bool AsIdentity(Question& question) {
  Reading reading(question);
  if (!reading.single() || reading.node().op_type != "Relu") return false;
  reading.node().op_type = "Identity";
  return true;
}

constexpr std::array kFaults = {
    Fault{.name = "pads_swapped",
          .says = "swaps the pads at the beginning and at the end",
          .question = SwapPads},
    Fault{.name = "pads_interleaved",
          .says = "reads pads as begin and end of one axis after the other",
          .question = InterleavePads},
    Fault{.name = "pads_transposed",
          .says = "swaps the pads of height and width",
          .question = TransposePads},
    Fault{.name = "strides_transposed",
          .says = "swaps the strides of height and width",
          .question = TransposeStrides},
    Fault{.name = "same_lower_as_upper",
          .says = "takes SAME_LOWER for SAME_UPPER",
          .question = SwapSame<false>},
    Fault{.name = "zero_padding",
          .says = "pads with stored 0 instead of the offset",
          .question = PadWithStoredZero},
    Fault{.name = "average_counts_padding",
          .says = "counts padding in an average that excludes it",
          .question = CountPadding<1>},
    Fault{.name = "average_excludes_padding",
          .says = "leaves padding out of an average that includes it",
          .question = CountPadding<0>},
    Fault{.name = "transposed_b_ignored", .says = "ignores transB", .question = DropTransposeB},
    Fault{.name = "transposed_a_ignored", .says = "ignores transA", .question = DropTransposeA},
    Fault{.name = "alpha_ignored", .says = "ignores alpha", .question = DropAlpha},
    Fault{.name = "beta_ignored", .says = "ignores beta", .question = DropBeta},
    Fault{.name = "axis_ignored",
          .says = "takes the default axis whatever the attribute says",
          .question = DropAxis},
    Fault{.name = "saturate_ignored", .says = "ignores saturate", .question = DropSaturate},
    Fault{.name = "bias_ignored", .says = "ignores the bias", .question = DropBias},
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
    Fault{
        .name = "kernel_flipped", .says = "applies kernels back to front", .question = FlipKernels},
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
    Fault{.name = "max_pool_unsigned",
          .says = "compares int8 as unsigned numbers",
          .question = FlipTopBits,
          .answers = FlipBack},
    Fault{.name = "relu_at_stored_zero",
          .says = "cuts off at stored 0 instead of the offset",
          .question = AsIdentity,
          .answers = ClampAtStoredZero},
};

}  // namespace

std::span<const Fault> OperatorFaults() { return kFaults; }

}  // namespace qtx::conformance
