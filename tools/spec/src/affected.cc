#include "affected.h"

#include <algorithm>

namespace qtx::spec {
namespace {

using conformance::Case;
using Lines = formula::Statement::Kind;

bool Uses(const formula::Formula& formula, const std::set<std::string>& clauses) {
  return std::ranges::any_of(formula.statements, [&](const formula::Statement& statement) {
    return statement.kind == Lines::kUse &&
           std::ranges::any_of(statement.parameters,
                               [&](const std::string& clause) { return clauses.contains(clause); });
  });
}

// Whether a formula of an arithmetic's section, or a line `in`, is for the operator.
bool IsFor(const formula::Formula& formula, const std::string& op_type) {
  bool any = false, found = false;
  for (const formula::Statement& statement : formula.statements) {
    if (statement.kind != Lines::kFor) continue;
    any = true;
    for (const formula::Signature& signature : statement.signatures) {
      found |= signature.op_type == op_type;
    }
  }
  return found || !any;
}

}  // namespace

Affected::Affected(const formula::Text& text) : text_(text) {
  for (const formula::Change& change : text.changes()) stated_.insert(change.clause);
  touched_ = stated_;
  for (bool more = true; more;) {
    more = false;
    for (const formula::Formula& formula : text.formulas()) {
      if (touched_.contains(formula.clause) || !Uses(formula, touched_)) continue;
      touched_.insert(formula.clause);
      more = true;
    }
  }
}

bool Affected::By(const std::string& op_type, const std::string& arithmetic) {
  const auto [known, is_new] = known_.try_emplace({op_type, arithmetic}, false);
  if (!is_new) return known->second;
  const auto touched = [&](const formula::Formula* formula) {
    return touched_.contains(formula->clause) && IsFor(*formula, op_type);
  };
  known->second = std::ranges::any_of(text_.InChapter(op_type, false), touched);
  for (const std::string& name : text_.Chain(arithmetic)) {
    known->second |= std::ranges::any_of(text_.InChapter(name, true), touched);
  }
  return known->second;
}

bool Affected::By(const Case& c) {
  return std::ranges::any_of(c.arithmetics, [&](const std::string& arithmetic) {
    return By(c.op ? c.op->type : "", arithmetic);
  });
}

std::vector<std::size_t> Affected::Choose(std::span<const Case> cases, bool all,
                                          std::int64_t& affected) {
  std::vector<std::size_t> chosen, models;
  std::map<std::string, std::vector<std::size_t>> others;  // of each operator
  affected = 0;
  for (std::size_t i = 0; i < cases.size(); ++i) {
    const bool cited = Cited(cases[i]);
    if (!cited && !By(cases[i])) continue;
    ++affected;
    if (cited) {
      chosen.push_back(i);
    } else if (cases[i].op) {
      others[cases[i].op->type].push_back(i);
    } else if (all) {
      models.push_back(i);
    }
  }
  for (const auto& [op_type, of] : others) {
    const std::size_t count = all ? of.size() : std::min(of.size(), kSampledOfOperator);
    for (std::size_t k = 0; k < count; ++k) chosen.push_back(of[k * of.size() / count]);
  }
  chosen.insert(chosen.end(), models.begin(), models.end());
  return chosen;
}

}  // namespace qtx::spec
