#include "qtx/format/feature.h"

#include <algorithm>
#include <array>
#include <string>

namespace qtx::format {
namespace {

constexpr std::array kFeatures = {
    FeatureRow{Feature::kHierarchicalScales, "hierarchical-scales", 1, true, 2},
    FeatureRow{Feature::kMustUnderstand, "must-understand", 2, false, 2},
    FeatureRow{Feature::kOffsetBeforeRounding, "offset-before-rounding", 3, false, 1},
    FeatureRow{Feature::kSignedScales, "signed-scales", 7, true, 3},
    FeatureRow{Feature::kCodeBooks, "code-books", 8, true, 3},
    FeatureRow{Feature::kEncodings, "encodings", 9, true, 3},
};

}  // namespace

std::span<const FeatureRow> AllFeatures() { return kFeatures; }

Result<const FeatureRow*> FindFeature(std::string_view name) {
  std::string names;
  for (const FeatureRow& row : kFeatures) {
    if (row.name == name) return &row;
    names += (names.empty() ? "" : ", ") + std::string(row.name);
  }
  return Error{ErrorCode::kInvalid, "feature",
               "found '" + std::string(name) + "', expected one of " + names};
}

Features Features::Current() {
  Features current(0);
  for (const FeatureRow& row : kFeatures) {
    if (row.promoted) current = current.With(row.feature);
  }
  return current;
}

std::int64_t Features::LatestVersion() const {
  std::int64_t latest = 1;
  for (const FeatureRow& row : kFeatures) {
    if (Has(row.feature)) latest = std::max(latest, row.version);
  }
  return latest;
}

}  // namespace qtx::format
