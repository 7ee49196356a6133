#include "oracle.h"

#include <algorithm>
#include <cstdint>
#include <optional>

#include "case_digest.h"
#include "compare.h"
#include "model_builder.h"
#include "qtx/conformance/diagnosis.h"
#include "qtx/reference/interpreter.h"

namespace qtx::conformance {
namespace {

using format::ElementType;
using format::Tensor;

ExpectationSource SourceOf(const Case& c) {
  if (!c.error.empty()) return ExpectationSource::kHand;
  const auto open = [](const CaseValue& output) { return !output.data && output.file.empty(); };
  if (c.outputs.empty() || std::ranges::any_of(c.outputs, open))
    return ExpectationSource::kReference;
  const auto from_file = [](const CaseValue& output) { return !output.file.empty(); };
  const bool published = std::ranges::find(c.tags, kPublishedTag) != c.tags.end();
  return published || std::ranges::any_of(c.outputs, from_file) ? ExpectationSource::kThirdParty
                                                                : ExpectationSource::kHand;
}

// True if the model computes with floats, whose roundings reach its integer outputs.
bool HasFloats(const format::Model& model, const std::vector<Tensor>& inputs) {
  const auto is_float = [](ElementType type) {
    return type == ElementType::kFloat || type == ElementType::kDouble ||
           type == ElementType::kFloat16 || type == ElementType::kBfloat16;
  };
  return std::ranges::any_of(inputs, is_float, &Tensor::elem_type) ||
         std::ranges::any_of(model.graph.initializers, is_float, &format::TensorData::data_type);
}

// How data that others computed differ from the exact result by more than their bound: for floats
// the case's tolerance, but at least 1 ulp of those of 16 bits or fewer; for integers of as many
// bits of a model with floats 1 LSB; for other integers, which are not rounded, nothing.
std::optional<Difference> BeyondBound(const Case& c, const std::string& name, const Tensor& data,
                                      const Tensor& exact, bool has_floats) {
  const bool narrow = format::BitWidth(data.elem_type) <= 16;
  Tolerance bound = ToleranceOf(c);
  if (narrow) bound.ulp = std::max<std::int64_t>(bound.ulp, 1);
  auto difference = CompareWithin(name, data, exact, bound);
  const bool rounds = narrow && has_floats && format::IsIntegerStorage(data.elem_type);
  if (!difference || !difference->mismatch.empty() || !rounds) return difference;
  const auto& distances = difference->histogram;
  if (distances.begin()->first >= -1 && distances.rbegin()->first <= 1) return std::nullopt;
  return difference;
}

}  // namespace

Result<ReferenceResults::Outputs> ReferenceResults::Get(std::size_t index,
                                                        const std::string& arithmetic,
                                                        const format::Model& model,
                                                        const std::vector<Tensor>& inputs) {
  {
    const std::scoped_lock lock(mutex_);
    const auto known = outputs_.find({index, arithmetic});
    if (known != outputs_.end()) return known->second;
  }
  // "exact reversed" is the answer of `exact` to the reversed inputs.
  const std::string_view row = std::string_view(arithmetic).substr(0, arithmetic.find(' '));
  QTX_ASSIGN_OR_RETURN(auto interpreter,
                       reference::Interpreter::Prepare(model, row, {}, features_));
  QTX_ASSIGN_OR_RETURN(Outputs outputs, interpreter.Run(inputs));
  Put(index, arithmetic, outputs);
  return outputs;
}

void ReferenceResults::Put(std::size_t index, const std::string& arithmetic,
                           const Outputs& outputs) {
  const std::scoped_lock lock(mutex_);
  outputs_.insert_or_assign({index, arithmetic}, outputs);
}

Result<Tensor> Oracle::Expect(const Case& c, std::size_t index, const format::Model& model,
                              const std::vector<Tensor>& inputs, const std::string& arithmetic,
                              std::size_t i) {
  QTX_ASSIGN_OR_RETURN(std::optional<Tensor> expected, BuildExpected(c, model, i));
  if (expected) return *std::move(expected);
  QTX_ASSIGN_OR_RETURN(const std::size_t at, OutputIndex(c, model, i));
  QTX_ASSIGN_OR_RETURN(auto outputs, references_.Get(index, arithmetic, model, inputs));
  if (at < outputs.size()) return std::move(outputs[at]);
  return Error{ErrorCode::kInvalid, c.where,
               "the reference gave fewer outputs than the case expects"};
}

bool Oracle::IsWithinBound(const Case& c, std::size_t index, const format::Model& model,
                           const std::vector<Tensor>& inputs, CaseResult& result) {
  const auto exact = references_.Get(index, "exact", model, inputs);
  if (!exact) return true;  // QTX does not compute the model
  const bool has_floats = HasFloats(model, inputs);
  for (std::size_t i = 0; i < c.outputs.size(); ++i) {
    const auto at = OutputIndex(c, model, i);
    const auto data = BuildExpected(c, model, i);
    if (!at || !data || !*data || *at >= exact->size()) continue;  // found when an answer is judged
    auto difference = BeyondBound(c, c.outputs[i].name, **data, (*exact)[*at], has_floats);
    if (!difference) continue;
    result.diagnosis += result.diagnosis.empty() ? "the data are too far from exact: " : "; ";
    result.diagnosis += Describe(*difference);
    result.differences.push_back(*std::move(difference));
  }
  if (result.differences.empty()) return true;
  result.outcome = Outcome::kBadGolden;
  return false;
}

Result<std::vector<Tensor>> Oracle::Outputs(const Case& c, std::size_t index,
                                            const format::Model& model,
                                            const std::vector<Tensor>& inputs,
                                            const std::string& arithmetic) {
  const bool strict = !c.ulp && !c.close && !c.or_exact && c.alternatives.empty() &&
                      c.outputs.size() == model.graph.outputs.size();
  std::vector<Tensor> outputs;
  for (std::size_t i = 0; strict && i < c.outputs.size(); ++i) {
    QTX_ASSIGN_OR_RETURN(const std::size_t at, OutputIndex(c, model, i));
    QTX_ASSIGN_OR_RETURN(std::optional<Tensor> data, BuildExpected(c, model, i));
    if (!data || at != i) break;
    outputs.push_back(*std::move(data));
  }
  if (strict && outputs.size() == c.outputs.size()) return outputs;
  return references_.Get(index, arithmetic, model, inputs);
}

template <typename Answers>
bool Oracle::AgreesWithText(const Case& c, const format::Model& model, const Answers& answers,
                            CaseResult& result) const {
  if (text_answers_ == nullptr || text_answers_->Find(c.id, result.arithmetic).empty()) return true;
  const auto question = QuestionOf(c, model);
  const auto expected = answers();
  if (!question || expected.empty()) return true;  // found when an answer is judged
  result.text = text_answers_->Compare(c.id, result.arithmetic, *question, expected);
  if (result.text == TextVerdict::kConfirmed &&
      result.expectation == ExpectationSource::kReference) {
    result.expectation = ExpectationSource::kText;
  }
  if (result.text == TextVerdict::kSettled) {
    result.outcome = Outcome::kBadExpectation;
    result.diagnosis =
        "the text agrees: " + std::string(kTextDisputesFile) + " has a line for it that is to go";
    return false;
  }
  if (result.text != TextVerdict::kContradicted) return true;
  result.outcome = Outcome::kBadExpectation;
  result.diagnosis =
      "the text's own computation, by " + std::string(kTextAnswersFile) +
      ", gives another answer than " +
      (result.expectation == ExpectationSource::kReference ? "the reference" : "the case expects") +
      ": qtx validate --backend text shows it";
  return false;
}

bool Oracle::IsSound(const Case& c, std::size_t index, const format::Model& model,
                     const std::vector<Tensor>& inputs, CaseResult& result) {
  const std::pair key(index, result.arithmetic);
  std::optional<Soundness> known;
  {
    const std::scoped_lock lock(mutex_);
    if (const auto found = soundness_.find(key); found != soundness_.end()) known = found->second;
  }
  if (!known) {
    known.emplace();
    known->filled.arithmetic = result.arithmetic;
    known->is_sound = FindSoundness(c, index, model, inputs, known->filled);
    const std::scoped_lock lock(mutex_);
    soundness_.emplace(key, *known);
  }
  result.expectation = known->filled.expectation;
  result.text = known->filled.text;
  if (known->is_sound) return true;
  result.outcome = known->filled.outcome;
  result.diagnosis = known->filled.diagnosis;
  result.differences = known->filled.differences;
  return false;
}

bool Oracle::FindSoundness(const Case& c, std::size_t index, const format::Model& model,
                           const std::vector<Tensor>& inputs, CaseResult& result) {
  result.expectation = SourceOf(c);
  if (c.or_exact && !IsWithinBound(c, index, model, inputs, result)) return false;
  const auto answers = [&]() -> std::vector<std::string> {
    const auto outputs = Outputs(c, index, model, inputs, result.arithmetic);
    if (!outputs) return {};
    return {AnswerOf(*outputs)};
  };
  return AgreesWithText(c, model, answers, result);
}

bool Oracle::IsSound(const Case& c, const format::Model& model,
                     std::span<const std::string> clauses, CaseResult& result) const {
  result.expectation = SourceOf(c);
  return AgreesWithText(
      c, model, [clauses] { return clauses; }, result);
}

}  // namespace qtx::conformance
