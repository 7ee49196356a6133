#include "qtx/formula/parser.h"

#include <algorithm>
#include <array>
#include <initializer_list>
#include <utility>

#include "lexer.h"

namespace qtx::formula {
namespace {

bool TakesRange(std::string_view name) {
  constexpr std::array<std::string_view, 8> kNames = {"sum",  "product", "max", "min",
                                                      "list", "all",     "any", "count"};
  return std::ranges::find(kNames, name) != kNames.end();
}

class Parser {
 public:
  Parser(std::vector<Token> tokens, const std::string& where)
      : tokens_(std::move(tokens)), where_(where) {}

  Result<std::vector<Statement>> Statements() {
    std::vector<Statement> statements;
    while (Peek().kind != Token::Kind::kEnd) {
      if (Peek().kind == Token::Kind::kNewline || Peek().kind == Token::Kind::kComment) {
        ++at_;
        continue;
      }
      QTX_ASSIGN_OR_RETURN(statements.emplace_back(), OneStatement());
    }
    if (statements.empty()) return Refuse("expected a formula");
    return statements;
  }

 private:
  const Token& Peek(std::size_t ahead = 0) const {
    return tokens_[std::min(at_ + ahead, tokens_.size() - 1)];
  }

  bool IsSign(std::string_view sign, std::size_t ahead = 0) const {
    return Peek(ahead).kind == Token::Kind::kSign && Peek(ahead).text == sign;
  }

  bool IsWord(std::string_view word) const {
    return Peek().kind == Token::Kind::kName && Peek().text == word;
  }

  Error Refuse(const std::string& expected) const {
    const Token& token = Peek();
    const bool line_end = token.kind == Token::Kind::kNewline || token.kind == Token::Kind::kEnd;
    return Error{
        ErrorCode::kInvalid, PlaceIn(where_, token.place),
        "found " + (line_end ? "the end of the line" : "'" + token.text + "'") + ", " + expected};
  }

  Result<void> Expect(std::string_view sign) {
    while (Peek().kind == Token::Kind::kComment) ++at_;
    if (!IsSign(sign)) return Refuse("expected '" + std::string(sign) + "'");
    ++at_;
    return {};
  }

  Result<std::string> Name(const std::string& expected) {
    if (Peek().kind != Token::Kind::kName) return Refuse(expected);
    return tokens_[at_++].text;
  }

  // Counts nodes and depth for as long as it lives.
  class Level {
   public:
    explicit Level(Parser& parser) : parser_(parser) { ++parser_.depth_; }
    ~Level() { --parser_.depth_; }
    Level(const Level&) = delete;
    Level& operator=(const Level&) = delete;

   private:
    Parser& parser_;
  };

  Result<Node> Make(Node::Kind kind, std::string text, Place place) {
    if (++nodes_ > kMaxFormulaNodes) {
      return Error{ErrorCode::kTooLarge, PlaceIn(where_, place),
                   "expected at most " + std::to_string(kMaxFormulaNodes) + " terms"};
    }
    Node node;
    node.kind = kind;
    node.text = std::move(text);
    node.place = place;
    return node;
  }

  Result<Statement> OneStatement() {
    Statement statement;
    statement.place = Peek().place;
    const bool head =
        Peek().kind == Token::Kind::kName && !IsSign("=", 1) && !IsSign("(", 1) && !IsSign("[", 1);
    QTX_RETURN_IF_ERROR(head ? Head(statement) : Left(statement));
    if (HasBody(statement)) {
      QTX_ASSIGN_OR_RETURN(statement.body, Expression());
    }
    while (Peek().kind == Token::Kind::kComment) {
      if (!statement.comment.empty()) statement.comment += ' ';
      statement.comment += tokens_[at_++].text;
    }
    if (Peek().kind != Token::Kind::kNewline) return Refuse("expected an operator or a new line");
    ++at_;
    return statement;
  }

  // A line that begins with a word of the language.
  Result<void> Head(Statement& statement) {
    const std::string word = Peek().text;
    using Kind = Statement::Kind;
    if (word == "use") return Use(statement);
    if (word == "for") return For(statement);
    if (word == "as") return As(statement);
    if (word == "in" || word == "otherwise") {
      statement.kind = word == "in" ? Kind::kIn : Kind::kOtherwise;
      ++at_;
      return Arithmetic(statement);
    }
    if (word == "when" || word == "require") {
      statement.kind = word == "when" ? Kind::kWhen : Kind::kRequire;
      ++at_;
      if (word == "when" || !IsSign(":", 1)) return {};
      QTX_ASSIGN_OR_RETURN(statement.name, Name("expected a clause"));
      return Expect(":");
    }
    ++at_;
    return Expect("=");
  }

  // A name with dashes: "float32-fma".
  Result<void> Arithmetic(Statement& statement) {
    QTX_ASSIGN_OR_RETURN(statement.name, Name("expected the name of an arithmetic"));
    while (IsSign("-")) {
      ++at_;
      const bool number = Peek().kind == Token::Kind::kNumber;
      if (!number && Peek().kind != Token::Kind::kName) return Refuse("expected a name");
      statement.name += "-" + tokens_[at_++].text;
    }
    return {};
  }

  Result<void> Use(Statement& statement) {
    statement.kind = Statement::Kind::kUse;
    do {
      ++at_;
      QTX_ASSIGN_OR_RETURN(statement.parameters.emplace_back(), Name("expected a clause"));
    } while (IsSign(","));
    return {};
  }

  Result<void> For(Statement& statement) {
    statement.kind = Statement::Kind::kFor;
    do {
      ++at_;
      Signature& signature = statement.signatures.emplace_back();
      QTX_ASSIGN_OR_RETURN(signature.op_type, Name("expected an operator"));
      if (!IsSign("(")) continue;
      QTX_RETURN_IF_ERROR(Names(signature.inputs, ")"));
    } while (IsSign(","));
    return {};
  }

  Result<void> As(Statement& statement) {
    QTX_RETURN_IF_ERROR(For(statement));
    statement.kind = Statement::Kind::kAs;
    if (statement.signatures.size() != 1) return Refuse("expected one operator");
    if (!IsSign("=")) return Refuse("expected '='");
    do {
      ++at_;
      QTX_ASSIGN_OR_RETURN(statement.parameters.emplace_back(), Name("expected a name"));
    } while (IsSign(","));
    return {};
  }

  // From an opening bracket on.
  Result<void> Names(std::vector<std::string>& names, std::string_view end) {
    do {
      ++at_;
      QTX_ASSIGN_OR_RETURN(names.emplace_back(), Name("expected a name"));
      TakeRest(names.back());
    } while (IsSign(","));
    return Expect(end);
  }

  void TakeRest(std::string& name) {
    if (!IsSign(kListMark)) return;
    name += kListMark;
    ++at_;
  }

  Result<void> Left(Statement& statement) {
    QTX_ASSIGN_OR_RETURN(statement.name, Name("expected the name that the line defines"));
    if (IsSign("(") || IsSign("[")) {
      const bool function = IsSign("(");
      statement.kind = function ? Statement::Kind::kFunction : Statement::Kind::kElement;
      QTX_RETURN_IF_ERROR(Names(statement.parameters, function ? ")" : "]"));
      if (function && statement.name == "shape" && statement.parameters.size() == 1) {
        statement.kind = Statement::Kind::kShape;
        statement.name = statement.parameters[0];
      }
    }
    return Expect("=");
  }

  Result<Node> Expression() {
    const Level level(*this);
    if (depth_ > kMaxFormulaDepth) {
      return Error{ErrorCode::kTooLarge, PlaceIn(where_, Peek().place),
                   "expected at most " + std::to_string(kMaxFormulaDepth) + " levels of brackets"};
    }
    return Chain(0);
  }

  // The left-associative levels, loosest first; between them lie "not" and the relations.
  Result<Node> Chain(std::size_t level) {
    static constexpr std::array<std::array<std::string_view, 3>, 5> kLevels = {
        {{"or"}, {"and"}, {"<<", ">>"}, {"+", "-"}, {"*", "/", "mod"}}};
    constexpr std::size_t kTruths = 2;
    if (level == kLevels.size()) return Factor();
    const auto operand = [&] { return level + 1 == kTruths ? Truth() : Chain(level + 1); };
    QTX_ASSIGN_OR_RETURN(Node left, operand());
    while (IsOneOf(kLevels[level])) {
      const Token& sign = tokens_[at_++];
      QTX_ASSIGN_OR_RETURN(Node node, Make(Node::Kind::kBinary, sign.text, sign.place));
      QTX_ASSIGN_OR_RETURN(Node right, operand());
      node.children.push_back(std::move(left));
      node.children.push_back(std::move(right));
      left = std::move(node);
    }
    return left;
  }

  template <typename List>
  bool IsOneOf(const List& words) const {
    if (Peek().kind != Token::Kind::kSign && Peek().kind != Token::Kind::kName) return false;
    return std::ranges::find(words, std::string_view(Peek().text)) != std::end(words);
  }

  Result<Node> Truth() {
    if (!IsWord("not")) return Relation();
    return Prefixed([this] { return Truth(); });
  }

  template <typename Operand>
  Result<Node> Prefixed(const Operand& operand) {
    const Level level(*this);
    if (depth_ > kMaxFormulaDepth) {
      return Error{ErrorCode::kTooLarge, PlaceIn(where_, Peek().place),
                   "expected at most " + std::to_string(kMaxFormulaDepth) + " levels"};
    }
    const Token& sign = tokens_[at_++];
    QTX_ASSIGN_OR_RETURN(Node node, Make(Node::Kind::kUnary, sign.text, sign.place));
    QTX_ASSIGN_OR_RETURN(node.children.emplace_back(), operand());
    return node;
  }

  Result<Node> Relation() {
    static constexpr std::array<std::string_view, 6> kRelations = {"=", "!=", "<", "<=", ">", ">="};
    constexpr std::size_t kShifts = 2;
    QTX_ASSIGN_OR_RETURN(Node left, Chain(kShifts));
    if (!IsOneOf(kRelations)) return left;
    const Token& sign = tokens_[at_++];
    QTX_ASSIGN_OR_RETURN(Node node, Make(Node::Kind::kBinary, sign.text, sign.place));
    node.children.push_back(std::move(left));
    QTX_ASSIGN_OR_RETURN(node.children.emplace_back(), Chain(kShifts));
    return node;
  }

  Result<Node> Factor() {
    if (IsSign("-")) return Prefixed([this] { return Factor(); });
    QTX_ASSIGN_OR_RETURN(Node base, Indexed());
    if (!IsSign("^")) return base;
    const Level level(*this);
    const Token& sign = tokens_[at_++];
    if (depth_ > kMaxFormulaDepth) return Refuse("expected at most 64 levels of powers");
    QTX_ASSIGN_OR_RETURN(Node node, Make(Node::Kind::kBinary, sign.text, sign.place));
    node.children.push_back(std::move(base));
    QTX_ASSIGN_OR_RETURN(node.children.emplace_back(), Factor());
    return node;
  }

  Result<Node> Indexed() {
    QTX_ASSIGN_OR_RETURN(Node value, Value());
    while (IsSign("[")) {
      QTX_ASSIGN_OR_RETURN(Node indexed, Make(Node::Kind::kIndex, "", value.place));
      indexed.children.push_back(std::move(value));
      QTX_RETURN_IF_ERROR(Items(indexed, "]"));
      value = std::move(indexed);
    }
    return value;
  }

  Result<Node> Value() {
    while (Peek().kind == Token::Kind::kComment) ++at_;
    const Token token = Peek();
    if (IsSign("[")) {
      QTX_ASSIGN_OR_RETURN(Node list, Make(Node::Kind::kList, "", token.place));
      QTX_RETURN_IF_ERROR(Items(list, "]"));
      return list;
    }
    if (IsSign("(")) {
      ++at_;
      QTX_ASSIGN_OR_RETURN(Node inner, Expression());
      QTX_RETURN_IF_ERROR(Expect(")"));
      return inner;
    }
    if (token.kind == Token::Kind::kNumber || token.kind == Token::Kind::kText) {
      ++at_;
      const bool number = token.kind == Token::Kind::kNumber;
      return Make(number ? Node::Kind::kNumber : Node::Kind::kText, token.text, token.place);
    }
    if (token.kind != Token::Kind::kName) return Refuse("expected a value");
    ++at_;
    if (!IsSign("(")) return Make(Node::Kind::kName, token.text, token.place);
    const bool range =
        Peek(1).kind == Token::Kind::kName && (IsSign("<", 2) || IsSign(kListMark, 2));
    // Of size(p...) < 3 the argument is no range.
    const bool rest_of_call = IsSign(kListMark, 2) && !IsSign("<", 3);
    if (token.text == "fold" || (range && !rest_of_call && TakesRange(token.text))) {
      return Range(token);
    }
    QTX_ASSIGN_OR_RETURN(Node call, Make(Node::Kind::kCall, token.text, token.place));
    QTX_RETURN_IF_ERROR(Items(call, ")"));
    return call;
  }

  // From an opening bracket to the closing one.
  Result<void> Items(Node& node, std::string_view end) {
    ++at_;
    while (Peek().kind == Token::Kind::kComment) ++at_;
    if (IsSign(end) && node.kind == Node::Kind::kList) return Expect(end);
    for (;; ++at_) {
      QTX_ASSIGN_OR_RETURN(Node item, Expression());
      if (IsSign(kListMark)) {
        QTX_ASSIGN_OR_RETURN(Node rest, Make(Node::Kind::kRest, "", item.place));
        rest.children.push_back(std::move(item));
        item = std::move(rest);
        ++at_;
      }
      node.children.push_back(std::move(item));
      if (!IsSign(",")) return Expect(end);
    }
  }

  Result<Node> Range(const Token& name) {
    const bool fold = name.text == "fold";
    constexpr std::size_t kTotals = 3;
    QTX_ASSIGN_OR_RETURN(
        Node node, Make(fold ? Node::Kind::kFold : Node::Kind::kRange, name.text, name.place));
    do {
      ++at_;
      QTX_ASSIGN_OR_RETURN(node.names.emplace_back(), Name("expected the name of an index"));
      if (fold && node.names.size() > 1 && IsSign("=")) break;
      TakeRest(node.names.back());
      QTX_RETURN_IF_ERROR(Expect("<"));
      QTX_ASSIGN_OR_RETURN(node.children.emplace_back(), Chain(kTotals));
    } while (IsSign(","));
    if (fold) {
      QTX_RETURN_IF_ERROR(Expect("="));
      QTX_ASSIGN_OR_RETURN(node.children.emplace_back(), Expression());
    }
    QTX_RETURN_IF_ERROR(Expect(":"));
    QTX_ASSIGN_OR_RETURN(node.children.emplace_back(), Expression());
    QTX_RETURN_IF_ERROR(Expect(")"));
    return node;
  }

  std::vector<Token> tokens_;
  const std::string& where_;
  std::size_t at_ = 0;
  int depth_ = 0;
  int nodes_ = 0;
};

}  // namespace

Result<std::vector<Statement>> ParseFormula(std::string_view text, const std::string& where,
                                            int first_line) {
  QTX_ASSIGN_OR_RETURN(std::vector<Token> tokens, SplitFormula(text, where, first_line));
  return Parser(std::move(tokens), where).Statements();
}

std::string_view ExpressionsOf(std::string_view block) {
  if (block.starts_with("---\n")) return {};
  return block.substr(0, std::min(block.find("\n---\n"), block.size() - 1) + 1);
}

}  // namespace qtx::formula
