// Faults of reading: parameters, attributes and layouts taken otherwise than the model says. They
// change a copy of a model of one node; in larger ones a value's parameters have other readers.
#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

#include "fault.h"

namespace qtx::conformance {
namespace {

using format::Attribute;
using format::ElementType;
using format::Graph;
using format::Node;
using format::Quantization;
using format::Tensor;
using format::TensorType;

// Inputs of a stock quantized operator: value and zero point of its first and second operand.
struct StockInputs {
  std::string_view op_type;
  std::array<std::size_t, 2> values;
  std::array<std::size_t, 2> zero_points;
  std::size_t output_zero_point;
};
constexpr std::size_t kNone = 99;
constexpr std::array kStockInputs = {
    StockInputs{"QLinearConv", {0, 3}, {2, 5}, 7},
    StockInputs{"QLinearMatMul", {0, 3}, {2, 5}, 7},
    StockInputs{"QLinearAdd", {0, 3}, {2, 5}, 7},
    StockInputs{"QLinearMul", {0, 3}, {2, 5}, 7},
    StockInputs{"ConvInteger", {0, 1}, {2, 3}, kNone},
    StockInputs{"MatMulInteger", {0, 1}, {2, 3}, kNone},
};
constexpr StockInputs kExtended = {"", {0, 1}, {kNone, kNone}, kNone};

const StockInputs& InputsOf(const Node& node) {
  const auto* found = std::ranges::find(kStockInputs, node.op_type, &StockInputs::op_type);
  return found == kStockInputs.end() ? kExtended : *found;
}

// The one node of a question, and its values.
class Reading {
 public:
  explicit Reading(Question& question) : question_(question), graph_(question.model.graph) {}

  bool single() const { return graph_.nodes.size() == 1; }
  Node& node() { return graph_.nodes[0]; }
  const std::string* Input(std::size_t i) {
    const auto& inputs = node().inputs;
    return i < inputs.size() && !inputs[i].empty() ? &inputs[i] : nullptr;
  }

  TensorType* Type(const std::string& name) {
    for (auto* values : {&graph_.inputs, &graph_.outputs, &graph_.values}) {
      const auto value = std::ranges::find(*values, name, &format::ValueInfo::name);
      if (value != values->end()) return value->type ? &*value->type : nullptr;
    }
    return nullptr;
  }
  Quantization* Parameters(const std::string* name) {
    TensorType* type = name == nullptr ? nullptr : Type(*name);
    if (type == nullptr || !type->quantization) return nullptr;
    Quantization& q = *type->quantization;
    return q.scale_tensor.empty() && q.offset_tensor.empty() ? &q : nullptr;
  }
  std::optional<format::Dims> DimsOf(const std::string& name) {
    const TensorType* type = Type(name);
    if (type != nullptr && type->shape) return format::FixedDims(*type->shape);
    const auto* data = graph_.FindInitializer(name);
    return data == nullptr ? std::nullopt : std::optional(data->dims);
  }

  // Calls `edit` with the stored integers of a value, be it an input or a constant.
  template <typename Edit>
  bool EditIntegers(const std::string* name, Edit edit) {
    if (name == nullptr) return false;
    std::size_t next = 0;
    for (const format::ValueInfo& info : graph_.inputs) {
      if (graph_.FindInitializer(info.name) != nullptr) continue;
      if (info.name == *name && next < question_.inputs.size()) {
        return EditTensor(question_.inputs[next], edit);
      }
      ++next;
    }
    for (format::TensorData& data : graph_.initializers) {
      if (data.name != *name) continue;
      auto tensor = format::Decode(data);
      if (!tensor || !EditTensor(*tensor, edit)) return false;
      data = format::ToTensorData(data.name, *tensor);
      return true;
    }
    return false;
  }

 private:
  template <typename Edit>
  static bool EditTensor(Tensor& tensor, Edit edit) {
    const ElementType storage = format::StorageOf(tensor.elem_type);
    if (!format::IsIntegerStorage(storage) || storage == ElementType::kBipolar1) return false;
    std::vector<std::int64_t> values = format::UnpackIntegers(tensor);
    if (!edit(values, tensor.elem_type)) return false;
    format::PackIntegers(values, tensor);
    return true;
  }

  Question& question_;
  Graph& graph_;
};

bool ClearParameters(Quantization* q) {
  if (q == nullptr || std::ranges::all_of(q->offset, [](auto o) { return o == 0; })) return false;
  q->offset.clear();
  return true;
}

bool ClearZeroPoint(Reading& reading, std::size_t input) {
  return reading.EditIntegers(reading.Input(input), [](auto& values, ElementType) {
    const bool any = std::ranges::any_of(values, [](std::int64_t v) { return v != 0; });
    std::ranges::fill(values, 0);
    return any;
  });
}

bool ClearOperand(Reading& reading, std::size_t operand) {
  const StockInputs& stock = InputsOf(reading.node());
  if (stock.op_type.empty()) return ClearParameters(reading.Parameters(reading.Input(operand)));
  return ClearZeroPoint(reading, stock.zero_points[operand]);
}

bool ClearFirst(Question& question) {
  Reading reading(question);
  return reading.single() && ClearOperand(reading, 0);
}
bool ClearSecond(Question& question) {
  Reading reading(question);
  return reading.single() && ClearOperand(reading, 1);
}

bool ClearInputs(Question& question) {
  Reading reading(question);
  if (!reading.single()) return false;
  bool any = false;
  if (InputsOf(reading.node()).op_type.empty()) {
    for (const std::string& name : reading.node().inputs) {
      any = ClearParameters(reading.Parameters(&name)) || any;
    }
    return any;
  }
  for (std::size_t i = 0; i < 2; ++i) any = ClearOperand(reading, i) || any;
  return any;
}

bool ClearSixteenBits(Question& question) {
  Reading reading(question);
  if (!reading.single()) return false;
  bool any = false;
  for (const std::string& name : reading.node().inputs) {
    const TensorType* type = reading.Type(name);
    if (type == nullptr || format::BitWidth(type->elem_type) != 16) continue;
    any = ClearParameters(reading.Parameters(&name)) || any;
  }
  return any;
}

// Inputs and outputs alike: the operator works on the integers as they are.
bool ClearAll(Question& question) {
  Reading reading(question);
  if (!reading.single()) return false;
  bool any = ClearInputs(question);
  for (const std::string& name : reading.node().outputs) {
    any = ClearParameters(reading.Parameters(&name)) || any;
  }
  return any;
}

bool SwapOffsets(Question& question) {
  Reading reading(question);
  if (!reading.single()) return false;
  const StockInputs& stock = InputsOf(reading.node());
  if (!stock.op_type.empty()) {
    auto& inputs = reading.node().inputs;
    if (std::max(stock.zero_points[0], stock.zero_points[1]) >= inputs.size()) return false;
    std::swap(inputs[stock.zero_points[0]], inputs[stock.zero_points[1]]);
    return true;
  }
  Quantization* a = reading.Parameters(reading.Input(0));
  Quantization* b = reading.Parameters(reading.Input(1));
  if (a == nullptr || b == nullptr || a->scale.size() != b->scale.size()) return false;
  std::swap(a->offset, b->offset);
  return a->offset != b->offset;
}

// Every input: parameters that lie along an axis become those `choose` picks.
template <typename Choose>
bool EditVectors(Question& question, Choose choose) {
  Reading reading(question);
  if (!reading.single()) return false;
  bool any = false;
  auto names = reading.node().inputs;
  std::ranges::copy(reading.node().outputs, std::back_inserter(names));
  for (const std::string& name : names) {
    Quantization* q = reading.Parameters(&name);
    if (q == nullptr || q->scale.size() < 2) continue;
    choose(*q);
    any = true;
  }
  return any;
}

bool UseFirstScale(Question& question) {
  return EditVectors(question, [](Quantization& q) { std::ranges::fill(q.scale, q.scale[0]); });
}
bool UseLastScale(Question& question) {
  return EditVectors(question, [](Quantization& q) { std::ranges::fill(q.scale, q.scale.back()); });
}
bool UseFirstParameters(Question& question) {
  return EditVectors(question, [](Quantization& q) {
    std::ranges::fill(q.scale, q.scale[0]);
    if (!q.offset.empty()) std::ranges::fill(q.offset, q.offset[0]);
  });
}
bool UseFirstOffset(Question& question) {
  return EditVectors(question, [](Quantization& q) {
    if (!q.offset.empty()) std::ranges::fill(q.offset, q.offset[0]);
  });
}
// The last parameter, that of a short block where the blocks do not divide the axis, from the one
// before.
bool RepeatBeforeLast(Question& question) {
  return EditVectors(question, [](Quantization& q) {
    q.scale.back() = q.scale[q.scale.size() - 2];
    if (!q.offset.empty()) q.offset.back() = q.offset[q.offset.size() - 2];
  });
}

// Parameters of one axis put on another of the same size.
bool UseWrongAxis(Question& question) {
  Reading reading(question);
  if (!reading.single()) return false;
  bool any = false;
  for (const std::string& name : reading.node().inputs) {
    Quantization* q = reading.Parameters(&name);
    const auto dims = q == nullptr ? std::nullopt : reading.DimsOf(name);
    if (!dims || q->axis.size() != 1 || q->scale.size() < 2) continue;
    const auto axis = static_cast<std::size_t>(q->axis[0]);
    for (std::size_t other = dims->size(); other-- > 0;) {
      if (other == axis || axis >= dims->size() || (*dims)[other] != (*dims)[axis]) continue;
      q->axis[0] = static_cast<std::int64_t>(other);
      any = true;
      break;
    }
  }
  return any;
}

bool FlipSign(Reading& reading, std::size_t operand) {
  const std::string* name = reading.Input(InputsOf(reading.node()).values[operand]);
  TensorType* type = name == nullptr ? nullptr : reading.Type(*name);
  if (type == nullptr || !type->quantization) return false;
  constexpr std::array kPairs = {std::pair{ElementType::kInt8Q, ElementType::kUint8Q},
                                 std::pair{ElementType::kInt16Q, ElementType::kUint16Q},
                                 std::pair{ElementType::kInt4Q, ElementType::kUint4Q},
                                 std::pair{ElementType::kInt2Q, ElementType::kUint2Q}};
  for (const auto& [narrow, wide] : kPairs) {
    if (type->elem_type != narrow && type->elem_type != wide) continue;
    type->elem_type = type->elem_type == narrow ? wide : narrow;
    return true;
  }
  return false;
}
bool FlipFirst(Question& question) {
  Reading reading(question);
  return reading.single() && FlipSign(reading, 0);
}
bool FlipSecond(Question& question) {
  Reading reading(question);
  return reading.single() && FlipSign(reading, 1);
}

// Two elements to a byte: every pair changes places.
bool SwapNibbles(Question& question) {
  Reading reading(question);
  if (!reading.single()) return false;
  bool any = false;
  for (const std::string& name : reading.node().inputs) {
    any = reading.EditIntegers(&name, [](auto& values, ElementType type) {
      if (format::BitWidth(type) != 4) return false;
      for (std::size_t i = 0; i + 1 < values.size(); i += 2) std::swap(values[i], values[i + 1]);
      return values.size() > 1;
    }) || any;
  }
  return any;
}

// s8 weights by one half, to keep 16-bit pairs from saturating, and the sum by two.
bool HalveWeights(Question& question) {
  Reading reading(question);
  if (!reading.single()) return false;
  const TensorType* x = reading.Input(0) == nullptr ? nullptr : reading.Type(*reading.Input(0));
  Quantization* q = reading.Parameters(reading.Input(1));
  if (x == nullptr || q == nullptr || x->elem_type != ElementType::kInt8Q) return false;
  const bool halved = reading.EditIntegers(reading.Input(1), [](auto& values, ElementType type) {
    if (format::StorageOf(type) != ElementType::kInt8) return false;
    for (std::int64_t& v : values) v = std::llrint(static_cast<double>(v) / 2);
    return true;
  });
  if (halved) {
    for (float& scale : q->scale) scale *= 2;
  }
  return halved;
}

bool DropBias(Question& question) {
  Reading reading(question);
  if (!reading.single() || reading.Input(2) == nullptr ||
      reading.Parameters(reading.Input(0)) == nullptr) {
    return false;
  }
  const std::string& op = reading.node().op_type;
  if (op != "Conv" && op != "Gemm" && op != "ConvTranspose") return false;
  reading.node().inputs.resize(2);
  return true;
}

// The bias taken in units of the x scale alone, w's forgotten.
bool ScaleBiasByInput(Question& question) {
  Reading reading(question);
  if (!reading.single()) return false;
  const Quantization* x = reading.Parameters(reading.Input(0));
  Quantization* bias = reading.Parameters(reading.Input(2));
  if (x == nullptr || bias == nullptr) return false;
  bias->scale.assign(bias->scale.size(), x->scale[0]);
  return true;
}
bool ScaleBiasByOutput(Question& question) {
  Reading reading(question);
  if (!reading.single()) return false;
  const Quantization* y = reading.Parameters(&reading.node().outputs[0]);
  Quantization* bias = reading.Parameters(reading.Input(2));
  if (y == nullptr || bias == nullptr) return false;
  bias->scale.assign(bias->scale.size(), y->scale[0]);
  return true;
}
bool ZeroExtendBias(Question& question) {
  Reading reading(question);
  if (!reading.single() || reading.Input(2) == nullptr) return false;
  TensorType* bias = reading.Type(*reading.Input(2));
  if (bias == nullptr || bias->elem_type != ElementType::kInt8Q) return false;
  bias->elem_type = ElementType::kUint8Q;
  return true;
}

// Integers copied from input to output whatever their parameters.
bool CopyStored(Question& question) {
  Reading reading(question);
  if (!reading.single()) return false;
  const Quantization* y = reading.Parameters(&reading.node().outputs[0]);
  bool any = false;
  for (const std::string& name : reading.node().inputs) {
    Quantization* q = reading.Parameters(&name);
    if (y == nullptr || q == nullptr || q->axis != y->axis) continue;
    any = any || q->scale != y->scale || q->offset != y->offset;
    q->scale = y->scale;
    q->offset = y->offset;
  }
  return any;
}

// Attributes: false where the node has the attribute's neutral value already.
template <typename Change>
bool EditInts(Question& question, std::string_view name, Change change) {
  bool any = false;
  for (Node& node : question.model.graph.nodes) {
    for (Attribute& attribute : node.attributes) {
      if (attribute.name != name) continue;
      const std::vector<std::int64_t> before = attribute.ints;
      change(attribute.ints);
      any = any || attribute.ints != before;
    }
  }
  return any;
}

bool SwapPads(Question& question) {
  return EditInts(question, "pads", [](std::vector<std::int64_t>& pads) {
    std::rotate(pads.begin(), pads.begin() + std::ssize(pads) / 2, pads.end());
  });
}
bool TransposePads(Question& question) {
  return EditInts(question, "pads", [](std::vector<std::int64_t>& pads) {
    const auto half = std::ssize(pads) / 2;
    std::reverse(pads.begin(), pads.begin() + half);
    std::reverse(pads.begin() + half, pads.end());
  });
}
bool TransposeStrides(Question& question) {
  return EditInts(question, "strides",
                  [](std::vector<std::int64_t>& strides) { std::ranges::reverse(strides); });
}

bool FlipInt(Question& question, std::string_view name) {
  bool any = false;
  for (Node& node : question.model.graph.nodes) {
    for (Attribute& attribute : node.attributes) {
      if (attribute.name != name) continue;
      attribute.i = attribute.i == 0 ? 1 : 0;
      any = true;
    }
  }
  return any;
}
bool FlipCountPad(Question& question) {
  if (FlipInt(question, "count_include_pad")) return true;
  bool any = false;
  for (Node& node : question.model.graph.nodes) {
    if (node.op_type != "AveragePool") continue;
    node.attributes.push_back(Attribute::Int("count_include_pad", 1));
    any = true;
  }
  return any;
}
bool FlipTransB(Question& question) { return FlipInt(question, "transB"); }
bool FlipTransA(Question& question) { return FlipInt(question, "transA"); }

bool SwapSame(Question& question) {
  bool any = false;
  for (Node& node : question.model.graph.nodes) {
    for (Attribute& attribute : node.attributes) {
      if (attribute.name != "auto_pad" || !attribute.s.starts_with("SAME")) continue;
      attribute.s = attribute.s == "SAME_UPPER" ? "SAME_LOWER" : "SAME_UPPER";
      any = true;
    }
  }
  return any;
}

bool DropAttribute(Question& question, std::initializer_list<std::string_view> names) {
  std::size_t dropped = 0;
  for (Node& node : question.model.graph.nodes) {
    dropped += std::erase_if(node.attributes, [names](const Attribute& attribute) {
      return std::ranges::find(names, attribute.name) != names.end();
    });
  }
  return dropped > 0;
}
bool DropAlpha(Question& question) { return DropAttribute(question, {"alpha", "beta"}); }
bool DropAxis(Question& question) { return DropAttribute(question, {"axis"}); }
bool DropSaturate(Question& question) { return DropAttribute(question, {"saturate"}); }

// A Pad with stored 0 in front, and no padding left in the node itself.
bool PadWithStoredZero(Question& question) {
  Reading reading(question);
  if (!reading.single() || reading.Input(0) == nullptr) return false;
  Node& node = reading.node();
  const Quantization* q = reading.Parameters(reading.Input(0));
  const std::vector<std::int64_t> pads = node.IntsOr("pads", {});
  if (q == nullptr || pads.empty()) return false;
  const TensorType& type = *reading.Type(*reading.Input(0));
  Tensor amounts = *format::MakeTensor(ElementType::kInt64, {std::ssize(pads) + 4});
  const auto half = pads.size() / 2;
  for (std::size_t i = 0; i < half; ++i) {
    amounts.As<std::int64_t>()[2 + i] = pads[i];
    amounts.As<std::int64_t>()[4 + half + i] = pads[half + i];
  }
  auto value = format::MakeTensor(type.elem_type, {}, type.quantization);
  if (!value) return false;  // parameters along an axis do not fit a scalar
  Graph& graph = question.model.graph;
  graph.initializers.push_back(format::ToTensorData("padded.amounts", amounts));
  graph.initializers.push_back(format::ToTensorData("padded.value", *value));
  const auto declare = [&graph, type](const char* name, std::optional<format::Shape> shape) {
    format::ValueInfo info;
    info.name = name;
    info.type = type;
    info.type->shape = std::move(shape);
    graph.values.push_back(std::move(info));
  };
  declare("padded.value", format::Shape{});
  declare("padded", std::nullopt);
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

constexpr std::array kFaults = {
    Fault{.name = "int16_offset_ignored",
          .says = "ignores the offsets of 16-bit inputs",
          .question = ClearSixteenBits},
    Fault{.name = "input_offset_ignored",
          .says = "ignores the offset of its first input",
          .question = ClearFirst},
    Fault{.name = "second_input_offset_ignored",
          .says = "ignores the offset of its second input",
          .question = ClearSecond},
    Fault{.name = "input_offsets_ignored",
          .says = "ignores the offsets of its inputs",
          .question = ClearInputs},
    Fault{.name = "all_offsets_ignored",
          .says = "works on stored integers as if no value had an offset",
          .question = ClearAll},
    Fault{.name = "offsets_swapped",
          .says = "subtracts from each operand the offset of the other",
          .question = SwapOffsets},
    Fault{.name = "first_scale_for_all_channels",
          .says = "takes the first scale for every channel",
          .question = UseFirstScale},
    Fault{.name = "first_offset_for_all_channels",
          .says = "takes the first offset for every channel",
          .question = UseFirstOffset},
    Fault{.name = "first_parameters_for_all_channels",
          .says = "takes the first scale and offset for every channel",
          .question = UseFirstParameters},
    Fault{.name = "last_scale_for_all_channels",
          .says = "takes the last scale for every channel",
          .question = UseLastScale},
    Fault{.name = "last_block_repeats",
          .says = "takes the parameters of the last block from the one before",
          .question = RepeatBeforeLast},
    Fault{.name = "scale_on_the_wrong_axis",
          .says = "takes parameters along another axis",
          .question = UseWrongAxis},
    Fault{.name = "input_signedness_swapped",
          .says = "reads its first input with the other signedness",
          .question = FlipFirst},
    Fault{.name = "second_input_signedness_swapped",
          .says = "reads its second input with the other signedness",
          .question = FlipSecond},
    Fault{.name = "nibbles_swapped",
          .says = "reads the high four bits of a byte as the first element",
          .question = SwapNibbles},
    Fault{.name = "weights_halved",
          .says = "computes s8 by s8 with weights scaled by one half",
          .question = HalveWeights},
    Fault{.name = "bias_ignored", .says = "ignores the bias", .question = DropBias},
    Fault{.name = "bias_scaled_by_input",
          .says = "takes the bias in units of the input's scale",
          .question = ScaleBiasByInput},
    Fault{.name = "bias_scaled_by_output",
          .says = "takes the bias in units of the output's scale",
          .question = ScaleBiasByOutput},
    Fault{.name = "int8_bias_zero_extended",
          .says = "widens an int8 bias without its sign",
          .question = ZeroExtendBias},
    Fault{.name = "stored_values_copied",
          .says = "copies stored integers between types with other parameters",
          .question = CopyStored},
    Fault{.name = "pads_swapped",
          .says = "swaps the pads at the beginning and at the end",
          .question = SwapPads},
    Fault{.name = "pads_transposed",
          .says = "swaps the pads of height and width",
          .question = TransposePads},
    Fault{.name = "strides_transposed",
          .says = "swaps the strides of height and width",
          .question = TransposeStrides},
    Fault{.name = "padding_with_stored_zero",
          .says = "pads with stored 0 instead of the offset",
          .question = PadWithStoredZero},
    Fault{.name = "same_upper_lower_swapped",
          .says = "takes SAME_UPPER for SAME_LOWER",
          .question = SwapSame},
    Fault{.name = "count_include_pad_flipped",
          .says = "counts padding in an average where it must not, or the reverse",
          .question = FlipCountPad},
    Fault{.name = "trans_b_ignored", .says = "takes transB the wrong way", .question = FlipTransB},
    Fault{.name = "trans_a_ignored", .says = "takes transA the wrong way", .question = FlipTransA},
    Fault{.name = "alpha_beta_ignored", .says = "ignores alpha and beta", .question = DropAlpha},
    Fault{.name = "axis_ignored",
          .says = "takes the default axis whatever the attribute says",
          .question = DropAxis},
    Fault{.name = "saturate_ignored", .says = "ignores saturate", .question = DropSaturate},
};

}  // namespace

std::span<const Fault> ReadingFaults() { return kFaults; }

}  // namespace qtx::conformance
