// The expressions of formulas: calls, sums and other ranges.
#include <algorithm>
#include <array>
#include <utility>

#include "compiler.h"
#include "qtx/formula/parser.h"

namespace qtx::formula {
namespace {

using Op = Code::Op;

struct RangeRow {
  std::string_view name;
  Op op;
};
constexpr std::array kRanges = {
    RangeRow{"sum", Op::kSum},      RangeRow{"product", Op::kProduct}, RangeRow{"min", Op::kLeast},
    RangeRow{"max", Op::kGreatest}, RangeRow{"list", Op::kListOf},     RangeRow{"all", Op::kAll},
    RangeRow{"any", Op::kAny},      RangeRow{"count", Op::kCount},     RangeRow{"fold", Op::kFold},
};

}  // namespace

Code Compiler::CallOf(int routine) const {
  Code code = Make(Op::kRoutine, routine);
  const Code& body = program_.routines[static_cast<std::size_t>(routine)].body;
  code.varies = body.varies;
  code.of_output = body.of_output;
  code.depth = body.depth + 1;
  return code;
}

Result<Code> Compiler::Call(const Node& node) {
  if (const auto routine = FindRoutine(node.text)) {
    const Routine& called = program_.routines[static_cast<std::size_t>(*routine)];
    const auto parameters = static_cast<std::size_t>(called.parameters);
    const bool open = std::ranges::any_of(called.rest, [](bool rest) { return rest; }) ||
                      std::ranges::any_of(node.children, [](const Node& child) {
                        return child.kind == Node::Kind::kRest;
                      });
    if (!open) QTX_RETURN_IF_ERROR(CheckCount(node, parameters, parameters));
    Code code = CallOf(*routine);
    for (const Node& child : node.children) {
      QTX_ASSIGN_OR_RETURN(code.children.emplace_back(), Argument(child));
    }
    return code;
  }
  const auto reading = std::ranges::find(kReadings, node.text);
  if (reading != kReadings.end()) {
    constexpr std::array<std::size_t, kReadings.size()> kArguments = {3, 1, 1, 3};
    Code code = Make(Op::kReading, static_cast<int>(reading - kReadings.begin()));
    const std::size_t arguments = kArguments[static_cast<std::size_t>(code.index)];
    QTX_RETURN_IF_ERROR(CheckCount(node, arguments, arguments));
    const bool moves = *reading == "movement";  // whose first argument is a tensor
    for (const Node& child : node.children) {
      const bool tensor = moves && code.children.empty();
      QTX_ASSIGN_OR_RETURN(code.children.emplace_back(), tensor ? Argument(child) : Any(child));
    }
    code.varies = true;
    return code;
  }
  const Unit* const units[] = {unit_, &base_};
  for (const Unit* unit : units) {
    const auto known = unit->meaningless.find(node.text);
    if (known == unit->meaningless.end()) continue;
    Code code = Make(Op::kError);
    code.error = std::make_shared<Error>(known->second);
    return code;
  }
  const FunctionRow* row = FindFunction(node.text);
  if (row == nullptr) return UnknownFunction(node);
  QTX_RETURN_IF_ERROR(
      CheckCount(node, static_cast<std::size_t>(row->least), static_cast<std::size_t>(row->most)));
  return CallFunction(node, *row);
}

Result<Code> Compiler::CallFunction(const Node& node, const FunctionRow& row) {
  if (row.function == Function::kGiven || row.function == Function::kIsInput) {
    return Given(node, row.function == Function::kIsInput);
  }
  if (row.function == Function::kOrigin) return Origin(node);
  if (row.function == Function::kOriginInteger) return OriginInteger(node);
  if (row.function == Function::kClamp && node.children.size() == 2) {
    return Refuse(node.place, "found 2 arguments of clamp, expected 1 or 3");
  }
  Code code = Make(Op::kApply);
  code.function = row.function;
  code.of_output = row.function == Function::kClamp && node.children.size() == 1;
  for (std::size_t i = 0; i < node.children.size(); ++i) {
    const bool tensor = i == 0 && (IsOfTensor(row.function) || row.function == Function::kLength);
    QTX_ASSIGN_OR_RETURN(code.children.emplace_back(),
                         tensor ? Argument(node.children[i]) : Any(node.children[i]));
  }
  if (row.function == Function::kIf && code.children[0].op == Op::kConstant) {  // given(x)
    if (const auto* holds = code.children[0].constant.condition()) {
      return Code(code.children[*holds ? 1 : 2]);
    }
  }
  if (IsOfElement(row.function) && node.children.size() == 1) code.varies = true;
  return code;
}

// `as_input`: an attribute of that name does not count.
Result<Code> Compiler::Given(const Node& node, bool as_input) {
  const Node& name = node.children[0];
  if (name.kind != Node::Kind::kName) return Refuse(name.place, "expected a name");
  // A function that several operators use may name what one of them does not have.
  const auto tensor = FindTensor(name.text);
  const bool given = (tensor && tensor->tensors.count > 0) ||
                     (!as_input && scope_.Attribute(name.text) != nullptr);
  return Make(Value(given));
}

// What the node was in a framework.
Result<Code> Compiler::Origin(const Node& node) const {
  const Node& framework = node.children[0];
  if (framework.kind != Node::Kind::kText) return Refuse(framework.place, "expected a text");
  const auto& origin = scope_.origin();
  const bool of_framework = origin && origin->framework == framework.text;
  return Make(Value(of_framework ? origin->op_type : std::string()));
}

// An attribute of what the node was, else what the third argument says.
Result<Code> Compiler::OriginInteger(const Node& node) {
  for (std::size_t i = 0; i < 2; ++i) {
    if (node.children[i].kind != Node::Kind::kText) {
      return Refuse(node.children[i].place, "expected a text");
    }
  }
  const auto& origin = scope_.origin();
  if (origin && origin->framework == node.children[0].text) {
    const auto found =
        std::ranges::find(origin->attributes, node.children[1].text, &format::Attribute::name);
    if (found != origin->attributes.end() && found->type == format::AttributeType::kInt) {
      return Make(Value(found->i));
    }
  }
  return Any(node.children[2]);
}

Result<void> Compiler::CheckCount(const Node& node, std::size_t least, std::size_t most) const {
  const std::size_t count = node.children.size();
  if (count >= least && count <= most) return {};
  return Refuse(node.place, "found " + std::to_string(count) + " arguments of " + node.text +
                                ", expected " + std::to_string(count < least ? least : most));
}

Error Compiler::UnknownFunction(const Node& node) const {
  std::string known;
  for (const FunctionRow& row : Functions()) known += ", " + std::string(row.name);
  known += ", sum, product, list, all, any, fold";
  for (const auto& [name, routine] : unit_->routines) {
    if (program_.routines[static_cast<std::size_t>(routine)].parameters > 0) known += ", " + name;
  }
  return Refuse(node.place,
                "found function '" + node.text + "', expected one of " + known.substr(2));
}

Result<Code> Compiler::Range(const Node& node) {
  const RangeRow& row = *std::ranges::find(kRanges, node.text, &RangeRow::name);
  Code code = Make(row.op, static_cast<int>(locals_.size()));
  const std::size_t outer = locals_.size();
  const std::size_t indices = node.children.size() - (row.op == Op::kFold ? 2 : 1);
  // The first value of a fold cannot use the indices.
  std::vector<Code> first;
  if (row.op == Op::kFold) {
    QTX_ASSIGN_OR_RETURN(first.emplace_back(), Any(node.children[indices]));
  }
  for (std::size_t i = 0; i < indices; ++i) {
    QTX_ASSIGN_OR_RETURN(code.children.emplace_back(), Any(node.children[i]));
    const bool rest = node.names[i].ends_with(kListMark);
    code.rest.push_back(rest);
    locals_.push_back(node.names[i].substr(0, node.names[i].size() - (rest ? 3 : 0)));
  }
  std::ranges::move(first, std::back_inserter(code.children));
  if (row.op == Op::kFold) locals_.push_back(node.names.back());
  QTX_ASSIGN_OR_RETURN(code.children.emplace_back(), Any(node.children.back()));
  locals_.resize(outer);
  // Its own indices are no locals of what stands around it.
  for (Code& child : code.children) {
    if (child.lowest_local >= static_cast<int>(outer)) child.lowest_local = INT_MAX;
  }
  return code;
}

}  // namespace qtx::formula
