#include "qdq/half_reals.h"

#include <algorithm>
#include <utility>

#include "errors.h"
#include "qtx/format/attributes.h"
#include "qtx/format/inference.h"
#include "qtx/format/scopes.h"
#include "qtx/graph/graph_index.h"

namespace qtx::convert {
namespace {

using format::Dims;
using format::ElementType;
using format::Quantization;
using format::Tensor;

bool HasHalves(const format::Graph& graph) {
  const auto is_half = [](const format::ValueInfo& info) {
    return info.type && info.type->quantization && format::IsHalf(info.type->elem_type);
  };
  return std::ranges::any_of(graph.inputs, is_half) ||
         std::ranges::any_of(graph.outputs, is_half) || std::ranges::any_of(graph.values, is_half);
}

}  // namespace

ElementType TypeIn(const format::Node& node, const char* attribute) {
  const std::int64_t code = format::Attributes(node).Int(attribute);
  return format::ElementTypeFromCode(code).value_or(ElementType::kUndefined);
}

std::optional<Tensor> ToHalves(ElementType type, std::span<const float> values, Dims dims) {
  if (!format::IsHalf(type)) return std::nullopt;
  Tensor halves{type, std::move(dims), std::nullopt, {}};
  halves.bytes.resize(values.size() * sizeof(std::uint16_t));
  const auto codes = halves.As<std::uint16_t>();
  for (std::size_t i = 0; i < values.size(); ++i) {
    const auto value = static_cast<double>(values[i]);
    const std::uint32_t code = format::EncodeSmallFloat(type, value);
    if (format::DecodeSmallFloat(type, code) != value) return std::nullopt;
    codes[i] = static_cast<std::uint16_t>(code);
  }
  return halves;
}

bool DividesInHalf(std::int64_t opset, const format::Node& node, ElementType scale) {
  constexpr std::int64_t kPrecise = 23;
  const ElementType precision = TypeIn(node, "precision");
  if (precision != ElementType::kUndefined) return format::IsHalf(precision);
  return opset >= kPrecise && format::IsHalf(scale);
}

// Scales of 16 bits came with 19, other ones than the reals with 23.
std::int64_t OpsetForReals(const Quantization& q) {
  if (!format::IsHalf(q.real_type)) return 13;
  return ToHalves(q.real_type, q.scale, {}).has_value() ? 19 : 23;
}

Result<void> CheckHalves(const format::Model& lowered) {
  const format::FlatModel flat(lowered);
  if (!HasHalves(flat.model().graph)) return {};
  const format::Inference inference(flat);
  if (inference.broken().empty()) return {};
  const auto& [node, error] = inference.broken().front();
  Error refused = At(graph::PlaceOf(flat.model().graph.nodes[node]), error);
  refused.code = ErrorCode::kUnsupported;
  refused.message += " (opset " + std::to_string(lowered.OpsetVersion("")) + ")";
  return flat.Readable(std::move(refused));
}

}  // namespace qtx::convert
