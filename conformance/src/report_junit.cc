// The report as JUnit XML, for CI systems. There is no standard; this follows Jenkins' schema
// (junit-10.xsd): numbers of a suite as attributes, properties before test cases, one <failure>,
// <error> or <skipped> in a test case.
#include <fmt/core.h>

#include <algorithm>
#include <string>
#include <vector>

#include "qtx/conformance/report.h"
#include "qtx/format/text.h"
#include "row_names.h"

namespace qtx::conformance {
namespace {

constexpr std::size_t kMaxMessage = 1024;  // characters of an attribute
constexpr std::size_t kMaxDetails = std::size_t{64} << 10;

std::int64_t Failures(const BackendReport& row) {
  return row.count(Outcome::kFail) + row.count(Outcome::kUnexpectedPass) +
         row.count(Outcome::kBadExpectation) + row.count(Outcome::kBadGolden);
}
// Of the row itself, not of a case.
std::int64_t RowErrors(const BackendReport& row) {
  return std::ssize(row.protocol_faults) + (row.error ? 1 : 0);
}

std::int64_t Errors(const BackendReport& row) {
  return row.count(Outcome::kCrash) + row.count(Outcome::kTimeout) +
         row.count(Outcome::kProtocolError) + RowErrors(row);
}
std::int64_t Skipped(const BackendReport& row) {
  return row.count(Outcome::kUnsupported) + row.count(Outcome::kExpectedFail) +
         row.count(Outcome::kSelf);
}

std::string_view ElementName(Outcome outcome) {
  switch (outcome) {
    case Outcome::kPass:
      return "";
    case Outcome::kFail:
    case Outcome::kUnexpectedPass:
    case Outcome::kBadExpectation:
    case Outcome::kBadGolden:
      return "failure";
    case Outcome::kUnsupported:
    case Outcome::kExpectedFail:
    case Outcome::kSelf:
      return "skipped";
    case Outcome::kCrash:
    case Outcome::kTimeout:
    case Outcome::kProtocolError:
      return "error";
  }
  return "error";
}

// A line feed in an attribute would be read back as a blank.
std::string Message(std::string_view text) {
  std::string line = format::EscapeXml(text, kMaxMessage);
  std::ranges::replace(line, '\n', ' ');
  return line;
}

// Class prefix of a row's test cases: "x86.exact". Readers identify test cases by class and name,
// across suites, so the prefix must be unique.
std::string Package(const std::string& name, const std::string& arithmetic) {
  std::string package = name;
  std::ranges::replace(package, '.', '_');
  return arithmetic.empty() ? package : package + "." + arithmetic;
}

std::string ClassName(const std::string& package, std::string op) {
  std::ranges::replace(op, '.', '_');
  return Message(package + "." + (op.empty() ? "other" : op));
}

std::string Property(std::string_view name, std::string_view value) {
  return fmt::format("<property name=\"{}\" value=\"{}\"/>", name, Message(value));
}

std::string Properties(const CaseResult& result) {
  std::string text = "      <properties>" + Property("level", result.level) +
                     Property("clause", result.spec) + Property("why", result.why) +
                     Property("expectation", Name(result.expectation));
  if (result.within_bound) text += Property("within_bound", "true");
  for (const std::string& tag : result.tags) text += Property("tag", tag);
  return text + "</properties>\n";
}

std::string Passes(const BackendReport& row) {
  std::string text;
  const auto passes = row.Passes();
  for (std::size_t i = 0; i < kExpectationSources; ++i) {
    text += Property(fmt::format("passes_{}", Name(static_cast<ExpectationSource>(i))),
                     std::to_string(passes[i]));
  }
  return text;
}

std::string Elements(const Difference& difference) {
  if (!difference.mismatch.empty()) return "";
  std::string text = fmt::format("output '{}': {} of {} elements differ\n", difference.output,
                                 difference.differing, difference.elements);
  for (const ElementDifference& element : difference.first) {
    text += fmt::format("  element {}: got {}, expected {}\n", element.index, element.got,
                        element.expected);
  }
  if (!difference.histogram.empty()) text += "  got - expected:";
  for (const auto& [distance, count] : difference.histogram) {
    text += fmt::format(" {:+} {} in {};", distance, difference.unit, count);
  }
  if (text.back() == ';') text.back() = '\n';
  return text;
}

// Everything needed to understand this test case alone.
std::string Details(const CaseResult& result) {
  std::string text = result.diagnosis + "\n";
  for (const Difference& difference : result.differences) text += Elements(difference);
  text += "clause " + result.spec + ": " + result.why + "\n" + result.where + "\n";
  return format::EscapeXml(text, kMaxDetails);
}

std::string FaultElement(const CaseResult& result, std::string_view element) {
  const std::string message =
      Message(result.outcome == Outcome::kSelf ? "compared with itself" : result.diagnosis);
  if (element == "skipped") return fmt::format("      <skipped message=\"{}\"/>\n", message);
  return fmt::format("      <{0} message=\"{1}\" type=\"{2}\">{3}</{0}>\n", element, message,
                     Name(result.outcome), Details(result));
}

std::string TestCase(const std::string& package, const CaseResult& result) {
  std::string text = fmt::format(
      "    <testcase classname=\"{}\" name=\"{}\" file=\"{}\" time=\"{:.6f}\">\n",
      ClassName(package, result.op), Message(result.id), Message(result.where), result.seconds);
  text += Properties(result);
  const std::string_view element = ElementName(result.outcome);
  if (!element.empty()) text += FaultElement(result, element);
  if (!result.error_output.empty()) {
    text += "      <system-err>" + format::EscapeXml(result.error_output, kMaxDetails) +
            "</system-err>\n";
  }
  return text + "    </testcase>\n";
}

std::string ErrorCase(const std::string& package, std::string_view name, const Error& error) {
  return fmt::format(
      "    <testcase classname=\"{}\" name=\"{}\" time=\"0\">\n"
      "      <error message=\"{}\" type=\"error\"/>\n    </testcase>\n",
      ClassName(package, "backend"), Message(name), Message(error.where + ": " + error.message));
}

std::string Properties(const std::vector<Provenance>& runs) {
  std::string text;
  for (const Provenance& run : runs) {
    for (const auto& [label, fact] : Facts(run)) text += Property(label, fact);
  }
  return text;
}

std::string TestSuite(const BackendReport& row, const std::string& package,
                      const std::vector<Provenance>& runs) {
  const std::int64_t tests = std::ssize(row.cases) + RowErrors(row);
  std::string text = fmt::format(
      "  <testsuite name=\"{}\" tests=\"{}\" failures=\"{}\" errors=\"{}\" skipped=\"{}\" "
      "time=\"{:.6f}\">\n",
      Message(package), tests, Failures(row), Errors(row), Skipped(row), row.seconds);
  text += "    <properties>" + Property("version", row.description.version) +
          Property("device", row.description.device) + Property("source", row.source) +
          Property("not_applicable", std::to_string(row.not_applicable)) + Passes(row) +
          Properties(runs) + "</properties>\n";
  if (row.error) text += ErrorCase(package, "describe", *row.error);
  for (const Error& fault : row.protocol_faults) text += ErrorCase(package, fault.clause, fault);
  for (const CaseResult& result : row.cases) text += TestCase(package, result);
  return text + "  </testsuite>\n";
}

}  // namespace

std::string ToJunit(const Report& report) {
  std::int64_t tests = 0;
  std::int64_t failures = 0;
  std::int64_t errors = 0;
  double seconds = 0;
  std::string suites;
  const std::vector<std::string> names = RowNames(report);
  for (std::size_t i = 0; i < names.size(); ++i) {
    const BackendReport& row = report.backends[i];
    tests += std::ssize(row.cases) + RowErrors(row);
    failures += Failures(row);
    errors += Errors(row);
    seconds += row.seconds;
    suites += TestSuite(row, Package(names[i], row.arithmetic), report.runs());
  }
  return fmt::format(
             "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
             "<testsuites name=\"qtx\" tests=\"{}\" failures=\"{}\" errors=\"{}\" "
             "time=\"{:.6f}\">\n",
             tests, failures, errors, seconds) +
         suites + "</testsuites>\n";
}

}  // namespace qtx::conformance
