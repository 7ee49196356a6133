#include "lift_operator.h"

#include <algorithm>
#include <array>
#include <string_view>
#include <utility>

#include "node_editor.h"

namespace qtx::conformance {
namespace {

using format::ElementType;
using format::Node;
using format::Quantization;
using format::Tensor;

constexpr std::size_t kAbsent = 99;
constexpr std::int64_t kOpset = 13;  // older versions of the operators differ

// How parameters vary over their tensor.
enum class Granularity { kPerTensor, kPerAxis, kPerRow, kPerColumn };

// Input positions of an operand's parameters.
struct Parameters {
  std::size_t scale = kAbsent;
  std::size_t zero_point = kAbsent;
  Granularity granularity = Granularity::kPerTensor;
};

struct Form {
  std::string_view op_type;
  std::string_view extended;
  std::size_t second;  // position of the second operand
  Parameters a, b, y;
  std::size_t bias = kAbsent;
};
constexpr std::array kForms = {
    Form{"QLinearConv", "Conv", 3, {1, 2}, {4, 5, Granularity::kPerAxis}, {6, 7}, 8},
    Form{"QLinearMatMul",
         "MatMul",
         3,
         {1, 2, Granularity::kPerRow},
         {4, 5, Granularity::kPerColumn},
         {6, 7}},
    Form{"ConvInteger", "Conv", 1, {kAbsent, 2}, {kAbsent, 3, Granularity::kPerAxis}, {}},
    Form{"MatMulInteger",
         "MatMul",
         1,
         {kAbsent, 2, Granularity::kPerRow},
         {kAbsent, 3, Granularity::kPerColumn},
         {}},
};

// Sets axis and blocks; false if the number of parameters does not fit.
bool SetAxes(const Node& node, Granularity granularity, const format::Dims& dims, Quantization& q) {
  if (q.scale.size() == 1) return true;
  const auto rank = static_cast<std::int64_t>(dims.size());
  std::int64_t axis = granularity == Granularity::kPerRow      ? rank - 2
                      : granularity == Granularity::kPerColumn ? rank - 1
                                                               : 0;
  const bool named = node.op_type.ends_with("quantizeLinear") || node.op_type == "QuantizeLinear";
  if (named) axis = node.IntOr("axis", 1);
  if (axis < 0) axis += rank;
  if (axis < 0 || axis >= rank) return false;
  const std::int64_t block = named ? node.IntOr("block_size", 0) : 0;
  q.axis = {axis};
  if (block > 0) {
    q.axis.clear();
    for (std::int64_t d = 0; d < rank; ++d) q.axis.push_back(d);
    q.block_shape.assign(dims.size(), 1);
    q.block_shape[static_cast<std::size_t>(axis)] = block;
  }
  const auto expected = format::ParameterDims(q, dims);
  const auto count = expected ? format::ElementCount(*expected) : Result<std::int64_t>(0);
  return count && *count == std::ssize(q.scale);
}

std::optional<Quantization> QuantizationOf(NodeEditor& editor, const Parameters& parameters,
                                           const format::Dims& dims) {
  Quantization q;
  if (const auto scale = editor.Load(editor.Input(parameters.scale))) {
    for (const double value : format::StoredValues(*scale)) {
      q.scale.push_back(static_cast<float>(value));
    }
  }
  if (const auto zero_point = editor.Load(editor.Input(parameters.zero_point))) {
    if (!format::IsIntegerStorage(zero_point->elem_type)) return std::nullopt;
    q.offset = format::UnpackInt32(*zero_point);
  }
  if (q.scale.empty()) q.scale.assign(std::max<std::size_t>(q.offset.size(), 1), 1.0F);
  if (!q.offset.empty() && q.offset.size() != q.scale.size()) return std::nullopt;
  if (!SetAxes(editor.node(), parameters.granularity, dims, q)) return std::nullopt;
  return q;
}

// Retypes an input or constant as the quantized type with the same stored integers.
bool Quantize(NodeEditor& editor, const std::string& name, Quantization q) {
  std::optional<Tensor> tensor = editor.Load(&name);
  if (!tensor) return false;
  const auto type = format::QuantizedOf(tensor->elem_type);
  if (!type) return false;
  tensor->elem_type = *type;
  tensor->quantization = std::move(q);
  if (editor.Type(&name) == nullptr) {
    format::ValueInfo info;
    info.name = name;
    info.type = format::TensorType{};
    info.type->shape = format::ToShape(tensor->dims);
    editor.graph().values.push_back(std::move(info));
  }
  editor.Replace(name, *std::move(tensor));
  return true;
}

bool QuantizeOutput(NodeEditor& editor, ElementType storage, Quantization q) {
  format::TensorType* type = editor.Type(editor.Output());
  const auto quantized = format::QuantizedOf(storage);
  if (type == nullptr || !quantized) return false;
  type->elem_type = *quantized;
  type->quantization = std::move(q);
  return true;
}

// Quantizes a bias with the scale of the accumulator, x.scale * w.scale.
bool QuantizeBias(NodeEditor& editor, const std::string& name, const Quantization& x,
                  const Quantization& w) {
  Quantization q;
  for (const float scale : w.scale) q.scale.push_back(scale * x.scale[0]);
  if (q.scale.size() > 1) q.axis = {0};
  return Quantize(editor, name, std::move(q));
}

bool ExtendProduct(NodeEditor& editor, const Form& form) {
  const std::string* a = editor.Input(0);
  const std::string* b = editor.Input(form.second);
  const auto a_dims = editor.Dims(a);
  const auto b_dims = editor.Dims(b);
  if (!a_dims || !b_dims) return false;
  auto x = QuantizationOf(editor, form.a, *a_dims);
  auto w = QuantizationOf(editor, form.b, *b_dims);
  auto y = QuantizationOf(editor, form.y, {});
  const format::TensorType* type = editor.Type(editor.Output());
  if (!x || !w || !y || type == nullptr) return false;
  const std::string* bias = editor.Input(form.bias);
  std::vector<std::string> inputs = {*a, *b};
  if (bias != nullptr) {
    inputs.push_back(*bias);
    if (!QuantizeBias(editor, inputs.back(), *x, *w)) return false;
  }
  if (!Quantize(editor, inputs[0], *std::move(x)) || !Quantize(editor, inputs[1], *std::move(w)) ||
      !QuantizeOutput(editor, type->elem_type, *std::move(y))) {
    return false;
  }
  editor.node().op_type = form.extended;
  editor.node().inputs = std::move(inputs);
  return true;
}

// QuantizeLinear and DequantizeLinear change types and nothing else.
bool ExtendConversion(NodeEditor& editor) {
  const std::string* x = editor.Input(0);
  const auto dims = editor.Dims(x);
  if (!dims) return false;
  auto q = QuantizationOf(editor, {1, 2, Granularity::kPerAxis}, *dims);
  const format::TensorType* type = editor.Type(editor.Output());
  if (!q || type == nullptr) return false;
  const bool quantizes = editor.node().op_type == "QuantizeLinear";
  const std::string name = *x;
  if (quantizes ? !QuantizeOutput(editor, type->elem_type, *std::move(q))
                : !Quantize(editor, name, *std::move(q))) {
    return false;
  }
  editor.node().op_type = "Identity";
  editor.node().inputs = {name};
  editor.node().attributes.clear();
  return true;
}

}  // namespace

std::optional<Question> LiftOperator(const Question& question) {
  Question extended = question;
  NodeEditor editor(extended);
  if (!editor.single()) return std::nullopt;
  const std::string op = editor.node().op_type;
  const auto* form = std::ranges::find(kForms, op, &Form::op_type);
  const bool converts = op == "QuantizeLinear" || op == "DequantizeLinear";
  const bool done =
      form != kForms.end() ? ExtendProduct(editor, *form) : converts && ExtendConversion(editor);
  if (!done) return std::nullopt;
  for (format::OpsetImport& import : extended.model.opset_imports) {
    if (import.domain.empty()) import.version = std::max(import.version, kOpset);
  }
  const bool imported = extended.model.OpsetVersion(format::kDomain) != 0;
  if (!imported) {
    extended.model.opset_imports.push_back({std::string(format::kDomain), format::kVersion, {}});
  }
  return extended;
}

}  // namespace qtx::conformance
