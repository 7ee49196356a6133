#include <set>

#include "coverage.h"
#include "qtx/calibrate/calibrate.h"
#include "qtx/format/check.h"
#include "records.h"

namespace qtx::calibrate {
namespace {

std::set<std::string, std::less<>> Constants(const format::Model& model) {
  std::set<std::string, std::less<>> names;
  for (const auto& initializer : model.graph.initializers) names.insert(initializer.name);
  return names;
}

// Statistics that break a rule are not to be added to.
Result<void> CheckStatistics(const format::Model& model) {
  for (const format::Finding& finding : format::Check(model, "")) {
    if (finding.rule.starts_with("statistics.")) {
      return Error{ErrorCode::kInvalid, finding.where, finding.message, finding.rule};
    }
  }
  return {};
}

Result<void> JoinInto(Records& all, Records& constants, const format::Model& model,
                      std::int64_t bins) {
  const auto names = Constants(model);
  for (auto& [name, record] : RecordsOf(model)) {
    const bool constant = names.contains(name);
    Records& records = constant ? constants : all;
    const auto [at, fresh] = records.emplace(name, record);
    if (fresh) continue;
    if (constant) {
      if (at->second.statistics == record.statistics) continue;
      return Error{ErrorCode::kInvalid, "initializer '" + name + "'",
                   "has other statistics than in the first"};
    }
    at->second.statistics.source = record.statistics.source;  // is replaced at the end
    auto joined = Join(at->second, record, bins);
    if (!joined.has_value()) return At("value '" + name + "'", joined.error());
    at->second = *std::move(joined);
  }
  return {};
}

}  // namespace

Result<Merged> MergeModels(std::span<const format::Model> models) {
  if (models.empty()) return Error{ErrorCode::kInvalid, "models", "expected at least one"};
  Coverage coverage;
  Records records, constants;
  for (std::size_t i = 0; i < models.size(); ++i) {
    const std::string place = "models[" + std::to_string(i) + "]";
    auto own = CoverageOf(models[i]);
    if (own.has_value() && i > 0) own = Join(coverage, *own);
    if (!own.has_value()) return At(place, own.error());
    coverage = *std::move(own);
    if (const auto sound = CheckStatistics(models[i]); !sound.has_value()) {
      return At(place, sound.error());
    }
    if (const auto joined = JoinInto(records, constants, models[i], coverage.bins);
        !joined.has_value()) {
      return At(place, joined.error());
    }
  }
  if (coverage.Samples() == 0 && Missing(coverage).empty()) {
    return Error{ErrorCode::kInvalid, "models", "no sample is left, all were bad"};
  }
  for (auto& [name, record] : records) record.statistics.source = SourceOf(coverage.Samples());
  records.merge(constants);
  Merged merged{.model = models[0], .missing = Missing(coverage)};
  QTX_RETURN_IF_ERROR(Annotate(records, merged.model));
  SetCoverage(coverage, merged.model);
  return merged;
}

}  // namespace qtx::calibrate
