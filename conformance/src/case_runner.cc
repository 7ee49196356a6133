#include "case_runner.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "draw.h"
#include "guarded.h"
#include "model_builder.h"
#include "qtx/conformance/diagnosis.h"
#include "qtx/format/check.h"
#include "qtx/reference/interpreter.h"

namespace qtx::conformance {
namespace {

using format::Tensor;

void Fail(CaseResult& result, std::string diagnosis) {
  result.outcome = Outcome::kFail;
  result.diagnosis = std::move(diagnosis);
}

// The outcome for an error of a backend's request.
void Classify(const Error& error, CaseResult& result) {
  result.diagnosis = error.Text();
  if (error.code == ErrorCode::kUnsupported && (error.message.empty() || error.where.empty())) {
    // backend_protocol.S15
    return Fail(result, error.message.empty() ? "declined without a reason"
                                              : "declined without a place: " + error.message);
  }
  switch (error.code) {
    case ErrorCode::kUnsupported:
      result.outcome = Outcome::kUnsupported;
      return;
    case ErrorCode::kTimeout:
      result.outcome = Outcome::kTimeout;
      return;
    case ErrorCode::kProtocol:
      result.outcome = Outcome::kProtocolError;
      return;
    case ErrorCode::kIo:
    case ErrorCode::kSystem:
      result.outcome = Outcome::kCrash;
      return;
    case ErrorCode::kInvalid:
    case ErrorCode::kTooLarge:
    case ErrorCode::kInternal:
    case ErrorCode::kUnreadable:
    case ErrorCode::kMemory:
    case ErrorCode::kUsage:
      break;
  }
  Fail(result, std::string(kRefusedText) + error.Text());
}

// Compares with the expected result and the case's alternatives.
std::optional<Difference> CompareOutput(const Case& c, const std::string& name, const Tensor& got,
                                        const Tensor& expected) {
  auto difference = Compare(c, name, got, expected);
  if (!difference) return difference;
  for (const Alternative& alternative : c.alternatives) {
    if (alternative.output == name && !Compare(c, name, got, alternative.data)) {
      return std::nullopt;
    }
  }
  return difference;
}

// True if answers other than the expected one may pass by closeness.
bool IsLoose(const Case& c) { return c.ulp || c.close || c.or_exact; }

// What QTX itself lacks is no fault of the backend: types of a case, operators of the reference.
void CannotJudge(const std::string& lacks, const Error& error, CaseResult& result) {
  Fail(result, lacks + ": " + error.Text());
  if (error.code == ErrorCode::kUnsupported) result.outcome = Outcome::kUnsupported;
}

void DescribeAll(CaseResult& result) {
  result.outcome = Outcome::kFail;
  for (const Difference& difference : result.differences) {
    if (!result.diagnosis.empty()) result.diagnosis += "; ";
    result.diagnosis += Describe(difference);
  }
}

// Tensors with their names; nullopt if there are too many elements.
std::optional<Evidence> Keep(const format::Model& model, const std::vector<Tensor>& inputs,
                             const std::vector<Tensor>& outputs,
                             std::vector<Evidence::Value> expected) {
  const format::Graph& graph = model.graph;
  Evidence evidence;
  evidence.expected = std::move(expected);
  std::int64_t elements = 0;
  // Networks have too many constants to show.
  for (const format::TensorData& data : graph.initializers) {
    if (graph.nodes.size() > 1) break;
    auto constant = format::LoadInitializer(model, data.name);
    if (!constant) continue;
    elements += format::ElementCount(*constant);
    evidence.inputs.push_back({data.name, *std::move(constant)});
  }
  std::size_t next = 0;
  for (const format::ValueInfo& info : graph.inputs) {
    if (graph.FindInitializer(info.name) != nullptr || next >= inputs.size()) continue;
    elements += format::ElementCount(inputs[next]);
    evidence.inputs.push_back({info.name, inputs[next++]});
  }
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    elements += 2 * format::ElementCount(outputs[i]);
    evidence.got.push_back({graph.outputs[i].name, outputs[i]});
  }
  if (elements > kMaxEvidenceElements) return std::nullopt;
  return evidence;
}

std::vector<Evidence::Value> NamedOutputs(const format::Model& model,
                                          const std::vector<Tensor>& outputs) {
  std::vector<Evidence::Value> values;
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    values.push_back({model.graph.outputs[i].name, outputs[i]});
  }
  return values;
}

// Fills `differences` where two answers to the same inputs have other elements.
bool SameAnswer(const format::Model& model, const SessionAnswer& before, const SessionAnswer& after,
                CaseResult& result) {
  if (!before.outputs || !after.outputs) {
    return !before.outputs && !after.outputs &&
           before.outputs.error().code == after.outputs.error().code;
  }
  if (before.outputs->size() != after.outputs->size()) return false;
  bool same = true;
  // What the model does not declare has no name; its number is judged elsewhere.
  const std::size_t count = std::min(after.outputs->size(), model.graph.outputs.size());
  for (std::size_t i = 0; i < count; ++i) {
    auto difference = Compare(model.graph.outputs[i].name, (*after.outputs)[i],
                              (*before.outputs)[i], std::nullopt);
    // Compare takes all NaN for equal.
    same = same && (*after.outputs)[i].bytes == (*before.outputs)[i].bytes;
    if (!difference) continue;
    same = false;
    if (result.outcome == Outcome::kPass) result.differences.push_back(*std::move(difference));
  }
  return same;
}

// Records the nodes of a network that the arithmetic does not model.
void NoteUnmodelled(const format::Model& model, format::Features features, CaseResult& result) {
  const auto nodes = reference::FindUnmodelled(model, result.arithmetic, {}, features);
  if (!nodes.has_value()) return;
  for (const reference::Unmodelled& node : *nodes) {
    result.unmodelled.push_back(node.where + ": " + node.says);
  }
}

}  // namespace

const std::vector<Tensor>* CaseRunner::Draws::Inputs(std::int64_t draw) const {
  if (draw == 0) return &own_;
  const auto known = draws_.find(draw);
  return known == draws_.end() || !known->second ? nullptr : &known->second->inputs;
}

const std::vector<Tensor>* CaseRunner::Draws::Inputs(std::int64_t draw) {
  if (draw != 0 && !draws_.contains(draw)) draws_.emplace(draw, Make(draw));
  return std::as_const(*this).Inputs(draw);
}

std::optional<CaseRunner::Draws::Draw> CaseRunner::Draws::Make(std::int64_t draw) {
  std::string name = arithmetic_ + " draw " + std::to_string(draw);
  for (std::vector<Tensor>& candidate : DrawAgain(model_, own_, draw)) {
    name += '\'';
    auto expected = references_.Get(index_, name, model_, candidate);
    if (expected) return Draw{std::move(candidate), *std::move(expected)};
  }
  return std::nullopt;
}

void CaseRunner::Run(const Case& c, std::size_t index, CaseResult& result) {
  if (isolated_ != nullptr) isolated_->BeginCase();
  RunAndJudge(c, index, result);
  if (source_.is_reference && result.outcome == Outcome::kPass &&
      result.expectation == ExpectationSource::kReference) {
    result.outcome = Outcome::kSelf;
  }
  if (isolated_ != nullptr && result.outcome != Outcome::kPass) {
    result.error_output = isolated_->TakeErrorOutput();
  }
}

void CaseRunner::RunAndJudge(const Case& c, std::size_t index, CaseResult& result) {
  const auto model = BuildModel(c);
  if (!model) return CannotJudge("the case cannot be built", model.error(), result);
  if (!c.error.empty()) return RunRefusal(c, *model, result);
  const auto inputs = BuildInputs(c, *model);
  if (!inputs) return CannotJudge("the case cannot be built", inputs.error(), result);
  if (!c.op) NoteUnmodelled(*model, oracle_.references().features(), result);
  Draws draws(oracle_.references(), index, *model, result.arithmetic, *inputs);
  const std::vector<SessionAnswer> answers = AskAll(SessionOf(c), *model, result.arithmetic, draws);
  const Result<Outputs>& outputs = answers.front().outputs;
  if (outputs && source_.is_reference) oracle_.references().Put(index, result.arithmetic, *outputs);
  if (!oracle_.IsSound(c, index, *model, *inputs, result)) return;
  if (!outputs) return Classify(outputs.error(), result);
  if (outputs->size() != model->graph.outputs.size()) {
    return Fail(result, "gave " + std::to_string(outputs->size()) + " outputs, expected " +
                            std::to_string(model->graph.outputs.size()));
  }
  const auto fault = isolated_ == nullptr ? std::nullopt : isolated_->TakeReleaseFault();
  if (fault) return Classify(*fault, result);
  if (const auto judged = Judge(c, index, *model, *inputs, *outputs, result); !judged) {
    return CannotJudge("no expectation", judged.error(), result);
  }
  JudgeSession(c, *model, draws, answers, result);
}

Session CaseRunner::SessionOf(const Case& c) const {
  if (source_.single_runs) return {};
  if (std::ranges::find(c.tags, kSessionTag) != c.tags.end()) return {SessionKind::kThorough};
  if (source_.is_reference) return {};
  if (!c.op) return {SessionKind::kRepeated};
  std::int64_t sum = 0;
  for (const char letter : c.id) sum += static_cast<unsigned char>(letter);
  return {SessionKind::kUsual, kZeroDraw + sum % kSessionPlainDraws};
}

std::vector<SessionAnswer> CaseRunner::AskAll(Session session, const format::Model& model,
                                              const std::string& arithmetic, Draws& draws) {
  const auto inputs = [&draws](std::int64_t draw) { return draws.Inputs(draw); };
  const auto is_sound = [](const SessionAnswer& answer) {
    return answer.outputs || (answer.run.draw != 0 && !IsGone(answer.outputs.error()));
  };
  std::vector<SessionAnswer> answers;
  const auto ask = [&](backend::Backend& backend, std::int64_t threads) {
    auto in_turn = RunSession(backend, model, arithmetic, session, threads, inputs);
    std::ranges::move(in_turn, std::back_inserter(answers));
    const bool at_once = session.kind == SessionKind::kThorough && backend.RunsAtOnce();
    if (!at_once || !std::ranges::all_of(answers, is_sound)) return;
    auto others = RunSessionAtOnce(backend, model, arithmetic, threads, inputs);
    std::ranges::move(others, std::back_inserter(answers));
  };
  ask(backend_, 0);
  if (session.kind != SessionKind::kThorough || !source_.make_with_threads) return answers;
  for (const std::int64_t threads : kSessionThreads) {
    if (!std::ranges::all_of(answers, is_sound)) break;
    const auto instance = source_.make_with_threads(static_cast<int>(threads));
    if (!instance) {
      answers.push_back({{.threads = threads}, instance.error()});
      break;
    }
    if (auto* isolated = dynamic_cast<IsolatedBackend*>(instance->get())) isolated->BeginCase();
    ask(**instance, threads);
  }
  return answers;
}

// Holds every answer but the first to the first one to the same inputs, and the first to other
// inputs to the reference, which alone states what is expected there. After the first fault only
// `unstable` is of interest.
void CaseRunner::JudgeSession(const Case& c, const format::Model& model, const Draws& draws,
                              std::span<const SessionAnswer> answers, CaseResult& result) {
  std::map<std::int64_t, const SessionAnswer*> firsts;
  for (const SessionAnswer& answer : answers) {
    const auto [first, is_first] = firsts.emplace(answer.run.draw, &answer);
    const bool same = is_first || SameAnswer(model, *first->second, answer, result);
    result.unstable = result.unstable || !same;
    if (result.outcome != Outcome::kPass) continue;
    if (same && is_first && answer.run.draw != 0) JudgeDraw(c, model, draws, answer, result);
    if (same && result.outcome == Outcome::kPass) continue;
    result.session = answer.run;
    if (!answer.outputs && IsGone(answer.outputs.error())) {
      result.unstable = false;  // the last answer
      Classify(answer.outputs.error(), result);
    } else if (!same) {
      TellChange(model, draws, *first->second, answer, result);
    }
    result.diagnosis = Describe(answer.run) + ": " + result.diagnosis;
  }
}

void CaseRunner::TellChange(const format::Model& model, const Draws& draws,
                            const SessionAnswer& first, const SessionAnswer& answer,
                            CaseResult& result) {
  if (!result.differences.empty()) {
    result.evidence = Keep(model, *draws.Inputs(answer.run.draw), *answer.outputs,
                           NamedOutputs(model, *first.outputs));
  }
  result.diagnosis = "gives another answer than before";
  if (!answer.outputs) result.diagnosis += ": " + answer.outputs.error().Text();
  DescribeAll(result);
}

// A backend may decline values, which then every prepared model must decline.
void CaseRunner::JudgeDraw(const Case& c, const format::Model& model, const Draws& draws,
                           const SessionAnswer& answer, CaseResult& result) {
  if (!answer.outputs) {
    const Error& error = answer.outputs.error();
    if (error.code != ErrorCode::kUnsupported)
      return Fail(result, std::string(kRefusedText) + error.Text());
    result.diagnosis = kOtherInputsDeclined;
    return;
  }
  const Outputs& expected = draws.Expected(answer.run.draw);
  if (expected.size() != answer.outputs->size()) {
    return Fail(result, "gave " + std::to_string(answer.outputs->size()) + " outputs, expected " +
                            std::to_string(expected.size()));
  }
  if (!c.alternatives.empty() || c.or_exact) return;
  for (std::size_t i = 0; i < expected.size(); ++i) {
    const std::string& name = model.graph.outputs[i].name;
    if (auto difference = Compare(c, name, (*answer.outputs)[i], expected[i])) {
      result.differences.push_back(*std::move(difference));
    }
  }
  if (result.differences.empty()) return;
  result.expectation = ExpectationSource::kReference;
  result.evidence =
      Keep(model, *draws.Inputs(answer.run.draw), *answer.outputs, NamedOutputs(model, expected));
  DescribeAll(result);
}

// A clause that the checker finds must make Prepare fail; other clauses may fail in Run.  Source:
// backend_protocol.S16.
void CaseRunner::RunRefusal(const Case& c, const format::Model& model, CaseResult& result) {
  const std::vector<format::Finding> findings =
      format::Check(model, c.id, oracle_.references().features());
  if (!findings.empty() &&
      std::ranges::find(findings, c.error, &format::Finding::rule) == findings.end()) {
    const format::Finding& first = findings.front();
    return Fail(result, "refused by " + first.rule + ", expected " + c.error + ": " + first.where +
                            ": " + first.message);
  }
  // If a model breaks several clauses, the backend may name any of them.
  std::vector<std::string> broken = {c.error};
  for (const format::Finding& finding : findings) broken.push_back(finding.rule);
  if (!oracle_.IsSound(c, model, broken, result)) return;
  const auto error = ErrorOf(c, model, findings.empty(), result);
  if (!error) return;  // already reported
  const bool named = std::ranges::find(broken, error->clause) != broken.end();
  if (!named && !error->clause.empty()) {
    return Fail(result,
                "refused by " + error->clause + ", expected " + c.error + ": " + error->Text());
  }
  // A model that only this arithmetic refuses is unsupported, with the clause as the reason.
  const bool refused = error->code == ErrorCode::kInvalid || error->code == ErrorCode::kTooLarge ||
                       (named && error->code == ErrorCode::kUnsupported);
  if (!refused) return Classify(*error, result);
  if (error->clause.empty()) result.diagnosis = kClauseNotNamed;
}

// The backend's error for a model that it must refuse. If the inputs cannot be built because their
// type breaks the format, the model is only prepared.
std::optional<Error> CaseRunner::ErrorOf(const Case& c, const format::Model& model, bool run,
                                         CaseResult& result) {
  if (run) {
    const auto inputs = BuildInputs(c, model);
    if (!inputs) {
      Fail(result, "the case cannot be built: " + inputs.error().Text());
      return std::nullopt;
    }
    const auto own = [&](std::int64_t) { return &*inputs; };
    auto answers = RunSession(backend_, model, result.arithmetic, {SessionKind::kSingle}, 0, own);
    if (!answers.front().outputs) return std::move(answers.front().outputs).error();
  } else {
    const auto prepared = Guarded([&] { return backend_.Prepare(model, result.arithmetic); });
    if (!prepared) return prepared.error();
  }
  Fail(result, "accepted, expected to be refused by " + c.error);
  return std::nullopt;
}

Result<void> CaseRunner::Judge(const Case& c, std::size_t index, const format::Model& model,
                               const std::vector<Tensor>& inputs, const Outputs& outputs,
                               CaseResult& result) {
  std::vector<Evidence::Value> wanted;
  const bool exact_too = c.or_exact && result.arithmetic == "exact";
  for (std::size_t i = 0; i < c.outputs.size(); ++i) {
    const std::string& name = c.outputs[i].name;
    QTX_ASSIGN_OR_RETURN(const std::size_t at, OutputIndex(c, model, i));
    QTX_ASSIGN_OR_RETURN(Tensor expected,
                         oracle_.Expect(c, index, model, inputs, result.arithmetic, i));
    auto difference = CompareOutput(c, name, outputs[at], expected);
    bool differs = IsLoose(c) && Compare(name, outputs[at], expected, std::nullopt);
    if (exact_too) {
      QTX_ASSIGN_OR_RETURN(const Outputs exact,
                           oracle_.references().Get(index, "exact", model, inputs));
      if (difference) difference = CompareOutput(c, name, outputs[at], exact[at]);
      differs = differs || Compare(name, expected, exact[at], std::nullopt);
    }
    result.within_bound = result.within_bound || differs;
    if (difference) result.differences.push_back(*std::move(difference));
    wanted.push_back({name, std::move(expected)});
  }
  if (result.differences.empty()) return {};
  result.within_bound = false;
  result.evidence = Keep(model, inputs, outputs, std::move(wanted));
  DescribeAll(result);
  return {};
}

}  // namespace qtx::conformance
