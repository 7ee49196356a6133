// Compiles formulas for one node.
#pragma once

#include <array>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "program.h"
#include "qtx/formula/text.h"

namespace qtx::formula {

/// The functions that say how other formulas are read.
inline constexpr std::array<std::string_view, 4> kReadings = {"operand", "operation", "result",
                                                              "movement"};

/// The lines of one formula and what it calls the tensors. Those of the operator's own formula,
/// which one of an arithmetic builds on, are its base.
class Compiler {
 public:
  explicit Compiler(const Text& text, const Scope& scope) : text_(text), scope_(scope) {}

  /// The condition of the formula's `when`; nullopt where it has none.
  Result<std::optional<int>> When(const Formula& formula, const Names& names);
  /// Adds the operator's own formula, whose lines the next one knows; `rounds`: an `operation` of
  /// the arithmetic is applied in it.
  Result<void> AddBase(const Formula& formula, const Names& names);
  /// Adds the formula that defines the outputs. A line of kReadings says how others are read,
  /// unless there is such a one already.
  Result<void> Add(const Formula& formula, const Names& names);
  /// Adds only these lines.
  Result<void> AddReading(const Formula& formula, const Names& names);

  /// Adds the constraints of the operator, in which the name of an output is the tensor, not the
  /// line of its own formula that defines it.
  Result<void> AddConstraints(const Formula& formula, const Names& names);

  Program& program() { return program_; }

 private:
  // Names that lines of a formula know.
  struct Unit {
    const Formula* formula = nullptr;
    Names names;
    bool rounds = false;
    std::map<std::string, int, std::less<>> routines;
    std::map<std::string, Error, std::less<>> meaningless;  // used functions, and why
    std::map<std::string, int, std::less<>> coordinates;    // slot
    std::map<std::string, bool, std::less<>> lists;         // of the coordinates
  };
  struct Named {
    Tensors tensors;
    Part part = Part::kValue;
    bool of_output = false;  // that is computed
    std::string name;        // of the tensor
  };

  Error Refuse(Place place, std::string message) const;
  Result<void> Coordinates(const Formula& formula);
  Result<void> Use(const Formula& formula, std::vector<std::string>& used);
  Result<void> UseClause(const Formula& formula, Place place, const std::string& clause,
                         std::vector<std::string>& used);
  void UseFunctions(const Formula& formula);
  Result<void> Lines(const Formula& formula, bool outputs);
  Result<void> Line(const Formula& formula, const Statement& statement, bool outputs);
  Result<void> Require(const Formula& formula, const Statement& statement);
  Result<void> DefineShape(const Statement& statement);
  void DefineReading(const std::string& name, int routine);
  Result<int> Define(const Statement& statement, const std::string& name);
  Result<void> DefineOutput(const Statement& statement, int routine);
  std::optional<std::size_t> OutputOf(std::string_view name, bool& stored) const;
  bool IsOutputLine(const Statement& statement) const;
  static bool DefinesReading(const Statement& statement);

  Result<Code> Any(const Node& node);
  Result<Code> Kind(const Node& node);
  Result<Code> Constant(const Node& node);
  Result<Code> Name(const Node& node);
  Result<Code> NameOfTensor(const Named& named, const Node& node);
  Result<Code> Indexed(const Node& node);
  Result<Code> Call(const Node& node);
  Result<Code> CallFunction(const Node& node, const FunctionRow& row);
  Result<Code> Unary(const Node& node);
  Result<Code> Binary(const Node& node);
  Result<Code> Range(const Node& node);
  Result<Code> Given(const Node& node, bool as_input);
  Result<Code> Origin(const Node& node) const;
  Result<Code> OriginInteger(const Node& node);
  Result<void> Children(const Node& node, std::size_t from, Code& code);
  Result<Code> Argument(const Node& node);
  Code CallOf(int routine) const;
  Result<Code> Unknown(const Node& node) const;
  Error UnknownFunction(const Node& node) const;
  Result<void> CheckCount(const Node& node, std::size_t least, std::size_t most) const;

  std::optional<int> FindRoutine(const std::string& name) const;
  std::optional<int> FindCoordinate(const std::string& name) const;
  std::optional<Named> FindTensor(std::string_view name) const;
  std::optional<Named> FindPart(std::string_view name) const;

  const Text& text_;
  const Scope& scope_;
  Program program_;
  Unit base_, own_;  // empty until there is such a formula
  Unit* unit_ = nullptr;
  bool in_used_function_ = false;
  std::vector<std::string> locals_;
};

}  // namespace qtx::formula
