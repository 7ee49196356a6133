#include "stock.h"

#include <algorithm>
#include <array>
#include <string_view>
#include <utility>

#include "reading.h"

namespace qtx::conformance {
namespace {

using format::ElementType;
using format::Node;
using format::Quantization;
using format::Tensor;

constexpr std::size_t kAbsent = 99;
constexpr std::int64_t kOpset = 13;  // at least: older forms of the operators differ

// How a vector of parameters lies along its tensor.
enum class Lies { kScalar, kAlongAxis, kRows, kColumns };

// Positions among the inputs of a tensor and its parameters.
struct Parameters {
  std::size_t scale = kAbsent;
  std::size_t zero_point = kAbsent;
  Lies lies = Lies::kScalar;
};

struct Form {
  std::string_view op_type;
  std::string_view extended;
  std::size_t second;  // position of the second operand
  Parameters a, b, y;
  std::size_t bias = kAbsent;
};
constexpr std::array kForms = {
    Form{"QLinearConv", "Conv", 3, {1, 2}, {4, 5, Lies::kAlongAxis}, {6, 7}, 8},
    Form{"QLinearMatMul", "MatMul", 3, {1, 2, Lies::kRows}, {4, 5, Lies::kColumns}, {6, 7}},
    Form{"ConvInteger", "Conv", 1, {kAbsent, 2}, {kAbsent, 3, Lies::kAlongAxis}, {}},
    Form{"MatMulInteger", "MatMul", 1, {kAbsent, 2, Lies::kRows}, {kAbsent, 3, Lies::kColumns}, {}},
};

// Sets axis and blocks; false when the parameters' dims do not fit.
bool SetAxes(const Node& node, Lies lies, const format::Dims& dims, Quantization& q) {
  if (q.scale.size() == 1) return true;
  const auto rank = static_cast<std::int64_t>(dims.size());
  std::int64_t axis = lies == Lies::kRows ? rank - 2 : lies == Lies::kColumns ? rank - 1 : 0;
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

std::optional<Quantization> QuantizationOf(Reading& reading, const Parameters& parameters,
                                           const format::Dims& dims) {
  Quantization q;
  if (const auto scale = reading.Load(reading.Input(parameters.scale))) {
    for (const double value : format::StoredValues(*scale)) {
      q.scale.push_back(static_cast<float>(value));
    }
  }
  if (const auto zero_point = reading.Load(reading.Input(parameters.zero_point))) {
    if (!format::IsIntegerStorage(zero_point->elem_type)) return std::nullopt;
    q.offset = format::UnpackInt32(*zero_point);
  }
  if (q.scale.empty()) q.scale.assign(std::max<std::size_t>(q.offset.size(), 1), 1.0F);
  if (!q.offset.empty() && q.offset.size() != q.scale.size()) return std::nullopt;
  if (!SetAxes(reading.node(), parameters.lies, dims, q)) return std::nullopt;
  return q;
}

// An input or constant of a plain type as the quantized one of the same bits.
bool Quantize(Reading& reading, const std::string& name, Quantization q) {
  std::optional<Tensor> tensor = reading.Load(&name);
  if (!tensor) return false;
  const auto type = format::QuantizedOf(tensor->elem_type);
  if (!type) return false;
  tensor->elem_type = *type;
  tensor->quantization = std::move(q);
  if (reading.Type(&name) == nullptr) {
    format::ValueInfo info;
    info.name = name;
    info.type = format::TensorType{};
    info.type->shape = format::ToShape(tensor->dims);
    reading.graph().values.push_back(std::move(info));
  }
  reading.Replace(name, *std::move(tensor));
  return true;
}

bool QuantizeOutput(Reading& reading, ElementType storage, Quantization q) {
  format::TensorType* type = reading.Type(reading.Output());
  const auto quantized = format::QuantizedOf(storage);
  if (type == nullptr || !quantized) return false;
  type->elem_type = *quantized;
  type->quantization = std::move(q);
  return true;
}

// A bias in units of the accumulator, on the scales that these are.
bool QuantizeBias(Reading& reading, const std::string& name, const Quantization& x,
                  const Quantization& w) {
  Quantization q;
  for (const float scale : w.scale) q.scale.push_back(scale * x.scale[0]);
  if (q.scale.size() > 1) q.axis = {0};
  return Quantize(reading, name, std::move(q));
}

bool ExtendProduct(Reading& reading, const Form& form) {
  const std::string* a = reading.Input(0);
  const std::string* b = reading.Input(form.second);
  const auto a_dims = reading.Dims(a);
  const auto b_dims = reading.Dims(b);
  if (!a_dims || !b_dims) return false;
  auto x = QuantizationOf(reading, form.a, *a_dims);
  auto w = QuantizationOf(reading, form.b, *b_dims);
  auto y = QuantizationOf(reading, form.y, {});
  const format::TensorType* type = reading.Type(reading.Output());
  if (!x || !w || !y || type == nullptr) return false;
  const std::string* bias = reading.Input(form.bias);
  std::vector<std::string> inputs = {*a, *b};
  if (bias != nullptr) {
    inputs.push_back(*bias);
    if (!QuantizeBias(reading, inputs.back(), *x, *w)) return false;
  }
  if (!Quantize(reading, inputs[0], *std::move(x)) ||
      !Quantize(reading, inputs[1], *std::move(w)) ||
      !QuantizeOutput(reading, type->elem_type, *std::move(y))) {
    return false;
  }
  reading.node().op_type = form.extended;
  reading.node().inputs = std::move(inputs);
  return true;
}

// QuantizeLinear and DequantizeLinear change types and nothing else.
bool ExtendConversion(Reading& reading) {
  const std::string* x = reading.Input(0);
  const auto dims = reading.Dims(x);
  if (!dims) return false;
  auto q = QuantizationOf(reading, {1, 2, Lies::kAlongAxis}, *dims);
  const format::TensorType* type = reading.Type(reading.Output());
  if (!q || type == nullptr) return false;
  const bool quantizes = reading.node().op_type == "QuantizeLinear";
  const std::string name = *x;
  if (quantizes ? !QuantizeOutput(reading, type->elem_type, *std::move(q))
                : !Quantize(reading, name, *std::move(q))) {
    return false;
  }
  reading.node().op_type = "Identity";
  reading.node().inputs = {name};
  reading.node().attributes.clear();
  return true;
}

}  // namespace

std::optional<Question> AsExtended(const Question& question) {
  Question extended = question;
  Reading reading(extended);
  if (!reading.single()) return std::nullopt;
  const std::string op = reading.node().op_type;
  const auto* form = std::ranges::find(kForms, op, &Form::op_type);
  const bool converts = op == "QuantizeLinear" || op == "DequantizeLinear";
  const bool done =
      form != kForms.end() ? ExtendProduct(reading, *form) : converts && ExtendConversion(reading);
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
