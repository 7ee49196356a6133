#include "site/clause_index.h"

#include <algorithm>
#include <charconv>
#include <set>
#include <utility>

namespace qtx::spec {
namespace {

using conformance::Case;

struct Place {
  std::string file;
  int line = 0;
};

// "cases/ops/add/ties.yaml:12" below "cases" -> LABELops/add/ties.yaml and 12.
Place PlaceBelow(const std::string& folder, const std::string& where, std::string_view label) {
  const std::size_t colon = where.rfind(':');
  Place place{where.substr(0, colon)};
  if (colon != std::string::npos) {
    std::from_chars(where.data() + colon + 1, where.data() + where.size(), place.line);
  }
  if (place.file.starts_with(folder + "/")) place.file.erase(0, folder.size() + 1);
  place.file.insert(0, label);
  return place;
}

}  // namespace

std::string BackendName(const conformance::BackendReport& row) {
  return row.description.name.empty() ? row.source : row.description.name;
}

ClauseIndex::ClauseIndex(const SiteInput& input, const CodeMap& code) {
  AddCases(input.examples, input.spec, "", true);
  AddCases(input.cases, input.suite, "conformance/cases/", false);
  AddAnswers(input.example_results);
  AddAnswers(input.results);
  AddTallies();
  for (const auto& [id, places] : code) {
    ClauseFacts& facts = clauses_[id];
    for (const CodePlace& place : places)
      (place.is_test ? facts.tests : facts.code).push_back(place);
  }
}

void ClauseIndex::AddCases(const std::vector<Case>& cases, const std::string& folder,
                           std::string_view label, bool examples) {
  for (const Case& c : cases) {
    answers_.try_emplace(c.id);
    const std::string id = c.id.substr(0, c.id.find('['));
    const Place place = PlaceBelow(folder, c.where, label);
    const auto add = [&](std::vector<CaseGroup>& groups) {
      if (groups.empty() || groups.back().id != id || groups.back().file != place.file ||
          groups.back().line != place.line) {
        groups.push_back({id, place.file, place.line, examples, {}});
      }
      groups.back().cases.push_back(&c);
    };
    for (const std::string& clause : std::set<std::string>{c.spec, c.error}) {
      if (!clause.empty()) add(clauses_[clause].cases);
    }
    if (examples) add(examples_);
  }
}

void ClauseIndex::AddAnswers(const conformance::Report* report) {
  if (report == nullptr) return;
  for (const conformance::BackendReport& row : report->backends) {
    if (std::ranges::find(backends_, BackendName(row)) == backends_.end()) {
      backends_.push_back(BackendName(row));
    }
    for (const conformance::CaseResult& result : row.cases) {
      const auto found = answers_.find(result.id);
      if (found != answers_.end()) found->second.push_back({&row, &result});
    }
  }
}

void ClauseIndex::AddTallies() {
  const auto rank = [this](const Tally& tally) {
    return std::ranges::find(backends_, tally.backend) - backends_.begin();
  };
  for (auto& [id, facts] : clauses_) {
    std::set<std::pair<std::string_view, std::string_view>> asked;  // case, arithmetic
    for (const CaseGroup& group : facts.cases) {
      for (const Case* c : group.cases) {
        for (const BackendAnswer& answer : answers_[c->id]) {
          asked.emplace(answer.result->id, answer.result->arithmetic);
          const std::string name = BackendName(*answer.row);
          auto tally = std::ranges::find(facts.results, name, &Tally::backend);
          if (tally == facts.results.end()) {
            tally = facts.results.insert(tally, Tally{name, {}});
          }
          ++tally->counts[static_cast<std::size_t>(answer.result->outcome)];
        }
      }
    }
    facts.asked = asked.size();
    std::ranges::sort(facts.results, {}, rank);
  }
}

const ClauseFacts& ClauseIndex::Of(std::string_view clause) const {
  static const ClauseFacts kNone;
  const auto found = clauses_.find(clause);
  return found == clauses_.end() ? kNone : found->second;
}

const std::vector<BackendAnswer>& ClauseIndex::AnswersTo(const std::string& case_id) const {
  static const std::vector<BackendAnswer> kNone;
  const auto found = answers_.find(case_id);
  return found == answers_.end() ? kNone : found->second;
}

std::vector<const Case*> ClauseIndex::ExamplesIn(std::string_view chapter, int first,
                                                 int last) const {
  std::vector<const Case*> cases;
  for (const CaseGroup& group : examples_) {
    if (group.file != chapter || group.line < first || group.line > last) continue;
    cases.insert(cases.end(), group.cases.begin(), group.cases.end());
  }
  return cases;
}

}  // namespace qtx::spec
