#include "formula/compile.h"

#include <algorithm>
#include <array>
#include <iterator>
#include <map>
#include <utility>

#include "formula/lexer.h"

namespace qtx::spec {
namespace {

using Op = Code::Op;
using CodePart = Code::Part;

struct SignRow {
  std::string_view sign;
  Op op;
  bool of_truths;
  bool is_truth;
};
constexpr std::array kSignRows = {
    SignRow{"+", Op::kAdd, false, false},        SignRow{"-", Op::kSubtract, false, false},
    SignRow{"*", Op::kMultiply, false, false},   SignRow{"/", Op::kDivide, false, false},
    SignRow{"mod", Op::kModulo, false, false},   SignRow{"^", Op::kPower, false, false},
    SignRow{"<<", Op::kShiftLeft, false, false}, SignRow{">>", Op::kShiftRight, false, false},
    SignRow{"=", Op::kEqual, false, true},       SignRow{"!=", Op::kUnequal, false, true},
    SignRow{"<", Op::kLess, false, true},        SignRow{"<=", Op::kAtMost, false, true},
    SignRow{">", Op::kGreater, false, true},     SignRow{">=", Op::kAtLeast, false, true},
    SignRow{"and", Op::kAnd, true, true},        SignRow{"or", Op::kOr, true, true},
};

struct PartRow {
  std::string_view suffix;  // of an operand's name
  std::string_view bare;    // of the first output's, alone
  CodePart part;
};
constexpr std::array kParts = {
    PartRow{"_stored", "stored", CodePart::kStored}, PartRow{"_scale", "scale", CodePart::kScale},
    PartRow{"_offset", "offset", CodePart::kOffset}, PartRow{"_min", "quant_min", CodePart::kMin},
    PartRow{"_max", "quant_max", CodePart::kMax},
};

struct RangeRow {
  std::string_view name;
  Op op;
};
constexpr std::array kRanges = {RangeRow{"sum", Op::kSum}, RangeRow{"product", Op::kProduct},
                                RangeRow{"min", Op::kLeast}, RangeRow{"max", Op::kGreatest},
                                RangeRow{"fold", Op::kFold}};

class Compiler {
 public:
  Compiler(const Scope& scope, const std::string& where) : scope_(scope), where_(where) {}

  Result<void> Use(std::span<const Statement> used) {
    for (const Statement& statement : used) {
      if (statement.kind != Statement::Kind::kFunction) continue;
      // A function that is invalid here (offset of a FLOAT) is an error only when called.
      const auto defined = Define(statement);
      if (!defined) meaningless_.emplace(statement.name, defined.error());
    }
    return {};
  }

  Result<Program> Finish(std::span<const Statement> statements) {
    QTX_RETURN_IF_ERROR(Coordinates(statements));
    for (const Statement& statement : statements) {
      if (statement.kind == Statement::Kind::kUse) continue;
      QTX_RETURN_IF_ERROR(Define(statement));
    }
    QTX_RETURN_IF_ERROR(Results(statements.back().place));
    return std::move(program_);
  }

 private:
  struct Named {
    const Operand* operand = nullptr;
    int index = 0;
    CodePart part = CodePart::kReal;
  };

  Error Refuse(Place place, std::string message) const {
    return Error{ErrorCode::kInvalid, PlaceIn(where_, place), std::move(message)};
  }

  bool indexed() const { return !coordinates_.empty(); }

  // y[i, j] = ... defines i and j for all lines of the formula.
  Result<void> Coordinates(std::span<const Statement> statements) {
    for (const Statement& statement : statements) {
      if (statement.kind != Statement::Kind::kElement) continue;
      if (!coordinates_.empty() && coordinates_ != statement.parameters) {
        return Refuse(statement.place, "expected the same indices for each output");
      }
      coordinates_ = statement.parameters;
      for (std::size_t i = 0; i < coordinates_.size(); ++i) {
        if (std::ranges::count(coordinates_, coordinates_[i]) == 1) continue;
        return Refuse(statement.place, "found index '" + coordinates_[i] + "' twice");
      }
    }
    return {};
  }

  Result<void> Define(const Statement& statement) {
    const auto same = std::ranges::find(program_.routines, statement.name, &Routine::name);
    if (same != program_.routines.end() || FindFunction(statement.name) != nullptr) {
      return Refuse(statement.place, "'" + statement.name + "' is defined already");
    }
    Routine routine;
    routine.name = statement.name;
    locals_.clear();
    if (statement.kind == Statement::Kind::kFunction) {
      locals_ = statement.parameters;
      routine.parameters = static_cast<int>(locals_.size());
    }
    QTX_ASSIGN_OR_RETURN(routine.body, Number(statement.body));
    program_.routines.push_back(std::move(routine));
    return {};
  }

  // Each output must be defined, as a real or as stored.
  Result<void> Results(Place end) {
    const auto outputs = scope_.operands.subspan(static_cast<std::size_t>(scope_.first_output));
    for (std::size_t i = 0; i < outputs.size(); ++i) {
      const std::string& name = outputs[i].name();
      std::vector<std::string> stored = {name + "_stored"};
      if (outputs.size() == 1) stored.emplace_back("stored");
      for (std::size_t r = 0; r < program_.routines.size(); ++r) {
        const Routine& routine = program_.routines[r];
        const bool is_stored = std::ranges::find(stored, routine.name) != stored.end();
        if (routine.parameters > 0 || (routine.name != name && !is_stored)) continue;
        program_.results.push_back({static_cast<int>(r), static_cast<int>(i), is_stored});
      }
      if (program_.results.size() == i + 1) continue;
      return Refuse(end, "expected one line that defines " + name + " or " + stored.back());
    }
    return {};
  }

  Result<Code> Number(const Node& node) {
    QTX_ASSIGN_OR_RETURN(Code code, Any(node));
    if (code.is_truth) return Refuse(node.place, "found a condition, expected a number");
    return code;
  }

  Result<Code> Truth(const Node& node) {
    QTX_ASSIGN_OR_RETURN(Code code, Any(node));
    if (!code.is_truth) return Refuse(node.place, "found a number, expected a condition");
    return code;
  }

  Result<Code> Any(const Node& node) {
    QTX_ASSIGN_OR_RETURN(Code code, Kind(node));
    code.place = node.place;
    for (const Code& child : code.children) {
      code.varies |= child.varies;
      code.lowest_local = std::min(code.lowest_local, child.lowest_local);
      code.depth = std::max(code.depth, child.depth + 1);
    }
    if (code.depth > kMaxCallDepth) {
      return Error{ErrorCode::kTooLarge, PlaceIn(where_, node.place),
                   "expected at most " + std::to_string(kMaxCallDepth) + " levels of calls"};
    }
    const bool same = !code.varies && code.lowest_local >= std::ssize(locals_);
    if (same && code.op != Op::kConstant) code.cache = program_.caches++;
    return code;
  }

  Result<Code> Kind(const Node& node) {
    switch (node.kind) {
      case Node::Kind::kNumber:
        return Constant(node);
      case Node::Kind::kName:
        return Name(node);
      case Node::Kind::kIndex:
        return Indexed(node);
      case Node::Kind::kCall:
        return Call(node);
      case Node::Kind::kUnary:
        return Unary(node);
      case Node::Kind::kBinary:
        return Binary(node);
      default:
        return Range(node);
    }
  }

  static Code Make(Op op, int index = 0) {
    Code code;
    code.op = op;
    code.index = index;
    return code;
  }

  static Code Make(spec::Number constant) {
    Code code;
    code.constant = std::move(constant);
    return code;
  }

  Result<Code> Constant(const Node& node) {
    auto value = ParseNumber(node.text);
    if (!value) return At(PlaceIn(where_, node.place), value.error());
    return Make(*std::move(value));
  }

  Result<Code> Name(const Node& node) {
    // The innermost of equal names.
    const auto local = std::find(locals_.rbegin(), locals_.rend(), node.text);
    if (local != locals_.rend()) {
      Code code = Make(Op::kLocal, static_cast<int>(locals_.rend() - local) - 1);
      code.lowest_local = code.index;
      return code;
    }
    if (const int axis = IndexOf(coordinates_, node.text); axis >= 0) {
      Code code = Make(Op::kCoordinate, axis);
      code.varies = true;
      return code;
    }
    if (const Routine* routine = FindRoutine(node.text)) {
      if (routine->parameters > 0) return Refuse(node.place, "expected '(' after " + node.text);
      return CallOf(*routine);
    }
    // Attention's own scale, rather than that of its output.
    if (const auto attribute = AttributeOf(node.text)) return Make(mpq_class(*attribute));
    if (const auto operand = FindOperand(node.text)) return Unindexed(*operand, node);
    if (node.text == "infinity") return Make(Infinity{1});
    if (node.text == "nan") return Make(Nan{});
    if (node.text == "pi") {
      Code code = Make(Op::kApply);
      code.function = Function::kPi;
      return code;
    }
    return Unknown(node);
  }

  static int IndexOf(std::span<const std::string> names, const std::string& name) {
    const auto found = std::ranges::find(names, name);
    return found == names.end() ? -1 : static_cast<int>(found - names.begin());
  }

  const Routine* FindRoutine(const std::string& name) const {
    const auto found = std::ranges::find(program_.routines, name, &Routine::name);
    return found == program_.routines.end() ? nullptr : &*found;
  }

  std::optional<mpq_class> AttributeOf(const std::string& name) const {
    for (const format::Attribute& attribute : scope_.attributes) {
      if (attribute.name != name) continue;
      if (attribute.type == format::AttributeType::kFloat) return mpq_class(attribute.f);
      if (attribute.type == format::AttributeType::kInt) {
        return mpq_class(static_cast<long>(attribute.i));
      }
    }
    return std::nullopt;
  }

  Error Unknown(const Node& node) const {
    std::string known;
    for (const Operand& operand : scope_.operands) {
      known += (known.empty() ? "" : ", ") + operand.name();
    }
    return Refuse(node.place, "found '" + node.text +
                                  "', expected a name that is defined above, a part of " + known +
                                  ", or an attribute");
  }

  // "x", "x_scale", and "scale" for that of the one output.
  std::optional<Named> FindOperand(const std::string& name) const {
    for (std::size_t i = 0; i < scope_.operands.size(); ++i) {
      const Operand& operand = scope_.operands[i];
      const bool output = static_cast<int>(i) >= scope_.first_output;
      if (name == operand.name() && !output) return Named{&operand, static_cast<int>(i)};
    }
    for (std::size_t i = 0; i < scope_.operands.size(); ++i) {
      const Operand& operand = scope_.operands[i];
      const bool output = static_cast<int>(i) >= scope_.first_output;
      for (const PartRow& row : kParts) {
        if (row.part == CodePart::kStored && output) continue;
        const bool alone = static_cast<int>(i) == scope_.first_output && name == row.bare;
        if (alone || name == operand.name() + std::string(row.suffix)) {
          return Named{&operand, static_cast<int>(i), row.part};
        }
      }
    }
    return std::nullopt;
  }

  Result<Code> PartOf(const Named& named, const Node& node) {
    if (named.part != CodePart::kReal && named.part != CodePart::kStored &&
        !named.operand->is_quantized()) {
      return Refuse(node.place, "found '" + node.text + "', but " + named.operand->name() +
                                    " is not quantized");
    }
    Code code = Make(Op::kPart, named.index);
    code.part = named.part;
    return code;
  }

  Result<Code> Unindexed(const Named& named, const Node& node) {
    QTX_ASSIGN_OR_RETURN(Code code, PartOf(named, node));
    const bool value = named.part == CodePart::kReal || named.part == CodePart::kStored;
    const bool bound = named.part == CodePart::kMin || named.part == CodePart::kMax;
    const bool one = value ? named.operand->size() == 1 : bound || named.operand->per_tensor();
    code.varies = !one;
    if (!one && indexed() && named.index < scope_.first_output) {
      return Refuse(node.place, "expected an index after " + node.text);
    }
    return code;
  }

  Result<Code> Indexed(const Node& node) {
    const auto named = FindOperand(node.text);
    if (!named) return Unknown(node);
    QTX_ASSIGN_OR_RETURN(Code code, PartOf(*named, node));
    const bool value = named->part == CodePart::kReal || named->part == CodePart::kStored;
    const std::size_t expected = value ? named->operand->dims().size() : 1;
    if (node.children.size() != expected) {
      return Refuse(node.place, "found " + std::to_string(node.children.size()) +
                                    " indices, expected " + std::to_string(expected));
    }
    QTX_RETURN_IF_ERROR(Numbers(node, 0, code));
    code.varies = value;
    return code;
  }

  Result<void> Numbers(const Node& node, std::size_t from, Code& code) {
    for (std::size_t i = from; i < node.children.size(); ++i) {
      QTX_ASSIGN_OR_RETURN(code.children.emplace_back(), Number(node.children[i]));
    }
    return {};
  }

  Code CallOf(const Routine& routine) const {
    Code code = Make(Op::kRoutine, static_cast<int>(&routine - program_.routines.data()));
    code.varies = routine.body.varies;
    code.is_truth = routine.body.is_truth;
    code.depth = routine.body.depth + 1;
    return code;
  }

  Result<Code> Call(const Node& node) {
    if (const Routine* routine = FindRoutine(node.text)) {
      QTX_RETURN_IF_ERROR(CheckCount(node, routine->parameters, routine->parameters));
      Code code = CallOf(*routine);
      QTX_RETURN_IF_ERROR(Numbers(node, 0, code));
      return code;
    }
    const FunctionRow* row = FindFunction(node.text);
    if (const auto known = meaningless_.find(node.text); known != meaningless_.end()) {
      return known->second;
    }
    if (row == nullptr) return UnknownFunction(node);
    QTX_RETURN_IF_ERROR(CheckCount(node, row->least, row->most));
    Code code = Make(Op::kApply);
    code.function = row->function;
    switch (row->function) {
      case Function::kSize:
        return SizeOf(node);
      case Function::kInside:
        return Inside(node);
      case Function::kClamp:
        return Clamp(node, std::move(code));
      case Function::kIf:
        return Choice(node, std::move(code));
      default:
        code.is_truth = row->function == Function::kIsNan || row->function == Function::kIsFinite;
        QTX_RETURN_IF_ERROR(Numbers(node, 0, code));
        return code;
    }
  }

  Result<void> CheckCount(const Node& node, int least, int most) const {
    const int count = static_cast<int>(node.children.size());
    if (count >= least && count <= most) return {};
    return Refuse(node.place, "found " + std::to_string(count) + " arguments of " + node.text +
                                  ", expected " + std::to_string(count < least ? least : most));
  }

  Error UnknownFunction(const Node& node) const {
    std::string known;
    for (const FunctionRow& row : spec::Functions()) known += ", " + std::string(row.name);
    known += ", sum, product, fold";
    for (const Routine& routine : program_.routines) {
      if (routine.parameters > 0) known += ", " + routine.name;
    }
    return Refuse(node.place,
                  "found function '" + node.text + "', expected one of " + known.substr(2));
  }

  Result<Code> SizeOf(const Node& node) {
    const auto named = FindOperand(node.children[0].text);
    if (node.children[0].kind != Node::Kind::kName || !named) return Unknown(node.children[0]);
    auto axis = ParseNumber(node.children[1].text);
    const auto rank = std::ssize(named->operand->dims());
    if (node.children[1].kind != Node::Kind::kNumber || !axis || *axis < 0 || *axis >= rank ||
        axis->get_den() != 1) {
      return Refuse(node.children[1].place,
                    "expected the number of an axis below " + std::to_string(rank));
    }
    const auto size = named->operand->dims()[axis->get_num().get_ui()];
    return Make(mpq_class(static_cast<long>(size)));
  }

  Result<Code> Inside(const Node& node) {
    const auto named = FindOperand(node.children[0].text);
    if (node.children[0].kind != Node::Kind::kName || !named || named->part != CodePart::kReal) {
      return Unknown(node.children[0]);
    }
    QTX_RETURN_IF_ERROR(CheckCount(node, static_cast<int>(named->operand->dims().size()) + 1,
                                   static_cast<int>(named->operand->dims().size()) + 1));
    Code code = Make(Op::kApply, named->index);
    code.function = Function::kInside;
    code.is_truth = true;
    QTX_RETURN_IF_ERROR(Numbers(node, 1, code));
    return code;
  }

  // clamp(x) is to the range of the output.
  Result<Code> Clamp(const Node& node, Code code) {
    QTX_RETURN_IF_ERROR(Numbers(node, 0, code));
    if (node.children.size() == 3) return code;
    if (node.children.size() == 2) {
      return Refuse(node.place, "found 2 arguments of clamp, expected 1 or 3");
    }
    for (const char* bound : {"quant_min", "quant_max"}) {
      Node name = node;
      name.kind = Node::Kind::kName;
      name.text = bound;
      QTX_ASSIGN_OR_RETURN(code.children.emplace_back(), Name(name));
    }
    return code;
  }

  Result<Code> Choice(const Node& node, Code code) {
    QTX_ASSIGN_OR_RETURN(code.children.emplace_back(), Truth(node.children[0]));
    QTX_RETURN_IF_ERROR(Numbers(node, 1, code));
    return code;
  }

  Result<Code> Unary(const Node& node) {
    const bool negates = node.text == "-";
    Code code = Make(negates ? Op::kNegate : Op::kNot);
    code.is_truth = !negates;
    QTX_ASSIGN_OR_RETURN(code.children.emplace_back(),
                         negates ? Number(node.children[0]) : Truth(node.children[0]));
    return code;
  }

  Result<Code> Binary(const Node& node) {
    const SignRow& row = *std::ranges::find(kSignRows, node.text, &SignRow::sign);
    Code code = Make(row.op);
    code.is_truth = row.is_truth;
    for (const Node& child : node.children) {
      QTX_ASSIGN_OR_RETURN(code.children.emplace_back(),
                           row.of_truths ? Truth(child) : Number(child));
    }
    return code;
  }

  Result<Code> Range(const Node& node) {
    const RangeRow& row = *std::ranges::find(kRanges, node.text, &RangeRow::name);
    Code code = Make(row.op, static_cast<int>(locals_.size()));
    const std::size_t outer = locals_.size();
    const std::size_t indices = node.children.size() - (row.op == Op::kFold ? 2 : 1);
    // The first value of a fold cannot use the indices.
    std::vector<Code> first;
    if (row.op == Op::kFold) {
      QTX_ASSIGN_OR_RETURN(first.emplace_back(), Number(node.children[indices]));
    }
    for (std::size_t i = 0; i < indices; ++i) {
      QTX_ASSIGN_OR_RETURN(code.children.emplace_back(), Number(node.children[i]));
      locals_.push_back(node.names[i]);
    }
    std::ranges::move(first, std::back_inserter(code.children));
    if (row.op == Op::kFold) locals_.push_back(node.names.back());
    QTX_ASSIGN_OR_RETURN(code.children.emplace_back(), Number(node.children.back()));
    locals_.resize(outer);
    // Its own indices do not make it vary between elements.
    if (code.children.back().lowest_local >= static_cast<int>(outer)) {
      for (Code& child : code.children) {
        if (child.lowest_local >= static_cast<int>(outer)) child.lowest_local = INT_MAX;
      }
    }
    return code;
  }

  const Scope& scope_;
  const std::string& where_;
  Program program_;
  std::vector<std::string> locals_;
  std::vector<std::string> coordinates_;
  std::map<std::string, Error> meaningless_;  // used functions, and why
};

}  // namespace

Result<Program> Compile(std::span<const Statement> used, std::span<const Statement> statements,
                        const Scope& scope, const std::string& where) {
  Compiler compiler(scope, where);
  QTX_RETURN_IF_ERROR(compiler.Use(used));
  return compiler.Finish(statements);
}

}  // namespace qtx::spec
