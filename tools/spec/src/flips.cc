#include "flips.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <numeric>
#include <optional>
#include <utility>

#include "affected.h"
#include "parallel.h"

namespace qtx::spec {
namespace {

using conformance::Case;

constexpr std::size_t kShownOfFlip = 8;

struct Found {
  std::vector<std::pair<Flip, FlippedAnswers>> flips;
  bool built = true, reached = true, declined = false;
  std::optional<Error> fault;
};

// True if the case states its result.
bool States(const Case& c) {
  return !c.error.empty() ||
         std::ranges::any_of(c.outputs, [](const conformance::CaseValue& output) {
           return output.data.has_value() || !output.file.empty();
         });
}

std::optional<Flip> FlipOf(const format::Model& model, const Answer& before, const Answer& after) {
  Flip flip;
  if (before.error && after.error) {
    if (before.error->clause == after.error->clause) return std::nullopt;
    flip.kind = FlipKind::kReason;
  } else if (before.error || after.error) {
    flip.kind = before.error ? FlipKind::kRuns : FlipKind::kRefused;
  } else {
    flip.kind = FlipKind::kValue;
    flip.difference = FirstDifference(model, before, after);
    if (!flip.difference) return std::nullopt;
  }
  flip.before = Shown(before, model, kShownOfFlip);
  flip.after = Shown(after, model, kShownOfFlip);
  return flip;
}

Found FlipsOf(const Case& c, std::size_t index, const Proposal& proposal) {
  Found found;
  const auto model = conformance::BuildModel(c);
  if (!model.has_value()) return {.flips = {}, .built = false};
  for (const std::string& arithmetic : c.arithmetics) {
    Answer before = AnswerOf(c, *model, arithmetic, proposal.Before());
    Answer after = AnswerOf(c, *model, arithmetic, proposal.After());
    if (proposal.overlay != nullptr) {
      found.fault = FaultOf(before, after);
      if (found.fault) return found;
      found.declined |= before.error && before.error->code == ErrorCode::kUnsupported;
    }
    auto flip = FlipOf(*model, before, after);
    if (!flip) continue;
    flip->id = c.id;
    flip->where = c.where;
    flip->spec = c.spec;
    flip->op = c.op ? c.op->type : "model";
    flip->arithmetic = arithmetic;
    flip->stated = States(c);
    found.flips.emplace_back(*std::move(flip),
                             FlippedAnswers{index, std::move(before), std::move(after)});
  }
  return found;
}

enum class Match { kYes, kNo, kUnsupported };

bool IsRefusal(const Error& error) {
  return error.code == ErrorCode::kInvalid || error.code == ErrorCode::kTooLarge;
}

// True if the answer is within the case's tolerance or one of its alternatives.
bool Agrees(const Case& c, const format::Model& model, std::size_t i, const format::Tensor& got,
            const format::Tensor& expected) {
  const std::string& name = model.graph.outputs[i].name;
  if (!conformance::Compare(c, name, got, expected)) return true;
  return std::ranges::any_of(c.alternatives, [&](const conformance::Alternative& other) {
    return other.output == name && !conformance::Compare(c, name, got, other.data);
  });
}

bool Agrees(const Case& c, const format::Model& model,
            const Result<std::vector<format::Tensor>>& got, const Answer& expected) {
  if (expected.error) return !got.has_value() && IsRefusal(got.error());
  if (!got.has_value() || got->size() != expected.outputs.size()) return false;
  for (std::size_t i = 0; i < got->size(); ++i) {
    if (!Agrees(c, model, i, (*got)[i], expected.outputs[i])) return false;
  }
  return true;
}

// A model that breaks the rules under one set of features may have inputs that cannot be built:
// then the backend is only asked to prepare it, as the suite does.
Result<std::vector<format::Tensor>> Ask(backend::Backend& backend, const Case& c,
                                        const format::Model& model, const std::string& arithmetic) {
  if (auto* isolated = dynamic_cast<conformance::IsolatedBackend*>(&backend)) {
    isolated->BeginCase();
  }
  QTX_ASSIGN_OR_RETURN(const auto prepared, backend.Prepare(model, arithmetic));
  QTX_ASSIGN_OR_RETURN(const auto inputs, conformance::BuildInputs(c, model));
  return prepared->Run(inputs);
}

void AskOne(backend::Backend& backend, const Case& c, const Flip& flip,
            const FlippedAnswers& answers, BackendEffect& effect) {
  const auto model = conformance::BuildModel(c);
  if (!model.has_value()) return;
  ++effect.asked;
  const auto got = Ask(backend, c, *model, flip.arithmetic);
  const bool before = Agrees(c, *model, got, answers.before);
  const bool after = Agrees(c, *model, got, answers.after);
  const std::string name = flip.id + " @" + flip.arithmetic;
  if (!got.has_value() && got.error().code == ErrorCode::kUnsupported) {
    ++effect.unsupported;
  } else if (before && after) {
    ++effect.stays;
  } else if (before) {
    effect.newly_fails.push_back(name);
  } else if (after) {
    effect.newly_passes.push_back(name);
  } else {
    ++effect.fails_both;
  }
}

}  // namespace

Result<CaseEffect> FindFlips(const Proposal& proposal, const ReviewOptions& options,
                             std::vector<FlippedAnswers>& answers) {
  CaseEffect effect;
  std::vector<std::size_t> chosen(options.cases.size());
  std::iota(chosen.begin(), chosen.end(), std::size_t{0});
  if (proposal.overlay != nullptr) {
    chosen = Affected(proposal.overlay->after).Choose(options.cases, options.all, effect.affected);
  }
  const auto start = std::chrono::steady_clock::now();
  std::atomic<bool> stop = false;  // after a fault
  const auto is_late = [&] {
    const std::chrono::duration<double> passed = std::chrono::steady_clock::now() - start;
    return stop ||
           (proposal.overlay != nullptr && options.seconds > 0 && passed.count() > options.seconds);
  };
  std::vector<Found> all(chosen.size());
  InParallel("cases", all.size(), options, [&](std::size_t i) {
    if (is_late()) {
      all[i].reached = false;
    } else {
      all[i] = FlipsOf(options.cases[chosen[i]], chosen[i], proposal);
      if (all[i].fault) stop = true;
    }
  });
  effect.cases = std::ssize(chosen);
  for (std::size_t i = 0; i < all.size(); ++i) {
    const Case& c = options.cases[chosen[i]];
    if (all[i].fault) return *all[i].fault;
    effect.declined += all[i].declined ? 1 : 0;
    if (!all[i].reached) {
      ++effect.not_reached;
      continue;
    }
    if (!all[i].built) {
      effect.not_built.push_back(c.id);
      continue;
    }
    effect.results += std::ssize(c.arithmetics);
    effect.flipped_cases += all[i].flips.empty() ? 0 : 1;
    for (auto& [flip, both] : all[i].flips) {
      effect.flips.push_back(std::move(flip));
      answers.push_back(std::move(both));
    }
  }
  return effect;
}

std::vector<BackendEffect> AskBackends(const CaseEffect& effect,
                                       const std::vector<FlippedAnswers>& answers,
                                       const ReviewOptions& options) {
  std::vector<BackendEffect> effects(options.backends.size());
  InParallel("backends", effects.size(), options, [&](std::size_t b) {
    const conformance::BackendSource& source = options.backends[b];
    BackendEffect& one = effects[b];
    one.name = source.name;
    const auto backend = source.make();
    if (!backend.has_value()) {
      one.error = backend.error();
      return;
    }
    const auto description = (*backend)->Describe();
    if (!description.has_value()) {
      one.error = description.error();
      return;
    }
    for (std::size_t i = 0; i < effect.flips.size(); ++i) {
      const Flip& flip = effect.flips[i];
      if (std::ranges::find(description->arithmetics, flip.arithmetic) ==
          description->arithmetics.end()) {
        continue;
      }
      AskOne(**backend, options.cases[answers[i].index], flip, answers[i], one);
    }
  });
  return effects;
}

}  // namespace qtx::spec
