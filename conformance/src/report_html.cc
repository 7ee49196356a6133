// The report as one self-contained page. Its script shows the data; without scripts only the totals
// are shown.
#include <fmt/core.h>

#include <string>
#include <string_view>
#include <vector>

#include "qtx/conformance/report.h"
#include "qtx/format/text.h"
#include "report_data.h"
#include "report_page.h"
#include "row_names.h"

namespace qtx::conformance {
namespace {

std::string TotalsRow(const BackendReport& row, const std::string& name) {
  std::string text = fmt::format("<tr><th scope=\"row\">{} {}</th><td>{}</td>",
                                 format::EscapeXml(name, kMaxShownText),
                                 format::EscapeXml(row.arithmetic, kMaxShownText),
                                 Conforms(row) ? "conforming" : "not conforming");
  for (const std::int64_t count : row.counts) text += fmt::format("<td>{}</td>", count);
  return text + "</tr>\n";
}

std::string Totals(const Report& report) {
  std::string text = "<table><thead><tr><th>backend</th><th></th>";
  for (std::size_t i = 0; i < kOutcomes; ++i) {
    text += fmt::format("<th>{}</th>", Name(static_cast<Outcome>(i)));
  }
  text += "</tr></thead><tbody>\n";
  const std::vector<std::string> names = RowNames(report);
  for (std::size_t i = 0; i < names.size(); ++i) text += TotalsRow(report.backends[i], names[i]);
  return text + "</tbody></table>";
}

}  // namespace

std::string ToHtml(const Report& report) {
  constexpr std::string_view kTotals = "@totals@";
  constexpr std::string_view kData = "@data@";
  const std::size_t totals = kReportPage.find(kTotals);
  const std::size_t data = kReportPage.find(kData, totals);
  const std::size_t middle = totals + kTotals.size();
  std::string text(kReportPage.substr(0, totals));
  text += Totals(report);
  text += kReportPage.substr(middle, data - middle);
  text += ToPageData(report);
  text += kReportPage.substr(data + kData.size());
  return text;
}

}  // namespace qtx::conformance
