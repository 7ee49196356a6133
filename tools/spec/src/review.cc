#include "qtx/spec/review.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "flips.h"
#include "parallel.h"

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

namespace {

Result<std::vector<ClaimResult>> RunClaims(const Overlay& overlay, const ReviewOptions& options) {
  struct Task {
    std::size_t claim;
    const conformance::Case* c;
  };
  std::vector<Task> tasks;
  for (std::size_t i = 0; i < overlay.claims.size(); ++i) {
    for (const conformance::Case& c : overlay.claims[i].cases) tasks.push_back({i, &c});
  }
  std::vector<std::optional<Result<ClaimResult>>> all(tasks.size());
  InParallel("claims", tasks.size(), options,
             [&](std::size_t i) { all[i] = RunClaim(overlay, tasks[i].claim, *tasks[i].c); });
  std::vector<ClaimResult> results;
  for (auto& result : all) {
    QTX_ASSIGN_OR_RETURN(results.emplace_back(), *std::move(result));
  }
  return results;
}

}  // namespace

Result<Review> MakeReview(Proposal proposal, const ReviewOptions& options) {
  const auto start = std::chrono::steady_clock::now();
  Review review;
  if (!options.models.empty() && proposal.overlay != nullptr) {
    return Error{
        ErrorCode::kUsage, "--models",
        "found a proposal with an overlay, expected one with a feature: the reference runs models"};
  }
  if (!options.models.empty()) {
    review.models_folder = options.models;
    QTX_ASSIGN_OR_RETURN(review.models, TryModels(proposal, options));
  }
  review.examples = RunExamples(proposal);
  for (const ExampleResult& example : review.examples) {
    if (example.after.fault) return *example.after.fault;
  }
  if (proposal.overlay != nullptr) {
    QTX_ASSIGN_OR_RETURN(review.claims, RunClaims(*proposal.overlay, options));
  }
  std::vector<FlippedAnswers> answers;
  QTX_ASSIGN_OR_RETURN(review.cases, FindFlips(proposal, options, answers));
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

bool ClaimsHold(const Review& review) {
  return std::ranges::all_of(review.claims,
                             [](const ClaimResult& result) { return result.failing == 0; });
}

}  // namespace qtx::spec
