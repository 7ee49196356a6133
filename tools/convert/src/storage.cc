// ToEightBits: converts between UINT8Q and INT8Q by a shift of 128, which changes no real.
#include <algorithm>
#include <map>

#include "encodings.h"
#include "ledger.h"
#include "qtx/convert/convert.h"
#include "qtx/format/levels.h"

namespace qtx::convert {
namespace {

using format::ElementType;
using format::Quantization;
using format::TensorType;

constexpr std::int32_t kShift = 128;

// Shifts stored values and offset, so that scale * (stored - offset) stays.
Result<TensorType> Shifted(const format::Model& model, const TensorType& type, ElementType to) {
  TensorType shifted = type;
  shifted.elem_type = to;
  QTX_ASSIGN_OR_RETURN(Quantization q, format::Resolve(model, type));
  const std::int32_t by = to == ElementType::kInt8Q ? -kShift : kShift;
  q.offset.resize(q.scale.size(), 0);
  for (std::int32_t& offset : q.offset) offset += by;
  if (std::ranges::all_of(q.offset, [](std::int32_t offset) { return offset == 0; }))
    q.offset.clear();
  if (q.quant_min) *q.quant_min += by;
  if (q.quant_max) *q.quant_max += by;
  using enum format::Scheme;
  const bool zero = q.offset.empty();
  if (q.scheme == kSymmetric && !zero) q.scheme = kAsymmetric;
  if (q.scheme == kSymmetricPow2 && !zero) q.scheme = kAsymmetricPow2;
  // Its canonical form is unsigned with offset 0, or INT8 with -128.
  if (q.scheme == kSymmetricUint8 && !zero && to == ElementType::kUint8Q) q.scheme = kAsymmetric;
  shifted.quantization = std::move(q);
  return shifted;
}

Result<format::TensorData> ShiftedData(const format::Model& model, const format::TensorData& data,
                                       ElementType to) {
  QTX_ASSIGN_OR_RETURN(format::Tensor tensor, format::Decode(data, model.folder));
  for (std::byte& byte : tensor.bytes) byte ^= std::byte{0x80};
  tensor.elem_type = format::StorageOf(to);
  return format::ToTensorData(data.name, tensor);
}

}  // namespace

Result<Conversion> ToEightBits(const format::Model& model, ElementType to, const Options& options) {
  if (format::HasEncoding(model)) {
    Ledger decoding(options);
    QTX_ASSIGN_OR_RETURN(const format::Model decoded, Decoded(model, decoding, options.data));
    auto shifted = ToEightBits(decoded, to, options);
    if (!shifted.has_value()) return shifted;
    std::vector<LedgerEntry> entries = decoding.Take();
    std::ranges::move(shifted->ledger, std::back_inserter(entries));
    shifted->ledger = std::move(entries);
    return shifted;
  }
  const ElementType from = to == ElementType::kInt8Q ? ElementType::kUint8Q : ElementType::kInt8Q;
  Ledger ledger(options);
  Conversion conversion{model, {}};
  format::Graph& graph = conversion.model.graph;
  std::map<std::string, const TensorType*> shifted;
  for (auto* list : {&graph.inputs, &graph.outputs, &graph.values}) {
    for (format::ValueInfo& info : *list) {
      if (!info.type || info.type->elem_type != from || !info.type->quantization) continue;
      if (format::HasCodeBook(*info.type->quantization)) continue;  // codes are no integers
      auto type = Shifted(model, *info.type, to);
      if (!type.has_value()) return At("value '" + info.name + "'", type.error());
      info.type = *std::move(type);
      shifted.emplace(info.name, &*info.type);
      ledger.Changed(info.name, "elem_type",
                     std::string(format::Name(to)) + ", stored and offset shifted by 128");
    }
  }
  for (format::TensorData& data : graph.initializers) {
    if (!shifted.contains(data.name)) continue;
    auto tensor = ShiftedData(model, data, to);
    if (!tensor.has_value()) return At("initializer '" + data.name + "'", tensor.error());
    data = *std::move(tensor);
  }
  for (format::Node& node : graph.nodes) {
    if (node.op_type != "Cast" || node.outputs.size() != 1 || !shifted.contains(node.outputs[0]))
      continue;
    for (format::Attribute& attribute : node.attributes) {
      if (attribute.name == "to") attribute.i = static_cast<std::int64_t>(to);
    }
  }
  conversion.ledger = ledger.Take();
  return conversion;
}

}  // namespace qtx::convert
