// The report as one page that needs nothing else: no fonts, scripts or styles from elsewhere.
#include <fmt/core.h>

#include <algorithm>
#include <string>
#include <vector>

#include "escape.h"
#include "html_page.h"
#include "qtx/conformance/report.h"

namespace qtx::conformance {
namespace {

// The colour of an outcome: good, bad or indifferent; a class of the style sheet.
std::string_view Tone(Outcome outcome) {
  switch (outcome) {
    case Outcome::kPass:
      return "good";
    case Outcome::kUnsupported:
    case Outcome::kExpectedFail:
      return "mute";
    case Outcome::kFail:
    case Outcome::kCrash:
    case Outcome::kTimeout:
    case Outcome::kProtocolError:
    case Outcome::kUnexpectedPass:
      break;
  }
  return "bad";
}

// "protocol_error" for people: "protocol error".
std::string Label(Outcome outcome) {
  std::string label(Name(outcome));
  for (char& c : label) {
    if (c == '_') c = ' ';
  }
  return label;
}

// Outcomes that have a column: pass and fail, and whatever else came about.
std::vector<Outcome> Columns(const Report& report) {
  std::vector<Outcome> columns;
  for (std::size_t i = 0; i < kOutcomes; ++i) {
    const auto outcome = static_cast<Outcome>(i);
    const bool seen = std::ranges::any_of(
        report.backends, [outcome](const BackendReport& row) { return row.count(outcome) > 0; });
    if (seen || outcome == Outcome::kPass || outcome == Outcome::kFail) columns.push_back(outcome);
  }
  return columns;
}

std::string SummaryRow(const BackendReport& row, std::size_t index,
                       const std::vector<Outcome>& columns) {
  std::string text = fmt::format("<tr><th scope=\"row\"><a href=\"#b{}\">{}</a></th><td>{}</td>",
                                 index, EscapeXml(row.description.name), EscapeXml(row.arithmetic));
  if (row.error) {
    return text +
           fmt::format("<td colspan=\"{}\"><span class=\"chip bad\">no answer</span></td></tr>\n",
                       columns.size() + 4);
  }
  for (const Outcome outcome : columns) {
    const std::int64_t count = row.count(outcome);
    text += fmt::format("<td class=\"n {}\">{}</td>", count == 0 ? "zero" : Tone(outcome), count);
  }
  return text + fmt::format(
                    "<td class=\"n\">{}</td><td class=\"n\">{:.1f} s</td><td>{}</td>"
                    "<td>{}</td></tr>\n",
                    row.not_applicable, row.seconds, EscapeXml(row.description.device),
                    EscapeXml(row.description.version));
}

std::string Summary(const Report& report) {
  const std::vector<Outcome> columns = Columns(report);
  std::string text =
      "<div class=\"scroll\"><table class=\"summary\"><thead><tr><th>backend</th>"
      "<th>arithmetic</th>";
  for (const Outcome outcome : columns) text += "<th class=\"n\">" + Label(outcome) + "</th>";
  text +=
      "<th class=\"n\">not applicable</th><th class=\"n\">time</th><th>device</th>"
      "<th>version</th></tr></thead><tbody>\n";
  for (std::size_t i = 0; i < report.backends.size(); ++i) {
    text += SummaryRow(report.backends[i], i, columns);
  }
  return text + "</tbody></table></div>\n";
}

std::string Histogram(const Difference& difference) {
  std::int64_t most = 1;
  for (const auto& [distance, count] : difference.histogram) most = std::max(most, count);
  std::string text = "<table class=\"histogram\"><caption>got minus expected</caption><tbody>";
  for (const auto& [distance, count] : difference.histogram) {
    text += fmt::format(
        "<tr><th class=\"n\">{:+} {}</th><td class=\"n\">{}</td><td><span class=\"bar\" "
        "style=\"width:{}em\"></span></td></tr>",
        distance, EscapeXml(difference.unit), count, 1 + 9 * count / most);
  }
  return text + "</tbody></table>";
}

std::string FirstElements(const Difference& difference) {
  std::string text =
      "<table><caption>first differing elements</caption><thead><tr><th class=\"n\">element</th>"
      "<th class=\"n\">got</th><th class=\"n\">expected</th></tr></thead><tbody>";
  for (const ElementDifference& element : difference.first) {
    text += fmt::format(
        "<tr><td class=\"n\">{}</td><td class=\"n\">{}</td><td class=\"n\">{}</td></tr>",
        element.index, EscapeXml(element.got), EscapeXml(element.expected));
  }
  return text + "</tbody></table>";
}

std::string Details(const CaseResult& result) {
  std::string text;
  if (!result.diagnosis.empty()) {
    text += "<p class=\"diagnosis\">" + EscapeXml(result.diagnosis) + "</p>";
  }
  for (const Difference& difference : result.differences) {
    if (!difference.mismatch.empty()) continue;
    text += "<div class=\"tables\">" + FirstElements(difference) + Histogram(difference) + "</div>";
  }
  return text + fmt::format("<p><b>Why</b> {}</p><p class=\"faint\">{}, {:.3f} s</p>",
                            EscapeXml(result.why), EscapeXml(result.where), result.seconds);
}

std::string CaseEntry(const CaseResult& result) {
  return fmt::format(
      "<details data-outcome=\"{}\"><summary><span class=\"chip {}\">{}</span><code>{}</code>"
      "<span class=\"faint\">{}</span></summary>{}</details>\n",
      Name(result.outcome), Tone(result.outcome), Label(result.outcome), EscapeXml(result.id),
      EscapeXml(result.spec), Details(result));
}

std::string Section(const BackendReport& row, std::size_t index) {
  std::string text =
      fmt::format("<section id=\"b{}\"><h2>{} <span class=\"faint\">{}</span></h2>\n", index,
                  EscapeXml(row.description.name), EscapeXml(row.arithmetic));
  if (row.error) {
    text += "<p class=\"diagnosis\">" + EscapeXml(row.error->where + ": " + row.error->message) +
            "</p>";
  } else if (row.cases.empty()) {
    text += "<p class=\"faint\">No case applies.</p>";
  }
  for (const CaseResult& result : row.cases) text += CaseEntry(result);
  return text + "<p class=\"none faint\" hidden>No case matches the filter.</p></section>\n";
}

std::string Filter(const Report& report) {
  std::string text =
      "<form class=\"filter\" hidden><label>Find <input type=\"search\" id=\"find\" "
      "placeholder=\"id, clause or text\"></label>\n";
  for (std::size_t i = 0; i < kOutcomes; ++i) {
    std::int64_t count = 0;
    for (const BackendReport& row : report.backends) count += row.counts[i];
    if (count == 0) continue;
    const auto outcome = static_cast<Outcome>(i);
    text += fmt::format(
        "<label class=\"chip {}\"><input type=\"checkbox\" value=\"{}\" checked> {} {}</label>\n",
        Tone(outcome), Name(outcome), Label(outcome), count);
  }
  return text + "</form>\n";
}

}  // namespace

std::string ToHtml(const Report& report) {
  const bool conforms = Conforms(report);
  std::string text(kHtmlHead);
  text += fmt::format(
      "<header><h1>QTX conformance</h1><p><span class=\"chip {}\">{}</span> "
      "<span class=\"faint\">suite {}</span></p></header>\n<main>\n",
      conforms ? "good" : "bad", conforms ? "conforms" : "does not conform",
      EscapeXml(report.suite));
  text += Summary(report) + Filter(report);
  for (std::size_t i = 0; i < report.backends.size(); ++i) text += Section(report.backends[i], i);
  text += "</main>\n";
  text += kHtmlTail;
  return text;
}

}  // namespace qtx::conformance
