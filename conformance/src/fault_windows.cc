// Fault models of windows: padding, strides, dilations, groups and kernels that are misread.
#include <algorithm>
#include <array>
#include <functional>
#include <numeric>
#include <utility>

#include "node_editor.h"

namespace qtx::conformance {
namespace {

using format::Attribute;
using format::ElementType;
using format::Node;
using format::Quantization;
using format::Tensor;
using Integers = std::vector<std::int64_t>;

// Changes the integers of an attribute; false if none has changed.
template <typename Change>
bool EditInts(NodeEditor& editor, std::string_view name, Change change) {
  bool any = false;
  for (Node& node : editor.graph().nodes) {
    for (Attribute& attribute : node.attributes) {
      if (attribute.name != name) continue;
      const Integers before = attribute.ints;
      change(attribute.ints);
      any = any || attribute.ints != before;
    }
  }
  return any;
}

template <bool kUpperToo>
bool SwapSame(NodeEditor& editor) {
  bool any = false;
  for (Node& node : editor.graph().nodes) {
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
bool SwapPads(NodeEditor& editor) {
  const bool pads = EditInts(editor, "pads", [](Integers& values) {
    std::rotate(values.begin(), values.begin() + std::ssize(values) / 2, values.end());
  });
  return SwapSame<true>(editor) || pads;
}
bool InterleavePads(NodeEditor& editor) {
  return EditInts(editor, "pads", [](Integers& pads) {
    if (pads.size() == 4) std::swap(pads[1], pads[2]);
  });
}
bool TransposePads(NodeEditor& editor) {
  return EditInts(editor, "pads", [](Integers& pads) {
    const auto half = std::ssize(pads) / 2;
    std::reverse(pads.begin(), pads.begin() + half);
    std::reverse(pads.begin() + half, pads.end());
  });
}
bool TransposeStrides(NodeEditor& editor) {
  return EditInts(editor, "strides", [](Integers& strides) { std::ranges::reverse(strides); });
}

template <std::int64_t kValue>
bool CountPadding(NodeEditor& editor) {
  bool any = false;
  for (Node& node : editor.graph().nodes) {
    if (node.op_type != "AveragePool" || node.IntOr("count_include_pad", 0) == kValue) continue;
    std::erase_if(node.attributes,
                  [](const Attribute& a) { return a.name == "count_include_pad"; });
    node.attributes.push_back(Attribute::Int("count_include_pad", kValue));
    any = true;
  }
  return any;
}

// Begin and end of every spatial axis, of `pads` or as SAME_* computes them: conv.S5.
std::optional<Integers> PadsOf(NodeEditor& editor) {
  const Node& node = editor.node();
  const std::string mode = node.StringOr("auto_pad", "NOTSET");
  if (!mode.starts_with("SAME")) {
    const Integers pads = node.IntsOr("pads", {});
    return pads.empty() ? std::nullopt : std::optional(pads);
  }
  const auto x = editor.Dims(editor.Input(0));
  const auto w = editor.Dims(editor.Input(1));
  if (!x || x->size() < 3) return std::nullopt;
  const std::size_t rank = x->size() - 2;
  const Integers kernel = IsConv(node) && w && w->size() == x->size()
                              ? Integers(w->begin() + 2, w->end())
                              : node.IntsOr("kernel_shape", {});
  const Integers strides = node.IntsOr("strides", Integers(rank, 1));
  const Integers dilations = node.IntsOr("dilations", Integers(rank, 1));
  if (kernel.size() != rank || strides.size() != rank || dilations.size() != rank) {
    return std::nullopt;
  }
  Integers pads(2 * rank);
  for (std::size_t d = 0; d < rank; ++d) {
    const std::int64_t size = (*x)[d + 2];
    const std::int64_t outputs = (size + strides[d] - 1) / strides[d];
    const std::int64_t extent = dilations[d] * (kernel[d] - 1) + 1;
    const std::int64_t total =
        std::max<std::int64_t>(0, (outputs - 1) * strides[d] + extent - size);
    pads[d] = mode == "SAME_LOWER" ? total - total / 2 : total / 2;
    pads[d + rank] = total - pads[d];
  }
  return pads;
}

// Inserts a Pad with stored 0 before the node and removes the node's own padding.
bool PadWithStoredZero(NodeEditor& editor) {
  Node& node = editor.node();
  const Quantization* q = editor.Parameters(editor.Input(0));
  if (q == nullptr || !q->axis.empty() || (!IsConv(node) && !node.op_type.ends_with("Pool"))) {
    return false;
  }
  const std::optional<Integers> pads = PadsOf(editor);
  if (!pads) return false;
  const format::TensorType type = *editor.Type(editor.Input(0));
  const auto half = static_cast<std::ptrdiff_t>(pads->size() / 2);
  Integers amounts = {0, 0};
  amounts.insert(amounts.end(), pads->begin(), pads->begin() + half);
  amounts.insert(amounts.end(), {0, 0});
  amounts.insert(amounts.end(), pads->begin() + half, pads->end());
  Tensor list = *format::MakeTensor(ElementType::kInt64, {std::ssize(amounts)});
  format::PackIntegers(amounts, list);
  editor.AddConstant("padded.amounts", list);
  editor.AddConstant("padded.value", *format::MakeTensor(type.elem_type, {}, type.quantization));
  editor.Declare("padded", type);
  std::erase_if(node.attributes,
                [](const Attribute& a) { return a.name == "pads" || a.name == "auto_pad"; });
  Node pad;
  pad.name = "pad";
  pad.op_type = "Pad";
  pad.inputs = {node.inputs[0], "padded.amounts", "padded.value"};
  pad.outputs = {"padded"};
  node.inputs[0] = "padded";
  auto& nodes = editor.graph().nodes;
  nodes.insert(nodes.begin(), std::move(pad));
  return true;
}

// Every group reads the channels of the first.
bool ReadFirstGroup(NodeEditor& editor) {
  if (!IsConv(editor.node())) return false;
  const std::int64_t groups = editor.node().IntOr("group", 1);
  return editor.EditIntegers(editor.Input(0), [groups](Integers& values, Tensor& tensor) {
    if (groups < 2 || tensor.dims.size() < 3 || tensor.dims[1] % groups != 0) return false;
    const std::int64_t plane = std::accumulate(tensor.dims.begin() + 2, tensor.dims.end(),
                                               std::int64_t{1}, std::multiplies<>());
    const std::int64_t image = tensor.dims[1] * plane;
    const std::int64_t group = image / groups;
    if (group == 0) return false;
    for (std::int64_t i = 0; i < std::ssize(values); ++i) {
      values[static_cast<std::size_t>(i)] =
          values[static_cast<std::size_t>(i / image * image + i % image % group)];
    }
    return true;
  });
}

// Where element `i` of [N, C, spatial...] is read from when spatial steps are 1, not `strides`.
std::int64_t WithoutStrides(std::int64_t i, const format::Dims& dims, const Integers& strides) {
  std::int64_t from = 0;
  std::int64_t step = 1;
  for (std::size_t d = dims.size(); d-- > 0; i /= dims[d]) {
    const std::int64_t at = i % dims[d];
    const std::int64_t stride = d < 2 ? 1 : strides[d - 2];
    from += (at % stride == 0 ? at / stride : at) * step;
    step *= dims[d];
  }
  return from;
}

// A 1x1 kernel that ignores strides.
bool IgnorePointwiseStrides(NodeEditor& editor) {
  if (!IsConv(editor.node())) return false;
  const auto w = editor.Dims(editor.Input(1));
  const Integers pads = editor.node().IntsOr("pads", {});
  const Integers strides = editor.node().IntsOr("strides", {});
  const bool pointwise =
      w && w->size() > 2 && std::all_of(w->begin() + 2, w->end(), [](auto d) { return d == 1; });
  const auto padded = [](std::int64_t p) { return p != 0; };
  if (!pointwise || strides.empty() || std::ranges::any_of(pads, padded)) return false;
  return editor.EditIntegers(editor.Input(0), [&](Integers& values, Tensor& tensor) {
    if (tensor.dims.size() != strides.size() + 2) return false;
    const Integers before = values;
    for (std::int64_t i = 0; i < std::ssize(values); ++i) {
      values[static_cast<std::size_t>(i)] =
          before[static_cast<std::size_t>(WithoutStrides(i, tensor.dims, strides))];
    }
    return values != before;
  });
}

bool FlipKernels(NodeEditor& editor) {
  if (!IsConv(editor.node())) return false;
  return editor.EditIntegers(editor.Input(1), [](Integers& values, Tensor& tensor) {
    if (tensor.dims.size() < 3 || values.empty()) return false;
    const std::ptrdiff_t size = std::accumulate(tensor.dims.begin() + 2, tensor.dims.end(),
                                                std::ptrdiff_t{1}, std::multiplies<>());
    for (auto i = values.begin(); i != values.end(); i += size) {
      std::reverse(i, i + size);
    }
    return size > 1;
  });
}

// Flips the sign bit, as a comparison of int8 as unsigned does.
bool FlipTopBits(NodeEditor& editor) {
  if (editor.node().op_type != "MaxPool") return false;
  return editor.EditIntegers(editor.Input(0), [](Integers& values, Tensor& tensor) {
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

constexpr std::array kWindowFaults = {
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
    Fault{.name = "groups_read_first",
          .says = "reads the channels of the first group for every group",
          .question = ReadFirstGroup},
    Fault{.name = "pointwise_ignores_stride",
          .says = "ignores the strides of 1x1 kernels",
          .question = IgnorePointwiseStrides},
    Fault{.name = "average_counts_padding",
          .says = "counts padding in an average that excludes it",
          .question = CountPadding<1>},
    Fault{.name = "average_excludes_padding",
          .says = "leaves padding out of an average that includes it",
          .question = CountPadding<0>},
    Fault{
        .name = "kernel_flipped", .says = "applies kernels back to front", .question = FlipKernels},
    Fault{.name = "max_pool_unsigned",
          .says = "compares int8 as unsigned numbers",
          .question = FlipTopBits,
          .answers = FlipBack},
};

}  // namespace

std::span<const Fault> WindowFaults() { return kWindowFaults; }

}  // namespace qtx::conformance
