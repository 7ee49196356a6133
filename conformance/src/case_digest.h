// Digests of what a case asks and of what is answered, which detect changed files and results.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "digest.h"
#include "qtx/conformance/case.h"
#include "qtx/format/model.h"
#include "qtx/format/tensor.h"

namespace qtx::conformance {

/// Adds the model, with its external data, and the inputs.
/// Errors: those of Model::Serialize.
Result<void> AddQuestion(const Case& c, const format::Model& model,
                         std::span<const format::Tensor> inputs, Digest& digest);

/// The digest of AddQuestion. The inputs of a case that must be refused need not exist: without
/// them it is the digest of the model.  Errors: those of Model::Serialize and BuildInputs.
Result<std::string> QuestionOf(const Case& c, const format::Model& model);

/// The digest of outputs as Compare sees them: type, dims and elements, with one NaN and one zero.
std::string AnswerOf(std::span<const format::Tensor> outputs);

}  // namespace qtx::conformance
