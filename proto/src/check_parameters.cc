// Rules that tie a type to what it is used for: initializers and requantization.
#include <algorithm>
#include <cmath>

#include "check_rules.h"
#include "qtx/format/accumulator.h"
#include "qtx/format/attributes.h"
#include "qtx/format/encoding.h"
#include "qtx/format/levels.h"

namespace qtx::format {
namespace {

constexpr std::int32_t kMinMultiplier = 1 << 30;  // normalised: at least one half in Q0.31
constexpr std::int32_t kMaxShift = 62;
// A binary32 ratio and its Q0.31 multiplier may differ by the rounding of the product of two
// scales.
constexpr double kMultiplierTolerance = 0x1p-23;

std::optional<Quantization> QuantizationOf(const ModelView& view, const std::string& name) {
  const ValueInfo* value = view.FindValue(name);
  if (value == nullptr || !value->type || !IsQuantized(value->type->elem_type) ||
      !value->type->quantization) {
    return std::nullopt;
  }
  auto resolved = Resolve(view, *value->type, name);
  if (!resolved.has_value() || resolved->scale.empty()) return std::nullopt;
  return *std::move(resolved);
}

// requantization.C3: multiplier * 2^-31 * 2^-shift is alpha * x_scale * w_scale / y_scale.
void CheckAgainstScales(const ModelView& view, const Node& node, const Quantization& y,
                        const std::string& place, Findings& findings) {
  const auto x = QuantizationOf(view, node.inputs[0]);
  const auto w = QuantizationOf(view, node.inputs[1]);
  if (w && !HasIntegerForm(*w)) {
    findings.Add("requantization.C3", place + ": quantization.requantization",
                 FoundExpected("one",
                               "none: the weights have a base, a code book or a scale of 0 or "
                               "below, the node no accumulator"));
    return;
  }
  if (!x || !w || x->scale.size() != 1 || y.scale.size() != 1) return;
  const Requantization& r = *y.requantization;
  if (r.multiplier.size() != 1 && r.multiplier.size() != w->scale.size()) {
    findings.Add("requantization.C1", place + ": quantization.requantization",
                 FoundExpected(std::to_string(r.multiplier.size()) + " values",
                               "1 or " + std::to_string(w->scale.size())));
    return;
  }
  const double alpha = node.op_type == "Gemm" ? Attributes(node).Float("alpha") : 1;
  for (std::size_t c = 0; c < w->scale.size(); ++c) {
    const std::size_t i = r.multiplier.size() == 1 ? 0 : c;
    const double ratio = alpha * static_cast<double>(x->scale[0]) * w->scale[c] / y.scale[0];
    const double fixed = std::ldexp(static_cast<double>(r.multiplier[i]), -31 - r.shift[i]);
    if (std::fabs(fixed - ratio) <= kMultiplierTolerance * std::fabs(ratio)) continue;
    findings.Add("requantization.C3",
                 place + ": quantization.requantization.multiplier[" + std::to_string(i) + "]",
                 FoundExpected(HexFloat(fixed), HexFloat(ratio) + " from the scales"));
    return;
  }
}

struct StoredElement {
  std::ptrdiff_t element = 0;
  std::int64_t value = 0;
};

// The first stored integer outside `range`. Those of 8 bits, which most weights have, are read in
// place.
std::optional<StoredElement> FindOutside(const Tensor& tensor, IntegerRange range) {
  const auto find = [range](const auto& values) -> std::optional<StoredElement> {
    const auto found = std::ranges::find_if(
        values, [range](std::int64_t value) { return value < range.min || value > range.max; });
    if (found == values.end()) return std::nullopt;
    return StoredElement{found - values.begin(), *found};
  };
  if (tensor.elem_type == ElementType::kInt8Q) return find(tensor.As<std::int8_t>());
  if (tensor.elem_type == ElementType::kUint8Q) return find(tensor.As<std::uint8_t>());
  return find(UnpackInt32(tensor));
}

// Whether the bits of the codes make no integer outside `range`. Those of floats have none.
bool HoldsOnly(const RecordLayout& layout, IntegerRange range) {
  const FieldLayout& codes = *layout.Find(EncodedRole::kCode);
  return !IsIntegerStorage(codes.type) ||
         (codes.add >= range.min && codes.add + (1 << codes.width) - 1 <= range.max);
}

// element_types.C5.
void CheckStored(const ModelView& view, const TensorData& data, const TensorType& type,
                 const std::string& place, Findings& findings) {
  if (!IsIntegerStorage(type.elem_type)) return;
  // Most types take all that their storage holds: such weights are not read.
  const IntegerRange range = StoredRange(type.elem_type, *type.quantization);
  if (range == StorageRange(type.elem_type)) return;
  const auto tensor = LoadInitializer(view, data.name);
  if (!tensor.has_value()) {
    findings.Add("element_types.C4", place, tensor.error().where + ": " + tensor.error().message);
    return;
  }
  const auto outside = FindOutside(*tensor, range);
  if (!outside) return;
  findings.Add("element_types.C5", place + " [" + std::to_string(outside->element) + "]",
               FoundExpected(std::to_string(outside->value),
                             std::to_string(range.min) + " to " + std::to_string(range.max)));
}

// What CheckType has not said of an encoded initializer. It has read the records where they have
// factors.
void CheckRecords(const ModelView& view, const TensorData& data, const TensorType& type,
                  const std::string& place, Findings& findings) {
  const auto layout = RecordLayout::Make(type);
  if (!layout.has_value()) return;
  auto there = layout->CheckCarrier(data);
  if (there.has_value()) there = CheckCarrier(data, view.model().folder);
  if (!there.has_value()) {
    const bool said = type.quantization->encoding->fields.size() > 1;
    if (!said) {
      findings.Add("encoding.C2", place, there.error().where + ": " + there.error().message);
    }
    return;
  }
  if (!HoldsOnly(*layout, StoredRange(type.elem_type, *type.quantization)))
    CheckStored(view, data, type, place, findings);
}

}  // namespace

void CheckRequantization(const ModelView& view, const Node& node, const TensorType& type,
                         const std::string& place, Findings& findings) {
  if (!type.quantization || !type.quantization->requantization) return;
  const Requantization& r = *type.quantization->requantization;
  const std::string field = place + ": quantization.requantization";
  if (r.multiplier.empty() || r.multiplier.size() != r.shift.size()) {
    findings.Add("requantization.C1", field,
                 FoundExpected(std::to_string(r.multiplier.size()) + " multipliers and " +
                                   std::to_string(r.shift.size()) + " shifts",
                               "as many of one as of the other"));
    return;
  }
  for (std::size_t i = 0; i < r.multiplier.size(); ++i) {
    if (r.multiplier[i] >= kMinMultiplier && r.shift[i] >= -kMaxShift && r.shift[i] <= kMaxShift)
      continue;
    findings.Add("requantization.C2", field + "[" + std::to_string(i) + "]",
                 FoundExpected("multiplier " + std::to_string(r.multiplier[i]) + ", shift " +
                                   std::to_string(r.shift[i]),
                               "a multiplier of at least 2^30 and a shift of -62 to 62"));
    return;
  }
  auto resolved = Resolve(view, type);
  if (resolved.has_value() && HasAccumulator(node) && IsQuantized(type.elem_type)) {
    CheckAgainstScales(view, node, *resolved, place, findings);
  }
}

void CheckInitializerType(const ModelView& view, const TensorData& data, const TensorType& type,
                          const std::string& place, Findings& findings) {
  if (!IsQuantized(type.elem_type)) return;
  if (!type.shape || !FixedDims(*type.shape)) {
    findings.Add("shape.C4", place + ": shape", "expected fixed dimensions for an initializer");
    return;
  }
  if (IsEncoded(type)) return CheckRecords(view, data, type, place, findings);
  // What is wrong with levels and code books, CheckType has said.
  const bool derived =
      type.quantization && (HasLevels(*type.quantization) || HasCodeBook(*type.quantization));
  if (derived && !Resolve(view, type).has_value()) return;
  if (auto there = CheckInitializer(view, data.name); !there.has_value()) {
    const std::string& clause = there.error().clause;
    findings.Add(clause.empty() ? "element_types.C4" : clause, place,
                 there.error().where + ": " + there.error().message);
    return;
  }
  CheckStored(view, data, type, place, findings);
}

}  // namespace qtx::format
