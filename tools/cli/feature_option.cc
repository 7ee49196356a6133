#include "feature_option.h"

namespace qtx::cli {

std::vector<std::string> FeatureNames() {
  std::vector<std::string> names;
  for (const format::FeatureRow& row : format::AllFeatures()) names.emplace_back(row.name);
  return names;
}

format::Features FeaturesOf(std::span<const std::string> names,
                            std::span<const std::string> without) {
  format::Features features = format::Features::Current();
  for (const std::string& name : names) {
    features = features.With((*format::FindFeature(name))->feature);
  }
  for (const std::string& name : without) {
    features = features.Without((*format::FindFeature(name))->feature);
  }
  return features;
}

}  // namespace qtx::cli
