// The reference's answer to a case under a set of features, and its text.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "qtx/conformance/case.h"
#include "qtx/conformance/diagnosis.h"
#include "qtx/format/feature.h"
#include "qtx/format/model.h"
#include "qtx/format/result.h"
#include "qtx/format/tensor.h"

namespace qtx::spec {

struct Answer {
  std::vector<format::Tensor> outputs;  // in the order of graph.output; empty when refused
  std::optional<Error> error;           // if several clauses are broken, that of the case
};

/// Runs the case. Inputs are built only if the model keeps the rules of the format.
Answer AnswerOf(const conformance::Case& c, const format::Model& model,
                const std::string& arithmetic, format::Features features);

/// "y int8q[3] 5 1 7", at most `most` elements, names from `model`; or "refused by CLAUSE".
std::string Shown(const Answer& answer, const format::Model& model, std::size_t most);
std::string Shown(const std::string& name, const format::Tensor& tensor, std::size_t most);
std::string Refusal(const std::string& clause);

/// The first output in which `after` differs from `before`, bit for bit; nullopt when none does.
/// REQUIRES: both ran.
std::optional<conformance::Difference> FirstDifference(const format::Model& model,
                                                       const Answer& before, const Answer& after);

}  // namespace qtx::spec
