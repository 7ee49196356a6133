// The examples of a proposal under both sets of features.
#include <algorithm>
#include <array>
#include <utility>

#include "answer.h"
#include "qtx/conformance/runner.h"
#include "qtx/spec/proposal.h"

namespace qtx::spec {
namespace {

using conformance::Case;
using conformance::CaseValue;

constexpr std::size_t kShownOfExample = 16;

// One side alone is a case as any other. Where it is refused and types no output, the model has
// the outputs of the other side: both sides are about the same model.
Case SideOf(const Case& example, bool after) {
  Case c = example;
  c.before.reset();
  if (!example.before) return c;
  const std::vector<CaseValue>& others = after ? example.before->outputs : example.outputs;
  if (!after) {
    c.outputs = example.before->outputs;
    c.error = example.before->error;
    c.alternatives.clear();
  }
  if (!c.outputs.empty()) return c;
  c.outputs = others;
  for (CaseValue& output : c.outputs) {
    if (!output.type.shape && output.data) {
      output.type.shape = format::ToShape(output.data->dims);
    }
    output.data.reset();
  }
  return c;
}

std::string Expected(const Case& c) {
  if (!c.error.empty()) return Refusal(c.error);
  std::string text;
  for (const CaseValue& output : c.outputs) {
    if (!text.empty()) text += "; ";
    text += output.data ? Shown(output.name, *output.data, kShownOfExample, c.added_types)
                        : output.name + " " + output.file;
  }
  return text;
}

// How the text's answer differs from what the case expects; "" where it does not.
std::string DifferenceOf(const Case& c, const format::Model& model, const Answer& answer) {
  const std::string expected = Expected(c);
  const std::string obtained = Shown(answer, model, kShownOfExample, c.added_types);
  const std::string differs = obtained + ", expected " + expected;
  if (!c.error.empty() || answer.error) {
    return answer.error && answer.error->clause == c.error && !c.error.empty() ? "" : differs;
  }
  for (const CaseValue& output : c.outputs) {
    const auto found =
        std::ranges::find(model.graph.outputs, output.name, &format::ValueInfo::name);
    if (found == model.graph.outputs.end() || !output.data) return differs;
    const auto i = static_cast<std::size_t>(found - model.graph.outputs.begin());
    if (conformance::Compare(c, output.name, answer.outputs[i], *output.data)) return differs;
  }
  return "";
}

ExampleSide RunByText(const Case& c, const std::string& arithmetic, const Edition& edition,
                      bool expects) {
  ExampleSide side;
  if (expects) side.expected = Expected(c);
  const auto model = conformance::BuildModel(c);
  if (!model.has_value()) {
    side.obtained = side.differs = model.error().message;
    return side;
  }
  const Answer answer = AnswerOf(c, *model, arithmetic, edition);
  side.obtained = Shown(answer, *model, kShownOfExample, c.added_types);
  if (expects) side.differs = DifferenceOf(c, *model, answer);
  side.ok = side.differs.empty();
  if (!side.ok) side.fault = FaultOf({}, answer);
  return side;
}

// Judged as the suite judges the reference; what it gives is asked again, for the eyes.
ExampleSide Run(const Case& c, const std::string& arithmetic, const Edition& edition) {
  ExampleSide side;
  side.expected = Expected(c);
  conformance::RunOptions options;
  options.arithmetics = {arithmetic};
  options.features = edition.features;
  const std::array<Case, 1> cases = {c};
  const std::array sources = {conformance::ReferenceSource(edition.features)};
  const auto report = conformance::RunSuite("", cases, sources, options);
  const auto& results = report.backends.front().cases;
  side.ok = !results.empty() && results[0].outcome == conformance::Outcome::kPass;
  if (!side.ok) side.differs = results.empty() ? "not run" : results[0].diagnosis;
  const auto model = conformance::BuildModel(c);
  if (!model.has_value()) {
    side.obtained = model.error().message;
    return side;
  }
  const Answer answer = AnswerOf(c, *model, arithmetic, edition);
  side.obtained = Shown(answer, *model, kShownOfExample);
  // The suite lets a backend name no clause; an example does not.
  if (side.ok && answer.error && answer.error->clause != c.error) {
    side.ok = false;
    side.differs = side.obtained + ", expected " + side.expected;
  }
  return side;
}

}  // namespace

std::vector<ExampleResult> RunExamples(const Proposal& proposal) {
  std::vector<ExampleResult> results;
  for (std::size_t i = 0; i < proposal.examples.size(); ++i) {
    const Case& example = proposal.examples[i];
    for (const std::string& arithmetic : example.arithmetics) {
      const auto run = [&](bool after) {
        const Edition edition = after ? proposal.After() : proposal.Before();
        const Case side = SideOf(example, after);
        if (edition.text == nullptr) return Run(side, arithmetic, edition);
        return RunByText(side, arithmetic, edition, after || example.before.has_value());
      };
      results.push_back(
          {.example = i, .arithmetic = arithmetic, .before = run(false), .after = run(true)});
    }
  }
  return results;
}

Result<void> CheckExamples(const Proposal& proposal) {
  for (const ExampleResult& result : RunExamples(proposal)) {
    const Case& example = proposal.examples[result.example];
    for (const ExampleSide* side : {&result.before, &result.after}) {
      if (side->ok) continue;
      return Error{ErrorCode::kInvalid, example.where,
                   example.id + " @" + result.arithmetic +
                       (side == &result.before ? " before: " : " with the feature: ") + "found " +
                       side->obtained + ", expected " + side->expected};
    }
  }
  return {};
}

}  // namespace qtx::spec
