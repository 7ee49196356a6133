#include "qoperator/forms.h"

#include <algorithm>
#include <array>
#include <bit>

#include "qoperator/bnb4.h"
#include "qoperator/lift.h"
#include "qoperator/operators.h"
#include "qtx/format/accumulator.h"
#include "qtx/format/attributes.h"
#include "qtx/format/levels.h"

namespace qtx::convert {
namespace {

using format::ElementType;
using format::Node;
using format::TensorType;
using MaybeForm = std::optional<Form>;

struct PlainRow {
  std::string_view plain, form;
};
// Operators of com.microsoft without an accumulator, on operands of one type. QLinearReduceMean is
// read, but not written: ONNX Runtime has its schema and no kernel.
constexpr std::array kElementwise = {
    PlainRow{"Add", "QLinearAdd"},
    PlainRow{"AveragePool", "QLinearAveragePool"},
    PlainRow{"Concat", "QLinearConcat"},
    PlainRow{"GlobalAveragePool", "QLinearGlobalAveragePool"},
    PlainRow{"LeakyRelu", "QLinearLeakyRelu"},
    PlainRow{"Mul", "QLinearMul"},
    PlainRow{"Sigmoid", "QLinearSigmoid"},
    PlainRow{"Softmax", "QLinearSoftmax"},
    PlainRow{"Where", "QLinearWhere"},
};

const TensorType* TypeIn(const QuantizedTypes& types, const std::string& value) {
  const auto found = types.find(value);
  return found == types.end() ? nullptr : &found->second;
}

bool PerTensor(const TensorType& type) { return type.quantization->axis.empty(); }

bool EightBits(const TensorType& type) {
  return type.elem_type == ElementType::kInt8Q || type.elem_type == ElementType::kUint8Q;
}

Form Named(const Node& node, std::string_view op_type) {
  const std::string domain(DomainOf(op_type));
  const bool own = domain.empty() && CameAs(node, op_type);
  return {std::string(op_type), own ? node.origin->domain : domain};
}

// Operators on integers take scales of FLOAT, and give reals of FLOAT.  Source: ONNX's schemas of
// QLinearConv and QLinearMatMul before opset 21; ONNX Runtime docs/ContribOperators.md.  That of
// QLinearMatMul-21 takes FLOAT16, which quantization.S13 computes otherwise.
bool HasFormOnIntegers(const TensorType& type) {
  return format::HasIntegerForm(*type.quantization) &&
         !format::IsHalf(type.quantization->real_type);
}

// True if all operands are 8 bits, per tensor, and of one type except in Concat.
MaybeForm ElementwiseForm(const Node& node, std::string_view form, const QuantizedTypes& types) {
  const std::size_t first = node.op_type == "Where" ? 1 : 0;
  if (node.outputs.size() != 1 || node.inputs.size() <= first) return std::nullopt;
  const TensorType* result = TypeIn(types, node.outputs[0]);
  if (result == nullptr || !EightBits(*result) || !PerTensor(*result) ||
      !HasFormOnIntegers(*result))
    return std::nullopt;
  for (std::size_t i = first; i < node.inputs.size(); ++i) {
    const TensorType* type = TypeIn(types, node.inputs[i]);
    if (type == nullptr || !EightBits(*type) || !PerTensor(*type) || !HasFormOnIntegers(*type))
      return std::nullopt;
    if (type->elem_type != result->elem_type && form != "QLinearConcat") return std::nullopt;
  }
  if (node.op_type == "AveragePool" && node.Find("dilations") != nullptr) return std::nullopt;
  return Named(node, form);
}

std::int64_t RankOfType(const GraphIndex& index, const std::string& value, const TensorType& type) {
  return index.RankOf(value).value_or(type.shape ? static_cast<std::int64_t>(type.shape->size())
                                                 : -1);
}

bool Along(const TensorType& type, std::int64_t axis) {
  const format::Quantization& q = *type.quantization;
  const bool whole = std::ranges::all_of(q.block_shape, [](std::int64_t b) { return b == 1; });
  return PerTensor(type) || (q.axis.size() == 1 && q.axis[0] == axis && whole);
}

// Granularities for which float32.S4 has an integer accumulator: others are computed in binary32.
bool HasIntegerAccumulator(const Node& node, const GraphIndex& index, const TensorType& x,
                           const TensorType& w) {
  if (node.op_type == "Gemm") {
    const format::Attributes attributes(node);
    const bool biased = !InputOf(node, 2).empty();
    if (attributes.Float("alpha") != 1 || (biased && attributes.Float("beta") != 1)) return false;
  }
  const std::int64_t rank = RankOfType(index, node.inputs[1], w);
  const bool is_vector = node.op_type == "MatMul" && rank < 2;
  return PerTensor(x) && (is_vector ? PerTensor(w) : Along(w, format::OutputAxis(node, rank)));
}

// The bias in units of the accumulator: offset 0, its scales the products in binary32.
bool IsAccumulatorBias(const TensorType& bias, const TensorType& x, const TensorType& w) {
  const format::Quantization& b = *bias.quantization;
  const auto& scales = w.quantization->scale;
  if (bias.elem_type != ElementType::kInt32Q || b.scale.size() != scales.size() ||
      std::ranges::any_of(b.offset, [](std::int32_t offset) { return offset != 0; }))
    return false;
  const std::int64_t last = bias.shape ? static_cast<std::int64_t>(bias.shape->size()) - 1 : 0;
  if (!Along(bias, last)) return false;
  for (std::size_t i = 0; i < scales.size(); ++i) {
    if (b.scale[i] != x.quantization->scale[0] * scales[i]) return false;
  }
  return true;
}

bool ProductTypes(const Node& node, const TensorType& x, const TensorType& w, const TensorType* y) {
  if (y != nullptr && !PerTensor(*y)) return false;
  if (EightBits(x) && EightBits(w)) return y == nullptr || EightBits(*y);
  const bool float8 =
      format::IsSmallFloat(x.elem_type) && format::BitWidth(format::StorageOf(x.elem_type)) == 8;
  return node.op_type == "MatMul" && float8 && y != nullptr && w.elem_type == x.elem_type &&
         y->elem_type == x.elem_type;
}

std::string_view ProductFormName(const Node& node, bool real) {
  if (node.op_type == "Gemm") return "QGemm";
  if (node.op_type == "Conv") return real ? "ConvInteger" : "QLinearConv";
  if (!real) return "QLinearMatMul";
  return CameAs(node, "MatMulInteger") ? "MatMulInteger" : "MatMulIntegerToFloat";
}

Result<MaybeForm> ProductForm(const Node& node, const GraphIndex& index,
                              const QuantizedTypes& types) {
  const TensorType* x = TypeIn(types, InputOf(node, 0));
  const TensorType* w = TypeIn(types, InputOf(node, 1));
  const TensorType* y = node.outputs.size() == 1 ? TypeIn(types, node.outputs[0]) : nullptr;
  if (w != nullptr && x == nullptr && y == nullptr && node.op_type == "MatMul" &&
      index.Initializer(node.inputs[1]) != nullptr && index.Uses(node.inputs[1]).size() == 1) {
    if (IsNBitsWeight(*w)) return MaybeForm(Named(node, "MatMulNBits"));
    if (CameAs(node, "MatMulBnb4") && IsBnb4Weight(*w, *node.origin))
      return MaybeForm(Named(node, "MatMulBnb4"));
  }
  const auto has_form = [](const TensorType* type) {
    return type == nullptr || HasFormOnIntegers(*type);
  };
  if (!has_form(x) || !has_form(w) || !has_form(y)) return MaybeForm();
  if (x == nullptr || w == nullptr || !HasIntegerAccumulator(node, index, *x, *w))
    return MaybeForm();
  if (!ProductTypes(node, *x, *w, y)) {
    return Error{ErrorCode::kUnsupported, "",
                 "no operator on integers multiplies " + std::string(format::Name(x->elem_type)) +
                     " and " + std::string(format::Name(w->elem_type)) + " to " +
                     std::string(y == nullptr ? "FLOAT" : format::Name(y->elem_type))};
  }
  const std::string_view name = ProductFormName(node, y == nullptr);
  const std::string& bias = InputOf(node, 2);
  if (bias.empty()) return MaybeForm(Named(node, name));
  const TensorType* type = TypeIn(types, bias);
  if (name == "ConvInteger" || type == nullptr || !IsAccumulatorBias(*type, *x, *w)) {
    return Error{ErrorCode::kUnsupported, "bias '" + bias + "'",
                 std::string(name) + " takes INT32 of scale x_scale * w_scale, or none"};
  }
  return MaybeForm(Named(node, name));
}

}  // namespace

bool CameAs(const Node& node, std::string_view op_type) {
  return node.origin && node.origin->framework == kOnnxFramework && node.origin->op_type == op_type;
}

bool IsNBitsWeight(const TensorType& type) {
  const format::Quantization& q = *type.quantization;
  using enum ElementType;
  static constexpr std::array kTypes = {kUint2Q, kUint4Q, kUint8Q, kInt2Q, kInt4Q, kInt8Q};
  return std::ranges::find(kTypes, type.elem_type) != kTypes.end() && type.shape &&
         type.shape->size() == 2 && !format::HasCodeBook(q) &&
         q.axis == std::vector<std::int64_t>{0, 1} && q.block_shape.size() == 2 &&
         q.block_shape[1] == 1 && q.block_shape[0] >= 16 && q.block_shape[0] <= (1 << 16) &&
         std::has_single_bit(static_cast<std::uint64_t>(q.block_shape[0]));
}

bool SameMeaning(const TensorType& a, const TensorType& b) {
  const format::Quantization &p = *a.quantization, &q = *b.quantization;
  if (a.elem_type != b.elem_type || p.scale != q.scale || p.axis != q.axis ||
      format::RealTypeOf(p) != format::RealTypeOf(q))
    return false;
  for (std::size_t i = 0; i < p.scale.size(); ++i) {
    const auto at = static_cast<std::int64_t>(i);
    if (format::OffsetAt(p, at) != format::OffsetAt(q, at)) return false;
  }
  return p.block_shape == q.block_shape;
}

Result<MaybeForm> FormOf(const Node& node, const GraphIndex& index, const QuantizedTypes& types) {
  if (!format::IsOnnxDomain(node.domain)) return MaybeForm();
  if (format::HasAccumulator(node)) return ProductForm(node, index, types);
  if (CameAs(node, "GatherBlockQuantized") && node.op_type == "Gather" &&
      types.contains(InputOf(node, 0)) && index.Initializer(node.inputs[0]) != nullptr &&
      index.Uses(node.inputs[0]).size() == 1 && !types.contains(node.outputs[0]))
    return MaybeForm(Named(node, "GatherBlockQuantized"));
  const auto* row =
      std::ranges::find(kElementwise, std::string_view(node.op_type), &PlainRow::plain);
  if (row == kElementwise.end()) return MaybeForm();
  return ElementwiseForm(node, row->form, types);
}

}  // namespace qtx::convert
