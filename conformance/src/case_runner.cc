#include "case_runner.h"

#include <algorithm>
#include <exception>

#include "guarded.h"
#include "model_builder.h"
#include "qtx/backend/protocol.h"
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
  Fail(result, "refused: " + error.Text());
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

// Types that QTX lacks are unsupported, not a failure.
void CannotBuild(const Error& error, CaseResult& result) {
  Fail(result, "the case cannot be built: " + error.Text());
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

bool IsGone(const Error& error) {
  return error.code == ErrorCode::kIo || error.code == ErrorCode::kTimeout ||
         error.code == ErrorCode::kProtocol || error.code == ErrorCode::kSystem;
}

// For isolated backends the protocol has checked this already.
Result<void> CheckTensors(const std::vector<Tensor>& outputs) {
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    if (const auto sound = backend::CheckTensor(outputs[i]); !sound) {
      return At("outputs[" + std::to_string(i) + "]", sound.error());
    }
  }
  return {};
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

std::optional<std::vector<Tensor>> Reversed(const std::vector<Tensor>& inputs) {
  std::vector<Tensor> reversed = inputs;
  for (Tensor& tensor : reversed) {
    const bool real = tensor.quantization || tensor.elem_type == format::ElementType::kFloat;
    if (!real) return std::nullopt;
    const auto size = static_cast<std::ptrdiff_t>(format::BitWidth(tensor.elem_type) / 8);
    if (size == 0) continue;  // packed types stay unchanged
    std::vector<std::byte> bytes;
    bytes.reserve(tensor.bytes.size());
    for (auto at = tensor.bytes.end(); at != tensor.bytes.begin(); at -= size) {
      bytes.insert(bytes.end(), at - size, at);
    }
    tensor.bytes = std::move(bytes);
  }
  return reversed;
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
  if (!model) return CannotBuild(model.error(), result);
  if (!c.error.empty()) return RunRefusal(c, *model, result);
  const auto inputs = BuildInputs(c, *model);
  if (!inputs) return CannotBuild(inputs.error(), result);
  if (!c.op) NoteUnmodelled(*model, oracle_.references().features(), result);
  std::optional<Repeat> again;
  const bool repeats = c.op.has_value() && !source_.is_reference;
  const auto outputs = Answer(*model, result.arithmetic, *inputs, repeats ? &again : nullptr);
  if (outputs && source_.is_reference) oracle_.references().Put(index, result.arithmetic, *outputs);
  if (!oracle_.IsSound(c, index, *model, *inputs, result)) return;
  if (!outputs) return Classify(outputs.error(), result);
  if (outputs->size() != model->graph.outputs.size()) {
    return Fail(result, "gave " + std::to_string(outputs->size()) + " outputs, expected " +
                            std::to_string(model->graph.outputs.size()));
  }
  if (const auto judged = Judge(c, index, *model, *inputs, *outputs, result); !judged) {
    return Fail(result, "no expectation: " + judged.error().Text());
  }
  if (!again) return;
  if (again->outputs) JudgeAgain(*model, *inputs, *outputs, *again->outputs, result);
  JudgeOthers(c, index, *model, *again, result);
}

// Runs the case again after another one: a difference means leftover state or a race.
void CaseRunner::JudgeAgain(const format::Model& model, const std::vector<Tensor>& inputs,
                            const Outputs& outputs, const Outputs& again, CaseResult& result) {
  std::vector<Difference> differences;
  std::vector<Evidence::Value> first;
  for (std::size_t i = 0; i < outputs.size() && i < again.size(); ++i) {
    const std::string& name = model.graph.outputs[i].name;
    if (auto difference = Compare(name, again[i], outputs[i], std::nullopt)) {
      differences.push_back(*std::move(difference));
    }
    first.push_back({name, outputs[i]});
  }
  if (differences.empty() && again.size() == outputs.size()) return;
  result.unstable = true;
  if (result.outcome != Outcome::kPass) return;
  if (again.size() != outputs.size()) {
    return Fail(result, "gives " + std::to_string(again.size()) +
                            " outputs when it is asked again, and gave " +
                            std::to_string(outputs.size()));
  }
  result.differences = std::move(differences);
  result.evidence = Keep(model, inputs, again, std::move(first));
  result.diagnosis = "gives another answer when it is asked again";
  DescribeAll(result);
}

// Detects backends that return a cached answer: reversed inputs must give the reference's answer to
// them. Skipped where the reference refuses or the case permits alternatives.
void CaseRunner::JudgeOthers(const Case& c, std::size_t index, const format::Model& model,
                             const Repeat& again, CaseResult& result) {
  if (result.outcome != Outcome::kPass || !again.others || !c.alternatives.empty() || c.or_exact) {
    return;
  }
  const auto expected =
      oracle_.references().Get(index, result.arithmetic + " reversed", model, again.inputs);
  if (!expected || expected->size() != again.others->size()) return;
  std::vector<Evidence::Value> wanted;
  for (std::size_t i = 0; i < expected->size(); ++i) {
    const std::string& name = model.graph.outputs[i].name;
    if (auto difference = Compare(c, name, (*again.others)[i], (*expected)[i])) {
      result.differences.push_back(*std::move(difference));
    }
    wanted.push_back({name, (*expected)[i]});
  }
  if (result.differences.empty()) return;
  result.evidence = Keep(model, again.inputs, *again.others, std::move(wanted));
  result.diagnosis = "asked of the elements back to front";
  result.reversed = true;
  DescribeAll(result);
}

Result<CaseRunner::Outputs> CaseRunner::Ask(const format::Model& model,
                                            const std::string& arithmetic,
                                            const std::vector<Tensor>& inputs,
                                            std::optional<Repeat>* again) {
  QTX_ASSIGN_OR_RETURN(const auto prepared, backend_.Prepare(model, arithmetic));
  QTX_ASSIGN_OR_RETURN(Outputs answer, prepared->Run(inputs));
  auto reversed = again == nullptr ? std::nullopt : Reversed(inputs);
  if (!reversed) return answer;
  Repeat repeat;
  repeat.inputs = *std::move(reversed);
  // Reversed inputs may rightly be refused, but the backend must not crash.
  auto others = prepared->Run(repeat.inputs);
  if (!others && IsGone(others.error())) return others.error();
  if (others) repeat.others = *std::move(others);
  // In-process only: through a pipe a third request costs a fifth of a case.
  if (isolated_ == nullptr) {
    QTX_ASSIGN_OR_RETURN(repeat.outputs, prepared->Run(inputs));
  }
  *again = std::move(repeat);
  return answer;
}

Result<CaseRunner::Outputs> CaseRunner::Answer(const format::Model& model,
                                               const std::string& arithmetic,
                                               const std::vector<Tensor>& inputs,
                                               std::optional<Repeat>* again) {
  auto outputs = Guarded([&] { return Ask(model, arithmetic, inputs, again); });
  if (outputs && isolated_ != nullptr) {
    if (auto fault = isolated_->TakeReleaseFault()) return *std::move(fault);
  }
  if (outputs) QTX_RETURN_IF_ERROR(CheckTensors(*outputs));
  if (outputs && again != nullptr && *again) {
    if ((*again)->outputs) QTX_RETURN_IF_ERROR(CheckTensors(*(*again)->outputs));
    if ((*again)->others) QTX_RETURN_IF_ERROR(CheckTensors(*(*again)->others));
  }
  return outputs;
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
  const bool refused =
      named || error->code == ErrorCode::kInvalid || error->code == ErrorCode::kTooLarge;
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
    const auto outputs = Answer(model, result.arithmetic, *inputs);
    if (!outputs) return outputs.error();
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
