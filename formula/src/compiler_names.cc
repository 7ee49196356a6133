// The expressions of formulas: names and operators.
#include <algorithm>
#include <array>
#include <utility>

#include "compiler.h"
#include "qtx/formula/parser.h"

namespace qtx::formula {
namespace {

using Op = Code::Op;

struct SignRow {
  std::string_view sign;
  Op op;
};
constexpr std::array kSignRows = {
    SignRow{"+", Op::kAdd},        SignRow{"-", Op::kSubtract},    SignRow{"*", Op::kMultiply},
    SignRow{"/", Op::kDivide},     SignRow{"mod", Op::kModulo},    SignRow{"^", Op::kPower},
    SignRow{"<<", Op::kShiftLeft}, SignRow{">>", Op::kShiftRight}, SignRow{"=", Op::kEqual},
    SignRow{"!=", Op::kUnequal},   SignRow{"<", Op::kLess},        SignRow{"<=", Op::kAtMost},
    SignRow{">", Op::kGreater},    SignRow{">=", Op::kAtLeast},    SignRow{"and", Op::kAnd},
    SignRow{"or", Op::kOr},
};

struct PartRow {
  std::string_view suffix;  // of a tensor's name
  std::string_view bare;    // of the output that is computed, alone
  Part part;
};
constexpr std::array kParts = {
    PartRow{"_stored", "", Part::kStored},    PartRow{"_real", "", Part::kReal},
    PartRow{"_scale", "scale", Part::kScale}, PartRow{"_offset", "offset", Part::kOffset},
    PartRow{"_min", "quant_min", Part::kMin}, PartRow{"_max", "quant_max", Part::kMax},
};

Value ScalesOf(const Scope& scope) {
  std::vector<Value> scales;
  if (!scope.has_own_scales()) return Value(std::move(scales));
  for (const Operand& operand : scope.operands()) {
    for (std::int64_t i = 0; i < operand.parameters(); ++i) scales.emplace_back(operand.Scale(i));
  }
  return Value(std::move(scales));
}

bool IsOfParameters(Part part) { return part == Part::kScale || part == Part::kOffset; }

bool HavePerTensorOutputs(const Scope& scope) {
  return std::ranges::all_of(scope.outputs(), [&](const Tensors& output) {
    const auto first = scope.operands().begin() + output.first;
    return std::all_of(first, first + output.count, [](const Operand& operand) {
      return !operand.is_quantized() || operand.per_tensor();
    });
  });
}

bool IsOfElements(Part part) {
  return part == Part::kValue || part == Part::kReal || part == Part::kStored;
}

}  // namespace

Result<Code> Compiler::Any(const Node& node) {
  QTX_ASSIGN_OR_RETURN(Code code, Kind(node));
  code.place = node.place;
  code.where = &unit_->formula->where;
  code.rounds = unit_->rounds;
  for (const Code& child : code.children) {
    code.varies |= child.varies;
    code.of_output |= child.of_output;
    code.lowest_local = std::min(code.lowest_local, child.lowest_local);
    code.depth = std::max(code.depth, child.depth + 1);
  }
  if (code.depth > kMaxCallDepth) {
    return Error{ErrorCode::kTooLarge, PlaceIn(unit_->formula->where, node.place),
                 "expected at most " + std::to_string(kMaxCallDepth) + " levels of calls"};
  }
  const bool same = code.lowest_local >= std::ssize(locals_);
  const bool again = !code.varies || !locals_.empty();  // else it is evaluated once for an element
  const bool atom = code.op == Op::kConstant || code.op == Op::kError || code.op == Op::kTensor ||
                    code.op == Op::kOutput || code.op == Op::kRest || code.op == Op::kCoordinate;
  if (same && again && !atom) code.cache = program_.caches++;
  return code;
}

Result<Code> Compiler::Kind(const Node& node) {
  switch (node.kind) {
    case Node::Kind::kNumber:
      return Constant(node);
    case Node::Kind::kText:
      return Make(Value(node.text));
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
    case Node::Kind::kList:
    case Node::Kind::kRest: {
      Code code = Make(node.kind == Node::Kind::kList ? Op::kList : Op::kRest);
      QTX_RETURN_IF_ERROR(Children(node, 0, code));
      return code;
    }
    default:
      return Range(node);
  }
}

Result<Code> Compiler::Constant(const Node& node) {
  auto value = ParseNumber(node.text);
  if (!value) return At(PlaceIn(unit_->formula->where, node.place), value.error());
  if (value->get_den() == 1 && value->get_num().fits_slong_p()) {
    return Make(Value(std::int64_t{value->get_num().get_si()}));
  }
  return Make(Value(*std::move(value)));
}

Result<Code> Compiler::Name(const Node& node) {
  // The innermost of equal names.
  const auto local = std::find(locals_.rbegin(), locals_.rend(), node.text);
  if (local != locals_.rend()) {
    Code code = Make(Op::kLocal, static_cast<int>(locals_.rend() - local) - 1);
    code.lowest_local = code.index;
    return code;
  }
  if (const auto slot = FindCoordinate(node.text)) {
    Code code = Make(Op::kCoordinate, *slot);
    code.varies = true;
    return code;
  }
  if (const auto routine = FindRoutine(node.text)) {
    const Routine& called = program_.routines[static_cast<std::size_t>(*routine)];
    if (called.parameters > 0) return Refuse(node.place, "expected '(' after " + node.text);
    return CallOf(*routine);
  }
  if (const auto tensor = FindTensor(node.text); tensor && tensor->tensors.count > 0) {
    return NameOfTensor(*tensor, node);
  }
  const auto part = FindPart(node.text);
  const Value* attribute = scope_.Attribute(node.text);
  // In Attention's section its own scale, in an arithmetic's that of its output.
  const bool of_output = part && (unit_->formula->of_arithmetic || !scope_.IsAttribute(node.text));
  if (attribute != nullptr && !of_output) {
    if (const auto* tensors = attribute->tensors()) {
      return NameOfTensor({*tensors, Part::kValue, false, node.text}, node);
    }
    return Make(*attribute);
  }
  if (of_output) return NameOfTensor(*part, node);
  if (node.text == "output") {
    Code code = Make(Op::kOutput);
    code.of_output = true;
    return code;
  }
  if (node.text == "node_scales") return Make(ScalesOf(scope_));
  if (node.text == "opset") return Make(Value(scope_.opset()));
  if (node.text == "operator") return Make(Value(scope_.op_type()));
  if (node.text == "infinity") return Make(Value(Number(Infinity{1})));
  if (node.text == "nan") return Make(Value(Number(Nan{})));
  if (node.text == "pi") {
    Code code = Make(Op::kApply);
    code.function = Function::kPi;
    return code;
  }
  return Unknown(node);
}

// A name of the node that has no meaning in it, such as an input that is not given, is an error
// only where its value is asked for; so is, in a function that other operators use, too, what this
// one does not have.
Result<Code> Compiler::Unknown(const Node& node) const {
  const auto tensor = FindTensor(node.text);
  if (tensor || scope_.IsAttribute(node.text) || in_used_function_) {
    Code code = Make(Op::kError);
    code.error = std::make_shared<Error>(
        Refuse(node.place, "found '" + node.text + "', which the node does not give"));
    return code;
  }
  std::string known;
  for (const auto& names : {unit_->names.inputs, unit_->names.outputs}) {
    for (const std::string& name : names) known += (known.empty() ? "" : ", ") + name;
  }
  return Refuse(node.place, "found '" + node.text +
                                "', expected a name that is defined above, a part of " + known +
                                ", or an attribute");
}

Result<Code> Compiler::NameOfTensor(const Named& named, const Node& node) {
  if (named.part == Part::kValue) {
    Code code = Make(Op::kTensor);
    code.tensors = named.tensors;
    code.varies = true;  // as a number
    return code;
  }
  Code code = Make(Op::kPart);
  code.part = named.part;
  code.tensors = named.tensors;
  code.index = named.of_output ? 1 : 0;
  code.varies = true;
  if (!named.of_output && named.tensors.count == 0) {
    code = Make(Op::kError);
    code.error = std::make_shared<Error>(
        Refuse(node.place, "found '" + node.text + "', but the node does not give " + named.name));
    return code;
  }
  if (named.of_output) {
    code.of_output = true;
    code.varies = IsOfParameters(named.part) && !HavePerTensorOutputs(scope_);
    return code;
  }
  const Operand& operand = scope_.operands()[static_cast<std::size_t>(named.tensors.first)];
  if (!IsOfElements(named.part)) {
    const bool bound = named.part == Part::kMin || named.part == Part::kMax;
    if (!operand.is_quantized() && !bound) {
      Code error = Make(Op::kError);
      error.error = std::make_shared<Error>(
          Refuse(node.place, "found '" + node.text + "', but " + named.name + " is not quantized"));
      return error;
    }
    code.varies = !bound && !operand.per_tensor();
  } else {
    code.varies = operand.size() != 1;
  }
  return code;
}

std::optional<Compiler::Named> Compiler::FindTensor(std::string_view name) const {
  const auto find = [&](std::span<const std::string> names, std::span<const Tensors> tensors) {
    const auto found = name.empty() ? names.end() : std::ranges::find(names, name);
    const auto place = static_cast<std::size_t>(found - names.begin());
    return found == names.end() || place >= tensors.size()
               ? std::optional<Named>()
               : Named{tensors[place], Part::kValue, false, std::string(name)};
  };
  const auto input = find(unit_->names.inputs, scope_.inputs());
  return input ? input : find(unit_->names.outputs, scope_.outputs());
}

// "x_scale", and "scale" for that of the output that is computed.
std::optional<Compiler::Named> Compiler::FindPart(std::string_view name) const {
  for (const PartRow& row : kParts) {
    if (name == row.bare) return Named{{}, row.part, true, "the output"};
    if (!name.ends_with(row.suffix)) continue;
    const std::string_view tensor = name.substr(0, name.size() - row.suffix.size());
    auto named = FindTensor(tensor);
    if (!named) {
      const Value* attribute = scope_.Attribute(tensor);
      const auto* tensors = attribute == nullptr ? nullptr : attribute->tensors();
      if (tensors == nullptr) continue;
      named = Named{*tensors, Part::kValue, false, std::string(tensor)};
    }
    named->part = row.part;
    return named;
  }
  return std::nullopt;
}

Result<Code> Compiler::Indexed(const Node& node) {
  const Node& base = node.children[0];
  if (base.kind == Node::Kind::kName && !FindCoordinate(base.text) && !FindRoutine(base.text) &&
      std::ranges::find(locals_, base.text) == locals_.end()) {
    QTX_ASSIGN_OR_RETURN(Code named, Name(base));
    if (named.op == Op::kPart) {  // x_stored[i, j]
      named.varies = false;
      QTX_RETURN_IF_ERROR(Children(node, 1, named));
      return named;
    }
  }
  Code code = Make(Op::kIndex);
  QTX_ASSIGN_OR_RETURN(code.children.emplace_back(), Argument(base));
  QTX_RETURN_IF_ERROR(Children(node, 1, code));
  return code;
}

// A tensor as such, whose elements are not asked for.
Result<Code> Compiler::Argument(const Node& node) {
  QTX_ASSIGN_OR_RETURN(Code code, Any(node));
  if (code.op == Op::kTensor) code.varies = false;
  return code;
}

Result<void> Compiler::Children(const Node& node, std::size_t from, Code& code) {
  for (std::size_t i = from; i < node.children.size(); ++i) {
    QTX_ASSIGN_OR_RETURN(code.children.emplace_back(), Any(node.children[i]));
  }
  return {};
}

Result<Code> Compiler::Unary(const Node& node) {
  Code code = Make(node.text == "-" ? Op::kNegate : Op::kNot);
  QTX_RETURN_IF_ERROR(Children(node, 0, code));
  return code;
}

Result<Code> Compiler::Binary(const Node& node) {
  Code code = Make(std::ranges::find(kSignRows, node.text, &SignRow::sign)->op);
  QTX_RETURN_IF_ERROR(Children(node, 0, code));
  return code;
}

}  // namespace qtx::formula
