#include <algorithm>
#include <map>
#include <numeric>

#include "annotate.h"
#include "glow/glow.h"
#include "glow/names.h"
#include "glow/profile.h"

namespace qtx::convert {
namespace {

using glow::Entry;
using Names = std::map<std::string, std::vector<std::string>>;

// Bins are [min, max) in equal parts, the last one closed: glow lib/Quantization/Base/Profile.cpp,
// getBin. If min equals max, all values are in one bin, which only gives the count.
format::Statistics StatisticsOf(const Entry& entry) {
  format::Statistics statistics;
  statistics.min = {static_cast<double>(*entry.min)};
  statistics.max = {static_cast<double>(*entry.max)};
  statistics.source = kGlowSource;
  std::vector<std::uint64_t> counts;
  for (const float count : entry.histogram) counts.push_back(static_cast<std::uint64_t>(count));
  statistics.count = std::accumulate(counts.begin(), counts.end(), std::uint64_t{0});
  if (!counts.empty() && *entry.min < *entry.max) {
    statistics.histogram.emplace();
    statistics.histogram->lower = statistics.min[0];
    statistics.histogram->upper = statistics.max[0];
    statistics.histogram->counts = std::move(counts);
  }
  return statistics;
}

// nullptr: unknown name, which the user allowed.
Result<const std::string*> ValueOf(const Names& names, const Entry& entry, Ledger& ledger) {
  // A name without a number is that of result 0.
  auto found = names.find(entry.name);
  if (found == names.end()) found = names.find(entry.name + ":0");
  if (found == names.end()) {
    QTX_RETURN_IF_ERROR(ledger.Lose("unmatched", entry.name, "line " + std::to_string(entry.line),
                                    "is not a value of the model"));
    return nullptr;
  }
  if (found->second.size() == 1) return &found->second[0];
  return Error{ErrorCode::kInvalid, "line " + std::to_string(entry.line),
               "'" + entry.name + "' is Glow's name of '" + found->second[0] + "' and of '" +
                   found->second[1] + "'"};
}

Result<void> Annotate(const Entry& entry, const std::string& value, format::Model& model,
                      Ledger& ledger) {
  QTX_ASSIGN_OR_RETURN(format::TensorType * type, DeclareFloat(model, value));
  const bool quantized = entry.scale.has_value();
  if (quantized ? type->quantization.has_value() : type->statistics.has_value()) {
    return Error{ErrorCode::kInvalid, "line " + std::to_string(entry.line),
                 "value '" + value + "' is described already"};
  }
  if (!quantized) {
    type->statistics = StatisticsOf(entry);
    ledger.Kept(value, "statistics");
    return {};
  }
  type->quantization.emplace();
  type->quantization->scale = {*entry.scale};
  if (*entry.offset != 0) type->quantization->offset = {*entry.offset};
  type->quantization->storage_type = format::ElementType::kInt8;
  ledger.Kept(value, "scale");
  ledger.Kept(value, "offset");
  return {};
}

}  // namespace

bool LooksLikeGlowProfile(const Source& source) {
  if (source.onnx) return false;
  const std::string_view head = source.bytes().substr(0, 4096);
  return head.find("NodeOutputName:") != head.npos || head.find("nodeOutputName:") != head.npos;
}

Result<Conversion> ReadGlow(const Source& source, const Options& options) {
  QTX_ASSIGN_OR_RETURN(const glow::Profile profile, glow::ParseProfile(source.bytes()));
  return OntoModelBeside(
      source, options, [&profile](format::Model& model, Ledger& ledger) -> Result<void> {
        const Names names = glow::NamesOf(model.graph);
        for (const Entry& entry : profile.entries) {
          QTX_ASSIGN_OR_RETURN(const std::string* value, ValueOf(names, entry, ledger));
          if (value != nullptr) QTX_RETURN_IF_ERROR(Annotate(entry, *value, model, ledger));
        }
        auto& metadata = model.metadata;
        if (profile.tools_version) metadata.emplace_back(kGlowVersionKey, *profile.tools_version);
        if (profile.graph_hash) metadata.emplace_back(kGlowHashKey, *profile.graph_hash);
        return {};
      });
}

}  // namespace qtx::convert
