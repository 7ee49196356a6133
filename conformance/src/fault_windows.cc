// Fault models of windows: padding, strides, dilations, groups and kernels that are misread.
#include <algorithm>
#include <array>
#include <functional>
#include <numeric>
#include <utility>

#include "node_editor.h"
#include "windows.h"

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

// The sizes of a kernel's or a pool's window.
std::optional<format::Dims> KernelOf(NodeEditor& editor) {
  const Node& node = editor.node();
  if (!IsConv(node)) return node.IntsOr("kernel_shape", {});
  const auto w = editor.Dims(editor.Input(1));
  if (!w || w->size() < 3) return std::nullopt;
  return format::Dims(w->begin() + 2, w->end());
}

// Pads of a node that has some.
std::optional<format::Dims> SomePads(NodeEditor& editor) {
  const auto x = editor.Dims(editor.Input(0));
  const auto kernel = KernelOf(editor);
  const auto axes = x && kernel ? AxesOf(editor.node(), *x, *kernel) : std::nullopt;
  if (!axes) return std::nullopt;
  format::Dims pads = PadsOf(*axes);
  const bool any = std::ranges::any_of(pads, [](auto pad) { return pad != 0; });
  return any ? std::optional(std::move(pads)) : std::nullopt;
}

// Inserts a Pad with stored 0 before the node and removes the node's own padding.
bool PadWithStoredZero(NodeEditor& editor) {
  Node& node = editor.node();
  const Quantization* q = editor.Parameters(editor.Input(0));
  if (q == nullptr || !q->axis.empty() || (!IsConv(node) && !node.op_type.ends_with("Pool"))) {
    return false;
  }
  const std::optional<Integers> pads = SomePads(editor);
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

// Cuts the spatial axes of the node's output off to the sizes that they should have.
void CropOutput(NodeEditor& editor, const format::Dims& sizes) {
  const auto add = [&editor](const std::string& name, const Integers& values) {
    Tensor list = *format::MakeTensor(ElementType::kInt64, {std::ssize(values)});
    format::PackIntegers(values, list);
    editor.AddConstant(name, list);
  };
  const std::string output = *editor.Output();
  Integers axes(sizes.size());
  std::iota(axes.begin(), axes.end(), std::int64_t{2});
  add("cropped.starts", Integers(sizes.size(), 0));
  add("cropped.ends", sizes);
  add("cropped.axes", axes);
  if (const format::TensorType* type = editor.Type(&output)) editor.Declare("uncropped", *type);
  editor.node().outputs[0] = "uncropped";
  Node slice;
  slice.name = "crop";
  slice.op_type = "Slice";
  slice.inputs = {"uncropped", "cropped.starts", "cropped.ends", "cropped.axes"};
  slice.outputs = {output};
  editor.graph().nodes.push_back(std::move(slice));
}

// Takes every element of an attribute for 1; outputs beyond the right ones are not computed.
bool IgnoreSteps(NodeEditor& editor, const std::string& name) {
  Node& node = editor.node();
  const Integers steps = node.IntsOr(name, {});
  const bool is_plain = IsConv(node) ? node.op_type != "ConvTranspose" : node.outputs.size() == 1;
  if (!is_plain || std::ranges::all_of(steps, [](auto step) { return step == 1; })) return false;
  const auto x = editor.Dims(editor.Input(0));
  const auto kernel = KernelOf(editor);
  const auto axes = x && kernel ? AxesOf(node, *x, *kernel) : std::nullopt;
  if (!axes) return false;
  std::erase_if(node.attributes, [&name](const Attribute& a) {
    return a.name == name || a.name == "pads" || a.name == "auto_pad";
  });
  node.attributes.push_back(Attribute::Ints("pads", PadsOf(*axes)));
  CropOutput(editor, OutputsOf(*axes));
  return true;
}
bool IgnoreDilations(NodeEditor& editor) { return IgnoreSteps(editor, "dilations"); }
bool IgnoreStrides(NodeEditor& editor) { return IgnoreSteps(editor, "strides"); }
bool IgnorePointwiseStrides(NodeEditor& editor) {
  const auto kernel = KernelOf(editor);
  const bool pointwise =
      kernel && std::ranges::all_of(*kernel, [](auto size) { return size == 1; });
  return IsConv(editor.node()) && pointwise && IgnoreStrides(editor);
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
    Fault{.name = "strides_ignored", .says = "takes every stride for 1", .question = IgnoreStrides},
    Fault{.name = "dilations_ignored",
          .says = "takes every dilation for 1",
          .question = IgnoreDilations},
    Fault{
        .name = "kernel_flipped", .says = "applies kernels back to front", .question = FlipKernels},
};

}  // namespace

std::span<const Fault> WindowFaults() { return kWindowFaults; }

}  // namespace qtx::conformance
