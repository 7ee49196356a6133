// The answer to a case under an edition of the spec, and its text.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "qtx/conformance/case.h"
#include "qtx/conformance/diagnosis.h"
#include "qtx/format/model.h"
#include "qtx/format/result.h"
#include "qtx/format/tensor.h"
#include "qtx/formula/interpreter.h"
#include "qtx/spec/proposal.h"

namespace qtx::spec {

struct Answer {
  std::vector<format::Tensor> outputs;  // in the order of graph.output; empty when refused
  std::optional<Error> error;           // if several clauses are broken, that of the case
};

/// Runs the case. Inputs are built only if the model keeps the rules of the format.
Answer AnswerOf(const conformance::Case& c, const format::Model& model,
                const std::string& arithmetic, const Edition& edition);

/// The error of `after` where a formula has no meaning for the node or passes a limit, and `before`
/// does not say the same: a mistake in the overlay; nullopt for refusals by a clause.
std::optional<Error> FaultOf(const Answer& before, const Answer& after);

/// "y int8q[3] 5 1 7", at most `most` elements, names from `model`; or "refused by CLAUSE". A value
/// in `added_types` has that type's name, and its elements are codes.
std::string Shown(const Answer& answer, const format::Model& model, std::size_t most,
                  const formula::AddedTypes& added_types = {});
std::string Shown(const std::string& name, const format::Tensor& tensor, std::size_t most,
                  const formula::AddedTypes& added_types = {});
std::string Refusal(const std::string& clause);

/// The first output in which `after` differs from `before`, bit for bit; nullopt when none does.
/// REQUIRES: both ran.
std::optional<conformance::Difference> FirstDifference(const format::Model& model,
                                                       const Answer& before, const Answer& after);

}  // namespace qtx::spec
