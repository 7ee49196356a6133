// The report as JUnit XML, the form CI systems read.
#include <fmt/core.h>

#include <string>

#include "escape.h"
#include "qtx/conformance/report.h"

namespace qtx::conformance {
namespace {

std::int64_t Failures(const BackendReport& row) {
  return row.count(Outcome::kFail) + row.count(Outcome::kUnexpectedPass);
}
std::int64_t Errors(const BackendReport& row) {
  return row.count(Outcome::kCrash) + row.count(Outcome::kTimeout) +
         row.count(Outcome::kProtocolError) + (row.error ? 1 : 0);
}
std::int64_t Skipped(const BackendReport& row) {
  return row.count(Outcome::kUnsupported) + row.count(Outcome::kExpectedFail);
}

std::string_view Element(Outcome outcome) {
  switch (outcome) {
    case Outcome::kPass:
      return "";
    case Outcome::kFail:
    case Outcome::kUnexpectedPass:
      return "failure";
    case Outcome::kUnsupported:
    case Outcome::kExpectedFail:
      return "skipped";
    case Outcome::kCrash:
    case Outcome::kTimeout:
    case Outcome::kProtocolError:
      return "error";
  }
  return "error";
}

std::string SuiteName(const BackendReport& row) {
  return EscapeXml(row.description.name + (row.arithmetic.empty() ? "" : "." + row.arithmetic));
}

std::string TestCase(const BackendReport& row, const CaseResult& result) {
  std::string text =
      fmt::format("    <testcase classname=\"{}\" name=\"{}\" file=\"{}\" time=\"{:.6f}\"",
                  SuiteName(row), EscapeXml(result.id), EscapeXml(result.where), result.seconds);
  const std::string_view element = Element(result.outcome);
  if (element.empty()) return text + "/>\n";
  text += fmt::format(">\n      <{0} message=\"{1}\"", element, EscapeXml(result.diagnosis));
  if (element != "skipped") text += fmt::format(" type=\"{}\"", Name(result.outcome));
  return text + "/>\n    </testcase>\n";
}

std::string TestSuite(const BackendReport& row) {
  const std::size_t tests = row.cases.size() + (row.error ? 1 : 0);
  std::string text = fmt::format(
      "  <testsuite name=\"{}\" tests=\"{}\" failures=\"{}\" errors=\"{}\" skipped=\"{}\" "
      "time=\"{:.6f}\">\n",
      SuiteName(row), tests, Failures(row), Errors(row), Skipped(row), row.seconds);
  if (row.error) {
    text += fmt::format(
        "    <testcase classname=\"{0}\" name=\"describe\">\n      <error message=\"{1}\" "
        "type=\"error\"/>\n    </testcase>\n",
        SuiteName(row), EscapeXml(row.error->where + ": " + row.error->message));
  }
  for (const CaseResult& result : row.cases) text += TestCase(row, result);
  return text + "  </testsuite>\n";
}

}  // namespace

std::string ToJunit(const Report& report) {
  std::size_t tests = 0;
  std::int64_t failures = 0;
  std::int64_t errors = 0;
  std::string suites;
  for (const BackendReport& row : report.backends) {
    tests += row.cases.size() + (row.error ? 1 : 0);
    failures += Failures(row);
    errors += Errors(row);
    suites += TestSuite(row);
  }
  return fmt::format(
             "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
             "<testsuites name=\"qtx\" tests=\"{}\" failures=\"{}\" errors=\"{}\">\n",
             tests, failures, errors) +
         suites + "</testsuites>\n";
}

}  // namespace qtx::conformance
