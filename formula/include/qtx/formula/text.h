// The formulas of the specification, and which of them hold for a node.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "qtx/format/catalogue.h"
#include "qtx/format/element_type.h"
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

/// A clause that an overlay states.
struct Change {
  std::string clause;
  std::string where;   // "overlay/arithmetic/exact.md:5"
  bool added = false;  // the text does not have it
};

/// An element type that an overlay adds, by the values of its codes.
struct ElementTable {
  std::string name;       // "NF4Q"
  std::int64_t code = 0;  // of elem_type
  /// UINT2Q, UINT4Q or UINT8Q: tensors hold codes as this type, and a node may have the new type
  /// where it may have this one.
  format::ElementType carrier = format::ElementType::kUndefined;
  std::vector<double> values;  // of each code
};

/// An operator that an overlay adds: its row, and what the row's names are views of.
struct AddedOperator {
  std::vector<std::unique_ptr<const std::string>> names;
  format::OpSchema schema;
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

  /// The embedded text with clauses replaced and added by the chapters of an overlay, which have
  /// the form of those of spec/ and lie in folders of the same names. Source:
  /// spec/proposals/README.md. Errors: as Parse; kInvalid at "file:line" for a clause that the text
  /// has neither as it stands nor next, that is stated twice, that has no formula, or whose `use`
  /// leads back to it, and for a malformed table.
  static Result<Text> WithOverlay(std::span<const Chapter> overlay);

  const std::vector<Formula>& formulas() const { return formulas_; }
  /// What the overlay states, in its order; its element types, and whether it adds an operator.
  const std::vector<Change>& changes() const { return changes_; }
  const std::vector<ElementTable>& tables() const { return tables_; }
  bool Adds(std::string_view domain, std::string_view op_type) const;
  /// The row of an operator: that of the overlay, else the catalogue's; nullptr for none.
  const format::OpSchema* FindSchema(std::string_view domain, std::string_view op_type) const;
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
  std::vector<Change> changes_;
  std::vector<ElementTable> tables_;
  std::vector<AddedOperator> operators_;
};

}  // namespace qtx::formula
