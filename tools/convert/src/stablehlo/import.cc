#include "stablehlo/import.h"

#include <algorithm>
#include <charconv>
#include <set>

#include "bounds.h"
#include "errors.h"
#include "qtx/format/check.h"
#include "qtx/format/levels.h"
#include "stablehlo/fold_bias.h"
#include "stablehlo/ops.h"

namespace qtx::convert {
namespace {

constexpr std::int64_t kOpset = 21;  // of the plain types of 4 bits
constexpr std::int64_t kNewOpset = 25;
constexpr std::int64_t kIrVersion = 10;
constexpr std::int64_t kNewIrVersion = 13;
constexpr std::size_t kMaxCalls = 32;
constexpr std::size_t kMaxNames = 8;  // that an error lists

std::string NamesOf(const std::vector<MlirFunction>& functions) {
  std::string names;
  for (std::size_t i = 0; i < std::min(functions.size(), kMaxNames); ++i)
    names += (i == 0 ? "" : ", ") + std::to_string(i) + " '" + functions[i].name + "'";
  return functions.size() > kMaxNames ? names + ", ..." : names;
}

Result<const MlirFunction*> Choose(const std::vector<MlirFunction>& functions,
                                   const std::string& choice) {
  std::vector<const MlirFunction*> found;
  for (const MlirFunction& function : functions) {
    const bool wanted = choice.empty() ? !function.is_private : function.name == choice;
    if (wanted) found.push_back(&function);
  }
  if (choice.empty() && found.empty() && functions.size() == 1) found.push_back(&functions[0]);
  if (choice.empty() && found.size() > 1) {
    std::vector<const MlirFunction*> mains;
    std::ranges::copy_if(found, std::back_inserter(mains),
                         [](const MlirFunction* function) { return function->name == "main"; });
    if (mains.size() == 1) found = mains;
  }
  if (found.size() == 1) return found[0];
  std::size_t index = 0;
  const auto read = std::from_chars(choice.data(), choice.data() + choice.size(), index);
  if (found.empty() && !choice.empty() && read.ec == std::errc() &&
      read.ptr == choice.data() + choice.size() && index < functions.size())
    return &functions[index];
  return Invalid(choice.empty() ? "" : "subgraph '" + choice + "'",
                 "the file has " + std::to_string(functions.size()) +
                     " functions: " + NamesOf(functions) + "; --subgraph names one, or its index");
}

// Walks one function, and those that it calls.
class Walk {
 public:
  Walk(MlirParser& parser, StablehloBuilder& builder) : parser_(parser), builder_(builder) {}

  // The operators of a body, from the cursor on: what it returns.
  Result<std::vector<StablehloValue*>> Body(const MlirFunction& function, bool is_entry) {
    for (;;) {
      QTX_ASSIGN_OR_RETURN(const std::optional<MlirOp> op, parser_.NextOp());
      if (!op)
        return Invalid(parser_.text().Place(parser_.text().at()),
                       "the body of '" + function.name + "' ends without a return");
      if (op->name == "return" || op->name == "func.return") return Return(*op, is_entry);
      QTX_RETURN_IF_ERROR(Op(*op, function));
    }
  }

 private:
  Result<void> Op(const MlirOp& op, const MlirFunction& caller) {
    if (op.name == "call" || op.name == "func.call") return Call(op, caller);
    if (op.name.starts_with("check.")) return Check(op);
    if (op.name == "stablehlo.custom_call") return CustomCall(op);
    return ConvertStablehloOp(builder_, op);
  }

  Result<std::vector<StablehloValue*>> Return(const MlirOp& op, bool is_entry) {
    std::vector<StablehloValue*> values;
    for (const std::string& name : op.operands) {
      QTX_ASSIGN_OR_RETURN(StablehloValue * value, builder_.Find(op, name));
      values.push_back(value);
      if (is_entry && !value->verdict) QTX_RETURN_IF_ERROR(builder_.AddOutput(op, value, true));
    }
    return values;
  }

  Result<void> CheckValue(const MlirOp& op, const std::string& name) {
    QTX_ASSIGN_OR_RETURN(StablehloValue * value, builder_.Find(op, name));
    if (value->constant || value->verdict) return {};
    builder_.ledger().Changed(value->name, op.name, "the value is an output");
    return builder_.AddOutput(op, value, false);
  }

  Result<void> Check(const MlirOp& op) {
    if (op.operands.empty()) return Invalid(builder_.Place(op), "found no operand");
    for (const std::string& name : op.operands) QTX_RETURN_IF_ERROR(CheckValue(op, name));
    return {};
  }

  Result<void> CustomCall(const MlirOp& op) {
    const MlirAttribute* callee = op.Find({"call_target_name", "callee"});
    const std::string target = callee == nullptr ? "" : callee->text;
    if (!target.starts_with("check."))
      return Unsupported(builder_.Place(op), "of '" + target.substr(0, 64) + "'");
    QTX_RETURN_IF_ERROR(Check(op));
    if (op.results.empty()) return {};
    QTX_ASSIGN_OR_RETURN(StablehloValue * verdict, builder_.NewResult(op));
    verdict->verdict = true;
    return {};
  }

  Result<void> Call(const MlirOp& op, const MlirFunction& caller) {
    const MlirAttribute* callee = op.Find({"callee"});
    const auto& functions = parser_.functions();
    const auto found = std::ranges::find_if(functions, [&](const MlirFunction& function) {
      return callee != nullptr && function.name == callee->text &&
             function.section == caller.section;
    });
    if (found == functions.end()) return Invalid(builder_.Place(op), "found no such function");
    if (builder_.depth() > kMaxCalls)
      return Error{ErrorCode::kTooLarge, builder_.Place(op), "calls more than 32 deep"};
    std::vector<StablehloValue*> operands;
    for (const std::string& name : op.operands) {
      QTX_ASSIGN_OR_RETURN(StablehloValue * operand, builder_.Find(op, name));
      operands.push_back(operand);
    }
    const std::size_t behind = parser_.text().at();
    QTX_ASSIGN_OR_RETURN(const auto arguments, parser_.Enter(*found));
    if (arguments.size() != operands.size())
      return Invalid(builder_.Place(op), "found " + std::to_string(operands.size()) +
                                             " operands, expected " +
                                             std::to_string(arguments.size()));
    builder_.EnterScope();
    for (std::size_t i = 0; i < operands.size(); ++i) builder_.Name(arguments[i].name, operands[i]);
    QTX_ASSIGN_OR_RETURN(const auto returned, Body(*found, false));
    builder_.LeaveScope();
    parser_.text().Seek(behind);
    if (returned.size() != op.results.size())
      return Invalid(builder_.Place(op), "found " + std::to_string(op.results.size()) +
                                             " results, expected " +
                                             std::to_string(returned.size()));
    for (std::size_t i = 0; i < returned.size(); ++i) builder_.Name(op.results[i], returned[i]);
    return {};
  }

  MlirParser& parser_;
  StablehloBuilder& builder_;
};

// The number behind `before` at the begin of `text`.
std::optional<std::size_t> NumberBehind(std::string_view text, std::string_view before) {
  std::size_t number = 0;
  if (!text.starts_with(before)) return std::nullopt;
  const auto read = std::from_chars(text.data() + before.size(), text.data() + text.size(), number);
  return read.ec == std::errc() ? std::optional(number) : std::nullopt;
}

// What the model breaks, at the line of the operator that the node comes from: types and attributes
// of the program that do not fit together, or a type that ONNX's operator lacks.
Error BrokenAt(const MlirText& text, const format::Model& model, const format::Finding& finding) {
  const auto code = finding.rule == "graph.C7" ? ErrorCode::kUnsupported : ErrorCode::kInvalid;
  const auto node = NumberBehind(finding.where, "graph.node[");
  if (!node || *node >= model.graph.nodes.size() || !model.graph.nodes[*node].origin)
    return Error{code, finding.where, finding.message, finding.rule};
  const format::Node& broken = model.graph.nodes[*node];
  const auto at = NumberBehind(broken.origin->group, "");
  return Error{code, text.Place(at.value_or(0)) + ": " + broken.origin->op_type,
               "as " + broken.op_type + ": " + finding.message, finding.rule};
}

// The graph in opset 21, or in 25 where an operator got one of its types since.
// Errors: what breaks a rule in both.
Result<format::Model> ModelOf(const MlirText& text, format::Graph graph, const std::string& name) {
  format::Model model;
  model.graph = std::move(graph);
  model.graph.name = name.empty() ? "main" : name;
  model.producer_name = "qtx";
  model.ir_version = kIrVersion;
  model.opset_imports = {{"", kOpset, ""}, {std::string(format::kDomain), format::kVersion, ""}};
  model.opset_imports[1].version = format::FormatVersion(model);
  if (format::Check(model, "").empty()) return model;
  model.opset_imports[0].version = kNewOpset;
  model.ir_version = kNewIrVersion;
  const auto findings = format::Check(model, "");
  if (!findings.empty()) return BrokenAt(text, model, findings[0]);
  return model;
}

}  // namespace

bool LooksLikeStablehlo(const Source& source) {
  if (source.onnx) return false;
  constexpr std::size_t kHead = std::size_t{1} << 16;
  MlirText text(source.bytes().substr(0, kHead));
  while (text.Peek() == '!' || text.Peek() == '#') {
    const std::size_t end = text.all().find('\n', text.at());
    text.Seek(std::min(end, text.all().size()));
  }
  const std::string_view word = text.Word();
  if (word == "func.func") return text.Peek() == '@' || !text.PeekWord().empty();
  if (word != "module" && word != "builtin.module") return false;
  const char c = text.Peek();
  return c == '{' || c == '@' || text.PeekWord() == "attributes";
}

Result<Conversion> ReadStablehlo(const Source& source, const Options& options) {
  QTX_RETURN_IF_ERROR(CheckTextSize(source.bytes()));
  QTX_ASSIGN_OR_RETURN(MlirParser parser, MlirParser::Open(source.bytes()));
  QTX_ASSIGN_OR_RETURN(const MlirFunction* chosen, Choose(parser.functions(), options.subgraph));
  const MlirFunction function = *chosen;
  Ledger ledger(options);
  StablehloBuilder builder(parser, ledger);
  QTX_ASSIGN_OR_RETURN(const auto arguments, parser.Enter(function));
  for (const MlirArgument& argument : arguments) builder.AddInput(argument);
  QTX_RETURN_IF_ERROR(Walk(parser, builder).Body(function, true));
  for (const MlirFunction& other : parser.functions()) {
    if (other.signature != function.signature && !other.is_private)
      ledger.Dropped("model", "function " + other.name, "another function is converted");
  }
  if (parser.rounded_scales() > 0) {
    ledger.Changed("model", "scale",
                   std::to_string(parser.rounded_scales()) + " scales rounded to binary32");
  }
  Conversion conversion;
  QTX_ASSIGN_OR_RETURN(format::Graph graph, builder.Finish());
  FoldBiases(graph, ledger);
  QTX_ASSIGN_OR_RETURN(conversion.model, ModelOf(parser.text(), std::move(graph), function.name));
  conversion.ledger = ledger.Take();
  return conversion;
}

}  // namespace qtx::convert
