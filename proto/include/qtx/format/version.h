// The version of domain `qtx` that added what a model uses.  Source: spec/format/versioning.md.
#pragma once

#include <cstdint>
#include <string>

#include "qtx/format/model.h"

namespace qtx::format {

/// A version, and what needs it: "scale_levels or base_levels". Version 1 needs no reason.
struct NeededVersion {
  std::int64_t version = kVersion;
  std::string why;
};

/// The latest version that added a part of `type`.  Source: versioning.C3.
NeededVersion VersionNeeded(const TensorType& type);
/// The latest that a type of the model needs, in its bodies, too.
NeededVersion VersionNeeded(const Model& model);

}  // namespace qtx::format
