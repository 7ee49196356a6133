#include "fault.h"

#include <array>
#include <cmath>
#include <cstdint>
#include <utility>

#include "qtx/reference/interpreter.h"

namespace qtx::conformance {
namespace {

using format::ElementType;
using format::Tensor;

double HalfEven(double x) { return std::nearbyint(x); }

constexpr std::array<StoreFault, 8> kStoreFaults = {{
    {"half_away", [](double lsb, double offset) { return std::round(lsb) + offset; }},
    {"half_up", [](double lsb, double offset) { return std::floor(lsb + 0.5) + offset; }},
    {"toward_zero", [](double lsb, double offset) { return std::trunc(lsb) + offset; }},
    {"toward_minus_infinity", [](double lsb, double offset) { return std::floor(lsb) + offset; }},
    {"offset_before_rounding", [](double lsb, double offset) { return HalfEven(lsb + offset); }},
    {"output_offset_ignored", [](double lsb, double) { return HalfEven(lsb); }},
    {"wrap_instead_of_clamp", [](double lsb, double offset) { return HalfEven(lsb) + offset; },
     true, false},
    {"quant_range_ignored", [](double lsb, double offset) { return HalfEven(lsb) + offset; }, false,
     true},
}};

// Applies `edit` to the type of each quantized value that the operator reads, and to its data,
// which carries a copy of the parameters. True when something changed.
template <typename Edit>
bool EditInputs(Case& c, std::size_t from, Edit edit) {
  bool changed = false;
  for (std::size_t i = from; i < c.inputs.size(); ++i) {
    CaseValue& value = c.inputs[i];
    if (value.absent || !value.type.quantization) continue;
    changed = edit(value) || changed;
    if (value.data) value.data->quantization = value.type.quantization;
  }
  return changed;
}

bool ClearOffset(CaseValue& value) {
  auto& offset = value.type.quantization->offset;
  const bool any = !offset.empty();
  offset.clear();
  return any;
}

bool UseFirstScale(CaseValue& value) {
  format::Quantization& q = *value.type.quantization;
  if (q.scale.size() < 2) return false;
  q.scale.assign(q.scale.size(), q.scale[0]);
  return true;
}

// Parameters of one axis put on another of the same size.
bool UseWrongAxis(CaseValue& value) {
  format::Quantization& q = *value.type.quantization;
  if (q.axis.size() != 1 || !value.type.shape) return false;
  const auto dims = format::FixedDims(*value.type.shape);
  if (!dims) return false;
  const auto axis = static_cast<std::size_t>(q.axis[0]);
  for (std::size_t other = 0; other < dims->size() && axis < dims->size(); ++other) {
    if (other == axis || (*dims)[other] != (*dims)[axis]) continue;
    q.axis[0] = static_cast<std::int64_t>(other);
    return true;
  }
  return false;
}

bool FlipSign(CaseValue& value) {
  if (!value.data) return false;
  switch (value.type.elem_type) {
    case ElementType::kInt8Q:
      value.type.elem_type = ElementType::kUint8Q;
      break;
    case ElementType::kUint8Q:
      value.type.elem_type = ElementType::kInt8Q;
      break;
    default:
      return false;
  }
  value.data->elem_type = value.type.elem_type;
  return true;
}

bool DropThirdInput(Case& c) {
  if (c.inputs.size() != 3) return false;
  c.inputs.pop_back();
  return true;
}

constexpr std::array<InputFault, 7> kInputFaults = {{
    {"input_offsets_ignored", [](Case& c) { return EditInputs(c, 0, ClearOffset); }},
    {"second_input_offset_ignored", [](Case& c) { return EditInputs(c, 1, ClearOffset); }},
    {"first_scale_for_all_channels", [](Case& c) { return EditInputs(c, 0, UseFirstScale); }},
    {"scale_on_the_wrong_axis", [](Case& c) { return EditInputs(c, 0, UseWrongAxis); }},
    {"input_signedness_swapped", [](Case& c) { return EditInputs(c, 0, FlipSign); }},
    {"second_input_signedness_swapped", [](Case& c) { return EditInputs(c, 1, FlipSign); }},
    {"bias_ignored", DropThirdInput},
}};

// `value` modulo 2^bits into the storage's range; fmod is exact.
std::int64_t Wrap(double value, const format::IntegerRange& range) {
  const auto low = static_cast<double>(range.min);
  const double span = static_cast<double>(range.max) - low + 1.0;
  const double rest = std::fmod(value - low, span);
  return static_cast<std::int64_t>((rest < 0 ? rest + span : rest) + low);
}

std::int64_t ClampTo(double value, const format::IntegerRange& range) {
  if (value <= static_cast<double>(range.min)) return range.min;
  if (value >= static_cast<double>(range.max)) return range.max;
  return static_cast<std::int64_t>(value);
}

}  // namespace

std::span<const InputFault> InputFaults() { return kInputFaults; }
std::span<const StoreFault> StoreFaults() { return kStoreFaults; }

Result<Outputs> RunReference(const Case& c, const std::string& arithmetic) {
  QTX_ASSIGN_OR_RETURN(format::Model model, BuildModel(c));
  QTX_ASSIGN_OR_RETURN(const std::vector<Tensor> inputs, BuildInputs(c, model));
  QTX_ASSIGN_OR_RETURN(auto interpreter,
                       reference::Interpreter::Prepare(std::move(model), arithmetic));
  return interpreter.Run(inputs);
}

Result<Outputs> RealOutputs(const Case& c) {
  if (!c.op) return Error{ErrorCode::kUnsupported, c.where, "is no operator case"};
  Case real = c;
  for (CaseValue& output : real.outputs) {
    const ElementType type = output.type.elem_type;
    if (!format::IsQuantized(type) || !format::IsIntegerStorage(type)) {
      return Error{ErrorCode::kUnsupported, c.where, "has an output that is not quantized"};
    }
    if (!output.type.shape && output.data) output.type.shape = format::ToShape(output.data->dims);
    output.type.elem_type = ElementType::kFloat;
    output.type.quantization.reset();
    output.data.reset();
  }
  return RunReference(real, "exact");
}

Tensor StoreWith(const StoreFault& fault, const Tensor& reals, const format::TensorType& type) {
  const format::Quantization& q = *type.quantization;
  const format::ParameterMap map(q, reals.dims);
  const format::IntegerRange storage = format::StorageRange(type.elem_type);
  const format::IntegerRange range =
      fault.ignores_range ? storage : format::StoredRange(type.elem_type, q);
  const std::span<const float> values = reals.As<float>();
  std::vector<std::int64_t> stored(values.size());
  for (std::size_t i = 0; i < values.size(); ++i) {
    const std::int64_t parameter = map(static_cast<std::int64_t>(i));
    const double lsb =
        static_cast<double>(values[i]) / static_cast<double>(format::ScaleAt(q, parameter));
    const auto offset = static_cast<double>(format::OffsetAt(q, parameter));
    const double mapped = std::isnan(lsb) ? offset : fault.store(lsb, offset);
    const bool wraps = fault.wraps && std::isfinite(mapped);
    stored[i] = wraps ? Wrap(mapped, storage) : ClampTo(mapped, range);
  }
  Tensor tensor;
  tensor.elem_type = type.elem_type;
  tensor.dims = reals.dims;
  tensor.quantization = q;
  const auto bits = static_cast<std::size_t>(format::BitWidth(type.elem_type));
  tensor.bytes.resize((stored.size() * bits + 7) / 8);
  format::PackIntegers(stored, tensor);
  return tensor;
}

}  // namespace qtx::conformance
