// Which formulas of the text hold for a node.
#pragma once

#include <string>
#include <vector>

#include "qtx/formula/computation.h"
#include "qtx/formula/text.h"
#include "scope.h"

namespace qtx::formula {

/// Whether the formula has a line of this kind.
bool Has(const Formula& formula, Statement::Kind kind);

/// The formulas that hold for one node in one arithmetic. Source: spec/README.md, "What a formula
/// holds for". Borrows the text, the call and the scope.
/// Errors of its functions: those of a condition `when` that has no meaning for the node.
class Selection {
 public:
  Selection(const Text& text, const Call& call, const Scope& scope, const std::string& arithmetic);

  /// What a formula calls the tensors of the node.
  Names NamesIn(const Formula& formula) const;

  /// The formulas of the operator's section that state its constraints alone.
  std::vector<const Formula*> Constraints() const;
  /// The operator's own formula; nullptr for none.
  Result<const Formula*> Base() const;
  /// That of the arithmetic which defines the outputs; nullptr for none.
  Result<const Formula*> Own() const;
  /// Those that say how others are read, the first ones first.
  Result<std::vector<const Formula*>> Readings() const;

 private:
  std::vector<const Formula*> Candidates(const std::string& arithmetic) const;
  Result<bool> Holds(const Formula& formula) const;

  const Text& text_;
  const Call& call_;
  const Scope& scope_;
  std::vector<std::string> chain_;
};

}  // namespace qtx::formula
