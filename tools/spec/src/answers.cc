#include "qtx/spec/answers.h"

#include <algorithm>
#include <sstream>

#include "qtx/format/catalogue.h"
#include "qtx/format/file.h"
#include "qtx/reference/interpreter.h"

namespace qtx::spec {
namespace {

using conformance::ExpectationSource;
using conformance::TextVerdict;

constexpr std::int64_t kMaxListBytes = 1 << 16;

// A source of answers beside the suite: op_types, one a line, which a test compares with it.
struct List {
  const char* file;
  bool OperatorAnswers::*answer;
};
constexpr List kLists[] = {
    {"/backends/python/operators.txt", &OperatorAnswers::python},
    {"/reference/tests/golden/operators.txt", &OperatorAnswers::golden},
    {"/tools/convert/tests/golden/operators.txt", &OperatorAnswers::golden},
};

}  // namespace

Result<AnswersByOperator> CountAnswers(const conformance::Report& report, const std::string& root) {
  AnswersByOperator operators;
  for (const std::string& op_type : reference::SupportedOperators()) operators[op_type];
  for (const format::OpSchema& row : format::Sections()) {
    operators[std::string(row.op_type)].checks += std::ssize(row.checks);
  }
  for (const conformance::BackendReport& row : report.backends) {
    for (const conformance::CaseResult& result : row.cases) {
      OperatorAnswers& answers = operators[result.op];
      answers.hand += int{result.expectation == ExpectationSource::kHand};
      answers.third_party += int{result.expectation == ExpectationSource::kThirdParty};
      answers.text += int{result.text == TextVerdict::kConfirmed};
      answers.reference += int{result.expectation == ExpectationSource::kReference};
    }
  }
  if (root.empty()) return operators;
  for (const List& list : kLists) {
    QTX_ASSIGN_OR_RETURN(const std::string text, format::ReadFile(root + list.file, kMaxListBytes));
    std::istringstream lines(text);
    for (std::string op_type; lines >> op_type;) {
      const auto row = operators.find(op_type);
      if (row != operators.end()) row->second.*list.answer = true;
    }
  }
  return operators;
}

}  // namespace qtx::spec
