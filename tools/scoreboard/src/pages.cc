#include "pages.h"

#include <fmt/core.h>
#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <iterator>
#include <map>
#include <set>
#include <vector>

#include "qtx/format/text.h"
#include "qtx/site/markdown.h"

namespace qtx::scoreboard {
namespace {

using conformance::CaseResult;
using format::EscapeXml;
using Html = std::back_insert_iterator<std::string>;

constexpr std::size_t kMaxListed = 200;  // failures of an operator; more are counted

std::string Percent(std::int64_t part, std::int64_t whole) {
  return whole == 0 ? ""
                    : fmt::format("{:.1f} %",
                                  100.0 * static_cast<double>(part) / static_cast<double>(whole));
}

std::string Label(const System& system) {
  return EscapeXml(system.description.name + " " + system.description.version);
}

// The fragment of an operator's section: an op_type may have any characters.
std::string Anchor(std::string_view op) {
  std::string anchor = "op-";
  for (const char c : op.substr(0, 60)) {
    const bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
    anchor += plain ? c : '_';
  }
  return anchor;
}

std::string OperatorName(std::string_view op) { return op == "model" ? "networks" : EscapeXml(op); }

// A sign and the cases that were run: "✓ 45", "✗ 3 of 45", "declined".
std::string Mark(const Counts& counts, const std::string& href) {
  std::string kind = "mute", text = "declined";
  if (counts.fail > 0) {
    kind = "bad";
    text = fmt::format("✗ {} of {}", counts.fail, counts.run());
  } else if (counts.pass > 0) {
    kind = "good";
    text = fmt::format("✓ {}", counts.pass);
  }
  const std::string title =
      fmt::format("{} pass, {} fail, {} declined", counts.pass, counts.fail, counts.declined);
  return fmt::format("<a class=\"mark {}\" href=\"{}\" title=\"{}\">{}</a>", kind, href, title,
                     text);
}

void SystemsTable(const std::vector<const System*>& systems, std::string_view root, Html html) {
  fmt::format_to(
      html,
      "<div class=\"scroll\" tabindex=\"0\" role=\"region\" "
      "aria-label=\"Systems\"><table><thead><tr><th scope=\"col\">System</th>"
      "<th scope=\"col\">Arithmetics</th><th scope=\"col\">Ran on</th><th "
      "scope=\"col\">Date</th>"
      "<th scope=\"col\" class=\"number\">Pass</th><th scope=\"col\" class=\"number\">Fail</th>"
      "<th scope=\"col\" class=\"number\">Explained</th><th scope=\"col\" "
      "class=\"number\">Declined</th>"
      "<th scope=\"col\" class=\"number\">Pass of run</th></tr></thead><tbody>\n");
  for (const System* each : systems) {
    const System& system = *each;
    fmt::format_to(
        html,
        "<tr><td><a href=\"{}{}\">{}</a></td><td class=\"wrap\">{}</td><td "
        "class=\"wrap\">{}</td><td>{}</td>"
        "<td class=\"number\">{}</td><td class=\"number\">{}</td><td class=\"number\">{}</td><td "
        "class=\"number\">{}</td><td class=\"number\">{}</td></tr>\n",
        root, system.page, Label(system),
        EscapeXml(fmt::format("{}", fmt::join(system.description.arithmetics, ", ")),
                  format::kMaxMessage),
        EscapeXml(system.description.device.empty()
                      ? system.run.processor
                      : system.description.device + "; " + system.run.processor,
                  format::kMaxMessage),
        EscapeXml(system.run.date.substr(0, 10)), system.counts.pass, system.counts.fail,
        system.explained(), system.counts.declined,
        Percent(system.counts.pass, system.counts.run()));
  }
  fmt::format_to(html, "</tbody></table></div>\n");
}

// The latest of each name.
std::vector<const System*> Latest(std::span<const System> systems) {
  std::vector<const System*> latest;
  for (const System& system : systems) {
    if (latest.empty() || latest.back()->description.name != system.description.name)
      latest.push_back(&system);
  }
  return latest;
}

void Matrix(std::span<const System> systems, Html html) {
  const auto latest = Latest(systems);
  std::set<std::string_view> operators;
  for (const System* system : latest) {
    for (const auto& [name, op] : system->operators) operators.insert(name);
  }
  fmt::format_to(html,
                 "<div class=\"scroll\" tabindex=\"0\" role=\"region\" aria-label=\"Operators by "
                 "systems\"><table class=\"matrix\"><thead><tr><th scope=\"col\">Operator</th>");
  for (const System* system : latest) {
    fmt::format_to(html, "<th scope=\"col\"><a href=\"{}\">{}</a></th>", system->page,
                   EscapeXml(system->description.name));
  }
  fmt::format_to(html, "</tr></thead><tbody>\n");
  for (const std::string_view name : operators) {
    fmt::format_to(html, "<tr><th scope=\"row\">{}</th>", OperatorName(name));
    for (const System* system : latest) {
      const auto found = system->operators.find(name);
      fmt::format_to(html, "<td>{}</td>",
                     found == system->operators.end()
                         ? "<span class=\"faint\" title=\"no case\">·</span>"
                         : Mark(found->second.counts, system->page + "#" + Anchor(name)));
    }
    fmt::format_to(html, "</tr>\n");
  }
  fmt::format_to(html, "</tbody></table></div>\n");
}

// What the first difference of a wrong answer is.
std::string Difference(const CaseResult& result) {
  if (result.differences.empty()) return "";
  const conformance::Difference& difference = result.differences.front();
  std::string text = conformance::Describe(difference);
  if (!difference.first.empty()) {
    const auto& first = difference.first.front();
    text += fmt::format("; element {}: {} for {}", first.index, first.got, first.expected);
  }
  return text;
}

void FailureRows(const Operator& op, Html html) {
  fmt::format_to(html,
                 "<div class=\"scroll\"><table><thead><tr><th scope=\"col\">Case</th><th "
                 "scope=\"col\">Arithmetic</th>"
                 "<th scope=\"col\">Outcome</th><th scope=\"col\">What differs</th><th "
                 "scope=\"col\">Why</th></tr></thead><tbody>\n");
  for (std::size_t i = 0; i < std::min(op.failures.size(), kMaxListed); ++i) {
    const auto& [result, deviation] = op.failures[i];
    const std::string difference = Difference(*result);
    const std::string why =
        deviation != nullptr ? fmt::format("<a href=\"../{}.html#{}\">{}</a>",
                                           deviation->is_latitude ? "latitude" : "differs",
                                           EscapeXml(deviation->name), EscapeXml(deviation->title))
                             : EscapeXml(result->diagnosis, format::kMaxMessage);
    fmt::format_to(html,
                   "<tr><td class=\"wrap\"><code>{}</code></td><td>{}</td><td>{}</td><td "
                   "class=\"wrap\">{}</td><td class=\"wrap\">{}</td></tr>\n",
                   EscapeXml(result->id, format::kMaxMessage), EscapeXml(result->arithmetic),
                   Name(result->outcome), EscapeXml(difference, format::kMaxMessage), why);
  }
  fmt::format_to(html, "</tbody></table></div>\n");
  if (op.failures.size() > kMaxListed) {
    fmt::format_to(html, "<p class=\"faint\">and {} more</p>\n", op.failures.size() - kMaxListed);
  }
}

void OperatorSection(std::string_view name, const Operator& op, Html html) {
  fmt::format_to(
      html,
      "<section><h3 id=\"{}\">{}</h3>\n<p>{} of {} cases that it ran pass; it declined {}.</p>\n",
      Anchor(name), OperatorName(name), op.counts.pass, op.counts.run(), op.counts.declined);
  if (!op.failures.empty()) {
    fmt::format_to(html, "<details{}><summary>{} that fail</summary>\n",
                   op.failures.size() <= 12 ? " open" : "", op.failures.size());
    FailureRows(op, html);
    fmt::format_to(html, "</details>\n");
  }
  if (!op.declined.empty()) {
    fmt::format_to(html, "<details><summary>Why it declined {}</summary><ul>\n",
                   op.counts.declined);
    std::size_t listed = 0;
    for (const auto& [reason, count] : op.declined) {
      if (++listed > kMaxListed) break;
      fmt::format_to(html, "<li>{}: {}</li>\n", count, EscapeXml(reason, format::kMaxMessage));
    }
    fmt::format_to(html, "</ul></details>\n");
  }
  fmt::format_to(html, "</section>\n");
}

void Findings(const System& system, Html html) {
  if (system.findings.empty()) return;
  fmt::format_to(html, "<h2>What it computes instead</h2>\n<ul>\n");
  for (const conformance::Finding& finding : system.findings) {
    fmt::format_to(
        html,
        "<li>{}: {} <span class=\"faint\">({} cases, {} explained, {} fresh questions "
        "predicted)</span></li>\n",
        EscapeXml(fmt::format("{}", fmt::join(finding.operators, ", ")), format::kMaxMessage),
        EscapeXml(finding.says, format::kMaxMessage), finding.failing, finding.explained,
        finding.confirmed);
  }
  fmt::format_to(html, "</ul>\n");
}

// The cases that a deviation explains, by system.
std::map<const System*, std::vector<const CaseResult*>> Explained(const Deviation& deviation,
                                                                  std::span<const System> systems) {
  std::map<const System*, std::vector<const CaseResult*>> cases;
  for (const System& system : systems) {
    for (const auto& [name, op] : system.operators) {
      for (const Failure& failure : op.failures) {
        if (failure.deviation == &deviation) cases[&system].push_back(failure.result);
      }
    }
  }
  return cases;
}

void DeviationSection(const Deviation& deviation, std::span<const System> systems, Html html) {
  fmt::format_to(html, "<section class=\"deviation\"><h2 id=\"{}\">{}</h2>\n",
                 EscapeXml(deviation.name), EscapeXml(deviation.title));
  const auto explained = Explained(deviation, systems);
  fmt::format_to(html, "<p>");
  for (const System& system : systems) {
    const auto found = explained.find(&system);
    if (found == explained.end()) continue;
    fmt::format_to(html, "<a class=\"mark bad\" href=\"{}\">{}: {} cases</a> ", system.page,
                   Label(system), found->second.size());
  }
  if (explained.empty()) {
    fmt::format_to(html,
                   "<span class=\"mark mute\">{}</span> <span class=\"faint\">no case of these "
                   "reports shows it</span> ",
                   EscapeXml(fmt::format("{}", fmt::join(deviation.systems, ", "))));
  }
  if (!deviation.issue.empty())
    fmt::format_to(html, "<a href=\"{0}\">{0}</a>", EscapeXml(deviation.issue));
  fmt::format_to(html, "</p>\n<div class=\"says\">{}</div>\n",
                 site::ToHtml(format::PrintableLines(deviation.markdown)));
  if (!deviation.script.empty()) {
    fmt::format_to(html,
                   "<details><summary>A program that shows it: "
                   "{}.py</summary><pre><code>{}</code></pre></details>\n",
                   EscapeXml(deviation.name), EscapeXml(deviation.script));
  }
  fmt::format_to(html, "</section>\n");
}

}  // namespace

std::string IndexHtml(std::span<const System> systems, std::span<const Deviation> deviations) {
  std::string text;
  const Html html(text);
  std::vector<const System*> all;
  for (const System& system : systems) all.push_back(&system);
  const auto differ = std::ranges::count(deviations, false, &Deviation::is_latitude);
  fmt::format_to(
      html,
      "<p>Systems (here {}) under the conformance suite of QTX: each is held to the arithmetics "
      "that "
      "its backend claims, and declines what it cannot take. <a href=\"differs.html\">What "
      "differs</a> (here {}) was looked into: each contradicts a sentence that is quoted, and has "
      "a "
      "program that shows it without QTX. What a text leaves open is <a href=\"latitude.html\">no "
      "fault</a>.</p>\n",
      Latest(systems).size(), differ);
  SystemsTable(all, "", html);
  fmt::format_to(html,
                 "<h2 id=\"operators\">Operators</h2>\n<p>Of each system the latest report. ✓ and "
                 "a number: all cases that it ran pass. ✗: some fail.</p>\n");
  Matrix(systems, html);
  return text;
}

std::string SystemHtml(const System& system, std::span<const System> systems) {
  std::string text;
  const Html html(text);
  std::vector<const System*> same;
  for (const System& other : systems) {
    if (other.description.name == system.description.name) same.push_back(&other);
  }
  SystemsTable(same, "../", html);
  fmt::format_to(html, "<dl>\n");
  for (const auto& [label, fact] : conformance::Facts(system.run)) {
    fmt::format_to(html, "<dt class=\"faint\">{}</dt><dd>{}</dd>\n", label,
                   EscapeXml(fact, 4 * format::kMaxMessage));
  }
  fmt::format_to(html,
                 "<dt class=\"faint\">backend</dt><dd><code>--backend '{}'</code></dd>\n</dl>\n",
                 EscapeXml(system.source, format::kMaxMessage));
  Findings(system, html);
  fmt::format_to(html, "<h2>Operators</h2>\n");
  for (const auto& [name, op] : system.operators) OperatorSection(name, op, html);
  return text;
}

std::string DeviationsHtml(std::span<const System> systems, std::span<const Deviation> deviations,
                           bool latitude) {
  std::string text;
  const Html html(text);
  fmt::format_to(
      html, "<p>{}</p>\n",
      latitude ? "Where a text says nothing, or says that either is right, systems may differ: "
                 "these are no faults."
               : "Distinct causes, each counted once however many systems, operators and cases it "
                 "shows in. Each contradicts a sentence that is quoted, "
                 "and was verified by a second computation that is neither ours nor the system's.");
  for (const Deviation& deviation : deviations) {
    if (deviation.is_latitude == latitude) DeviationSection(deviation, systems, html);
  }
  return text;
}

}  // namespace qtx::scoreboard
