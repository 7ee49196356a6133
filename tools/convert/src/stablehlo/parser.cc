#include "stablehlo/parser.h"

#include <algorithm>

#include "errors.h"

namespace qtx::convert {
namespace {

constexpr std::string_view kSeparator = "// -----";
constexpr std::size_t kMaxFunctions = std::size_t{1} << 16;

std::vector<std::size_t> SeparatorsIn(std::string_view text) {
  std::vector<std::size_t> found;
  for (std::size_t at = text.find(kSeparator); at != std::string_view::npos;
       at = text.find(kSeparator, at + kSeparator.size())) {
    if (at == 0 || text[at - 1] == '\n') found.push_back(at);
  }
  return found;
}

}  // namespace

const MlirAttribute* MlirAttribute::Find(std::string_view key) const {
  const auto found = std::ranges::find(keys, key);
  return found == keys.end() ? nullptr : &list[static_cast<std::size_t>(found - keys.begin())];
}

const MlirAttribute* MlirOp::Find(std::initializer_list<std::string_view> names) const {
  for (const std::string_view wanted : names) {
    if (const auto found = attributes.find(wanted); found != attributes.end())
      return &found->second;
  }
  return nullptr;
}

Result<MlirParser> MlirParser::Open(std::string_view text) {
  MlirParser parser(text);
  parser.separators_ = SeparatorsIn(text);
  QTX_RETURN_IF_ERROR(parser.FindFunctions());
  parser.text_.Seek(0);
  return parser;
}

std::size_t MlirParser::SectionOf(std::size_t at) const {
  const auto next = std::ranges::upper_bound(separators_, at);
  return static_cast<std::size_t>(next - separators_.begin());
}

Result<void> MlirParser::Spend(std::int64_t& budget, std::int64_t amount, const char* what) {
  budget -= amount;
  if (budget >= 0) return {};
  return Error{ErrorCode::kTooLarge, text_.Place(text_.at()),
               std::string("more ") + what + " than the limit of a program"};
}

Result<void> MlirParser::FindFunctions() {
  std::size_t open = 0;  // modules
  while (text_.Peek() != '\0') QTX_RETURN_IF_ERROR(FindNext(open));
  if (text_.at() < text_.all().size()) return text_.Fail("the end of the text");
  if (open > 0) return text_.Fail("'}', which ends a module");
  if (functions_.empty()) return Invalid("", "found no func.func, expected a program");
  return {};
}

// !name = type, #name = attribute
Result<void> MlirParser::FindAlias() {
  const char sigil = text_.Peek();
  const std::size_t section = SectionOf(text_.at());
  text_.Advance();
  const std::string name = sigil + std::string(text_.Name());
  QTX_RETURN_IF_ERROR(text_.Expect("="));
  text_.Peek();
  aliases_[{section, name}] = text_.at();
  if (sigil == '!') return TypeText();
  QTX_RETURN_IF_ERROR(Attribute(true));
  return {};
}

// module @name attributes {...} {
Result<void> MlirParser::EnterModule() {
  text_.Word();
  while (text_.Peek() != '{') {
    if (text_.Take("@")) {
      text_.Name();
      continue;
    }
    if (text_.Word() != "attributes" || text_.Peek() != '{') return text_.Fail("'{' of a module");
    QTX_RETURN_IF_ERROR(text_.SkipBalanced());
  }
  text_.Advance();
  return {};
}

// {-# ... #-}
Result<void> MlirParser::SkipResources() {
  const std::size_t end = text_.all().find("#-}", text_.at());
  if (end == std::string_view::npos) return text_.Fail("'#-}'");
  text_.Seek(end + 3);
  return {};
}

// One thing at the level of modules, of which `open` have begun.
Result<void> MlirParser::FindNext(std::size_t& open) {
  const char c = text_.Peek();
  if (c == '!' || c == '#') return FindAlias();
  if (text_.Take("{-#")) return SkipResources();
  const std::string_view word = text_.PeekWord();
  if (word == "loc") return SkipLocation();
  if (word == "func.func" || word == "func") return FindFunction();
  if (word == "module" || word == "builtin.module") {
    ++open;
    return EnterModule();
  }
  if (c != '}' || open == 0) return text_.Fail("'module' or 'func.func'");
  --open;
  text_.Advance();
  return {};
}

// -> (types) attributes {...}
Result<void> MlirParser::SkipResults() {
  if (text_.Take("->")) {
    if (text_.Peek() == '(') {
      QTX_RETURN_IF_ERROR(text_.SkipBalanced());
    } else {
      QTX_RETURN_IF_ERROR(TypeText());
    }
  }
  if (text_.PeekWord() == "attributes") {
    text_.Word();
    if (text_.Peek() != '{') return text_.Fail("'{'");
    QTX_RETURN_IF_ERROR(text_.SkipBalanced());
  }
  return {};
}

// func.func private @name(...) -> ... attributes {...} {...}
Result<void> MlirParser::FindFunction() {
  MlirFunction function;
  function.section = SectionOf(text_.at());
  text_.Word();
  if (const std::string_view word = text_.Word(); !word.empty())
    function.is_private = word == "private";
  QTX_RETURN_IF_ERROR(text_.Expect("@"));
  function.name = text_.Raw() == '"' ? std::string() : std::string(text_.Name());
  if (text_.Raw() == '"') {
    QTX_ASSIGN_OR_RETURN(const std::string_view quoted, text_.String());
    function.name = quoted;
  }
  if (text_.Peek() != '(') return text_.Fail("'('");
  function.signature = text_.at();
  QTX_RETURN_IF_ERROR(text_.SkipBalanced());
  QTX_RETURN_IF_ERROR(SkipResults());
  if (text_.Peek() != '{') return text_.Fail("'{', a body of function '" + function.name + "'");
  QTX_RETURN_IF_ERROR(text_.SkipBalanced());
  QTX_RETURN_IF_ERROR(SkipLocation());
  if (functions_.size() >= kMaxFunctions)
    return Error{ErrorCode::kTooLarge, text_.Place(function.signature), "more than 2^16 functions"};
  functions_.push_back(std::move(function));
  return {};
}

Result<std::vector<MlirArgument>> MlirParser::Enter(const MlirFunction& function) {
  std::vector<MlirArgument> arguments;
  text_.Seek(function.signature);
  QTX_RETURN_IF_ERROR(text_.Expect("("));
  while (!text_.Take(")")) {
    MlirArgument argument;
    QTX_ASSIGN_OR_RETURN(argument.name, Operand());
    QTX_RETURN_IF_ERROR(text_.Expect(":"));
    QTX_ASSIGN_OR_RETURN(argument.type, Type());
    if (text_.Peek() == '{') QTX_RETURN_IF_ERROR(text_.SkipBalanced());
    QTX_ASSIGN_OR_RETURN(argument.label, Location());
    arguments.push_back(std::move(argument));
    if (!text_.Take(",") && text_.Peek() != ')') return text_.Fail("',' or ')'");
  }
  QTX_RETURN_IF_ERROR(SkipResults());
  QTX_RETURN_IF_ERROR(text_.Expect("{"));
  return arguments;
}

Result<std::optional<MlirOp>> MlirParser::NextOp() {
  if (text_.Take("}")) return std::optional<MlirOp>();
  QTX_ASSIGN_OR_RETURN(MlirOp op, Op(0));
  return std::optional<MlirOp>(std::move(op));
}

Result<std::size_t> MlirParser::AliasOf(std::string_view name) {
  const auto found = aliases_.find(std::pair(SectionOf(text_.at()), std::string(name)));
  if (found == aliases_.end())
    return Invalid(text_.Place(text_.at()), "found no definition of '" + std::string(name) + "'");
  return found->second;
}

}  // namespace qtx::convert
