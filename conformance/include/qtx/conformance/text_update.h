// Computes the text's answers anew.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "qtx/conformance/case.h"
#include "qtx/conformance/runner.h"
#include "qtx/conformance/suite.h"
#include "qtx/conformance/text_answers.h"

namespace qtx::conformance {

struct TextUpdateOptions {
  // Of the answers that are known, those of this part of the cases are computed again.
  Shard part;
  int jobs = 1;
  // Called when an answer is begun, with its number from 0, how many there are, and the case's id;
  // from one thread at a time.
  std::function<void(std::size_t, std::size_t, const std::string&)> progress;
};

struct TextUpdate {
  TextAnswers answers;              // the known ones with what was computed
  std::int64_t computed = 0;        // answers
  std::int64_t declined = 0;        // what the text does not compute (kUnsupported)
  std::int64_t kept = 0;            // known and not computed again
  std::vector<std::string> news;    // how `answers` differ from the known ones: "ID @A: ..."
  std::vector<std::string> faults;  // other errors of the backend or of a case: "ID @A: ..."
};

/// Asks `text` for the answer to each case in each arithmetic that both have, if `known` has none
/// for the case's model and inputs, or the case is of the part; literal expectations are no reason
/// to leave a case out. Answers to cases that are not among `cases`, the whole suite, go.
/// Errors: those of making and describing the backend.
Result<TextUpdate> UpdateTextAnswers(const TextAnswers& known, std::span<const Case> cases,
                                     const BackendSource& text, const TextUpdateOptions& options);

}  // namespace qtx::conformance
