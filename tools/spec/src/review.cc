#include "qtx/spec/review.h"

#include <algorithm>
#include <utility>

#include "flips.h"

namespace qtx::spec {

std::string_view Name(FlipKind kind) {
  switch (kind) {
    case FlipKind::kValue:
      return "value";
    case FlipKind::kRuns:
      return "runs";
    case FlipKind::kRefused:
      return "refused";
    case FlipKind::kReason:
      return "reason";
  }
  return "value";
}

std::string_view Name(ModelOutcome outcome) {
  switch (outcome) {
    case ModelOutcome::kUnaffected:
      return "unaffected";
    case ModelOutcome::kChecksDiffer:
      return "checks_differ";
    case ModelOutcome::kOutputsDiffer:
      return "outputs_differ";
    case ModelOutcome::kNotRun:
      return "not_run";
    case ModelOutcome::kUnread:
      return "unread";
  }
  return "unaffected";
}

Result<Review> MakeReview(Proposal proposal, const ReviewOptions& options) {
  const auto start = std::chrono::steady_clock::now();
  Review review;
  if (!options.models.empty()) {
    review.models_folder = options.models;
    QTX_ASSIGN_OR_RETURN(review.models, TryModels(proposal, options));
  }
  review.examples = RunExamples(proposal);
  std::vector<FlippedAnswers> answers;
  review.cases = FindFlips(proposal, options, answers);
  review.backends = AskBackends(review.cases, answers, options);
  review.proposal = std::move(proposal);
  review.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  return review;
}

bool ExamplesHold(const Review& review) {
  return std::ranges::all_of(review.examples, [](const ExampleResult& example) {
    return example.before.ok && example.after.ok;
  });
}

}  // namespace qtx::spec
