#include "nnef/text.h"

#include <algorithm>
#include <charconv>
#include <optional>

#include "errors.h"

namespace qtx::convert::nnef {
namespace {

constexpr int kMaxDepth = 16;            // of nested lists
constexpr std::size_t kMaxShown = 24;    // bytes of the text that an error quotes
constexpr std::size_t kMaxNumber = 400;  // characters of a number
// A value takes some 100 bytes here, an operation some 6 kB in the model that it becomes.
constexpr std::size_t kMaxValues = std::size_t{1} << 24;
constexpr std::size_t kMaxOperations = std::size_t{1} << 18;

bool IsDigit(char c) { return c >= '0' && c <= '9'; }
bool IsLetter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }

class Parser {
 public:
  explicit Parser(std::string_view text) : text_(text) {}

  std::size_t line() const { return line_; }
  bool AtEnd() { return Peek() == '\0' && at_ >= text_.size(); }

  char Peek() {
    while (at_ < text_.size()) {
      const char c = text_[at_];
      if (c == '#') {
        at_ = std::min(text_.find('\n', at_), text_.size());
        continue;
      }
      if (c != ' ' && c != '\t' && c != '\n' && c != '\r') return c;
      line_ += c == '\n' ? 1 : 0;
      ++at_;
    }
    return '\0';
  }

  bool Take(std::string_view token) {
    Peek();
    if (text_.substr(at_, token.size()) != token) return false;
    at_ += token.size();
    return true;
  }

  Result<void> Expect(std::string_view token) {
    if (Take(token)) return {};
    return Fail("'" + std::string(token) + "'");
  }

  std::string_view Word() {
    Peek();
    std::size_t end = at_;
    if (end < text_.size() && IsLetter(text_[end])) {
      while (end < text_.size() && (IsLetter(text_[end]) || IsDigit(text_[end]))) ++end;
    }
    const std::string_view word = text_.substr(at_, end - at_);
    at_ = end;
    return word;
  }

  Result<std::string> Name(const char* what) {
    const std::string_view word = Word();
    if (!word.empty()) return std::string(word);
    return Fail(what);
  }

  Result<std::string> String() {
    const char quote = Peek();
    if (quote != '"' && quote != '\'') return Fail("a string");
    const std::size_t end = text_.find_first_of(std::string{quote, '\n'}, at_ + 1);
    if (end == std::string_view::npos || text_[end] == '\n')
      return Fail("a string that ends on its line");
    std::string content(text_.substr(at_ + 1, end - at_ - 1));
    at_ = end + 1;
    return content;
  }

  Error Fail(const std::string& expected) {
    Peek();
    std::string found;
    for (const char c : text_.substr(at_, kMaxShown)) {
      if (c == '\n' || c == '\r') break;
      found += c >= ' ' && c <= '~' ? c : '?';
    }
    found = at_ >= text_.size() ? "the end of the text" : "'" + found + "'";
    return Invalid("line " + std::to_string(line_), "found " + found + ", expected " + expected);
  }

  Result<Value> Number() {
    Value value{.kind = Value::Kind::kNumber, .line = line_};
    std::size_t end = at_;
    while (end < text_.size() && end - at_ < kMaxNumber &&
           (IsLetter(text_[end]) || IsDigit(text_[end]) || text_[end] == '.' || text_[end] == '-' ||
            text_[end] == '+')) {
      ++end;
    }
    value.text = text_.substr(at_, end - at_);
    const char* first = value.text.data();
    const char* last = first + value.text.size();
    const char* digits = first + (value.text.starts_with('+') ? 1 : 0);
    value.integer = value.text.find_first_not_of("+-0123456789") == std::string::npos;
    const auto real = std::from_chars(digits, last, value.number);
    bool good = real.ptr == last && real.ec == std::errc();
    if (value.integer) {
      const auto whole = std::from_chars(digits, last, value.whole);
      good = whole.ptr == last && whole.ec == std::errc();
    }
    if (!good) return Fail("a number of 64 bits");
    at_ = end;
    return value;
  }

  Result<Value> List(Value::Kind kind, char closing, int depth) {
    if (depth >= kMaxDepth)
      return Error{ErrorCode::kTooLarge, "line " + std::to_string(line_),
                   "lists are nested more than 16 deep"};
    Value list{.kind = kind, .line = line_};
    ++at_;
    while (Peek() != closing) {
      if (!list.items.empty()) QTX_RETURN_IF_ERROR(Expect(","));
      QTX_ASSIGN_OR_RETURN(Value item, Item(depth + 1));
      list.items.push_back(std::move(item));
    }
    ++at_;
    return list;
  }

  Error TooMany(const std::string& what, std::size_t most) const {
    return Error{ErrorCode::kTooLarge, "line " + std::to_string(line_),
                 "found more " + what + ", expected at most " + std::to_string(most)};
  }

  Result<Value> Item(int depth = 0) {
    if (++values_ > kMaxValues) return TooMany("values", kMaxValues);
    const char c = Peek();
    if (c == '[') return List(Value::Kind::kArray, ']', depth);
    if (c == '(') return List(Value::Kind::kTuple, ')', depth);
    Value value{.line = line_};
    if (c == '"' || c == '\'') {
      value.kind = Value::Kind::kString;
      QTX_ASSIGN_OR_RETURN(value.text, String());
      return value;
    }
    if (IsDigit(c) || c == '-' || c == '+' || c == '.') return Number();
    value.text = Word();
    if (value.text.empty()) return Fail("a tensor, a number, a string or a list");
    if (value.text == "true" || value.text == "false") {
      value.kind = Value::Kind::kBool;
      value.number = value.text == "true" ? 1 : 0;
    }
    if (Peek() == '(' || Peek() == '<')
      return Unsupported("line " + std::to_string(value.line),
                         "'" + value.text.substr(0, kMaxShown) +
                             "' is invoked within an argument, which flat syntax does not");
    return value;
  }

  // op<type>(name = value, ...)
  Result<void> Invoke(Invocation& call) {
    Peek();
    call.line = line_;
    QTX_ASSIGN_OR_RETURN(call.op, Name("an operator"));
    if (Take("<")) {
      QTX_ASSIGN_OR_RETURN(call.type, Name("a type"));
      QTX_RETURN_IF_ERROR(Expect(">"));
    }
    QTX_RETURN_IF_ERROR(Expect("("));
    for (bool first = true; !Take(")"); first = false) {
      if (!first) QTX_RETURN_IF_ERROR(Expect(","));
      QTX_ASSIGN_OR_RETURN(Value value, Item());
      std::string name;
      if (value.kind == Value::Kind::kName && Take("=")) {
        name = value.text;
        QTX_ASSIGN_OR_RETURN(value, Item());
      }
      call.arguments.emplace_back(std::move(name), std::move(value));
    }
    return Expect(";");
  }

  Result<Invocation> Assignment() {
    if (++operations_ > kMaxOperations) return TooMany("operations", kMaxOperations);
    Invocation call;
    do {
      QTX_ASSIGN_OR_RETURN(Value result, Item());
      if (result.kind == Value::Kind::kTuple && call.results.empty()) {
        call.results = std::move(result.items);
      } else {
        call.results.push_back(std::move(result));
      }
    } while (Take(","));
    QTX_RETURN_IF_ERROR(Expect("="));
    QTX_RETURN_IF_ERROR(Invoke(call));
    return call;
  }

  // To behind the '}' of a fragment's body or the ';' of one without a body.
  Result<void> SkipFragment() {
    std::size_t depth = 0;
    while (!AtEnd()) {
      const char c = Peek();
      if (c == '"' || c == '\'') {
        QTX_RETURN_IF_ERROR(String());
        continue;
      }
      ++at_;
      if (c == '{') ++depth;
      if (c == ';' && depth == 0) return {};
      if (c == '}' && (depth == 0 || --depth == 0)) return {};
    }
    return Fail("the end of the fragment");
  }

  // "tensor<scalar>[]", "(integer, integer)[]": to what follows it in a list of parameters.
  void SkipType() {
    int depth = 0;
    for (char c = Peek(); c != '\0' || !AtEnd(); c = Peek()) {
      const bool closes = c == ')' || c == '>' || c == ']';
      if (depth == 0 && (closes || c == ',' || c == '=')) return;
      depth += c == '(' || c == '<' || c == '[' ? 1 : closes ? -1 : 0;
      ++at_;
    }
  }

  // <? = scalar>(x: tensor<scalar>, axis: integer = 1) -> (y: tensor<scalar>) { body }
  Result<void> FlatFragment(Fragment& fragment) {
    if (Take("<")) {
      SkipType();
      if (Take("=")) SkipType();
      QTX_RETURN_IF_ERROR(Expect(">"));
    }
    QTX_RETURN_IF_ERROR(Expect("("));
    while (!Take(")")) {
      if (!fragment.parameters.empty()) QTX_RETURN_IF_ERROR(Expect(","));
      QTX_ASSIGN_OR_RETURN(std::string name, Name("the name of a parameter"));
      QTX_RETURN_IF_ERROR(Expect(":"));
      SkipType();
      std::optional<Value> otherwise;
      if (Take("=")) {
        QTX_ASSIGN_OR_RETURN(otherwise, Item());
      }
      fragment.parameters.emplace_back(std::move(name), std::move(otherwise));
    }
    QTX_RETURN_IF_ERROR(Expect("->"));
    QTX_RETURN_IF_ERROR(Expect("("));
    while (!Take(")")) {
      if (!fragment.results.empty()) QTX_RETURN_IF_ERROR(Expect(","));
      QTX_ASSIGN_OR_RETURN(std::string name, Name("the name of a result"));
      QTX_RETURN_IF_ERROR(Expect(":"));
      SkipType();
      fragment.results.push_back(std::move(name));
    }
    QTX_RETURN_IF_ERROR(Expect("{"));
    while (!Take("}")) {
      QTX_ASSIGN_OR_RETURN(Invocation call, Assignment());
      fragment.body.push_back(std::move(call));
    }
    return {};
  }

  Result<std::vector<std::string>> Names() {
    QTX_RETURN_IF_ERROR(Expect("("));
    std::vector<std::string> names;
    while (!Take(")")) {
      if (!names.empty()) QTX_RETURN_IF_ERROR(Expect(","));
      QTX_ASSIGN_OR_RETURN(std::string name, Name("the name of a tensor"));
      names.push_back(std::move(name));
    }
    return names;
  }

  Result<void> Header(Document& document) {
    QTX_RETURN_IF_ERROR(Expect("version"));
    QTX_ASSIGN_OR_RETURN(const Value version, Item());
    if (version.kind != Value::Kind::kNumber || !version.text.starts_with("1."))
      return Unsupported("line " + std::to_string(version.line),
                         "found version " + version.text.substr(0, kMaxShown) + ", expected 1.0");
    document.version = version.text;
    QTX_RETURN_IF_ERROR(Expect(";"));
    while (Take("extension")) {
      std::string extension;
      while (Peek() != ';' && !AtEnd()) {
        QTX_ASSIGN_OR_RETURN(const std::string word, Name("';'"));
        extension += (extension.empty() ? "" : " ") + word;
      }
      QTX_RETURN_IF_ERROR(Expect(";"));
      document.extensions.push_back(std::move(extension));
    }
    while (Take("fragment")) {
      Fragment fragment;
      QTX_ASSIGN_OR_RETURN(fragment.name, Name("the name of a fragment"));
      const Parser begin = *this;
      if (const auto flat = FlatFragment(fragment); !flat.has_value()) {
        fragment.not_flat = flat.error().where + ": " + flat.error().message;
        *this = begin;
        QTX_RETURN_IF_ERROR(SkipFragment());
      }
      document.fragments.push_back(std::move(fragment));
    }
    return {};
  }

 private:
  std::string_view text_;
  std::size_t at_ = 0;
  std::size_t line_ = 1;
  std::size_t values_ = 0, operations_ = 0;
};

}  // namespace

bool LooksLikeGraph(std::string_view text) {
  Parser parser(text.substr(0, std::size_t{1} << 16));
  if (parser.Word() != "version") return false;
  const auto version = parser.Item();
  return version.has_value() && version->kind == Value::Kind::kNumber && parser.Take(";");
}

Result<Document> ParseGraph(std::string_view text) {
  Parser parser(text);
  Document document;
  QTX_RETURN_IF_ERROR(parser.Header(document));
  QTX_RETURN_IF_ERROR(parser.Expect("graph"));
  QTX_ASSIGN_OR_RETURN(document.name, parser.Name("the name of the graph"));
  QTX_ASSIGN_OR_RETURN(document.inputs, parser.Names());
  QTX_RETURN_IF_ERROR(parser.Expect("->"));
  QTX_ASSIGN_OR_RETURN(document.outputs, parser.Names());
  QTX_RETURN_IF_ERROR(parser.Expect("{"));
  while (!parser.Take("}")) {
    QTX_ASSIGN_OR_RETURN(Invocation call, parser.Assignment());
    document.body.push_back(std::move(call));
  }
  if (!parser.AtEnd()) return parser.Fail("the end of the text");
  return document;
}

Result<std::vector<Invocation>> ParseQuant(std::string_view text) {
  Parser parser(text);
  std::vector<Invocation> entries;
  while (!parser.AtEnd()) {
    Invocation entry;
    Value name{.line = parser.line()};
    QTX_ASSIGN_OR_RETURN(name.text, parser.String());
    entry.results.push_back(std::move(name));
    QTX_RETURN_IF_ERROR(parser.Expect(":"));
    QTX_RETURN_IF_ERROR(parser.Invoke(entry));
    entries.push_back(std::move(entry));
  }
  return entries;
}

}  // namespace qtx::convert::nnef
