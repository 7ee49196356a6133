// Fault models of parameters and packing: scales, offsets and bits that are misread.
#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <limits>
#include <utility>

#include "node_editor.h"
#include "qtx/format/levels.h"

namespace qtx::conformance {
namespace {

using format::ElementType;
using format::Node;
using format::Quantization;
using format::Tensor;
using Integers = std::vector<std::int64_t>;

template <typename Change>
bool ForEachInput(NodeEditor& editor, Change change) {
  bool any = false;
  const std::vector<std::string> names = editor.node().inputs;
  for (const std::string& name : names) {
    if (!name.empty()) any = change(name) || any;
  }
  return any;
}

bool ClearOffset(Quantization* q) {
  if (q == nullptr || std::ranges::all_of(q->offset, [](auto o) { return o == 0; })) return false;
  q->offset.clear();
  return true;
}

bool ClearOperand(NodeEditor& editor, std::size_t operand) {
  return ClearOffset(editor.Parameters(editor.Input(operand)));
}

bool ClearFirst(NodeEditor& editor) { return ClearOperand(editor, 0); }
bool ClearSecond(NodeEditor& editor) { return ClearOperand(editor, 1); }
bool ClearInputs(NodeEditor& editor) {
  return ForEachInput(
      editor, [&](const std::string& name) { return ClearOffset(editor.Parameters(&name)); });
}
bool ClearAll(NodeEditor& editor) {
  const bool inputs = ClearInputs(editor);
  return ClearOffset(editor.Parameters(editor.Output())) || inputs;
}
bool ClearSixteenBits(NodeEditor& editor) {
  return ForEachInput(editor, [&](const std::string& name) {
    const auto* type = editor.Type(&name);
    return type != nullptr && format::BitWidth(type->elem_type) == 16 &&
           ClearOffset(editor.Parameters(&name));
  });
}

// The one offset of all parameters; nullopt where they differ.
std::optional<std::int32_t> OneOffset(const Quantization& q) {
  if (q.offset.empty()) return 0;
  const auto other = [&q](auto offset) { return offset != q.offset[0]; };
  return std::ranges::any_of(q.offset, other) ? std::nullopt : std::optional(q.offset[0]);
}

// In 16 bits, so that both offsets fit.
bool SwapOffsets(NodeEditor& editor) {
  const Quantization* a = editor.Parameters(editor.Input(0));
  const Quantization* b = editor.Parameters(editor.Input(1));
  if (a == nullptr || b == nullptr) return false;
  const std::array offsets = {OneOffset(*b), OneOffset(*a)};
  if (!offsets[0] || !offsets[1] || offsets[0] == offsets[1]) return false;
  for (std::size_t i = 0; i < offsets.size(); ++i) {
    const bool done = editor.EditIntegers(editor.Input(i), [&](Integers&, Tensor& tensor) {
      if (format::BitWidth(tensor.elem_type) > 8) return false;
      Widen(tensor);
      tensor.quantization->offset.assign(tensor.quantization->scale.size(), *offsets[i]);
      return true;
    });
    if (!done) return false;
  }
  return true;
}

// Reads the stored values of each operand with the parameters of the other, which are one scale
// and offset each: where the first operand is the smaller one, if `kSmaller`.
template <bool kSmaller>
bool SwapParameters(NodeEditor& editor) {
  Quantization* a = editor.Parameters(editor.Input(0));
  Quantization* b = editor.Parameters(editor.Input(1));
  const auto a_dims = editor.Dims(editor.Input(0));
  const auto b_dims = editor.Dims(editor.Input(1));
  if (a == nullptr || b == nullptr || !a_dims || !b_dims || editor.node().inputs.size() != 2 ||
      a->scale.size() != 1 || b->scale.size() != 1) {
    return false;
  }
  const auto a_count = format::ElementCount(*a_dims);
  const auto b_count = format::ElementCount(*b_dims);
  if (!a_count || !b_count || (kSmaller ? *a_count >= *b_count : *a_count <= *b_count)) {
    return false;
  }
  const std::array parameters = {*b, *a};
  if (parameters[0].scale == parameters[1].scale && parameters[0].offset == parameters[1].offset) {
    return false;
  }
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    const bool done = editor.EditIntegers(editor.Input(i), [&](Integers&, Tensor& tensor) {
      if (format::BitWidth(tensor.elem_type) > 8) return false;
      Widen(tensor);
      tensor.quantization->scale = parameters[i].scale;
      tensor.quantization->offset = parameters[i].offset;
      return true;
    });
    if (!done) return false;
  }
  return true;
}

// The coordinates of element `i` in `dims`.
format::Dims Coordinates(std::int64_t i, const format::Dims& dims) {
  format::Dims at(dims.size());
  for (std::size_t d = dims.size(); d-- > 0; i /= dims[d]) at[d] = i % dims[d];
  return at;
}

using Choose = std::size_t (*)(const Quantization& q, std::int64_t element,
                               const format::Dims& dims);

// Gives every per-axis value one parameter per element, chosen by `choose`.
template <Choose kChoose>
bool Remap(NodeEditor& editor) {
  std::vector<std::string> names = editor.node().inputs;
  std::ranges::copy(editor.node().outputs, std::back_inserter(names));
  bool any = false;
  for (const std::string& name : names) {
    Quantization* q = editor.Parameters(&name);
    const auto dims = q == nullptr ? std::nullopt : editor.Dims(&name);
    if (!dims || q->axis.empty() || q->scale.size() < 2) continue;
    const auto count = format::ElementCount(*dims);
    if (!count) continue;
    Quantization all = *q;
    all.scale.clear();
    all.offset.clear();
    all.block_shape.clear();
    all.axis.clear();
    all.requantization.reset();
    for (std::int64_t d = 0; d < std::ssize(*dims); ++d) all.axis.push_back(d);
    for (std::int64_t i = 0; i < *count; ++i) {
      const auto k = static_cast<std::int64_t>(kChoose(*q, i, *dims) % q->scale.size());
      all.scale.push_back(format::ScaleAt(*q, k));
      all.offset.push_back(format::OffsetAt(*q, k));
    }
    *q = std::move(all);
    any = true;
  }
  return any;
}

std::size_t OnNextAxis(const Quantization& q, std::int64_t element, const format::Dims& dims) {
  const format::Dims at = Coordinates(element, dims);
  const auto axis = static_cast<std::size_t>(q.axis[0]);
  const std::int64_t block = q.block_shape.empty() ? 1 : q.block_shape[0];
  return static_cast<std::size_t>(at[(axis + 1) % dims.size()] % dims[axis] / block);
}
std::size_t AsIfLastAxis(const Quantization& q, std::int64_t element, const format::Dims&) {
  return static_cast<std::size_t>(element) % q.scale.size();
}

// The index of an element's parameter, with numbers of blocks `blocks` and axes in `order`.
std::size_t Parameter(const Quantization& q, std::int64_t element, const format::Dims& dims,
                      bool reversed, bool whole_blocks) {
  const format::Dims at = Coordinates(element, dims);
  std::int64_t index = 0;
  for (std::size_t j = 0; j < q.axis.size(); ++j) {
    const std::size_t k = reversed ? q.axis.size() - 1 - j : j;
    const auto axis = static_cast<std::size_t>(q.axis[k]);
    const std::int64_t block = q.block_shape.empty() ? 1 : q.block_shape[k];
    std::int64_t at_block = at[axis] / block;
    if (whole_blocks && dims[axis] > block) at_block = std::min(at_block, dims[axis] / block - 1);
    index = index * ((dims[axis] + block - 1) / block) + at_block;
  }
  return static_cast<std::size_t>(index);
}
std::size_t AxesTransposed(const Quantization& q, std::int64_t element, const format::Dims& dims) {
  return Parameter(q, element, dims, true, false);
}
std::size_t WholeBlocks(const Quantization& q, std::int64_t element, const format::Dims& dims) {
  return Parameter(q, element, dims, false, true);
}

template <typename Change>
bool EditVectors(NodeEditor& editor, Change change) {
  std::vector<std::string> names = editor.node().inputs;
  std::ranges::copy(editor.node().outputs, std::back_inserter(names));
  bool any = false;
  for (const std::string& name : names) {
    Quantization* q = editor.Parameters(&name);
    if (q == nullptr || q->scale.size() < 2) continue;
    change(*q);
    any = true;
  }
  return any;
}
void FillOffsets(Quantization& q) {
  if (!q.offset.empty()) std::ranges::fill(q.offset, q.offset[0]);
}
bool UseFirstScale(NodeEditor& editor) {
  return EditVectors(editor, [](Quantization& q) { std::ranges::fill(q.scale, q.scale[0]); });
}
bool UseLastScale(NodeEditor& editor) {
  return EditVectors(editor, [](Quantization& q) { std::ranges::fill(q.scale, q.scale.back()); });
}
bool UseFirstOffset(NodeEditor& editor) { return EditVectors(editor, FillOffsets); }
bool UseFirstParameters(NodeEditor& editor) {
  return EditVectors(editor, [](Quantization& q) {
    std::ranges::fill(q.scale, q.scale[0]);
    FillOffsets(q);
  });
}

// Uses the first operand's scale for the second.
bool UseScaleOfFirst(NodeEditor& editor) {
  const Quantization* a = editor.Parameters(editor.Input(0));
  Quantization* b = editor.Parameters(editor.Input(1));
  if (a == nullptr || b == nullptr || !a->axis.empty()) return false;
  std::ranges::fill(b->scale, a->scale[0]);
  return true;
}

// Reinterprets stored values in 8 bits of the other signedness.
bool Reinterpret(NodeEditor& editor, std::size_t operand) {
  const std::string* name = editor.Input(operand);
  return editor.EditIntegers(name, [](Integers& values, Tensor& tensor) {
    if (!tensor.quantization || format::BitWidth(tensor.elem_type) > 8) return false;
    const format::IntegerRange range = format::StorageRange(tensor.elem_type);
    const std::int64_t size = range.max - range.min + 1;
    for (std::int64_t& v : values)
      v += range.min < 0 ? (v < 0 ? size : 0) : (v >= size / 2 ? -size : 0);
    Widen(tensor);
    return true;
  });
}
bool ReinterpretFirst(NodeEditor& editor) { return Reinterpret(editor, 0); }
bool ReinterpretSecond(NodeEditor& editor) { return Reinterpret(editor, 1); }
bool DropSignOfFourBits(NodeEditor& editor) {
  return ForEachInput(editor, [&](const std::string& name) {
    return editor.EditIntegers(&name, [](Integers& values, Tensor& tensor) {
      if (tensor.elem_type != ElementType::kInt4Q) return false;
      for (std::int64_t& v : values) v &= 15;
      Widen(tensor);
      return true;
    });
  });
}

template <int kBits>
bool ReverseBytes(NodeEditor& editor) {
  constexpr std::size_t kPerByte = 8 / kBits;
  return ForEachInput(editor, [&](const std::string& name) {
    return editor.EditIntegers(&name, [](Integers& values, Tensor& tensor) {
      if (format::BitWidth(tensor.elem_type) != kBits || values.size() < 2) return false;
      const std::size_t count = values.size();
      values.resize((count + kPerByte - 1) / kPerByte * kPerByte);
      for (auto i = values.begin(); i != values.end(); i += kPerByte) std::reverse(i, i + kPerByte);
      values.resize(count);
      return true;
    });
  });
}
bool DropOddNibble(NodeEditor& editor) {
  return ForEachInput(editor, [&](const std::string& name) {
    return editor.EditIntegers(&name, [](Integers& values, Tensor& tensor) {
      if (format::BitWidth(tensor.elem_type) != 4 || values.size() % 2 == 0) return false;
      values.back() = 0;
      return true;
    });
  });
}
bool TakeBitsAsNumbers(NodeEditor& editor) {
  return ForEachInput(editor, [&](const std::string& name) {
    return editor.EditIntegers(&name, [](Integers& values, Tensor& tensor) {
      if (tensor.elem_type != ElementType::kBipolar1Q) return false;
      for (std::int64_t& v : values) v = v < 0 ? 0 : 1;
      Widen(tensor);
      return true;
    });
  });
}

// Computes stored - offset in the 8 bits of the storage.
bool WrapDifferences(NodeEditor& editor) {
  return ForEachInput(editor, [&](const std::string& name) {
    return editor.EditIntegers(&name, [](Integers& values, Tensor& tensor) {
      if (!tensor.quantization || format::BitWidth(tensor.elem_type) != 8) return false;
      if (!format::ParameterDims(*tensor.quantization, tensor.dims)) return false;
      const format::ParameterMap map(*tensor.quantization, tensor.dims);
      for (std::size_t i = 0; i < values.size(); ++i) {
        const std::int64_t offset =
            format::OffsetAt(*tensor.quantization, map(static_cast<std::int64_t>(i)));
        values[i] = offset + static_cast<std::int8_t>(values[i] - offset);
      }
      Widen(tensor);
      return true;
    });
  });
}

bool CutToSevenBits(NodeEditor& editor) {
  const std::string* x = editor.Input(0);
  return editor.EditIntegers(x, [](Integers& values, Tensor& tensor) {
    if (format::StorageOf(tensor.elem_type) != ElementType::kUint8) return false;
    for (std::int64_t& v : values) v = std::min<std::int64_t>(v, 127);
    return true;
  });
}

// Halves s8 weights so that pairs of products fit 16 bits, and doubles the result.
bool HalveWeights(NodeEditor& editor) {
  const auto* x = editor.Type(editor.Input(0));
  if (x == nullptr || x->elem_type != ElementType::kInt8Q) return false;
  return editor.EditIntegers(editor.Input(1), [](Integers& values, Tensor& tensor) {
    if (tensor.elem_type != ElementType::kInt8Q ||
        !format::ParameterDims(*tensor.quantization, tensor.dims)) {
      return false;
    }
    const format::ParameterMap map(*tensor.quantization, tensor.dims);
    for (std::size_t i = 0; i < values.size(); ++i) {
      const std::int64_t offset =
          format::OffsetAt(*tensor.quantization, map(static_cast<std::int64_t>(i)));
      values[i] = 2 * std::llrint(static_cast<double>(values[i] - offset) / 2) + offset;
    }
    Widen(tensor);
    return true;
  });
}

// Copies stored integers from inputs to output, ignoring parameters.
bool CopyStored(NodeEditor& editor) {
  const Quantization* y = editor.Parameters(editor.Output());
  if (y == nullptr) return false;
  return ForEachInput(editor, [&](const std::string& name) {
    Quantization* q = editor.Parameters(&name);
    if (q == nullptr || q->axis != y->axis || q->block_shape != y->block_shape) return false;
    const bool other = q->scale != y->scale || q->offset != y->offset;
    q->scale = y->scale;
    q->offset = y->offset;
    return other;
  });
}

// Reads the bias with another scale: that of the accumulator, the input or the output.
enum class Unit { kAccumulator, kInput, kOutput };
template <Unit kUnit>
bool RescaleBias(NodeEditor& editor) {
  const Quantization* x = editor.Parameters(editor.Input(0));
  const Quantization* w = editor.Parameters(editor.Input(1));
  const Quantization* y = editor.Parameters(editor.Output());
  Quantization* bias = editor.Parameters(editor.Input(2));
  if (x == nullptr || w == nullptr || bias == nullptr || x->scale.size() > 1) return false;
  if (kUnit == Unit::kOutput && (y == nullptr || y->scale.size() > 1)) return false;
  if (kUnit == Unit::kAccumulator) {
    const auto dims = editor.Dims(editor.Input(2));
    if (w->scale.size() > 1 && (!dims || dims->empty())) return false;
    bias->scale.clear();
    for (const float scale : w->scale) bias->scale.push_back(x->scale[0] * scale);
    if (w->scale.size() > 1) bias->axis = {std::ssize(*dims) - 1};
    if (bias->offset.size() != bias->scale.size()) bias->offset.clear();
    return true;
  }
  std::ranges::fill(bias->scale, kUnit == Unit::kInput ? x->scale[0] : y->scale[0]);
  return true;
}
bool ZeroExtendBias(NodeEditor& editor) {
  return editor.EditIntegers(editor.Input(2), [](Integers& values, Tensor& tensor) {
    if (tensor.elem_type != ElementType::kInt8Q) return false;
    for (std::int64_t& v : values) v &= 255;
    Widen(tensor);
    return true;
  });
}

// Flushes subnormal scales to zero, so that all results are real zero.
bool FlushSubnormals(const Question& question, Outputs& outputs) {
  bool any = false;
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    const auto& type = question.model.graph.outputs[i].type;
    if (!type || !type->quantization || !format::IsIntegerStorage(type->elem_type)) continue;
    const Quantization& q = *type->quantization;
    if (q.scale.empty() || !format::ParameterDims(q, outputs[i].dims)) continue;
    const format::ParameterMap map(q, outputs[i].dims);
    const format::IntegerRange range = format::StoredRange(type->elem_type, q);
    Integers stored = format::UnpackIntegers(outputs[i]);
    for (std::size_t e = 0; e < stored.size(); ++e) {
      const std::int64_t k = map(static_cast<std::int64_t>(e));
      if (format::ScaleAt(q, k) >= std::numeric_limits<float>::min()) continue;
      stored[e] = std::clamp<std::int64_t>(format::OffsetAt(q, k), range.min, range.max);
      any = true;
    }
    format::PackIntegers(stored, outputs[i]);
  }
  return any;
}

// All parameters with levels, inputs first; false if there are none.
template <typename Change>
bool ForEachLevels(NodeEditor& editor, Change change) {
  const auto visit = [&](const std::string* name) {
    format::TensorType* type = editor.Type(name);
    if (type == nullptr || !type->quantization) return false;
    const bool scales = change(type->quantization->scale_levels);
    return change(type->quantization->base_levels) || scales;
  };
  const bool inputs = ForEachInput(editor, [&](const std::string& name) { return visit(&name); });
  return visit(editor.Output()) || inputs;
}

bool DropCoarseLevels(NodeEditor& editor) {
  return ForEachLevels(editor, [](std::vector<format::BlockFactors>& levels) {
    if (levels.size() < 2) return false;
    levels.resize(1);
    return true;
  });
}

bool DropFineLevel(NodeEditor& editor) {
  return ForEachLevels(editor, [&](std::vector<format::BlockFactors>& levels) {
    if (levels.size() < 2) return false;
    std::size_t count = levels[0].value.size();
    if (!levels[0].tensor.empty()) {
      const std::optional<Tensor> factors = editor.Load(&levels[0].tensor);
      if (!factors) return false;
      count = static_cast<std::size_t>(format::ElementCount(*factors));
    }
    levels[0].tensor.clear();
    levels[0].value.assign(count, 1.0F);
    return true;
  });
}

bool DropBase(NodeEditor& editor) {
  return ForEachInput(editor, [&](const std::string& name) {
    format::TensorType* type = editor.Type(&name);
    if (type == nullptr || !type->quantization || !HasBase(*type->quantization)) return false;
    type->quantization->base_levels.clear();
    return true;
  });
}

constexpr std::array kParameterFaults = {
    Fault{.name = "int16_offset_ignored",
          .says = "ignores the offsets of 16-bit inputs",
          .question = ClearSixteenBits},
    Fault{.name = "first_offset_ignored",
          .says = "ignores the offset of its first input",
          .question = ClearFirst},
    Fault{.name = "second_offset_ignored",
          .says = "ignores the offset of its second input",
          .question = ClearSecond},
    Fault{.name = "input_offsets_ignored",
          .says = "ignores the offsets of its inputs",
          .question = ClearInputs},
    Fault{.name = "all_offsets_ignored",
          .says = "works on stored integers as if no value had an offset",
          .question = ClearAll},
    Fault{.name = "offsets_exchanged",
          .says = "subtracts from each operand the offset of the other",
          .question = SwapOffsets},
    Fault{.name = "parameters_not_swapped",
          .says = "exchanges operands to broadcast the second, but not their parameters",
          .question = SwapParameters<false>},
    Fault{
        .name = "parameters_swapped_by_broadcast",
        .says = "reads each operand with the parameters of the other where the first is broadcast",
        .question = SwapParameters<true>},
    Fault{.name = "difference_wraps",
          .says = "subtracts the offset in 8 bits that wrap",
          .question = WrapDifferences},
    Fault{.name = "per_axis_first_only",
          .says = "takes the first scale and offset for every channel",
          .question = UseFirstParameters},
    Fault{.name = "first_scale_for_all_channels",
          .says = "takes the first scale for every channel",
          .question = UseFirstScale},
    Fault{.name = "last_scale_for_all_channels",
          .says = "takes the last scale for every channel",
          .question = UseLastScale},
    Fault{.name = "offset_of_first_channel",
          .says = "takes the first offset for every channel",
          .question = UseFirstOffset},
    Fault{.name = "per_axis_on_next_axis",
          .says = "takes parameters along the axis after theirs",
          .question = Remap<OnNextAxis>},
    Fault{.name = "per_axis_wrong_stride",
          .says = "takes parameters along the last axis, whatever theirs is",
          .question = Remap<AsIfLastAxis>},
    Fault{.name = "axes_transposed",
          .says = "takes the axes of parameters in the reverse order",
          .question = Remap<AxesTransposed>},
    Fault{.name = "last_block_short",
          .says = "counts whole blocks only: the last, short one gets the parameters before it",
          .question = Remap<WholeBlocks>},
    Fault{.name = "coarse_level_ignored",
          .says = "takes the factors of the finest level alone",
          .question = DropCoarseLevels},
    Fault{.name = "fine_level_ignored",
          .says = "leaves out the factors of the finest level",
          .question = DropFineLevel},
    Fault{.name = "base_ignored", .says = "ignores the base of its inputs", .question = DropBase},
    Fault{.name = "scale_of_first",
          .says = "takes the scale of the first operand for the second",
          .question = UseScaleOfFirst},
    Fault{.name = "first_reinterpreted",
          .says = "reads its first input with the other signedness",
          .question = ReinterpretFirst},
    Fault{.name = "second_reinterpreted",
          .says = "reads its second input with the other signedness",
          .question = ReinterpretSecond},
    Fault{.name = "int4_not_sign_extended",
          .says = "widens int4 without its sign",
          .question = DropSignOfFourBits},
    Fault{.name = "nibbles_swapped",
          .says = "reads the high four bits of a byte as the first element",
          .question = ReverseBytes<4>},
    Fault{.name = "odd_nibble_dropped",
          .says = "drops the last of an odd number of 4-bit elements",
          .question = DropOddNibble},
    Fault{.name = "two_bits_high_first",
          .says = "reads the high two bits of a byte as the first element",
          .question = ReverseBytes<2>},
    Fault{.name = "bipolar_as_zero_and_one",
          .says = "takes the bits of bipolar elements for 0 and 1 instead of -1 and 1",
          .question = TakeBitsAsNumbers},
    Fault{.name = "seven_bit_activations",
          .says = "cuts u8 inputs to 7 bits",
          .question = CutToSevenBits},
    Fault{.name = "weights_halved",
          .says = "computes s8 by s8 with weights scaled by one half",
          .question = HalveWeights},
    Fault{.name = "stored_values_copied",
          .says = "copies stored integers between types with other parameters",
          .question = CopyStored},
    Fault{.name = "bias_scale_ignored",
          .says = "adds the bias to the accumulator whatever its scale",
          .question = RescaleBias<Unit::kAccumulator>},
    Fault{.name = "bias_scaled_by_input",
          .says = "takes the bias in units of the input's scale",
          .question = RescaleBias<Unit::kInput>},
    Fault{.name = "bias_scaled_by_output",
          .says = "takes the bias in units of the output's scale",
          .question = RescaleBias<Unit::kOutput>},
    Fault{.name = "int8_bias_zero_extended",
          .says = "widens an int8 bias without its sign",
          .question = ZeroExtendBias},
    Fault{.name = "subnormal_scale_flushed",
          .says = "takes scales below the smallest normal binary32 for zero",
          .answers = FlushSubnormals},
};

}  // namespace

std::span<const Fault> ParameterFaults() { return kParameterFaults; }

}  // namespace qtx::conformance
