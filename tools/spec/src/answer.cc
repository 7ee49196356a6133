#include "answer.h"

#include <fmt/core.h>

#include <algorithm>
#include <utility>

#include "qtx/format/check.h"
#include "qtx/reference/interpreter.h"

namespace qtx::spec {
namespace {

Result<std::vector<format::Tensor>> RunOn(const conformance::Case& c, const format::Model& model,
                                          const std::string& arithmetic,
                                          format::Features features) {
  QTX_ASSIGN_OR_RETURN(const auto inputs, conformance::BuildInputs(c, model));
  QTX_ASSIGN_OR_RETURN(auto interpreter,
                       reference::Interpreter::Prepare(model, arithmetic, {}, features));
  return interpreter.Run(inputs);
}

std::vector<std::string> Elements(const format::Tensor& tensor, std::size_t most) {
  std::vector<std::string> texts;
  if (tensor.elem_type == format::ElementType::kString) return texts;
  const format::ElementType storage = format::StorageOf(tensor.elem_type);
  if (format::IsIntegerStorage(storage) || storage == format::ElementType::kBool ||
      storage == format::ElementType::kBipolar1) {
    const auto values = format::UnpackIntegers(tensor);
    for (std::size_t i = 0; i < std::min(values.size(), most); ++i) {
      texts.push_back(fmt::format("{}", values[i]));
    }
    return texts;
  }
  const auto values = format::StoredValues(tensor);
  for (std::size_t i = 0; i < std::min(values.size(), most); ++i) {
    texts.push_back(tensor.elem_type == format::ElementType::kFloat
                        ? fmt::format("{}", static_cast<float>(values[i]))
                        : fmt::format("{}", values[i]));
  }
  return texts;
}

Result<std::vector<format::Tensor>> RunByText(const conformance::Case& c,
                                              const format::Model& model,
                                              const std::string& arithmetic,
                                              const formula::Text& text) {
  QTX_ASSIGN_OR_RETURN(const auto interpreter,
                       formula::Interpreter::Prepare(text, model, arithmetic, c.added_types));
  QTX_ASSIGN_OR_RETURN(const auto inputs, conformance::BuildInputs(c, model));
  return interpreter.Run(inputs);
}

Answer ToAnswer(Result<std::vector<format::Tensor>> outputs) {
  Answer answer;
  if (outputs.has_value()) {
    answer.outputs = *std::move(outputs);
  } else {
    answer.error = outputs.error();
  }
  return answer;
}

}  // namespace

Answer AnswerOf(const conformance::Case& c, const format::Model& model,
                const std::string& arithmetic, const Edition& edition) {
  if (edition.text != nullptr) return ToAnswer(RunByText(c, model, arithmetic, *edition.text));
  if (const auto findings = format::Check(model, "", edition.features); !findings.empty()) {
    // If a model breaks several rules, reports the one that the case names.
    const auto named = std::ranges::find(findings, c.error, &format::Finding::rule);
    const format::Finding& told = named == findings.end() ? findings.front() : *named;
    return {{}, Error{ErrorCode::kInvalid, told.where, told.message, told.rule}};
  }
  return ToAnswer(RunOn(c, model, arithmetic, edition.features));
}

std::optional<Error> FaultOf(const Answer& before, const Answer& after) {
  const bool refused = after.error && (after.error->code == ErrorCode::kInvalid ||
                                       after.error->code == ErrorCode::kTooLarge);
  if (!refused || !after.error->clause.empty()) return std::nullopt;
  if (before.error && before.error->message == after.error->message) return std::nullopt;
  return after.error;
}

std::string Shown(const std::string& name, const format::Tensor& tensor, std::size_t most,
                  const formula::AddedTypes& added_types) {
  const auto added = added_types.find(name);
  std::string type(added == added_types.end() ? format::Name(tensor.elem_type) : added->second);
  std::ranges::transform(type, type.begin(), [](char c) {
    return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  });
  std::string text = name + " " + type + format::ToString(tensor.dims);
  for (const std::string& element : Elements(tensor, most)) text += " " + element;
  if (static_cast<std::size_t>(format::ElementCount(tensor)) > most) text += " ...";
  return text;
}

std::string Refusal(const std::string& clause) {
  return clause.empty() ? "refused" : "refused by " + clause;
}

std::string Shown(const Answer& answer, const format::Model& model, std::size_t most,
                  const formula::AddedTypes& added_types) {
  if (answer.error) {
    const std::string& clause = answer.error->clause;
    return clause.empty() ? "refused: " + answer.error->message : Refusal(clause);
  }
  std::string text;
  for (std::size_t i = 0; i < answer.outputs.size(); ++i) {
    if (!text.empty()) text += "; ";
    text += Shown(model.graph.outputs[i].name, answer.outputs[i], most, added_types);
  }
  return text;
}

std::optional<conformance::Difference> FirstDifference(const format::Model& model,
                                                       const Answer& before, const Answer& after) {
  for (std::size_t i = 0; i < before.outputs.size() && i < after.outputs.size(); ++i) {
    auto difference = conformance::Compare(model.graph.outputs[i].name, after.outputs[i],
                                           before.outputs[i], std::nullopt);
    if (difference) return difference;
  }
  return std::nullopt;
}

}  // namespace qtx::spec
