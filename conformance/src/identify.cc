#include "qtx/conformance/identify.h"

#include <algorithm>
#include <bitset>
#include <map>
#include <optional>
#include <utility>

#include "candidate.h"
#include "guarded.h"

namespace qtx::conformance {
namespace {

// Limit on the cases considered per operator; smaller ones come first.
constexpr std::size_t kMaxLookedAt = 160;
constexpr std::int64_t kMaxAskedElements = 4096;
constexpr std::size_t kMaxPairs = 1024;  // enough for 45 named arithmetics

using Pairs = std::bitset<kMaxPairs>;

// A case with the answer of every named arithmetic; nullopt if it refuses.
struct Asked {
  Question question;
  std::vector<std::optional<Outputs>> answers;
  Pairs separated;
};

std::int64_t Elements(const Question& question) {
  std::int64_t elements = 0;
  for (const format::Tensor& input : question.inputs) elements += format::ElementCount(input);
  return elements;
}

std::vector<std::optional<Outputs>> AllAnswers(const Question& question) {
  std::vector<std::optional<Outputs>> answers;
  for (const reference::Arithmetic& row : reference::Arithmetics()) {
    auto outputs = Answer(question, row, nullptr);
    answers.push_back(outputs ? std::optional(*std::move(outputs)) : std::nullopt);
  }
  return answers;
}

Pairs SeparatedBy(const std::vector<std::optional<Outputs>>& answers) {
  Pairs separated;
  std::size_t pair = 0;
  for (std::size_t i = 0; i < answers.size(); ++i) {
    for (std::size_t j = i + 1; j < answers.size() && pair < kMaxPairs; ++j, ++pair) {
      // A refusing arithmetic cannot be distinguished by values.
      separated[pair] = answers[i] && answers[j] && !SameOutputs(*answers[i], *answers[j]);
    }
  }
  return separated;
}

std::map<std::string, std::vector<Asked>> QuestionsByOperator(std::span<const Case> cases) {
  std::map<std::string, std::vector<Asked>> by_op;
  for (const Case& c : cases) {
    if (!c.op || !c.error.empty()) continue;
    std::vector<Asked>& questions = by_op[c.op->type];
    if (questions.size() >= kMaxLookedAt) continue;
    auto question = BuildQuestion(c);
    if (!question || Elements(*question) > kMaxAskedElements) continue;
    Asked asked{*std::move(question), {}, {}};
    asked.answers = AllAnswers(asked.question);
    asked.separated = SeparatedBy(asked.answers);
    questions.push_back(std::move(asked));
  }
  return by_op;
}

// The answered cases with the backend's answers.
struct Conversation {
  std::vector<std::pair<Asked, Outputs>> answered;
  std::int64_t declined = 0;
};

Result<Outputs> Ask(backend::Backend& backend, const std::string& arithmetic,
                    const Question& question) {
  return Guarded([&]() -> Result<Outputs> {
    QTX_ASSIGN_OR_RETURN(const auto prepared, backend.Prepare(question.model, arithmetic));
    return prepared->Run(question.inputs);
  });
}

// Repeatedly asks the case that separates most of the remaining pairs.
Conversation Talk(backend::Backend& backend, const std::string& arithmetic,
                  std::vector<Asked> questions) {
  Conversation conversation;
  Pairs done;
  while (conversation.answered.size() < kMaxAsked && !questions.empty()) {
    const auto gain = [&](const Asked& a) { return (a.separated & ~done).count(); };
    const auto best = std::ranges::max_element(questions, {}, gain);
    if (gain(*best) == 0) break;
    Asked asked = std::move(*best);
    questions.erase(best);
    auto outputs = Ask(backend, arithmetic, asked.question);
    if (!outputs) {
      ++conversation.declined;
      continue;
    }
    done |= asked.separated;
    conversation.answered.emplace_back(std::move(asked), *std::move(outputs));
  }
  return conversation;
}

std::int64_t AgreeingWith(const Conversation& conversation, std::size_t row) {
  return std::ranges::count_if(conversation.answered, [row](const auto& answer) {
    const auto& expected = answer.first.answers[row];
    return expected && SameOutputs(answer.second, *expected);
  });
}

std::string FaultOf(const Conversation& conversation, const std::string& claimed) {
  for (const Candidate& candidate : Candidates(claimed)) {
    if (candidate.fault == nullptr) continue;
    const bool all = std::ranges::all_of(conversation.answered, [&](const auto& answer) {
      return Explains(candidate, answer.first.question, answer.second);
    });
    if (all) return Says(candidate);
  }
  return "";
}

Identity Judge(std::string op, const Conversation& conversation, const std::string& claimed) {
  Identity identity;
  identity.op = std::move(op);
  identity.cases = std::ssize(conversation.answered);
  identity.declined = conversation.declined;
  if (identity.cases == 0) return identity;
  const auto rows = reference::Arithmetics();
  for (std::size_t row = 0; row < rows.size(); ++row) {
    const std::int64_t agreeing = AgreeingWith(conversation, row);
    if (agreeing == identity.cases) identity.arithmetics.emplace_back(rows[row].name);
    if (agreeing <= identity.agreeing) continue;
    identity.agreeing = agreeing;
    identity.nearest = rows[row].name;
  }
  if (!identity.arithmetics.empty()) {
    identity.nearest.clear();
  } else {
    identity.fault = FaultOf(conversation, claimed);
  }
  return identity;
}

}  // namespace

Result<Identification> Identify(std::span<const Case> cases, const BackendSource& source) {
  QTX_ASSIGN_OR_RETURN(const auto backend, source.make());
  Identification identification;
  QTX_ASSIGN_OR_RETURN(identification.description, backend->Describe());
  const auto& names = identification.description.arithmetics;
  const std::string claimed = names.empty() ? "exact" : names.front();
  for (auto& [op, questions] : QuestionsByOperator(cases)) {
    const bool telling =
        std::ranges::any_of(questions, [](const Asked& a) { return a.separated.any(); });
    if (!telling) continue;
    identification.operators.push_back(
        Judge(op, Talk(*backend, claimed, std::move(questions)), claimed));
  }
  return identification;
}

}  // namespace qtx::conformance
