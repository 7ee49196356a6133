// Case documents, reports, lists and the journals of the suite.
#include <algorithm>
#include <array>

#include "fuzz_journal.h"
#include "qtx/conformance/case.h"
#include "qtx/conformance/journal.h"
#include "qtx/conformance/proposal_examples.h"
#include "qtx/conformance/report.h"
#include "qtx/conformance/runner.h"
#include "qtx/conformance/text_answers.h"
#include "target.h"

namespace qtx::fuzz {
namespace {

using conformance::Case;

constexpr std::int64_t kSmallValue = 4096;  // elements; larger ones are for the suite's own bound
constexpr std::size_t kBuilt = 4;           // cases of a document whose models are built
// What the seeds of journals have in the place of a commit.
constexpr const char* kCommit = "@COMMIT@";

bool IsSmall(const conformance::CaseValue& value) {
  if (value.data || !value.type.shape) return true;
  std::int64_t count = 1;
  for (const format::Dimension& dimension : *value.type.shape) {
    const std::int64_t size = dimension.value.value_or(1);
    if (size > kSmallValue || (count *= std::max<std::int64_t>(size, 1)) > kSmallValue)
      return false;
  }
  return true;
}

void Build(const std::vector<Case>& cases) {
  for (const Case& c : std::span(cases).first(std::min(kBuilt, cases.size()))) {
    if (!std::ranges::all_of(c.inputs, IsSmall) || !std::ranges::all_of(c.initializers, IsSmall) ||
        !c.model.empty() || !c.test_data.empty()) {
      continue;
    }
    const auto model = conformance::BuildModel(c);
    if (!Answered(model)) continue;
    Answered(model->Serialize());
    Answered(conformance::BuildInputs(c, *model));
  }
}

void Cases(std::string_view, const std::string& bytes) {
  const auto cases = conformance::ParseCases(bytes, "fuzz");
  if (Answered(cases)) Build(*cases);
}

void FormulaCases(std::string_view, const std::string& bytes) {
  const auto cases = conformance::ParseFormulaCases(bytes, "fuzz");
  if (Answered(cases)) Build(*cases);
}

void Examples(std::string_view, const std::string& bytes) {
  static const conformance::OverlayNames names = {.types = {{"NF4Q", format::ElementType::kUint4Q}},
                                                  .arithmetics = {"other"}};
  Answered(conformance::ParseProposalExamples(bytes, "fuzz"));
  const auto cases = conformance::ParseOverlayExamples(bytes, "fuzz", 1, names);
  if (Answered(cases)) Build(*cases);
  Answered(conformance::ParseClaimCases(bytes, "fuzz", 1, "add.S2", names));
}

// A report that is written reads as the same report; the other forms and merging end.
void Reports(std::string_view, const std::string& bytes) {
  const auto report = conformance::ParseReport(bytes, "fuzz");
  if (!Answered(report)) return;
  const std::string json = conformance::ToJson(*report);
  const auto again = conformance::ParseReport(json, "written");
  if (!again.has_value()) Stop("written, then refused: " + again.error().Text());
  if (conformance::ToJson(*again) != json) Stop("came back as another report");
  conformance::ToText(*report);
  conformance::ToJunit(*report);
  conformance::ToHtml(*report);
  Answered(conformance::MergeReports({*report, *report}));
}

void ExpectedFailures(std::string_view, const std::string& bytes) {
  const auto list = conformance::ParseExpectedFailures(bytes, "fuzz");
  if (!Answered(list)) return;
  std::vector<Case> cases(1);
  cases[0].id = "seed/add[type=int8q]";
  conformance::StaleExpectations(*list, cases);
}

void TextAnswers(std::string_view, const std::string& bytes) {
  const auto answers = conformance::TextAnswers::Parse(bytes, "fuzz");
  if (Answered(answers) && answers->Text() != bytes && !bytes.empty() && bytes[0] != '#') {
    const auto again = conformance::TextAnswers::Parse(answers->Text(), "written");
    if (!again.has_value()) Stop("written, then refused: " + again.error().Text());
    if (*again != *answers) Stop("came back as other answers");
  }
}

void Command(std::string_view, const std::string& bytes) {
  const auto words = conformance::SplitCommand(bytes);
  if (Answered(words) && words->empty()) Stop("a command without a word");
}

// What a journal is opened as, it is opened as again: opening only drops a line cut short.
void ValidationJournal(std::string_view, const std::string& bytes) {
  static const InputFolder folder;
  const std::string path = folder.Write("validation.journal", bytes);
  if (!Answered(conformance::Journal::Open(path, kCommit))) return;
  if (!Answered(conformance::Journal::Open(path, kCommit)))
    Stop("a journal that can be opened once");
}

void FuzzJournal(std::string_view, const std::string& bytes) {
  static const InputFolder folder;
  conformance::FuzzOptions options;
  options.journal = folder.Write("fuzz.journal", bytes);
  options.commit = kCommit;
  const auto journal = conformance::FuzzJournal::Open(options, "exact", {}, "x86");
  if (Answered(journal)) journal->Find(1);
}

constexpr std::array kTargets = {
    Target{"cases", &Cases},
    Target{"formula_cases", &FormulaCases},
    Target{"proposal_examples", &Examples},
    Target{"reports", &Reports},
    Target{"expected_failures", &ExpectedFailures},
    Target{"text_answers", &TextAnswers},
    Target{"command", &Command},
    Target{"validation_journal", &ValidationJournal},
    Target{"fuzz_journal", &FuzzJournal},
};

}  // namespace

std::span<const Target> Targets() { return kTargets; }

}  // namespace qtx::fuzz
