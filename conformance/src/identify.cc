#include "qtx/conformance/identify.h"

#include <algorithm>
#include <bitset>
#include <map>
#include <optional>
#include <utility>

#include "candidate.h"
#include "examine.h"
#include "guarded.h"

namespace qtx::conformance {
namespace {

// Limit on the cases considered per operator; smaller ones come first.
constexpr std::size_t kMaxLookedAt = 160;
constexpr std::int64_t kMaxAskedElements = 4096;
constexpr std::chrono::seconds kExaminationTime{6};  // of an operator that is no arithmetic
constexpr std::size_t kMaxPairs = 1024;              // enough for 45 named arithmetics

using Pairs = std::bitset<kMaxPairs>;

// A case with the answer of every named arithmetic; nullopt if it refuses.
struct Asked {
  Answered answered;  // once the backend has
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
    Asked asked{{&c, nullptr, c.op->type, "", *std::move(question), {}, {}}, {}, {}};
    asked.answers = AllAnswers(asked.answered.question);
    asked.separated = SeparatedBy(asked.answers);
    questions.push_back(std::move(asked));
  }
  return by_op;
}

// The answered cases with the backend's answers.
struct Conversation {
  std::vector<Asked> answered;
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
    auto outputs = Ask(backend, arithmetic, asked.answered.question);
    if (!outputs) {
      ++conversation.declined;
      continue;
    }
    done |= asked.separated;
    asked.answered.outputs = *std::move(outputs);
    conversation.answered.push_back(std::move(asked));
  }
  return conversation;
}

bool AgreesWith(const Asked& asked, std::size_t row) {
  const auto& expected = asked.answers[row];
  return expected && SameOutputs(asked.answered.outputs, *expected);
}

// Judges operators one after the other, and asks further questions where no arithmetic fits.
class Judge {
 public:
  Judge(const BackendSource& source, const std::string& claimed)
      : source_(source), claimed_(claimed) {}

  Identity Of(std::string op, Conversation& conversation) {
    Identity identity;
    identity.op = std::move(op);
    identity.cases = std::ssize(conversation.answered);
    identity.declined = conversation.declined;
    if (identity.cases == 0) return identity;
    const auto rows = reference::Arithmetics();
    std::size_t nearest = 0;
    for (std::size_t row = 0; row < rows.size(); ++row) {
      const std::int64_t agreeing = std::ranges::count_if(
          conversation.answered, [row](const Asked& asked) { return AgreesWith(asked, row); });
      if (agreeing == identity.cases) identity.arithmetics.emplace_back(rows[row].name);
      // Of equals, the claimed one.
      const bool preferred = rows[row].name == claimed_ && agreeing == identity.agreeing;
      if (agreeing <= identity.agreeing && !preferred) continue;
      identity.agreeing = agreeing;
      nearest = row;
    }
    if (identity.arithmetics.empty()) TellExceptions(conversation, nearest, identity);
    return identity;
  }

 private:
  void TellExceptions(Conversation& conversation, std::size_t nearest, Identity& identity) {
    const reference::Arithmetic& row = reference::Arithmetics()[nearest];
    identity.nearest = row.name;
    AnsweredList wrongs;
    for (Asked& asked : conversation.answered) {
      if (AgreesWith(asked, nearest)) continue;
      identity.exceptions.push_back(asked.answered.c->id);
      if (row.name != claimed_ || !asked.answers[nearest]) continue;
      asked.answered.reference = *asked.answers[nearest];
      wrongs.push_back(&asked.answered);
    }
    Examiner examiner(source_, claimed_, {.time = kExaminationTime});
    identity.fault = FaultOf(conversation, examiner);
    for (const Answered* wrong : wrongs) {
      if (identity.place) return;
      if (const Located* located = examiner.Find(*wrong)) identity.place = located->place;
    }
  }

  std::string FaultOf(const Conversation& conversation, Examiner& examiner) const {
    AnsweredList all;
    for (const Asked& asked : conversation.answered) all.push_back(&asked.answered);
    for (const Candidate& candidate : Candidates(claimed_)) {
      if (candidate.fault == nullptr) continue;
      const bool explains = std::ranges::all_of(all, [&](const Answered* answered) {
        return Explains(candidate, answered->question, answered->outputs);
      });
      if (explains && examiner.Confirm(candidate, all).holds()) return Says(candidate);
    }
    return "";
  }

  const BackendSource& source_;
  std::string claimed_;
};

}  // namespace

Result<Identification> Identify(std::span<const Case> cases, const BackendSource& source,
                                const IdentifyProgress& progress) {
  QTX_ASSIGN_OR_RETURN(const auto backend, source.make());
  Identification identification;
  QTX_ASSIGN_OR_RETURN(identification.description, backend->Describe());
  const auto& names = identification.description.arithmetics;
  const std::string claimed = names.empty() ? "exact" : names.front();
  Judge judge(source, claimed);
  auto by_operator = QuestionsByOperator(cases);
  std::size_t done = 0;
  for (auto& [op, questions] : by_operator) {
    if (progress) progress(done++, by_operator.size(), op);
    const bool telling =
        std::ranges::any_of(questions, [](const Asked& a) { return a.separated.any(); });
    if (!telling) continue;
    Conversation conversation = Talk(*backend, claimed, std::move(questions));
    identification.operators.push_back(judge.Of(op, conversation));
  }
  return identification;
}

}  // namespace qtx::conformance
