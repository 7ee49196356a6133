#include "formula/parser.h"

#include <algorithm>
#include <array>
#include <initializer_list>
#include <utility>

#include "formula/lexer.h"

namespace qtx::spec {
namespace {

bool TakesRange(std::string_view name) {
  return name == "sum" || name == "product" || name == "max" || name == "min";
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
    if (IsWord("use") && Peek(1).kind == Token::Kind::kName) {
      QTX_RETURN_IF_ERROR(Use(statement));
    } else {
      QTX_RETURN_IF_ERROR(Left(statement));
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

  Result<void> Use(Statement& statement) {
    statement.kind = Statement::Kind::kUse;
    do {
      ++at_;
      QTX_ASSIGN_OR_RETURN(statement.parameters.emplace_back(), Name("expected a clause"));
    } while (IsSign(","));
    return {};
  }

  Result<void> Left(Statement& statement) {
    QTX_ASSIGN_OR_RETURN(statement.name, Name("expected the name that the line defines"));
    if (IsSign("(") || IsSign("[")) {
      const bool function = IsSign("(");
      statement.kind = function ? Statement::Kind::kFunction : Statement::Kind::kElement;
      do {
        ++at_;
        QTX_ASSIGN_OR_RETURN(statement.parameters.emplace_back(), Name("expected a name"));
      } while (IsSign(","));
      QTX_RETURN_IF_ERROR(Expect(function ? ")" : "]"));
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
    QTX_ASSIGN_OR_RETURN(Node base, Value());
    if (!IsSign("^")) return base;
    const Level level(*this);
    const Token& sign = tokens_[at_++];
    if (depth_ > kMaxFormulaDepth) return Refuse("expected at most 64 levels of powers");
    QTX_ASSIGN_OR_RETURN(Node node, Make(Node::Kind::kBinary, sign.text, sign.place));
    node.children.push_back(std::move(base));
    QTX_ASSIGN_OR_RETURN(node.children.emplace_back(), Factor());
    return node;
  }

  Result<Node> Value() {
    while (Peek().kind == Token::Kind::kComment) ++at_;
    const Token& token = Peek();
    if (token.kind == Token::Kind::kNumber) {
      ++at_;
      return Make(Node::Kind::kNumber, token.text, token.place);
    }
    if (IsSign("(")) {
      ++at_;
      QTX_ASSIGN_OR_RETURN(Node inner, Expression());
      QTX_RETURN_IF_ERROR(Expect(")"));
      return inner;
    }
    if (token.kind != Token::Kind::kName) return Refuse("expected a value");
    ++at_;
    if (IsSign("[")) return List(Node::Kind::kIndex, token, "]");
    if (!IsSign("(")) return Make(Node::Kind::kName, token.text, token.place);
    const bool range = Peek(1).kind == Token::Kind::kName && IsSign("<", 2);
    if (token.text == "fold" || (range && TakesRange(token.text))) return Range(token);
    return List(Node::Kind::kCall, token, ")");
  }

  Result<Node> List(Node::Kind kind, const Token& name, std::string_view end) {
    QTX_ASSIGN_OR_RETURN(Node node, Make(kind, name.text, name.place));
    do {
      ++at_;
      QTX_ASSIGN_OR_RETURN(node.children.emplace_back(), Expression());
    } while (IsSign(","));
    QTX_RETURN_IF_ERROR(Expect(end));
    return node;
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

}  // namespace qtx::spec
