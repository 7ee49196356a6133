// Finds the cases whose answer changes, and the backends that would stop conforming.
#pragma once

#include <cstddef>
#include <vector>

#include "answer.h"
#include "qtx/spec/review.h"

namespace qtx::spec {

/// A flip's case and both full answers.
struct FlippedAnswers {
  std::size_t index = 0;  // of options.cases
  Answer before, after;
};

/// Runs every case in each of its arithmetics under both editions; of an overlay those that it can
/// change. `answers` gets an entry for each flip.
/// Errors: the first of FaultOf.
Result<CaseEffect> FindFlips(const Proposal& proposal, const ReviewOptions& options,
                             std::vector<FlippedAnswers>& answers);

/// Runs each backend on the flipped results in its arithmetics.
std::vector<BackendEffect> AskBackends(const CaseEffect& effect,
                                       const std::vector<FlippedAnswers>& answers,
                                       const ReviewOptions& options);

/// Compares every .onnx and .tflite below options.models.  Errors: kUnreadable.
Result<std::vector<ModelEffect>> TryModels(const Proposal& proposal, const ReviewOptions& options);

}  // namespace qtx::spec
