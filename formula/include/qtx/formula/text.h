// The formulas of the specification, and which of them hold for a node.
#pragma once

#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "qtx/format/result.h"
#include "qtx/formula/tree.h"

namespace qtx::formula {

/// A block marked `formula`, above its line of dashes.
struct Formula {
  std::string clause;  // "conv.S1"
  std::string where;   // the file
  int line = 0;        // of the opening fence
  std::string of;      // the operator or arithmetic of its chapter; "" for another chapter
  bool of_arithmetic = false;
  std::vector<Statement> statements;
};

/// Whether the formula states constraints of its operator: `require` lines and functions alone.
bool IsConstraints(const Formula& formula);
/// The clause that a `require` line of the formula names.
std::string ClauseOf(const Formula& formula, const Statement& require);

/// Whether a `require` line of the formula names the clause.
bool Requires(const Formula& formula, std::string_view clause);

/// The text of one chapter.
struct Chapter {
  std::string path;  // "ops/conv.md"
  std::string markdown;
};

class Text {
 public:
  /// That of this version of the specification, which is part of the program.
  /// Errors: as Parse.
  static Result<Text> Embedded();
  /// That of the chapters in a folder: spec/. Errors: kUnreadable, kTooLarge; as Parse.
  static Result<Text> Read(const std::string& folder);
  /// Errors: kInvalid and kTooLarge at "file:line:column" of an expression.
  static Result<Text> Parse(std::span<const Chapter> chapters);

  /// The embedded text and a further chapter. Errors: as Parse.
  static Result<Text> WithEmbedded(Chapter chapter);

  const std::vector<Formula>& formulas() const { return formulas_; }
  /// Of a clause, in order.
  std::vector<const Formula*> Of(std::string_view clause) const;
  /// Of an operator's section or an arithmetic's, in order.
  std::vector<const Formula*> InChapter(std::string_view of, bool of_arithmetic) const;
  /// Whether a `require` line names the clause; Constrains: one of an operator's constraints.
  bool Requires(std::string_view clause) const;
  bool Constrains(std::string_view clause) const;
  /// The arithmetic, then the one its `otherwise` names, and so on.
  std::vector<std::string> Chain(const std::string& arithmetic) const;
  /// The arithmetics that have a section, "exact" first.
  std::vector<std::string> Arithmetics() const;

 private:
  std::vector<Formula> formulas_;
};

}  // namespace qtx::formula
