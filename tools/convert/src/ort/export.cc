#include <algorithm>
#include <cmath>
#include <limits>

#include "annotate.h"
#include "errors.h"
#include "ort/entries.h"
#include "ort/ort.h"

namespace qtx::convert {
namespace {

using format::Statistics;
using ort::Entry;

// Why `s` is no TensorData; empty when it is.
std::string Obstacle(const Statistics& s) {
  if (s.min.empty() || s.min.size() != s.max.size()) return "no min and max";
  if (!s.axis.empty() && s.axis != std::vector<std::int64_t>{1}) return "along another axis than 1";
  for (const auto* values : {&s.min, &s.max}) {
    for (const double value : *values) {
      if (static_cast<double>(static_cast<float>(value)) != value)
        return "min or max is not a binary32";
    }
  }
  const auto beyond = [](double value) {
    return std::abs(value) > static_cast<double>(std::numeric_limits<float>::max());
  };
  if (std::ranges::any_of(s.mean, beyond) || std::ranges::any_of(s.std, beyond) ||
      (s.histogram && (beyond(s.histogram->lower) || beyond(s.histogram->upper))))
    return "a value beyond binary32";
  return "";
}

// What TensorData has no field for.
Result<void> LoseTheRest(const std::string& value, const Statistics& s, Ledger& ledger) {
  const auto lose = [&](bool there, const char* field) -> Result<void> {
    if (!there) return {};
    return ledger.Lose("statistics", value, field, "TensorData has no field for it");
  };
  QTX_RETURN_IF_ERROR(lose(s.count != 0 && !s.histogram, "count"));
  QTX_RETURN_IF_ERROR(lose(s.nan_count != 0 || s.infinity_count != 0, "nan and infinity counts"));
  QTX_RETURN_IF_ERROR(lose(!s.moments.empty(), "moments"));
  QTX_RETURN_IF_ERROR(lose(s.mean.size() > 1 || s.std.size() > 1, "mean and std per channel"));
  return lose(s.histogram && (s.histogram->below != 0 || s.histogram->above != 0),
              "histogram.below and above");
}

void AddMoments(const std::string& value, const Statistics& s, Entry& entry, Ledger& ledger) {
  const auto rounded = [](double real) {
    return static_cast<double>(static_cast<float>(real)) != real;
  };
  if (s.mean.size() == 1) entry.mean = s.mean[0];
  if (s.std.size() == 1) entry.std = s.std[0];
  if ((entry.mean && rounded(*entry.mean)) || (entry.std && rounded(*entry.std)))
    ledger.Changed(value, "mean and std", "rounded to binary32");
}

void AddHistogram(const std::string& value, const format::Histogram& histogram, Entry& entry,
                  Ledger& ledger) {
  entry.counts = histogram.counts;
  const auto bins = static_cast<double>(histogram.counts.size());
  const double width = (histogram.upper - histogram.lower) / bins;
  bool rounded = false;
  for (double i = 0; i <= bins; ++i) {
    const double edge = i == bins ? histogram.upper : histogram.lower + width * i;
    rounded |= static_cast<double>(static_cast<float>(edge)) != edge;
    entry.edges.push_back(edge);
  }
  if (rounded) ledger.Changed(value, "histogram", "edges rounded to binary32");
}

Result<std::optional<Entry>> EntryOf(const format::ValueInfo& info, Ledger& ledger) {
  const Statistics& s = *info.type->statistics;
  if (std::string why = Obstacle(s); !why.empty()) {
    QTX_RETURN_IF_ERROR(ledger.Lose("statistics", info.name, "statistics", std::move(why)));
    return std::optional<Entry>();
  }
  QTX_RETURN_IF_ERROR(LoseTheRest(info.name, s, ledger));
  Entry entry;
  entry.name = info.name;
  entry.lowest = s.min;
  entry.highest = s.max;
  AddMoments(info.name, s, entry, ledger);
  if (s.histogram) AddHistogram(info.name, *s.histogram, entry, ledger);
  ledger.Kept(info.name, "statistics");
  return std::optional(std::move(entry));
}

}  // namespace

Result<Export> WriteOrtCalibration(const format::Model& model, const Options& options) {
  Ledger ledger(options);
  ort::Calibration calibration;
  for (const format::ValueInfo* info : Described(model)) {
    if (info->type->quantization) {
      QTX_RETURN_IF_ERROR(ledger.Lose("parameters", info->name, "quantization",
                                      "calibration data has statistics only"));
    }
    if (!info->type->statistics) continue;
    QTX_ASSIGN_OR_RETURN(auto entry, EntryOf(*info, ledger));
    if (entry) calibration.entries.push_back(*std::move(entry));
  }
  if (calibration.entries.empty()) return Unsupported("model", "no value has a min and a max");
  Export result;
  result.content = ort::CalibrationText(calibration);
  result.ledger = ledger.Take();
  return result;
}

}  // namespace qtx::convert
