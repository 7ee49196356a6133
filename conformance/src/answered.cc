#include "answered.h"

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "case_runner.h"

namespace qtx::conformance {
namespace {

constexpr std::size_t kMaxNetworks = 8;    // failing networks examined, since they are large
constexpr std::size_t kRightsPerOp = 256;  // right answers considered per operator

// The symptom of a result; empty for wrong values, nullopt if there is nothing to diagnose.
std::optional<std::string_view> KindOf(const CaseResult& result) {
  switch (result.outcome) {
    case Outcome::kCrash:
      return "crash";
    case Outcome::kTimeout:
      return "timeout";
    case Outcome::kProtocolError:
      return "protocol_error";
    case Outcome::kFail:
    case Outcome::kExpectedFail:
      break;
    default:
      return std::nullopt;
  }
  if (result.unstable) return "unstable";
  for (const Difference& difference : result.differences) {
    if (difference.mismatch.starts_with("element type")) return "output_type";
    if (difference.mismatch.starts_with("dims")) return "output_shape";
  }
  if (result.session && !result.evidence) return "session";
  if (!result.evidence && result.diagnosis.starts_with(kRefusedText)) return "refused";
  const bool kept = result.evidence && !result.evidence->got.empty();
  return kept ? std::optional<std::string_view>("") : std::nullopt;
}

// Makes the inputs of the evidence those of the question; false where one is missing.
bool TakeInputs(const Evidence& evidence, Question& question) {
  auto input = question.inputs.begin();
  for (const format::ValueInfo& info : question.model.graph.inputs) {
    if (question.model.graph.FindInitializer(info.name) != nullptr) continue;
    const auto kept = std::ranges::find(evidence.inputs, info.name, &Evidence::Value::name);
    if (kept == evidence.inputs.end() || input == question.inputs.end()) return false;
    *input++ = kept->tensor;
  }
  return true;
}

// True for a right answer that is bit-equal to the reference's.
bool IsRight(const Case& c, const CaseResult& result) {
  return result.outcome == Outcome::kPass && c.op && c.error.empty() && !c.ulp &&
         c.alternatives.empty();
}

class Collection {
 public:
  Collection(const reference::Arithmetic& own, BackendReport& row) : own_(own), row_(row) {}

  Answers Take(std::span<const Case> cases) {
    std::map<std::string_view, const Case*> by_id;
    for (const Case& c : cases) by_id.emplace(c.id, &c);
    const std::set<std::string_view> wrong_ops = WrongOps();
    std::map<std::string_view, std::size_t> rights;
    std::size_t networks = 0;
    for (CaseResult& result : row_.cases) {
      const auto c = by_id.find(result.id);
      if (c == by_id.end()) continue;
      const bool right = wrong_ops.contains(result.op) && IsRight(*c->second, result) &&
                         rights[result.op] < kRightsPerOp;
      const auto kind = KindOf(result);
      if (!right && !kind) continue;
      if (!right && result.op == kNetwork && networks++ >= kMaxNetworks) continue;
      auto question = BuildQuestion(*c->second);
      if (!question) continue;
      if (!right && HasOtherInputs(result) && !TakeInputs(*result.evidence, *question)) continue;
      Answered answered{c->second, &result, result.op, kind.value_or(""), *std::move(question),
                        {},        {}};
      if (!right) {
        AddWrong(std::move(answered), result);
        continue;
      }
      ++rights[result.op];
      answers_.rights.push_back(std::move(answered));
    }
    return std::move(answers_);
  }

 private:
  std::set<std::string_view> WrongOps() const {
    std::set<std::string_view> ops;
    for (const CaseResult& result : row_.cases) {
      if (KindOf(result)) ops.insert(result.op);
    }
    return ops;
  }

  void AddWrong(Answered answered, const CaseResult& result) {
    // Fault models and conditions assume what the reference has checked.
    auto reference = Answer(answered.question, own_, nullptr);
    if (!reference) return;
    answered.reference = *std::move(reference);
    if (answered.kind.empty()) {
      for (const Evidence::Value& value : result.evidence->got) {
        answered.outputs.push_back(value.tensor);
      }
    }
    answers_.wrongs.push_back(std::move(answered));
  }

  const reference::Arithmetic& own_;
  BackendReport& row_;
  Answers answers_;
};

}  // namespace

std::string_view SaysOf(std::string_view kind) {
  if (kind == "crash") return "ends without an answer";
  if (kind == "timeout") return "gives no answer in time";
  if (kind == "protocol_error") return "breaks the protocol";
  if (kind == "refused") return "refuses as invalid what it has to compute or decline";
  if (kind == "unstable") {
    return "answers the same question otherwise when asked again: state left from an earlier run, "
           "or a race";
  }
  if (kind == "session") return "answers the first request of a model and no further one";
  if (kind == "output_type") return "gives outputs of another element type";
  return "gives outputs of other dims";
}

bool HasOtherInputs(const CaseResult& result) {
  return result.session && result.session->draw != 0 && result.evidence;
}

std::int64_t ElementsIn(const Outputs& outputs) {
  std::int64_t elements = 0;
  for (const format::Tensor& output : outputs) elements += format::ElementCount(output);
  return elements;
}

std::optional<TestModel> WitnessOf(const Question& question, const Outputs& reference) {
  const format::Model& model = question.model;
  Observed observed;
  std::size_t next = 0;
  for (const format::ValueInfo& info : model.graph.inputs) {
    if (model.graph.FindInitializer(info.name) != nullptr) continue;
    if (next < question.inputs.size()) observed[info.name] = question.inputs[next++];
  }
  for (std::size_t i = 0; i < std::min(model.graph.outputs.size(), reference.size()); ++i) {
    observed.try_emplace(model.graph.outputs[i].name, reference[i]);
  }
  auto test = Extract(model, 0, model.graph.nodes.size(), observed);
  return test ? std::optional(*std::move(test)) : std::nullopt;
}

Answers CollectAnswers(std::span<const Case> cases, const reference::Arithmetic& own,
                       BackendReport& row) {
  return Collection(own, row).Take(cases);
}

}  // namespace qtx::conformance
