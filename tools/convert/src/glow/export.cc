#include <algorithm>
#include <cmath>
#include <map>

#include "annotate.h"
#include "glow/glow.h"
#include "glow/names.h"
#include "glow/profile.h"

namespace qtx::convert {
namespace {

using format::Statistics;
using glow::Entry;

// Glow's name of each value.
Result<std::map<std::string, std::string>> GlowNames(const format::Graph& graph) {
  std::map<std::string, std::string> names;
  for (const auto& [glow, values] : glow::NamesOf(graph)) {
    if (values.size() > 1) {
      return Error{ErrorCode::kUnsupported, "values '" + values[0] + "' and '" + values[1] + "'",
                   "Glow gives both the same name: " + glow};
    }
    names.emplace(values[0], glow);
  }
  return names;
}

bool IsFloat(double value) {
  return std::isfinite(value) && static_cast<double>(static_cast<float>(value)) == value;
}

// The reason why `s` cannot be Min, Max and Histogram; empty if it can.
std::string Obstacle(const Statistics& s) {
  if (!s.axis.empty() || s.min.size() != 1 || s.max.size() != 1)
    return "not one min and max for the tensor";
  if (!IsFloat(s.min[0]) || !IsFloat(s.max[0])) return "min or max is not a binary32";
  return "";
}

// Glow's bins lie between min and max, and its counts are binary32: counts go to the bin that holds
// the middle of theirs, and are rounded.
Result<std::vector<float>> Counts(const std::string& value, const Statistics& s, Ledger& ledger) {
  const format::Histogram& histogram = *s.histogram;
  const std::size_t bins = histogram.counts.size();
  std::vector<std::uint64_t> counts = histogram.counts;
  if (histogram.lower != s.min[0] || histogram.upper != s.max[0]) {
    QTX_RETURN_IF_ERROR(ledger.Lose("statistics", value, "histogram",
                                    "its bounds are not min and max, which Glow requires"));
    counts.assign(bins, 0);
    const double width = (histogram.upper - histogram.lower) / static_cast<double>(bins);
    const double bins_per_unit = static_cast<double>(bins) / (s.max[0] - s.min[0]);
    for (std::size_t i = 0; i < bins; ++i) {
      const double middle = histogram.lower + width * (static_cast<double>(i) + 0.5);
      const double bin =
          std::clamp((middle - s.min[0]) * bins_per_unit, 0.0, static_cast<double>(bins - 1));
      counts[static_cast<std::size_t>(bin)] += histogram.counts[i];
    }
  }
  const auto exact = [](std::uint64_t count) {
    return count <= std::uint64_t{1} << 53 && IsFloat(static_cast<double>(count));
  };
  if (!std::ranges::all_of(counts, exact)) {
    QTX_RETURN_IF_ERROR(ledger.Lose("statistics", value, "histogram",
                                    "a count is not a binary32 and would be rounded"));
  }
  return std::vector<float>(counts.begin(), counts.end());
}

// Records losses of what Glow's profile has no field for.
Result<void> LoseTheRest(const std::string& value, const Statistics& s, Ledger& ledger) {
  const auto lose = [&](bool there, const char* field) -> Result<void> {
    if (!there) return {};
    return ledger.Lose("statistics", value, field, "Glow's profile has no field for it");
  };
  QTX_RETURN_IF_ERROR(lose(!s.mean.empty(), "mean"));
  QTX_RETURN_IF_ERROR(lose(!s.std.empty(), "std"));
  QTX_RETURN_IF_ERROR(lose(!s.moments.empty(), "moments"));
  QTX_RETURN_IF_ERROR(lose(s.nan_count != 0, "nan_count"));
  QTX_RETURN_IF_ERROR(lose(s.infinity_count != 0, "infinity_count"));
  QTX_RETURN_IF_ERROR(lose(!s.source.empty() && s.source != kGlowSource, "source"));
  const bool outside = s.histogram && (s.histogram->below != 0 || s.histogram->above != 0);
  QTX_RETURN_IF_ERROR(lose(outside, "histogram.below and above"));
  const bool constant = s.min == s.max && IsFloat(static_cast<double>(s.count));
  return lose(s.count != 0 && !s.histogram && !constant, "count");
}

Result<std::optional<Entry>> Profiled(const format::ValueInfo& info, Ledger& ledger) {
  const Statistics& s = *info.type->statistics;
  if (std::string why = Obstacle(s); !why.empty()) {
    QTX_RETURN_IF_ERROR(ledger.Lose("statistics", info.name, "statistics", std::move(why)));
    return std::optional<Entry>();
  }
  QTX_RETURN_IF_ERROR(LoseTheRest(info.name, s, ledger));
  Entry entry;
  entry.min = static_cast<float>(s.min[0]);
  entry.max = static_cast<float>(s.max[0]);
  if (s.histogram && s.min[0] < s.max[0]) {
    QTX_ASSIGN_OR_RETURN(entry.histogram, Counts(info.name, s, ledger));
  } else if (s.count != 0 && s.min == s.max) {
    entry.histogram = {static_cast<float>(s.count)};
  }
  ledger.Kept(info.name, "statistics");
  return std::optional(std::move(entry));
}

Result<std::optional<Entry>> Quantized(const format::Model& model, const format::ValueInfo& info,
                                       Ledger& ledger) {
  QTX_ASSIGN_OR_RETURN(const auto q, AsInt8(model, info, ledger));
  if (!q) return std::optional<Entry>();
  if (q->scheme != format::Scheme::kUnspecified || q->requantization) {
    QTX_RETURN_IF_ERROR(ledger.Lose("scheme", info.name, "scheme and requantization",
                                    "Glow has the scheme on its command line"));
  }
  Entry entry;
  entry.scale = q->scale[0];
  entry.offset = format::OffsetAt(*q, 0);
  ledger.Kept(info.name, "scale");
  ledger.Kept(info.name, "offset");
  return std::optional(std::move(entry));
}

// A file has either parameters or statistics; if values have both, the user must choose.
Result<bool> WantsParameters(const std::vector<const format::ValueInfo*>& values,
                             const Options& options) {
  const auto allowed = [&options](std::string_view loss) {
    return std::ranges::find(options.allow, loss) != options.allow.end();
  };
  const format::ValueInfo *quantized = nullptr, *measured = nullptr;
  for (const format::ValueInfo* info : values) {
    if (info->type->quantization) quantized = info;
    if (info->type->statistics) measured = info;
  }
  if (quantized == nullptr || measured == nullptr) return quantized != nullptr;
  if (allowed("statistics")) return true;
  if (allowed("parameters")) return false;
  return Error{ErrorCode::kUnsupported,
               "values '" + quantized->name + "' and '" + measured->name + "'",
               "a profile has scales or statistics, not both; --allow statistics writes scales, "
               "--allow parameters statistics"};
}

Result<std::optional<Entry>> EntryOf(const format::Model& model, const format::ValueInfo& info,
                                     bool parameters, Ledger& ledger) {
  const char* why = "not written to this profile";
  if (parameters && info.type->statistics) {
    QTX_RETURN_IF_ERROR(ledger.Lose("statistics", info.name, "statistics", why));
  }
  if (!parameters && info.type->quantization) {
    QTX_RETURN_IF_ERROR(ledger.Lose("parameters", info.name, "quantization", why));
  }
  if (parameters && info.type->quantization) return Quantized(model, info, ledger);
  if (!parameters && info.type->statistics) return Profiled(info, ledger);
  return std::optional<Entry>();
}

void AddHeaders(const format::Model& model, glow::Profile& profile, Ledger& ledger) {
  for (const auto& [key, value] : model.metadata) {
    if (key == kGlowVersionKey && std::ranges::none_of(value, IsControl))
      profile.tools_version = value;
    if (key == kGlowHashKey && glow::IsHash(value)) profile.graph_hash = value;
  }
  if (profile.graph_hash) return;
  profile.graph_hash = "0x0000000000000000";
  ledger.Changed("model", "GraphPreLowerHash",
                 "unknown, written as 0: Glow's comparison of it fails");
}

}  // namespace

Result<Export> WriteGlow(const format::Model& model, const Options& options) {
  Ledger ledger(options);
  QTX_ASSIGN_OR_RETURN(const auto names, GlowNames(model.graph));
  const auto values = Described(model);
  QTX_ASSIGN_OR_RETURN(const bool parameters, WantsParameters(values, options));
  glow::Profile profile;
  for (const format::ValueInfo* info : values) {
    QTX_ASSIGN_OR_RETURN(auto entry, EntryOf(model, *info, parameters, ledger));
    if (!entry) continue;
    const auto name = names.find(info->name);
    if (name == names.end()) {
      QTX_RETURN_IF_ERROR(ledger.Lose("unmatched", info->name, "value", "no node produces it"));
      continue;
    }
    entry->name = name->second;
    profile.entries.push_back(*std::move(entry));
  }
  if (profile.entries.empty()) {
    return Error{ErrorCode::kUnsupported, "model", "no value has parameters or statistics"};
  }
  if (!parameters) AddHeaders(model, profile, ledger);
  Export result;
  result.content = glow::ProfileText(profile);
  result.ledger = ledger.Take();
  return result;
}

}  // namespace qtx::convert
