#include <set>

#include "coverage.h"
#include "observer.h"
#include "qtx/calibrate/calibrate.h"
#include "qtx/format/scopes.h"

namespace qtx::calibrate {
namespace {

std::set<std::string, std::less<>> Constants(const format::Model& model) {
  std::set<std::string, std::less<>> names;
  const format::FlatModel flat(model);
  for (const auto& initializer : flat.model().graph.initializers) names.insert(initializer.name);
  return names;
}

Result<void> JoinInto(Observations& all, Observations& constants, const format::Model& model,
                      std::int64_t bins) {
  const auto names = Constants(model);
  QTX_ASSIGN_OR_RETURN(const Observations found, ObservationsOf(model));
  for (const auto& [name, observation] : found) {
    const bool constant = names.contains(name);
    Observations& observations = constant ? constants : all;
    const auto [at, fresh] = observations.emplace(name, observation);
    if (fresh) continue;
    if (constant) {
      if (at->second.statistics == observation.statistics) continue;
      return Error{ErrorCode::kInvalid, "initializer '" + name + "'",
                   "its statistics differ from those in the first model"};
    }
    at->second.statistics.source = observation.statistics.source;  // is replaced at the end
    auto joined = Join(at->second, observation, bins);
    if (!joined.has_value()) return At("value '" + name + "'", joined.error());
    at->second = *std::move(joined);
  }
  return {};
}

}  // namespace

Result<Merged> MergeModels(std::span<const format::Model> models) {
  if (models.empty()) return Error{ErrorCode::kInvalid, "models", "expected at least one"};
  Coverage coverage;
  Observations observations, constants;
  for (std::size_t i = 0; i < models.size(); ++i) {
    const std::string place = "models[" + std::to_string(i) + "]";
    if (HasGrams(models[i]))
      return Error{ErrorCode::kInvalid, place, "found sums of --gram, expected statistics"};
    auto own = CoverageOf(models[i]);
    if (own.has_value() && i > 0) own = Join(coverage, *own);
    if (!own.has_value()) return At(place, own.error());
    coverage = *std::move(own);
    if (const auto joined = JoinInto(observations, constants, models[i], coverage.bins);
        !joined.has_value()) {
      return At(place, joined.error());
    }
  }
  if (coverage.Samples() == 0 && Missing(coverage).empty()) {
    return Error{ErrorCode::kInvalid, "models", "found no sample that could be used"};
  }
  for (auto& [name, observation] : observations)
    observation.statistics.source = SourceOf(coverage.Samples());
  observations.merge(constants);
  Merged merged{.model = models[0], .missing = Missing(coverage)};
  QTX_RETURN_IF_ERROR(Annotate(std::move(observations), merged.model));
  QTX_RETURN_IF_ERROR(SetCoverage(coverage, merged.model));
  return merged;
}

}  // namespace qtx::calibrate
