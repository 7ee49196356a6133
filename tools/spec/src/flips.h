// Which cases change their answer, and which backends would stop conforming for it.
#pragma once

#include <cstddef>
#include <vector>

#include "answer.h"
#include "qtx/spec/review.h"

namespace qtx::spec {

/// Where a flip came from, and both answers in full.
struct FlippedAnswers {
  std::size_t index = 0;  // of options.cases
  Answer before, after;
};

/// Runs the reference on every case in each of its arithmetics, with and without the feature.
/// `answers` gets an entry for each flip.
CaseEffect FindFlips(const Proposal& proposal, const ReviewOptions& options,
                     std::vector<FlippedAnswers>& answers);

/// Each backend on the flipped results in the arithmetics that it names.
std::vector<BackendEffect> AskBackends(const CaseEffect& effect,
                                       const std::vector<FlippedAnswers>& answers,
                                       const ReviewOptions& options);

/// Every .onnx and .tflite below options.models.  Errors: kIo.
Result<std::vector<ModelEffect>> TryModels(const Proposal& proposal, const ReviewOptions& options);

}  // namespace qtx::spec
