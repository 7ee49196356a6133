// What else than the expected output a case lets pass: `tolerance` and `either`.
#pragma once

#include "qtx/conformance/case.h"
#include "qtx/format/result.h"
#include "yaml.h"
#include "yaml_reader.h"

namespace qtx::conformance {

/// The list of `either`, into `c.alternatives`.  REQUIRES: the outputs of `c` are read.
/// Errors: kInvalid; those of ParseData.
Result<void> ParseAlternatives(const Yaml& node, const Place& place, Case& c);

/// `exact`, `{ulp: N}` or `{relative: R, absolute: A, because: TEXT}`.  Errors: kInvalid.
Result<void> ParseTolerance(const Yaml& node, const Place& place, Case& c);

}  // namespace qtx::conformance
