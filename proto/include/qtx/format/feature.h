// Features that proposals add to the format. Each is off until it is asked for or promoted.
// Source: spec/proposals/.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "qtx/format/result.h"

namespace qtx::format {

enum class Feature : std::uint8_t {
  kHierarchicalScales,
  kMustUnderstand,
  kOffsetBeforeRounding,
  kSignedScales,
  kCodeBooks,
  kEncodings,
};

/// One proposal's feature.
struct FeatureRow {
  Feature feature;
  std::string_view name;      // "hierarchical-scales", as --feature takes it
  std::int64_t proposal = 0;  // NNNN of spec/proposals/NNNN-slug
  bool promoted = false;      // part of the current spec: on unless a review turns it off
  std::int64_t version = 1;   // version of the format that a model using the feature imports
};

std::span<const FeatureRow> AllFeatures();
/// Errors: kInvalid, listing the known names.
Result<const FeatureRow*> FindFeature(std::string_view name);

/// A set of features.
class Features {
 public:
  /// The promoted features, which are the current spec.
  static Features Current();

  bool Has(Feature feature) const { return (bits_ & Bit(feature)) != 0; }
  Features With(Feature feature) const { return Features(bits_ | Bit(feature)); }
  Features Without(Feature feature) const { return Features(bits_ & ~Bit(feature)); }
  /// The latest version of the format that they define.
  std::int64_t LatestVersion() const;

  bool operator==(const Features&) const = default;

 private:
  explicit Features(std::uint32_t bits) : bits_(bits) {}
  static std::uint32_t Bit(Feature feature) { return 1U << static_cast<unsigned>(feature); }
  std::uint32_t bits_ = 0;
};

}  // namespace qtx::format
