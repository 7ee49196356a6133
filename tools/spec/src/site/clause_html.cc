#include "site/clause_html.h"

#include <fmt/core.h>

#include <algorithm>
#include <map>
#include <numeric>
#include <set>
#include <string_view>
#include <utility>

#include "site/html.h"

namespace qtx::spec {
namespace {

using conformance::Outcome;

// Number of items shown; the rest is folded.
constexpr std::size_t kCasesShown = 3;
constexpr std::size_t kPlacesShown = 2;
constexpr std::size_t kMaxDiagnosis = 400;  // bytes of one, in the list of results

std::string Plural(std::size_t n, std::string_view word) {
  return fmt::format("{} {}{}", n, word, n == 1 ? "" : "s");
}

struct Look {
  const char* sign;
  const char* mark;  // a class of base.css
};

Look LookOf(Outcome outcome) {
  switch (outcome) {
    case Outcome::kPass:
      return {"✓", "good"};
    case Outcome::kUnsupported:
    case Outcome::kSelf:
      return {"–", "mute"};
    case Outcome::kExpectedFail:
      return {"✗", "warn"};
    default:
      return {"✗", "bad"};
  }
}

std::string NameOf(Outcome outcome) {
  std::string name(conformance::Name(outcome));
  std::ranges::replace(name, '_', ' ');
  return name;
}

// "✓ 41"; what is no pass says what it is.
std::string MarkHtml(Outcome outcome, std::int64_t count) {
  const Look look = LookOf(outcome);
  const std::string name = NameOf(outcome);
  return fmt::format(" <span class=\"mark {}\" title=\"{} {}\">{} {}<span{}> {}</span></span>",
                     look.mark, count, name, look.sign, count,
                     outcome == Outcome::kPass ? " class=\"hide\"" : "", name);
}

// Where a long path or name may be broken.
std::string Breakable(std::string_view text) {
  std::string html;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find_first_of("/_.:"), text.size() - 1) + 1;
    html += EscapeXml(text.substr(0, end)) + (end < text.size() ? "<wbr>" : "");
    text.remove_prefix(end);
  }
  return html;
}

// No heading: the margin of a clause is no section of the text.
std::string TitleHtml(const std::string& html) { return "<p class=\"title\">" + html + "</p>\n"; }

// The first `shown` items, and the others to be unfolded.
std::string ListHtml(const std::vector<std::string>& items, std::size_t shown) {
  const auto list = [&items](std::size_t from, std::size_t to) {
    std::string html = "<ul>";
    for (; from < to; ++from) html += "<li>" + items[from] + "</li>\n";
    return html + "</ul>\n";
  };
  if (items.size() <= shown + 1) return list(0, items.size());  // "1 more" would save nothing
  return list(0, shown) + fmt::format("<details><summary>{} more</summary>", items.size() - shown) +
         list(shown, items.size()) + "</details>\n";
}

std::string CaseHtml(const CaseGroup& group, const std::map<std::string, std::string>& places,
                     const std::string& page) {
  const conformance::Case& first = *group.cases.front();
  std::string html = "<details><summary><code>" + Breakable(group.id) + "</code>";
  if (group.cases.size() > 1) html += fmt::format(" ×{}", group.cases.size());
  html += "</summary>\n";
  if (!first.why.empty()) html += "<p>" + EscapeXml(first.why) + "</p>\n";
  if (!first.derivation.empty()) {
    html += "<p class=\"derivation\"><b>Derivation</b> " + EscapeXml(first.derivation) + "</p>\n";
  }
  const auto place = places.find(group.id);
  if (group.is_example && place != places.end()) {
    html += "<p><a href=\"" + EscapeXml(Relative(page, place->second)) + "\">The example</a></p>\n";
  } else {
    html += "<p class=\"place\">" + Breakable(group.file) + fmt::format(":{}</p>\n", group.line);
  }
  return html + "</details>";
}

std::string PlaceHtml(const CodePlace& place) {
  std::string html;
  if (!place.name.empty()) html += "<code>" + Breakable(place.name) + "</code> ";
  return html + "<span class=\"place\">" + Breakable(place.file) +
         fmt::format(":{}</span>", place.line);
}

std::string FoldedHtml(const std::string& summary, const std::vector<std::string>& items) {
  return "<details><summary>" + summary + "</summary>" + ListHtml(items, items.size()) +
         "</details>\n";
}

// Files as a whole come last.
std::vector<const CodePlace*> NamedFirst(const std::vector<CodePlace>& places) {
  std::vector<const CodePlace*> sorted;
  sorted.reserve(places.size());
  for (const CodePlace& place : places) sorted.push_back(&place);
  std::ranges::stable_sort(sorted, {}, [](const CodePlace* place) { return place->name.empty(); });
  return sorted;
}

// The deciding code, and folded the other citations.
std::string CodeHtml(const std::vector<CodePlace>& places) {
  std::vector<std::string> decides, others;
  for (const CodePlace* place : NamedFirst(places)) {
    const bool of_us = place->file.starts_with("reference/") || place->file.starts_with("proto/");
    (of_us ? decides : others).push_back(PlaceHtml(*place));
  }
  std::string html;
  if (!decides.empty()) html += TitleHtml("Implemented by") + ListHtml(decides, kPlacesShown);
  if (!others.empty()) {
    html += FoldedHtml("cited in " + Plural(others.size(), "place") + " elsewhere", others);
  }
  return html;
}

// The tests of a clause: a list if `shown` (nothing else holds the clause), else folded.
std::string TestsHtml(const std::vector<CodePlace>& places, bool shown) {
  std::vector<std::string> items;
  for (const CodePlace* place : NamedFirst(places)) items.push_back(PlaceHtml(*place));
  if (items.empty()) return "";
  if (shown) return TitleHtml("Held by") + ListHtml(items, kPlacesShown);
  return FoldedHtml("cited by " + Plural(items.size(), "test"), items);
}

std::size_t CasesOf(const ClauseFacts& facts) {
  std::size_t cases = 0;
  for (const CaseGroup& group : facts.cases) cases += group.cases.size();
  return cases;
}

std::string TallyHtml(const ClauseFacts& facts) {
  std::string html = fmt::format("<p>{} × arithmetics: {}</p>\n", Plural(CasesOf(facts), "case"),
                                 Plural(facts.asked, "run"));
  html += "<ul class=\"tally\">\n";
  for (const Tally& tally : facts.results) {
    html += "<li>" + EscapeXml(tally.backend);
    for (std::size_t i = 0; i < conformance::kOutcomes; ++i) {
      if (tally.counts[i] > 0) html += MarkHtml(static_cast<Outcome>(i), tally.counts[i]);
    }
    const auto answered =
        std::accumulate(tally.counts.begin(), tally.counts.end(), std::int64_t{0});
    const std::int64_t left = static_cast<std::int64_t>(facts.asked) - answered;
    if (left > 0) html += fmt::format(" <span class=\"faint\">{} not asked</span>", left);
    html += "</li>\n";
  }
  return html + "</ul>\n";
}

// "7 cases, ✗ 1 of 3 backends fails": what the fold says while it is closed.
std::string SummaryOf(const ClauseFacts& facts) {
  const std::size_t cases = CasesOf(facts);
  std::string text = cases > 0 ? Plural(cases, "case") : Plural(facts.tests.size(), "test");
  if (!facts.results.empty()) {
    const auto right = std::ranges::count_if(facts.results, [](const Tally& tally) {
      std::int64_t wrong = 0;
      for (std::size_t i = 0; i < conformance::kOutcomes; ++i) {
        const std::string_view look = LookOf(static_cast<Outcome>(i)).mark;
        if (look == "bad" || look == "warn") wrong += tally.counts[i];
      }
      return wrong == 0;
    });
    const auto failing = facts.results.size() - static_cast<std::size_t>(right);
    text +=
        ", " + (failing == 0 ? "✓ none fails in " + Plural(facts.results.size(), "backend")
                             : fmt::format("✗ {} of {} backends {}", failing, facts.results.size(),
                                           failing == 1 ? "fails" : "fail"));
  }
  return text;
}

// "exact, float32" of each backend that answered alike.
std::string AnswersHtml(const std::vector<BackendAnswer>& answers, Outcome outcome) {
  std::vector<std::pair<std::string, std::set<std::string>>> rows;
  std::set<std::string> says;
  for (const BackendAnswer& answer : answers) {
    if (answer.result->outcome != outcome) continue;
    const std::string name = BackendName(*answer.row);
    auto row = std::ranges::find(rows, name, &std::pair<std::string, std::set<std::string>>::first);
    if (row == rows.end()) row = rows.insert(row, {name, {}});
    row->second.insert(answer.result->arithmetic);
    if (outcome != Outcome::kPass && !answer.result->diagnosis.empty()) {
      says.insert(Cut(answer.result->diagnosis, kMaxDiagnosis));
    }
  }
  if (rows.empty()) return "";
  const Look look = LookOf(outcome);
  std::string html = fmt::format("<p><span class=\"mark {}\">{} {}</span> ", look.mark, look.sign,
                                 NameOf(outcome));
  std::string separator;
  for (const auto& [name, arithmetics] : rows) {
    html += separator + "<b>" + EscapeXml(name) + "</b> (";
    separator = "; ";
    std::string comma;
    for (const std::string& arithmetic : arithmetics) {
      html += std::exchange(comma, ", ") + EscapeXml(arithmetic);
    }
    html += ")";
  }
  html += "</p>\n";
  for (const std::string& text : says)
    html += "<p class=\"says-why\">" + EscapeXml(text) + "</p>\n";
  return html;
}

}  // namespace

bool HasResults(const ClauseFacts& facts) { return !facts.results.empty(); }

std::string BesideHtml(const std::string& anchor, const std::string& id, const ClauseFacts& facts,
                       const std::map<std::string, std::string>& places, const BesideLinks& links) {
  if (facts.cases.empty() && facts.code.empty() && facts.tests.empty()) return "";
  std::string html = "<aside class=\"beside\" aria-label=\"Cases, code and results of " +
                     EscapeXml(id) +
                     "\">\n<button type=\"button\" class=\"fold\" aria-expanded=\"false\">" +
                     SummaryOf(facts) + "</button>\n<div class=\"more\">\n";
  if (!facts.results.empty()) {
    html += TitleHtml("Results <a href=\"" +
                      EscapeXml(Relative(links.page, links.results + "#" + anchor)) +
                      "\">case by case</a>") +
            TallyHtml(facts);
  }
  if (!facts.cases.empty()) {
    std::vector<std::string> items;
    for (const CaseGroup& group : facts.cases) items.push_back(CaseHtml(group, places, links.page));
    html +=
        TitleHtml("Cases") + "<div class=\"cases\">" + ListHtml(items, kCasesShown) + "</div>\n";
  }
  html += CodeHtml(facts.code);
  html += TestsHtml(facts.tests, facts.cases.empty());
  return html + "</div>\n</aside>\n";
}

std::string ExampleResultHtml(const std::vector<const conformance::Case*>& cases,
                              const ClauseIndex& facts) {
  std::string passed, failed, comma, failed_comma;
  std::set<std::string> arithmetics;
  for (const conformance::Case* c : cases) {
    for (const BackendAnswer& answer : facts.AnswersTo(c->id)) {
      if (answer.result->outcome == Outcome::kPass) {
        arithmetics.insert(answer.result->arithmetic);
      } else {
        failed += std::exchange(failed_comma, "; ") + EscapeXml(answer.result->arithmetic) + ": " +
                  EscapeXml(Cut(answer.result->diagnosis, kMaxDiagnosis));
      }
    }
  }
  if (!failed.empty()) {
    return "<p class=\"ran\"><span class=\"mark bad\">✗ ran, failed</span> " + failed + "</p>\n";
  }
  if (arithmetics.empty()) return "";
  for (const std::string& name : arithmetics)
    passed += std::exchange(comma, ", ") + EscapeXml(name);
  return "<p class=\"ran\"><span class=\"mark good\">✓ ran, passed</span> in " + passed + "</p>\n";
}

std::string ClauseResultsHtml(const ClauseFacts& facts, const ClauseIndex& all) {
  std::string html = "<ul class=\"answers\">\n";
  for (const CaseGroup& group : facts.cases) {
    for (const conformance::Case* c : group.cases) {
      const std::vector<BackendAnswer>& answers = all.AnswersTo(c->id);
      html += "<li><p><code>" + EscapeXml(c->id) + "</code>";
      html += " <span class=\"place\">" + Breakable(group.file) +
              fmt::format(":{}</span></p>\n", group.line);
      for (std::size_t i = 0; i < conformance::kOutcomes; ++i) {
        html += AnswersHtml(answers, static_cast<Outcome>(i));
      }
      html += answers.empty() ? "<p class=\"faint\">not run</p></li>\n" : "</li>\n";
    }
  }
  return html + "</ul>\n";
}

}  // namespace qtx::spec
