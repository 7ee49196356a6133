#include "tensorrt/cache.h"

#include <algorithm>
#include <bit>
#include <cstdint>
#include <cstdio>
#include <set>

#include "annotate.h"
#include "qtx/graph/graph_index.h"

namespace qtx::convert {
namespace {

constexpr std::string_view kHeader = "TRT-8601-EntropyCalibration2";

std::string HeaderOf(const format::Model& model, Ledger& ledger) {
  for (const auto& [key, value] : model.metadata) {
    if (key == kTensorrtHeaderKey && value.starts_with("TRT-") &&
        value.find_first_of("\r\n") == std::string::npos)
      return value;
  }
  ledger.Changed("model", "header",
                 std::string(kHeader) + "; a TensorRT of another version refuses it: set " +
                     std::string(kTensorrtHeaderKey) + " in the model's metadata");
  return std::string(kHeader);
}

// The name by which the float model that TensorRT builds knows a quantized value: that of the FLOAT
// value a Cast makes it of, or of the graph output that a Cast makes of it.
std::string NameInFloatModel(const graph::GraphIndex& index, const std::string& value) {
  const auto is_cast = [&index](std::size_t node) { return IsStock(index.node(node), "Cast"); };
  if (const auto producer = index.Producer(value); producer && is_cast(*producer)) {
    const std::string& from = index.node(*producer).inputs[0];
    if (index.IsFloatValue(from)) return from;
  }
  if (index.IsOutput(value)) return value;
  for (const graph::Use& use : index.Uses(value)) {
    const std::string& output = index.node(use.node).outputs[0];
    if (is_cast(use.node) && index.IsOutput(output) && index.IsFloatValue(output)) return output;
  }
  return value;
}

Result<std::string> LineOf(const std::string& value, const format::Quantization& q,
                           Ledger& ledger) {
  // The cache has no quotes: a name ends at ": ".
  if (value.empty() || value.find(": ") != value.npos || std::ranges::any_of(value, IsControl))
    return Error{ErrorCode::kUnsupported, "value '" + value + "'",
                 "found an empty name or one with ': ' or a control character, which the cache "
                 "cannot hold"};
  if (format::OffsetAt(q, 0) != 0) {
    QTX_RETURN_IF_ERROR(ledger.Lose("parameters", value, "quantization",
                                    "offset " + std::to_string(format::OffsetAt(q, 0)) +
                                        "; the cache has symmetric scales only"));
    return std::string();
  }
  // The cache implies SYMMETRIC; other schemes are lost.
  if ((q.scheme != format::Scheme::kUnspecified && q.scheme != format::Scheme::kSymmetric) ||
      q.requantization) {
    QTX_RETURN_IF_ERROR(
        ledger.Lose("scheme", value, "scheme and requantization", "the cache has scales only"));
  }
  char hex[16];
  std::snprintf(hex, sizeof(hex), "%08x", std::bit_cast<std::uint32_t>(q.scale[0]));
  ledger.Kept(value, "scale");
  return value + ": " + hex + "\n";
}

}  // namespace

Result<Export> WriteTensorrt(const format::Model& model, const Options& options) {
  Ledger ledger(options);
  const graph::GraphIndex index(model);
  std::set<std::string> written;
  std::string lines;
  for (const format::ValueInfo* info : Described(model)) {
    if (info->type->statistics) {
      QTX_RETURN_IF_ERROR(
          ledger.Lose("statistics", info->name, "statistics", "the cache has scales only"));
    }
    if (!info->type->quantization) continue;
    QTX_ASSIGN_OR_RETURN(const auto q, AsInt8(model, *info, ledger));
    if (!q) continue;
    const std::string name = NameInFloatModel(index, info->name);
    if (name != info->name)
      ledger.Changed(info->name, "name", "'" + name + "', as TensorRT knows it");
    if (!written.insert(name).second) continue;
    QTX_ASSIGN_OR_RETURN(const std::string line, LineOf(name, *q, ledger));
    lines += line;
  }
  if (lines.empty())
    return Error{ErrorCode::kUnsupported, "model", "no value has a symmetric INT8 scale"};
  Export result;
  result.content = HeaderOf(model, ledger) + "\n" + lines;
  result.ledger = ledger.Take();
  return result;
}

}  // namespace qtx::convert
